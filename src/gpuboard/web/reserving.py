"""What was booked, beside what was used: bookings and the history know nothing of each other. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from gpuboard.bookings.reserved import Reserved
from gpuboard.wire.usage import PersonMeans, UsageAnswer, UsageAveragesAnswer, UsageMean, UsageRow

# From when to when → who had booked how much in it.
ReservedIn = Callable[[float, float], Mapping[str, Reserved]]
GroupOf = Callable[[str], str | None]


def with_reserved(
    answer: UsageAnswer, reserved_in: ReservedIn, group_of: GroupOf, *, with_names: bool
) -> UsageAnswer:
    """GPU-hours with what was booked: of all together, and of people and groups."""
    found = reserved_in(answer.start, answer.end)
    booked, used = _sums(found.values())
    total = replace(answer.total, reserved_ms=booked, reserved_used_ms=used)
    rows = answer.rows
    if with_names and answer.by == "person":
        rows = _people(rows, found, group_of)
    elif with_names and answer.by == "group":
        rows = _groups(rows, found, group_of)
    return replace(answer, total=total, rows=rows)


def with_reserved_means(
    answer: UsageAveragesAnswer, reserved_in: ReservedIn, group_of: GroupOf, *, with_names: bool
) -> UsageAveragesAnswer:
    """Means with how many GPUs were booked on average."""
    found = [reserved_in(one.start, one.end) for one in answer.windows]
    seconds = [one.end - one.start for one in answer.windows]
    total = [_sums(of_window.values())[0] for of_window in found]
    people = answer.people
    if with_names:
        people = [*people, *_only_booked(answer, found, group_of)]
        people = [
            replace(person, means=_means(person.means, _booked(found, person.name), seconds))
            for person in people
        ]
    return replace(answer, total=_means(answer.total, total, seconds), people=people)


def _people(
    rows: Iterable[UsageRow], found: Mapping[str, Reserved], group_of: GroupOf | None
) -> list[UsageRow]:
    """Rows of people; whoever has booked and used nothing comes last."""
    told = [_row(row, found.get((row.name or "").casefold())) for row in rows]
    known = {(row.name or "").casefold() for row in told}
    for key in sorted(found.keys() - known):
        group = None if group_of is None else group_of(found[key].who)
        told.append(
            _row(UsageRow(name=found[key].who, used_ms=0, idle_ms=0, booked_ms=0, group=group), found[key])
        )
    return told


def _groups(rows: list[UsageRow], found: Mapping[str, Reserved], group_of: GroupOf) -> list[UsageRow]:
    of_groups: dict[str | None, dict[str, Reserved]] = defaultdict(dict)
    for key, one in found.items():
        of_groups[group_of(one.who)][key] = one
    known = {row.name for row in rows}
    rows = [*rows, *(_no_use(group) for group in sorted(of_groups, key=str) if group not in known)]
    told = []
    for row in rows:
        members = of_groups.get(row.name, {})
        booked, used = _sums(members.values())
        people = _people(row.people or (), members, None)
        told.append(replace(row, reserved_ms=booked, reserved_used_ms=used, people=people))
    return told


def _no_use(group: str | None) -> UsageRow:
    return UsageRow(name=group, used_ms=0, idle_ms=0, booked_ms=0, people=[])


def _row(row: UsageRow, reserved: Reserved | None) -> UsageRow:
    booked, used = (0, 0) if reserved is None else (reserved.booked, reserved.used)
    return replace(row, reserved_ms=booked, reserved_used_ms=used)


def _sums(found: Iterable[Reserved]) -> tuple[int, int]:
    parts = list(found)
    return sum(one.booked for one in parts), sum(one.used for one in parts)


def _only_booked(
    answer: UsageAveragesAnswer, found: Sequence[Mapping[str, Reserved]], group_of: GroupOf
) -> list[PersonMeans]:
    """Those who have booked, and were on no GPU."""
    known = {person.name.casefold() for person in answer.people}
    others = {key: one.who for of_window in found for key, one in of_window.items() if key not in known}
    means = [replace(mean, used=None if mean.used is None else 0.0, trend=None) for mean in answer.total]
    return [PersonMeans(name=who, group=group_of(who), means=means) for _, who in sorted(others.items())]


def _booked(found: Sequence[Mapping[str, Reserved]], name: str) -> list[int]:
    key = name.casefold()
    return [of_window[key].booked if key in of_window else 0 for of_window in found]


def _means(means: list[UsageMean], booked: list[int], seconds: list[float]) -> list[UsageMean]:
    return [
        replace(mean, reserved=round(time / 1000 / span, 3) if span > 0 else None)
        for mean, time, span in zip(means, booked, seconds, strict=True)
    ]
