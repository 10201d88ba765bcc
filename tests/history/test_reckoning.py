"""GPU-hours compared with those before, by group, and weighed."""

import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuboard.history.averaging import AveragesWanted, ask_averages
from gpuboard.history.base import History, Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.questions import Question, go_on
from gpuboard.history.reckoning import ALONE, UsageWanted, ask_usage
from gpuboard.history.records import Batch
from gpuboard.history.usage import HourUse, PlaceUsage, Times, Usage, total_of
from gpuboard.history.weights import Worth
from gpuboard.model.errors import StorageError
from gpuboard.wire.usage import UsageBy, UsageRow
from tests.history.fleets import DAY, HOUR, gpu_sample, place, tidy

HOUR_MS = 3_600_000
GROUPS = {"vision": ("ANA",), "all": ("ben",), "zoo": ("ana", "ben")}
LATER = DAY + 15 * 24 * HOUR


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedHistory]:
    """On two GPUs, two weeks apart: first ana alone and chen, then ana with ben, and what dora had booked."""
    folder: Path = tmp_path_factory.mktemp("history")
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    places = [
        replace(place("GPU-a"), model="H100 80G"),
        replace(place("MIG-b", index=1), model="A100 2g.10gb", parent="GPU-b"),
    ]
    history.write(Batch(places=places), now=DAY)
    for at, gpu, people, word in (
        (DAY, "GPU-a", ("ana",), "busy"),
        (DAY, "MIG-b", ("chen",), "busy"),
        (LATER, "GPU-a", ("ana", "ben"), "busy"),
        (LATER, "MIG-b", ("dora",), "booked"),
    ):
        sample = gpu_sample(gpu, at, holds=HOUR, holders=people, verdict=word)  # type: ignore[arg-type] # a word
        history.write(Batch(gpu_samples=[sample]), now=at)
    tidy(history, LATER + 10 * HOUR)
    yield history
    history.close()


def rows(history: EmbeddedHistory, by: UsageBy, *, worth: Worth | None = None) -> list[UsageRow]:
    """The later day, compared with the earlier one."""
    wanted = UsageWanted(
        by=by,
        start=LATER,
        end=LATER + HOUR,
        now=LATER + HOUR,
        before=(DAY, DAY + HOUR),
        groups=GROUPS,
        worth=worth or Worth(),
        zone=UTC,
    )
    return ask_usage(history, wanted).rows


class _Fractions:
    """A history of so many milliseconds, and MiB times seconds, of each person on each GPU."""

    def __init__(self, told: list[dict[str, tuple[int, int]]]) -> None:
        self._told = told
        # From when on, and whether with memory.
        self.asked: list[tuple[float, bool]] = []

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        """All of it, whatever is asked."""
        self.asked.append((start, with_memory))
        places = []
        for at, people in enumerate(self._told):
            parts = {who: Times(span=used, used=used, memory=held) for who, (used, held) in people.items()}
            times = total_of(parts.values())
            model = ("H100 80G", "A100 1g.10gb", "T4")[at % 3]
            where = replace(place(f"GPU-{at}", node=f"gpu{at % 2}"), model=model)
            places.append(PlaceUsage(place=where, times=times, people=parts))
        return Usage(start=start, end=end, places=places)


PEOPLE = st.dictionaries(
    st.sampled_from(["ana", "ben", "chen", "dora"]),
    st.tuples(st.integers(1, 10**9), st.integers(0, 10**9)),
    min_size=1,
)


