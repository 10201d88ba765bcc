"""`gpuboard restore`: put a copy of the board's database back; the board is stopped meanwhile."""

import argparse
import sys
from pathlib import Path

from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.which_board import add_which


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a copy that gpuboard backup has made")
    add_which(parser)


def run(arguments: argparse.Namespace) -> int:
    """Put a copy back, checked."""
    from gpuboard.settings.board import Settings, read_settings  # noqa: PLC0415 - the light install lacks what follows
    from gpuboard.storage.registry import make_database  # noqa: PLC0415 - the same

    say_warnings()
    settings = read_settings(Path(arguments.config)) if arguments.config else Settings()
    database = make_database(settings.storage, arguments.state_dir or settings.board.state_dir)
    try:
        kept = database.restore(Path(arguments.file).absolute())
    finally:
        database.close()
    print(f"{database.name} is as it was in the copy; what it was before is {kept}")
    print(
        "gpuboard: what was revoked since the copy was made is good again: revoke it once more",
        file=sys.stderr,
    )
    return DONE
