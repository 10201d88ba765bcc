"""`gpuboard logout`: give back what `gpuboard login` got."""

import argparse
import sys

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.which_board import add_asked
from gpuboard.client.board import BoardClient
from gpuboard.client.credentials import Credentials
from gpuboard.model.errors import BoardRefusedError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_asked(parser)
    parser.add_argument("--everywhere", action="store_true", help="also all browsers and other command lines")
    add_ca_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """Let the board forget the token, then forget it here."""
    credentials = Credentials()
    url = arguments.board or credentials.last
    kept = None if url is None else credentials.find(url)
    if url is None or kept is None:
        print("gpuboard: you are not signed in from here", file=sys.stderr)
        return FAILED
    try:
        BoardClient(url, ca_file=arguments.ca_file, token=kept.token).sign_out(
            everywhere=arguments.everywhere
        )
    except BoardRefusedError:
        # It is not good any more: that is what was wanted.
        print("gpuboard: the token was not good any more", file=sys.stderr)
    credentials.drop(url)
    print(f"gpuboard: you are signed out of {url}", file=sys.stderr)
    return DONE
