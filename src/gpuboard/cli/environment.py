"""Arguments that the environment may give too: the flag wins over the variable."""

import argparse
import os
from typing import Any, Final

from gpuboard.model.errors import UsageError
from gpuboard.model.units import parse_duration

_ON: Final = frozenset({"1", "true", "yes", "on"})


def add_setting(parser: argparse.ArgumentParser, flag: str, *, help: str, **how: Any) -> None:  # noqa: A002, ANN401 - as argparse names them
    """Declare `--some-thing`, also read from `GPUBOARD_SOME_THING`."""
    variable = _variable(flag)
    value = os.environ.get(variable, how.pop("default", None))
    parser.add_argument(flag, default=value, help=f"{help} [{variable}]", **how)


def add_switch(parser: argparse.ArgumentParser, flag: str, *, help: str) -> None:  # noqa: A002 - the same
    """Declare `--some-thing`, also switched on by `GPUBOARD_SOME_THING=1`."""
    variable = _variable(flag)
    is_on = os.environ.get(variable, "").lower() in _ON
    parser.add_argument(flag, action="store_true", default=is_on, help=f"{help} [{variable}=1]")


def _variable(flag: str) -> str:
    return "GPUBOARD_" + flag.lstrip("-").replace("-", "_").upper()


def add_ca_file(parser: argparse.ArgumentParser) -> None:
    """Declare whom to believe when a board shows its certificate."""
    add_setting(parser, "--ca-file", metavar="FILE", help="the authority of the board's certificate, PEM")


def seconds(flag: str, text: str, *, least: float) -> float:
    """A duration given on the command line.

    Raises:
        UsageError: it is none, or too short.
    """
    try:
        value = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if value < least:
        raise UsageError(f"{flag}: {text} is too short; {least:g}s is the least")
    return value
