"""`gpuboard login`: sign in from here, as the user that one is, without a password."""

import argparse
import socket
import sys
from pathlib import Path

from gpuboard.cli.exits import DONE
from gpuboard.cli.which_board import add_which, chosen_directory
from gpuboard.client.credentials import Credential, Credentials
from gpuboard.client.local import known_sockets, log_in
from gpuboard.model.errors import BoardUnreachableError
from gpuboard.model.node import node_name_of
from gpuboard.wire.clean import clean_text
from gpuboard.wire.login import LINK_PATH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--board", metavar="URL", help="where you reach the board, if not as the node or the board says"
    )
    parser.add_argument(
        "--socket",
        metavar="PATH",
        help="of the board or of this node's agent (default: those known, and $GPUBOARD_SOCKET)",
    )
    add_which(parser)
    parser.add_argument(
        "--link-only", action="store_true", help="only the link for the browser: keep no token here"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a link that signs the browser in, and keep a token for other commands."""
    terminal = node_name_of(socket.gethostname())
    sockets = [Path(arguments.socket)] if arguments.socket else known_sockets(chosen_directory(arguments))
    granted, told = log_in(list(sockets), terminal, is_link_only=arguments.link_only)
    url = arguments.board or told
    if not url:
        raise BoardUnreachableError("the board does not say where it is; name it with --board URL")
    url = url if url.endswith("/") else f"{url}/"
    who = f"{clean_text(granted.person)} ({granted.role})"
    print(f"{clean_text(url)}{LINK_PATH}{clean_text(granted.code)}")
    print("gpuboard: open this link in your browser; it works once, within two minutes", file=sys.stderr)
    # A board or an agent of before gives one all the same.
    if granted.token is not None and not arguments.link_only:
        credentials = Credentials()
        credentials.keep(
            url,
            Credential(
                person=granted.person, token=granted.token, plaintext_allowed=granted.plaintext_allowed
            ),
        )
        print(
            f"gpuboard: you are {who} at {clean_text(url)} from now on; the token is in {credentials.path}",
            file=sys.stderr,
        )
    return DONE
