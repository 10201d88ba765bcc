"""How old an old node's data is, by its own clock. Pure."""

from datetime import UTC, datetime
from typing import Final

# All time zones are whole quarters of an hour away from UTC, between these two.
_QUARTER: Final = 900.0
_WEST: Final = -12 * 3600.0
_EAST: Final = 14 * 3600.0
# The clock comes in whole seconds, and an update may happen while the answer is written.
_EARLY: Final = 5.0


def own_age(last_update: str, clock: float) -> float:
    """The seconds between a node's local, zoneless time stamp and its clock; at least these, never more.

    The zone is unknown, so the age is known only within a quarter of an hour, unless it is so large that no
    zone explains it. That is enough: data that stays the same ages by the board's own clock from then on.
    """
    try:
        stamp = datetime.fromisoformat(last_update)
    except ValueError:
        return 0.0
    if stamp.tzinfo is not None:
        return max(0.0, clock - stamp.timestamp())
    apart = clock - stamp.replace(tzinfo=UTC).timestamp()
    if apart > -_WEST + _QUARTER:
        return apart + _WEST
    if apart < -_EAST - _EARLY:
        return 0.0  # the stamp is of the future: that tells nothing
    return max(0.0, (apart + _EARLY) % _QUARTER - _EARLY)
