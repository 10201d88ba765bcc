"""`gpuboard agent enroll`: exchange a code of the board for this node's token, and end."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from gpuboard.assembly.agent import enroll_node
from gpuboard.cli.exits import DONE
from gpuboard.model.errors import SettingsError, UsageError

CODE_VARIABLE: Final = "GPUBOARD_ENROLMENT_CODE"
MAX_CODE_BYTES: Final = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; those that the agent has too keep what was said there or in a variable."""
    parser.add_argument("push", metavar="URL", help="the board, as `gpuboard node enroll` prints it")
    parser.add_argument(
        "--code-file", metavar="FILE", help=f"read the code there (default: ${CODE_VARIABLE}, else stdin)"
    )
    unsaid = argparse.SUPPRESS
    parser.add_argument("--token-file", metavar="FILE", default=unsaid, help="where the token is kept")
    parser.add_argument("--ca-file", metavar="FILE", default=unsaid, help="the board's authority, PEM")
    parser.add_argument(
        "--allow-plaintext", action="store_true", default=unsaid, help="send code and token in clear"
    )


def run(arguments: argparse.Namespace) -> int:
    """Get the token; a code is never an argument, since everybody on this machine can read those."""
    token_file, node = enroll_node(
        arguments.push,
        read_code(arguments.code_file),
        token_file=arguments.token_file and Path(arguments.token_file),
        ca_file=arguments.ca_file and Path(arguments.ca_file),
        allow_plaintext=arguments.allow_plaintext,
    )
    print(f"gpuboard: this node is {node}; its token is in {token_file}", file=sys.stderr)
    return DONE


def read_code(file: str | None) -> str:
    """The enrolment code: from a file, a variable, or whoever sits at the terminal.

    Raises:
        SettingsError: the file cannot be read.
        UsageError: there is no code.
    """
    if file:
        try:
            with Path(file).open("rb") as source:
                code = source.read(MAX_CODE_BYTES).decode("ascii", "replace")
        except OSError as error:
            raise SettingsError(f"the file of the code {file} cannot be read: {error.strerror}") from None
    else:
        code = os.environ.get(CODE_VARIABLE) or _ask()
    if not code.strip():
        raise UsageError(
            "there is no code; type it when asked, or give it on stdin, "
            f"with --code-file or as {CODE_VARIABLE}"
        )
    return code.strip()


def _ask() -> str:
    if sys.stdin.isatty():
        print("enrolment code: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline(MAX_CODE_BYTES)
