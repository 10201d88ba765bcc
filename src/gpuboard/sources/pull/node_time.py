"""How old an old node's data is, by its own clock. Pure."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from gpuboard.outside.answer import HttpAnswer

# All time zones are whole quarters of an hour away from UTC, between these two.
QUARTER: Final = 900.0
_WEST: Final = -12 * 3600.0
_EAST: Final = 14 * 3600.0
# The clock comes in whole seconds, and an update may happen while the answer is written.
_EARLY: Final = 5.0
# As far as the times of a report go.
_LAST_MOMENT: Final = 1e11


class Age(NamedTuple):
    """How old a sample is; not known: that, or any number of quarters of an hour more."""

    seconds: float
    is_known: bool


def own_age(last_update: str | None, clock: float | None) -> Age:
    """The time between a node's local, zoneless time stamp and its clock.

    The zone is unknown, so the age is known only within a quarter of an hour, unless it is so large that no
    zone explains it. Data that changes between two questions is younger than the time between them.
    """
    try:
        stamp = datetime.fromisoformat(last_update or "")
    except ValueError:
        return Age(0.0, is_known=False)
    if clock is None:
        return Age(0.0, is_known=False)
    if stamp.tzinfo is not None:
        return Age(max(0.0, clock - stamp.timestamp()), is_known=True)
    apart = clock - stamp.replace(tzinfo=UTC).timestamp()
    if apart > -_WEST + QUARTER:
        return Age(apart + _WEST, is_known=True)
    if apart < -_EAST - _EARLY:
        return Age(0.0, is_known=False)  # the stamp is of the future: that tells nothing
    return Age(max(0.0, (apart + _EARLY) % QUARTER - _EARLY), is_known=False)


def header_time(answer: HttpAnswer, name: str) -> float | None:
    """A moment in a header, by the node's own clock; every server of Python's sends its `Date`."""
    try:
        moment = parsedate_to_datetime(answer.headers.get(name, "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return moment if 0 <= moment <= _LAST_MOMENT else None
