"""The `gpuboard` command: one file per sub-command; each imports only what it starts."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from errno import EBADF, EFBIG, EIO, ENOSPC
from pathlib import Path
from typing import Final, Protocol

from gpuboard import __version__
from gpuboard.cli.exits import CANNOT_TELL, FAILED, INTERRUPTED, OUTPUT_LEFT, REFUSED, USAGE
from gpuboard.cli.output import never_fail_to_encode
from gpuboard.model.errors import (
    AccessRefused,
    BoardRefusedError,
    BoardUnreachableError,
    GpuboardError,
    OutsideError,
    SettingsError,
    UsageError,
)

# Sub-command → the one line that `--help` shows; its module has the same name.
COMMANDS: Final = {
    "status": "one look: which GPU is free, who has the others",
    "free": "say where GPUs are free, for people and scripts",
    "export": "write the fleet as a page or data, for cron and any web space",
    "usage": "say how GPUs were used, and by whom",
    "login": "sign in from here, without a password",
    "logout": "give back what login got",
    "whoami": "say who you are to a board",
    "book": "book GPUs, for now or later",
    "bookings": "show what is booked",
    "extend": "let a booking end later, or sooner",
    "cancel": "give back what you have booked",
    "env": "print your booked GPUs of this machine, for eval",
    "block": "keep everybody away from GPUs, for admins",
    "serve": "run the board",
    "node": "let nodes push to the board, or stop them",
    "person": "accounts and roles of people",
    "token": "tokens of people, for programs like Prometheus",
    "audit": "show who did what to the board",
    "backup": "copy the board's database, also while it runs",
    "restore": "put such a copy back",
    "agent": "sample this machine and hand the reports on",
    "doctor": "check this machine: what works, what does not, what to do",
    "ssh-command": "print what lets the board read a node over ssh, and nothing else",
}


_CODES: Final[dict[type[GpuboardError], int]] = {
    UsageError: USAGE,
    SettingsError: USAGE,
    OutsideError: CANNOT_TELL,
    BoardUnreachableError: CANNOT_TELL,
    BoardRefusedError: REFUSED,
    AccessRefused: REFUSED,
}


class Command(Protocol):
    """What a sub-command's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; return the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        # Closed by who started us: the exit code still tells.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the program ends
    never_fail_to_encode()
    try:
        command, arguments = read_words(words)
        code = command.run(arguments)
        # What cannot be written is heard of here, and not when Python ends.
        sys.stdout.flush()
    except GpuboardError as error:
        print(f"gpuboard: {_harmless(str(error))}", file=sys.stderr)
        return next((code for kind, code in _CODES.items() if isinstance(error, kind)), FAILED)
    except ModuleNotFoundError as error:
        # The light install has what a node needs; the rest is the board's.
        if error.name is None or error.name.startswith("gpuboard"):
            raise
        print(
            f"gpuboard: this needs {error.name}, which is not installed; "
            "in the checkout, with the pip of this installation, run: pip install '.[board]'",
            file=sys.stderr,
        )
        return USAGE
    except BrokenPipeError:
        # The reader of our output has left (`gpuboard … | head`): no reason to complain, and no "no" either.
        sys.stderr.close()
        return OUTPUT_LEFT
    except OSError as error:
        if error.errno not in (ENOSPC, EIO, EBADF, EFBIG):
            raise
        print(f"gpuboard: the output cannot be written: {error.strerror}", file=sys.stderr)
        # Python would try once more at the end, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return CANNOT_TELL
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _harmless(text: str) -> str:
    """What can be printed of an error: it may quote a board or a host, and this may be a terminal."""
    from gpuboard.wire.clean import clean_text  # noqa: PLC0415 - only when something went wrong

    return "\n".join(map(clean_text, text.splitlines()))


def read_words(words: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """The command that was meant, and its arguments; only its module is loaded."""
    parser = argparse.ArgumentParser(
        prog="gpuboard",
        description="Which GPU is free now, and who has the others?",
        epilog="Exit codes: 0 done, 1 no, 2 usage, 3 cannot tell, 4 refused.",
    )
    parser.add_argument("--version", action="version", version=f"gpuboard {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    meant = next((word for word in words if not word.startswith("-")), None)
    command = None
    for known, line in COMMANDS.items():
        subparser = subparsers.add_parser(known, help=line, description=line.capitalize() + ".")
        if known == meant:
            command = _load(known)
            command.add_arguments(subparser)
    arguments, rest = parser.parse_known_args(words)
    if rest:
        # Hosts may stand behind options too, where argparse no longer looks for them.
        if "hosts" not in arguments or any(word.startswith("-") for word in rest):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        arguments.hosts += rest
    if command is None:
        parser.error(f"unknown command {arguments.command!r}")
    return command, arguments


def _load(name: str) -> Command:
    module: Command = importlib.import_module(f"gpuboard.cli.{name.replace('-', '_')}")
    return module
