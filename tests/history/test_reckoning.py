"""GPU-hours compared with those before, by group, and weighed."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from gpuboard.history.base import History, Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.reckoning import UsageWanted, ask_usage
from gpuboard.history.records import Batch
from gpuboard.history.usage import PlaceUsage, Times, Usage
from gpuboard.history.weights import Worth
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

    def usage(self, start: float, end: float) -> Usage:
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
