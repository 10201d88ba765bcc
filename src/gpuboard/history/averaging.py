"""When GPUs are full, and how many people use lately. They block: they are asked in a thread."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import tzinfo
from itertools import pairwise
from typing import Final

from msgspec import Struct

from gpuboard.history.base import History
from gpuboard.history.reckoning import first_groups
from gpuboard.history.spans import HOUR_SECONDS, Span, hour_of_week, whole_hours
from gpuboard.history.usage import Usage
from gpuboard.wire.usage import (
    HourOfWeek,
    PersonMeans,
    Trend,
    UsageAveragesAnswer,
    UsageHoursAnswer,
    UsageMean,
    UsageWindow,
)

# The spans over which means are taken, the shortest first.
WINDOW_HOURS: Final = (2, 24, 168)
# So little more or less is the same: GPUs, and a part of the mean that it is compared with.
LEVEL_GPUS: Final = 0.1
LEVEL_SHARE: Final = 0.1


class AveragesWanted(Struct, frozen=True, kw_only=True):
    """What somebody wants to know of how many GPUs people use."""

    now: float
    # Group → its people.
    groups: Mapping[str, tuple[str, ...]] = {}
    with_names: bool = True


def ask_hours(history: History, span: Span, *, now: float, zone: tzinfo | None) -> UsageHoursAnswer:
    """How full the GPUs were by hour of the week.

    Raises:
        StorageError: it cannot be read.
    """
    start, end = whole_hours(*span, now=now, zone=zone)
    taken: dict[tuple[int, int], int] = defaultdict(int)
    observed: dict[tuple[int, int], int] = defaultdict(int)
    hours = history.usage_by_hour(start, end)
    for one in hours:
        # Where a zone is off by half an hour, it is the hour in which this one begins.
        at = hour_of_week(one.start, zone)
        taken[at] += one.taken
        observed[at] += one.observed
    found = {at: 100 * taken[at] / seen for at, seen in observed.items() if seen}
    return UsageHoursAnswer(
        start=hours[0].start if hours else end,
        end=end,
        percent=[[_rounded(found.get((day, hour))) for hour in range(24)] for day in range(7)],
        fullest=_hour(found, max(found, key=lambda at: (found[at], -at[0], -at[1]), default=None)),
        emptiest=_hour(found, min(found, key=lambda at: (found[at], at), default=None)),
    )


def ask_averages(history: History, wanted: AveragesWanted) -> UsageAveragesAnswer:
    """How many GPUs people used over the last hours, day and week, on average.

    Raises:
        StorageError: it cannot be read.
    """
    spans = [
        whole_hours(wanted.now - hours * HOUR_SECONDS, wanted.now, now=wanted.now) for hours in WINDOW_HOURS
    ]
    found = [history.usage(*span, with_memory=False) for span in spans]
    hours = history.usage_by_hour(*spans[-1])
    seen = [sum(hour.seen for hour in hours if hour.start >= start) for start, _ in spans]
    totals = [one.total() for one in found]
    # One person in two spellings is told in the first.
    spelled: dict[str, str] = {}
    people = [_people(one, spelled) for one in found] if wanted.with_names else []
    group_of = first_groups(wanted.groups)
    names = sorted({name for of_window in people for name in of_window})
    rows = [
        PersonMeans(
            name=name,
            group=group_of(name),
            means=_means(seen, [of_window.get(name, 0) for of_window in people]),
        )
        for name in names
    ]
    rows.sort(key=lambda row: [-(mean.used or 0.0) for mean in row.means])
    return UsageAveragesAnswer(
        at=wanted.now,
        windows=[
            UsageWindow(hours=hours, start=one.start, end=one.end)
            for hours, one in zip(WINDOW_HOURS, found, strict=True)
        ],
        total=_means(seen, [times.used for times in totals]),
        free=[_mean(times.free, one) for times, one in zip(totals, seen, strict=True)],
        people=rows,
    )


def trend_of(shorter: float | None, longer: float | None) -> Trend | None:
    """Whether more GPUs are used than before; None: that cannot be told."""
    if shorter is None or longer is None:
        return None
    if abs(shorter - longer) <= max(LEVEL_GPUS, LEVEL_SHARE * longer):
        return "level"
    return "up" if shorter > longer else "down"


def _people(usage: Usage, spelled: dict[str, str]) -> dict[str, int]:
    used: dict[str, int] = defaultdict(int)
    for place in usage.places:
        for person, times in place.people.items():
            used[spelled.setdefault(person.casefold(), person)] += times.used
    return used


def _means(seen: list[int], used: list[int]) -> list[UsageMean]:
    means = [_mean(time, of_window) for time, of_window in zip(used, seen, strict=True)]
    trends = [*(trend_of(shorter, longer) for shorter, longer in pairwise(means)), None]
    return [
        UsageMean(hours=hours, used=mean, trend=trend)
        for hours, mean, trend in zip(WINDOW_HOURS, means, trends, strict=True)
    ]


def _mean(milliseconds: int, seen: int) -> float | None:
    """How many GPUs so much time is, on average while anything was observed; None: nothing was."""
    # While the board saw nothing at all, GPUs did not stand still. A node that was silent meanwhile says
    # nothing of those that were not.
    return round(milliseconds / seen, 3) if seen else None


def _hour(found: dict[tuple[int, int], float], at: tuple[int, int] | None) -> HourOfWeek | None:
    return None if at is None else HourOfWeek(weekday=at[0], hour=at[1], percent=round(found[at], 2))


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 2)
