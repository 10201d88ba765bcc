"""`gpuboard ssh-command`: the line for a node's authorized_keys that allows the board one command only."""

import argparse
from pathlib import Path

from gpuboard.assembly.hosts import forced_command
from gpuboard.cli.exits import DONE
from gpuboard.model.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "key", metavar="KEY.pub", nargs="?", type=Path, help="the board's public key, for the whole line"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the line, or its beginning."""
    if arguments.key is None:
        print(forced_command())
    else:
        print(f"{forced_command()} {_public_key(arguments.key)}")
    return DONE


def _public_key(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no public key, but no text at all") from None
    if "PRIVATE" in text:
        raise UsageError(f"{path} is the private key, which never leaves the board: name {path}.pub")
    if "\n" in text or not text.startswith(("ssh-", "ecdsa-", "sk-")):
        raise UsageError(f"{path} is no public key; it is one line like ssh-ed25519 AAAA…")
    return text
