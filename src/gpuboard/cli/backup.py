"""`gpuboard backup`: a copy of the board's database, also while the board runs."""

import argparse
from pathlib import Path

from gpuboard.cli.board_database import board_database
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.which_board import add_which


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="where the copy goes; an older one there is replaced")
    add_which(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make a copy, and check it."""
    say_warnings()
    file = Path(arguments.file).absolute()
    with board_database(arguments) as database:
        database.backup(file)
    print(f"{file} is a whole copy: accounts, tokens (hashed) and what else the board remembers, no history")
    return DONE
