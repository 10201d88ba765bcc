"""Which board of this machine is meant, for commands that use what it keeps here."""

import argparse
import os
from pathlib import Path

from gpuboard.client.board import DEFAULT_URL
from gpuboard.client.credentials import Credentials


def add_which(parser: argparse.ArgumentParser) -> None:
    """Declare which board is meant."""
    parser.add_argument("--config", metavar="FILE", help="the board's gpuboard.toml, which may name it")
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        default="",
        help="the board's state directory (default: $STATE_DIRECTORY, else ~/.local/state/gpuboard)",
    )


def add_asked(parser: argparse.ArgumentParser) -> None:
    """Declare which board is asked, for commands that know whom one has signed in with."""
    parser.add_argument(
        "--board",
        metavar="URL",
        default=os.environ.get("GPUBOARD_BOARD"),
        help="which board (default: that of the last login) [GPUBOARD_BOARD]",
    )


def asked_board(arguments: argparse.Namespace) -> str:
    """The board that is named, else that of the last login, else the one on this machine.

    Raises:
        SettingsError: others can read what the login has kept.
    """
    return arguments.board or Credentials().last or DEFAULT_URL


def chosen_directory(arguments: argparse.Namespace) -> str:
    """The state directory that is named, by itself or in the settings; empty: none is.

    Raises:
        SettingsError: the settings are wrong.
    """
    if arguments.state_dir or not arguments.config:
        return str(arguments.state_dir)
    from gpuboard.settings.board import read_settings  # noqa: PLC0415 - only for settings

    return read_settings(Path(arguments.config)).board.state_dir
