"""The zone of the board's wall clock: the one of the settings, else this machine's."""

import os
from datetime import tzinfo
from pathlib import Path
from typing import Final

from gpuboard.settings.board import BoardTable
from gpuboard.settings.zones import zone_of

_LINK: Final = Path("/etc/localtime")
# Debian writes the name beside it, also where the link is a copy.
_NAME: Final = Path("/etc/timezone")


def board_zone_name(board: BoardTable) -> str | None:
    """The zone of the board's wall clock, by the name that browsers know; None where nothing names it."""
    return board.timezone or time_zone()


def board_zone(board: BoardTable) -> tzinfo | None:
    """The zone in which the board's wall clock is read; None: this machine's, which nothing names."""
    return zone_of(board_zone_name(board))


def time_zone(*, link: Path = _LINK, name: Path = _NAME) -> str | None:
    """The zone of this machine, like `Europe/Berlin`; None where nothing names it."""
    given = os.environ.get("TZ", "").removeprefix(":")
    if given:
        return given if _is_name(given) else None
    target = str(link.resolve())
    if "/zoneinfo/" in target:
        # Some systems keep each zone thrice: plain, and with and without leap seconds.
        return target.partition("/zoneinfo/")[2].removeprefix("posix/").removeprefix("right/")
    try:
        written = name.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return written if _is_name(written) else None


def _is_name(text: str) -> bool:
    """Whether it is a name and no rule like `CET-1CEST`, no path."""
    return text == "UTC" or ("/" in text and not text.startswith("/") and text.isprintable())
