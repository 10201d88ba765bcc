"""One person's GPU-hours day by day. It blocks: it is asked in a thread."""

from datetime import tzinfo
from typing import Final

from gpuboard.history.base import History
from gpuboard.history.spans import Span, days_of, whole_hours
from gpuboard.history.usage import Times, Usage, total_of
from gpuboard.wire.usage import UsageDay, UsageDaysAnswer

NOBODY: Final = "Nobody of this name had a GPU in this span; somebody may be written otherwise."


def ask_days(
    history: History, person: str, within: Span, *, now: float, zone: tzinfo | None = None
) -> UsageDaysAnswer:
    """What somebody used on each day of a span, by whatever case their name is written in.

    Raises:
        UsageError: these are too many days at once.
        StorageError: it cannot be read.
    """
    start, end = whole_hours(*within, now=now, zone=zone)
    days = [(name, history.usage(*span, with_memory=False)) for name, span in days_of(start, end, zone)]
    wanted = person.casefold()
    counted = {name: _theirs(usage, wanted) for name, usage in days if usage.places}
    whole = total_of(counted.values())
    met = {name.casefold() for _, usage in days for one in usage.places for name in one.people}
    return UsageDaysAnswer(
        start=min((usage.start for _, usage in days if usage.places), default=end),
        end=end,
        person=person,
        used_ms=whole.used,
        idle_ms=whole.idle,
        booked_ms=whole.booked,
        days=[_day(name, counted.get(name)) for name, _ in days],
        hint=None if wanted in met else NOBODY,
    )


def _theirs(usage: Usage, wanted: str) -> Times:
    return total_of(
        times for one in usage.places for name, times in one.people.items() if name.casefold() == wanted
    )


def _day(name: str, times: Times | None) -> UsageDay:
    if times is None:
        return UsageDay(day=name, used_ms=None, idle_ms=None, booked_ms=None)
    return UsageDay(day=name, used_ms=times.used, idle_ms=times.idle, booked_ms=times.booked)
