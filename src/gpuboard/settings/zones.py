"""Zones by their IANA names: where a wall clock decides, it is one of these."""

import difflib
from datetime import tzinfo
from zoneinfo import ZoneInfo, available_timezones


def check_zone(value: str) -> None:
    """A zone that this machine knows; empty where the default holds."""
    if value and zone_of(value) is None:
        raise ValueError(
            f'no zone is known by this name{_hint(value)}; write an IANA name, like "Europe/Berlin"'
        )


def zone_of(name: str | None) -> tzinfo | None:
    """The zone of a name; None, which Python takes for this machine's own, where nothing is known by it."""
    try:
        return ZoneInfo(name) if name else None
    # A folder of zones (`Europe`) is no zone, and says so in its own way on each system.
    except (LookupError, ValueError, OSError):
        return None


def _hint(name: str) -> str:
    """The zone that was probably meant, as the end of a sentence."""
    known = {zone.lower(): zone for zone in available_timezones()}
    if not known:
        return "; this machine knows none: install tzdata"
    meant = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {known[meant[0]]!r}?" if meant else ""