@given(st.lists(PEOPLE, min_size=1, max_size=6))
def test_all_columns_add_up_by_whatever_is_asked(told: list[dict[str, tuple[int, int]]]) -> None:
    """Weighted time, prices and memory are rounded so that rows are their total, and people their group."""
    history = cast("History", _Fractions(told))
    worth = Worth(weights={"H100": 3.3, "T4": 0.7}, price=0.37)
    words: tuple[UsageBy, ...] = ("person", "group", "node", "model")
    for by in words:
        wanted = UsageWanted(by=by, start=0.0, end=HOUR, now=HOUR, groups=GROUPS, worth=worth, zone=UTC)
        answer = ask_usage(history, wanted)
        sums = [(answer.total, answer.rows), *((row, row.people) for row in answer.rows if row.people)]
        for whole, parts in sums:
            assert sum(part.weighted_ms or 0 for part in parts) == whole.weighted_ms
            for name, unit in (("price", 10_000), ("memory_gib_hours", 1000)):
                figures = [getattr(part, name) * unit for part in parts]
                assert sum(map(round, figures)) == round(getattr(whole, name) * unit)
                assert figures == pytest.approx([round(figure) for figure in figures])


def test_people_are_compared_with_themselves(history: EmbeddedHistory) -> None:
    """Whoever used nothing then used nothing; booked and unused is the claimant's."""
    found = {
        row.name: (row.used_ms, row.booked_ms, row.previous_used_ms, row.group)
        for row in rows(history, "person")
    }
    assert found == {
        "ana": (HOUR_MS // 2, 0, HOUR_MS, "vision"),
        "ben": (HOUR_MS // 2, 0, 0, "all"),
        "dora": (0, HOUR_MS, 0, None),
    }


def test_groups_have_their_people_and_are_compared_as_groups(history: EmbeddedHistory) -> None:
    """Of several groups the first by name counts; chen, who is gone, was in none."""
    found = {row.name: row for row in rows(history, "group")}
    assert {name: row.previous_used_ms for name, row in found.items()} == {
        "vision": HOUR_MS,
        "all": 0,
        None: HOUR_MS,
    }
    people = {name: [one.name for one in row.people or ()] for name, row in found.items()}
    assert people == {"vision": ["ana"], "all": ["ben"], None: ["dora"]}


def test_weeks_are_compared_with_the_week_before(history: EmbeddedHistory) -> None:
    """Also the first one that is asked for; one that is under way with none."""
    found = []
    for end in (LATER + 6 * 24 * HOUR, LATER + HOUR):
        wanted = UsageWanted(by="week", start=DAY, end=end, now=end, zone=UTC)
        found.append([(row.used_ms, row.previous_used_ms) for row in ask_usage(history, wanted).rows])
    # Counting began on a Tuesday: nobody knows what the whole of that week was.
    begun = [(2 * HOUR_MS, None), (0, None)]
    assert found == [[*begun, (HOUR_MS, 0), (0, None)], [*begun, (HOUR_MS, None)]]


def test_weights_make_a_column_and_change_no_other(history: EmbeddedHistory) -> None:
    """Nobody else could have it: idle and booked time is weighed as well; an instance by its slices."""
    worth = Worth(weights={"h100": 3}, price=2.0, currency="EUR")
    weighed = {row.name: row for row in rows(history, "person", worth=worth)}
    assert weighed["ana"].weighted_ms == 3 * HOUR_MS // 2
    assert weighed["dora"].weighted_ms == pytest.approx(HOUR_MS * 2 / 7, abs=1)
    assert weighed["ana"].price == pytest.approx(3.0)
    plain = {row.name: row for row in rows(history, "person")}
    assert {name: replace(row, weighted_ms=None, price=None) for name, row in weighed.items()} == plain


class _Told:
    """A history in which somebody was on a GPU for no time at all."""

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        del with_memory
        times = Times(span=HOUR_MS, free=HOUR_MS)
        people = {"unknown": Times(), "ana": Times(used=1)}
        return Usage(
            start=start, end=end, places=[PlaceUsage(place=place("GPU-a"), times=times, people=people)]
        )


def test_whoever_had_nothing_has_no_row() -> None:
    """A row of zeros says nothing; a node that nobody used is told all the same."""
    wanted = UsageWanted(by="person", start=0.0, end=HOUR, now=HOUR, before=None, zone=UTC)
    history = cast("History", _Told())
    assert [row.name for row in ask_usage(history, wanted).rows] == ["ana"]
    assert len(ask_usage(history, replace(wanted, by="node")).rows) == 1


class _Costly(_Told):
    """A history that takes so long for the span that is asked for, and for the one before."""

    def __init__(self, *costs: float) -> None:
        self.costs = list(costs)
        self.spent = 0.0

    def usage(self, start: float, end: float, *, with_memory: bool = True) -> Usage:
        self.spent += self.costs.pop(0)
        go_on()
        return super().usage(start, end, with_memory=with_memory)


@pytest.mark.parametrize(("cost", "used", "is_said"), [(4.0, 0, False), (6.0, None, True)])
def test_what_it_is_compared_with_takes_nothing_from_an_answer(
    monkeypatch: pytest.MonkeyPatch, cost: float, used: int | None, *, is_said: bool
) -> None:
    """A year takes most of the time that one question has: so does the year before, or it is left out."""
    history = _Costly(4.0, cost)
    monkeypatch.setattr(time, "thread_time", lambda: history.spent)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    wanted = UsageWanted(by="node", start=HOUR, end=2 * HOUR, now=2 * HOUR, before=(0.0, HOUR), zone=UTC)
    answer = Question().answer(lambda: ask_usage(cast("History", history), wanted))
    assert (answer.total.previous_used_ms, ALONE in answer.text) == (used, is_said)
    assert answer.is_alone == is_said


@pytest.mark.parametrize("by", ["person", "week"])
def test_memory_of_the_span_before_is_not_asked_for(by: UsageBy) -> None:
    """Nobody reads it, and to divide that of shared GPUs takes longer than all else."""
    told = _Fractions([{"ana": (HOUR_MS, 10)}])
    start, end = LATER - HOUR, LATER
    wanted = UsageWanted(by=by, start=start, end=end, now=end, before=(DAY - HOUR, DAY), zone=UTC)
    ask_usage(cast("History", told), wanted)
    assert {with_memory for since, with_memory in told.asked if since >= start} == {True}
    assert {with_memory for since, with_memory in told.asked if since < start} == {False}


def test_what_takes_too_long_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to ask instead."""
    history = _Costly(6.0, 0.0)
    monkeypatch.setattr(time, "thread_time", lambda: history.spent)
    wanted = UsageWanted(by="node", start=HOUR, end=2 * HOUR, now=2 * HOUR, before=(0.0, HOUR), zone=UTC)
    with pytest.raises(StorageError, match="shorter span"):
        Question().answer(lambda: ask_usage(cast("History", history), wanted))


@pytest.mark.parametrize("by", ["person", "group"])
def test_one_person_in_two_spellings_is_one_row(by: UsageBy) -> None:
    """Case does not count, as for bookings: what is sealed as either is added up when somebody asks."""
    told = cast("History", _Fractions([{"ANA": (HOUR_MS, 10), "ben": (5, 0)}, {"ana": (7, 1)}]))
    wanted = UsageWanted(by=by, start=DAY, end=DAY + HOUR, now=LATER, before=(DAY - HOUR, DAY), zone=UTC)
    answer = ask_usage(told, wanted)
    found = answer.rows if by == "person" else [one for row in answer.rows for one in row.people or ()]
    assert [(one.name, one.used_ms) for one in found] == [("ANA", HOUR_MS + 7), ("ben", 5)]
    assert sum(one.used_ms for one in answer.rows) == answer.total.used_ms


def test_the_means_of_one_person_in_two_spellings_are_one_row() -> None:
    """As the hours are."""

    class Told(_Fractions):
        def usage_by_hour(self, start: float, end: float) -> list[HourUse]:
            del end
            return [HourUse(start=start, taken=HOUR_MS, observed=HOUR_MS, seen=HOUR_MS)]

    told = cast("History", Told([{"ANA": (HOUR_MS, 10)}, {"ana": (HOUR_MS, 1)}]))
    (found,) = ask_averages(told, AveragesWanted(now=LATER)).people
    assert (found.name, found.means[-1].used) == ("ANA", 2.0)
