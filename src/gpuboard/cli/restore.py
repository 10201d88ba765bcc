"""`gpuboard restore`: put a copy of the board's database back; the board is stopped meanwhile."""

import argparse
import sys
from pathlib import Path

from gpuboard.cli.board_database import database_to_fill
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.which_board import add_which


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
    before = "there was nothing before" if kept is None else f"what it was before is {kept}"
    print(f"{database.name} is as it was in the copy; {before}")
    print(
        "gpuboard: what was revoked since the copy was made is good again: revoke it once more",
        file=sys.stderr,
    )
    return DONE
