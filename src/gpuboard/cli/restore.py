"""`gpuboard restore`: put a copy of the board's database back; the board is stopped meanwhile."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpuboard.cli.board_database import database_to_fill
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.which_board import add_which

if TYPE_CHECKING:
    from gpuboard.storage.base import Before


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a copy that gpuboard backup has made")
    add_which(parser)


def run(arguments: argparse.Namespace) -> int:
    """Put a copy back, checked."""
    say_warnings()
    database = database_to_fill(arguments)
    try:
        kept = database.restore(Path(arguments.file).absolute())
    finally:
        database.close()
    print(f"{database.name} is as it was in the copy; {_words(kept)}")
    print(
        "gpuboard: what was revoked since the copy was made is good again: revoke it once more",
        file=sys.stderr,
    )
    return DONE


def _words(before: "Before | None") -> str:
    if before is None:
        return "there was nothing before"
    if before.is_journal:
        return (
            "there was no database before, only the journal of one, which is set aside as "
            f"{before.path}: beside that database again, with its name and -wal, it has what was written last"
        )
    if before.is_damaged:
        return f"what was there before was damaged, and is set aside as {before.path}"
    return f"what it was before is {before.path}"
