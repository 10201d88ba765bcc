"""Questions about GPU-hours, put to a history. They block: they are asked in a thread."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import tzinfo
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gpuboard.history.base import History
from gpuboard.history.questions import beside
from gpuboard.history.spans import Span, week_before, weeks_of, whole_hours
from gpuboard.history.usage import PlaceUsage, Times, Usage, gpus_of
from gpuboard.history.weights import Worth, weighed
from gpuboard.wire.usage import NAMED, UsageAnswer, UsageBy, UsageRow, UsageTotal

# So much of a span must have been counted for another to be compared with it.
COMPARABLE_SHARE: Final = 0.9
ALONE: Final = "What was used before takes too long to look up."
_MIB_SECONDS: Final = 1024 * 3600
_HOUR_MS: Final = 3_600_000
_TENTH_MS: Final = _HOUR_MS // 10
# A price is told to a ten-thousandth, memory to a thousandth.
_PRICE_PARTS: Final = 10_000
_MEMORY_PARTS: Final = 1000

# Person, in whatever case → the group that they count for.
GroupOf = Callable[[str], str | None]


class UsageWanted(Struct, frozen=True, kw_only=True):
    """What somebody wants to know of GPU-hours."""

    by: UsageBy
    start: float
    end: float
    now: float
    # What it is compared with; None: with nothing.
    before: Span | None = None
    # Group → its people.
    groups: Mapping[str, tuple[str, ...]] = {}
    worth: Worth = field(default_factory=Worth)
    with_names: bool = True
    # None: this machine's.
    zone: tzinfo | None = None


class _Sum(Struct):
    """What a row adds up."""

    times: Times = field(default_factory=Times)
    weighted: float = 0.0

    def add(self, times: Times, weight: float) -> None:
        self.times.add(times)
        self.weighted += weight * weighed(times)


_Sums = dict[str | None, _Sum]


class _Told(NamedTuple):
    """What is told of a row beside its kinds of time."""

    weighted_ms: int | None
    price: float | None
    memory_gib_hours: float | None


class _Worths:
    """Rounds so that all rows together say what their total says."""

    def __init__(self, worth: Worth) -> None:
        self._worth = worth
        self._weighted = 0.0
        self._memory = 0

    def add(self, one: _Sum) -> _Told:
        """As much as this row makes of the rounded sum of it and all before."""
        before = self._so_far()
        self._weighted += one.weighted
        self._memory += one.times.memory or 0
        weighted, price, memory = (after - told for after, told in zip(self._so_far(), before, strict=True))
        return _Told(
            weighted_ms=weighted if self._worth.is_set else None,
            price=None if self._worth.price is None else price / _PRICE_PARTS,
            memory_gib_hours=None if one.times.memory is None else memory / _MEMORY_PARTS,
        )

    def _so_far(self) -> tuple[int, int, int]:
        price = (self._worth.price or 0.0) * self._weighted / _HOUR_MS
        memory = self._memory / _MIB_SECONDS
        return _nearest(self._weighted), _nearest(price * _PRICE_PARTS), _nearest(memory * _MEMORY_PARTS)


def _nearest(value: float) -> int:
    # In two steps: sums in another order differ by next to nothing, and must not be rounded to two sides.
    return round(round(value, 3))


def first_groups(groups: Mapping[str, tuple[str, ...]]) -> GroupOf:
    """What says which group somebody counts for: of several the first by name."""
    known = {who.casefold(): group for group in sorted(groups, reverse=True) for who in groups[group]}
    return lambda person: known.get(person.casefold())


def ask_usage(history: History, wanted: UsageWanted) -> UsageAnswer:
    """GPU-hours of a span: all together, and row by row.

    Raises:
        UsageError: these are too many weeks at once.
        StorageError: it cannot be read.
    """
    start, end = whole_hours(wanted.start, wanted.end, now=wanted.now, zone=wanted.zone)
    before = None if wanted.before is None else whole_hours(*wanted.before, now=start)
    if wanted.by == "week":
        usage, rows = _by_week(history, wanted, start, end)
    else:
        usage = _ask(history, wanted.by, start, end)
        rows = _rows(usage, wanted)
    # Nobody reads how much memory was held in a span that is only compared with.
    found = None if before is None else beside(lambda: _ask(history, wanted.by, *before, with_memory=False))
    past = None if before is None or found is None else _comparable(found, before)
    told = rows if wanted.with_names or wanted.by not in NAMED else []
    if wanted.by != "week" and told:
        told = _compared(told, _used_before(past, wanted))
    answer = _answer(usage, _total(usage, past, wanted.worth), told, wanted)
    if before is None or found is not None:
        return answer
    return replace(answer, text=f"{answer.text} {ALONE}", is_alone=True)


def _comparable(past: Usage, span: Span) -> Usage | None:
    """The span before, if nearly all of it was counted: a part of it would look like less use."""
    is_counted = past.end - past.start >= COMPARABLE_SHARE * (span[1] - span[0])
    return past if past.places and is_counted else None


def _ask(history: History, by: UsageBy, start: float, end: float, *, with_memory: bool = True) -> Usage:
    if by == "program":
        return history.usage_of_programs(start, end)
    return history.usage(start, end, with_memory=with_memory)


def _by_week(history: History, wanted: UsageWanted, start: float, end: float) -> tuple[Usage, list[UsageRow]]:
    weeks = [(name, span, history.usage(*span)) for name, span in weeks_of(start, end, wanted.zone)]
    rows, worths = [], _Worths(wanted.worth)
    for at, (name, (since, until), found) in enumerate(weeks):
        if not found.places:
            continue
        span = week_before(since, wanted.zone)
        # The first that is asked for may be a part of a week.
        before = weeks[at - 1][2] if at > 1 else history.usage(*span, with_memory=False)
        # Only a whole week is compared with one: a part of it, or one under way, would look like less use.
        is_whole = until - since >= COMPARABLE_SHARE * (span[1] - span[0])
        past = _comparable(before, span) if is_whole else None
        row = _row(name, _sum_of(found.places, wanted.worth), wanted, worths)
        rows.append(replace(row, previous_used_ms=None if past is None else past.total().used))
    first = min((found.start for *_, found in weeks if found.places), default=end)
    places = [place for *_, found in weeks for place in found.places]
    return Usage(start=first, end=end, places=places), rows


def _rows(usage: Usage, wanted: UsageWanted) -> list[UsageRow]:
    """All rows, whoever used most first."""
    group_of, people = first_groups(wanted.groups), _sums(usage, wanted)
    worths = _Worths(wanted.worth)
    if wanted.by != "group":
        rows = [_row(name, one, wanted, worths) for name, one in _in_order(people)]
        return (
            rows if wanted.by != "person" else [replace(row, group=group_of(row.name or "")) for row in rows]
        )
    members: dict[str | None, _Sums] = defaultdict(dict)
    for person, one in people.items():
        members[group_of(person or "")][person] = one
    whole = {group: _together(of_group.values()) for group, of_group in members.items()}
    rows = []
    for group, one in _in_order(whole):
        # What its people say is told once: these go on from where the group began.
        begun = copy(worths)
        of_group = [_row(person, part, wanted, begun) for person, part in _in_order(members[group])]
        rows.append(replace(_row(group, one, wanted, worths), people=of_group))
    return rows


def _sums(usage: Usage, wanted: UsageWanted) -> _Sums:
    found: _Sums = defaultdict(_Sum)
    spelled: dict[str, str] = {}
    for one in usage.places:
        weight = wanted.worth.weight_of(one.place.model)
        if wanted.by in NAMED:
            for person, times in one.people.items():
                # A program that cannot be told has no name; one person in two spellings is told in the first.
                name = person if wanted.by == "program" else spelled.setdefault(person.casefold(), person)
                found[name or None].add(times, weight)
        else:
            found[one.place.node if wanted.by == "node" else one.place.model].add(one.times, weight)
    # A row of nothing says nothing; what was not observed is no person's.
    return {
        name: one
        for name, one in found.items()
        if one.times.observed or (one.times.span and wanted.by not in NAMED)
    }


def _sum_of(places: Iterable[PlaceUsage], worth: Worth) -> _Sum:
    whole = _Sum()
    for one in places:
        whole.add(one.times, worth.weight_of(one.place.model))
    return whole


def _together(parts: Iterable[_Sum]) -> _Sum:
    whole = _Sum()
    for part in parts:
        whole.times.add(part.times)
        whole.weighted += part.weighted
    return whole


def _in_order(sums: _Sums) -> list[tuple[str | None, _Sum]]:
    return sorted(sums.items(), key=lambda row: (-row[1].times.used, row[0] is None, row[0] or ""))


def _used_before(past: Usage | None, wanted: UsageWanted) -> Callable[[UsageRow], int | None]:
    """What says how much somebody used in the span before; None where nothing was counted then."""
    if past is None:
        return lambda _: None
    used = {_same(name, wanted): one.times.used for name, one in _sums(past, wanted).items()}
    if wanted.by != "group":
        return lambda row: used.get(_same(row.name, wanted), 0)
    group_of, of_groups = first_groups(wanted.groups), defaultdict[str | None, int](int)
    for person, time in used.items():
        of_groups[group_of(person or "")] += time
    return lambda row: (
        used.get(_same(row.name, wanted), 0) if row.people is None else of_groups.get(row.name, 0)
    )


def _same(name: str | None, wanted: UsageWanted) -> str | None:
    """What is the same for one row in two spans: people in whatever case, everything else as it is."""
    return name.casefold() if name is not None and wanted.by in ("person", "group") else name


def _compared(rows: list[UsageRow], used_before: Callable[[UsageRow], int | None]) -> list[UsageRow]:
    return [
        replace(
            row,
            previous_used_ms=used_before(row),
            people=None if row.people is None else _compared(row.people, used_before),
        )
        for row in rows
    ]


def _answer(usage: Usage, total: UsageTotal, rows: list[UsageRow], wanted: UsageWanted) -> UsageAnswer:
    observed = total.span_ms - total.unobserved_ms
    percent = None if not total.span_ms else 100 * observed / total.span_ms
    gpus = gpus_of(usage.places)
    worth = wanted.worth
    return UsageAnswer(
        start=usage.start,
        end=usage.end,
        asked_from=wanted.start,
        asked_to=wanted.end,
        by=wanted.by,
        gpus=gpus,
        observed_percent=percent,
        text=observed_words(total, gpus),
        total=total,
        rows=rows,
        currency=worth.currency or None if worth.price is not None else None,
    )


def observed_words(total: UsageTotal, gpus: int) -> str:
    """How many GPU-hours these are, and how much of that time was observed."""
    if not total.span_ms:
        return "No GPU was counted in this time."
    ones = "GPU" if gpus == 1 else "GPUs"
    tenths = (total.span_ms + _TENTH_MS // 2) // _TENTH_MS
    # Rounded down, here and on the page: what is not whole does not look so.
    seen = 1000 * (total.span_ms - total.unobserved_ms) // total.span_ms
    return f"{tenths / 10:,.1f} GPU-hours of {gpus:,} {ones}; {seen / 10:.1f} % of the time observed."


def _total(usage: Usage, past: Usage | None, worth: Worth) -> UsageTotal:
    whole = _sum_of(usage.places, worth)
    times, told = whole.times, _Worths(worth).add(whole)
    return UsageTotal(
        span_ms=times.span,
        used_ms=times.used,
        idle_ms=times.idle,
        booked_ms=times.booked,
        free_ms=times.free,
        broken_ms=times.broken,
        unobserved_ms=times.unobserved,
        previous_used_ms=None if past is None else past.total().used,
        weighted_ms=told.weighted_ms,
        memory_gib_hours=told.memory_gib_hours,
        price=told.price,
    )


def _row(name: str | None, one: _Sum, wanted: UsageWanted, worths: _Worths) -> UsageRow:
    times, told = one.times, worths.add(one)
    row = UsageRow(
        name=name,
        used_ms=times.used,
        idle_ms=times.idle,
        booked_ms=times.booked,
        weighted_ms=told.weighted_ms,
        memory_gib_hours=told.memory_gib_hours,
        price=told.price,
    )
    if wanted.by in NAMED:
        return row
    return replace(row, free_ms=times.free, broken_ms=times.broken, unobserved_ms=times.unobserved)
