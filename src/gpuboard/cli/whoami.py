"""`gpuboard whoami`: who one is to a board."""

import argparse
import sys

import msgspec

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.which_board import add_asked, asked_board
from gpuboard.client.board import BoardClient
from gpuboard.client.credentials import VARIABLE, Credentials


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_asked(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_ca_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask the board; 1 when one is nobody there."""
    url = asked_board(arguments)
    session = BoardClient(url, ca_file=arguments.ca_file).session()
    if arguments.json:
        shown = {key: value for key, value in msgspec.to_builtins(session).items() if key != "csrf"}
        print(msgspec.json.format(msgspec.json.encode(shown)).decode())
    elif session.person is not None:
        through = f" through {session.through}" if session.through else ""
        print(f"{session.person} ({session.role}) at {url}{through}")
    if session.person is None:
        if Credentials().is_told:
            why = f"the token in {VARIABLE} is not good at {url}: it was revoked, is over, or is none"
        else:
            why = f"you are not signed in at {url}; run: gpuboard login"
        print(f"gpuboard: {why}", file=sys.stderr)
        return FAILED
    return DONE
