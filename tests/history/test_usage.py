"""GPU-hours add up, whatever happens to a fleet."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuboard.history.base import History, Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.figures import VERDICTS
from gpuboard.history.records import Batch
from gpuboard.history.usage import OWNED, USAGE_KINDS, Usage, kind_of, shares, total_of
from tests.history.fleets import DAY, HOUR, gpu_sample, place, tidy

PEOPLE = st.none() | st.lists(st.sampled_from(["ana", "ben", "uid 1000", "unknown"]), max_size=3, unique=True)


@contextlib.contextmanager
def opened(folder: str) -> Iterator[History]:
    """A history in a folder, for a while."""
    history = EmbeddedHistory(Path(folder) / "history.sqlite", Keep())
    history.open()
    try:
        yield history
    finally:
        history.close()


def check_sums(found: Usage) -> None:
    """The six kinds of each GPU are its span, and people's shares are what is somebody's."""
    for one in found.places:
        times = one.times
        assert times.unobserved >= 0
        assert all(getattr(times, kind) >= 0 for kind in USAGE_KINDS)
        end = found.end if one.place.end is None else min(found.end, one.place.end)
        assert times.span == round(1000 * end) - round(1000 * max(found.start, one.place.start))
        for kind in OWNED:
            assert sum(getattr(part, kind) for part in one.people.values()) == getattr(times, kind)


@st.composite
def happenings(draw: st.DrawFn) -> list[tuple[str, float, object]]:
    """Samples, places, restarts and tidying over some hours, the clock set back now and then."""
    now = DAY
    found: list[tuple[str, float, object]] = []
    for _ in range(draw(st.integers(1, 25))):
        now += draw(st.sampled_from([1.0, 7.3, 10.0, 600.0, 3600.0, 9000.0, -1800.0]))
        gpu = draw(st.sampled_from(["GPU-a", "GPU-b", "MIG-c"]))
        what = draw(st.sampled_from(["sample", "sample", "late", "place", "restart", "tidy"]))
        if what in {"sample", "late"}:
            people = draw(PEOPLE)
            sample = gpu_sample(
                gpu,
                now - (draw(st.integers(0, 4000)) if what == "late" else 0),
                utilization=draw(st.sampled_from([0.0, 50.0, None])),
                holds=draw(st.sampled_from([0.0, 15.0, 30.0, 7200.0])),
                verdict=draw(st.sampled_from(VERDICTS)),
                holders=None if people is None else tuple(sorted(people)),
            )
            found.append((what, now, sample))
        elif what == "place":
            where = place(
                gpu, node=draw(st.sampled_from(["n1", "n2"])), start=now, counted=draw(st.booleans())
            )
            found.append((what, now, where))
        else:
            found.append((what, now, None))
    return found


@given(happenings())
def test_the_six_kinds_are_the_span_whatever_happens(steps: list[tuple[str, float, object]]) -> None:
    """Outages, restarts, late samples, shared GPUs, instances, moves, and clocks that are set."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        history = stack.enter_context(opened(folder))
        gpus = ("GPU-a", "GPU-b", "MIG-c")
        history.write(Batch(places=[place(gpu, index=at) for at, gpu in enumerate(gpus)]), now=DAY)
        latest = DAY
        for what, now, thing in steps:
            latest = max(now, latest)
            if what in {"sample", "late"}:
                history.write(Batch(gpu_samples=[thing]), now=now)  # type: ignore[list-item] # a sample
            elif what == "place":
                history.write(Batch(places=[thing]), now=now)  # type: ignore[list-item] # a place
            elif what == "tidy":
                tidy(history, now)
            else:
                stack.close()
                history = stack.enter_context(opened(folder))
            check_sums(history.usage(DAY - HOUR, max(now, DAY + 1)))
        tidy(history, latest + 10 * HOUR)
        check_sums(history.usage(DAY - HOUR, latest + 10 * HOUR))


@given(st.integers(0, 10**9), st.lists(st.sampled_from(["ana", "ben", "uid 1000", "zoe"]), unique=True))
def test_shares_are_equal_and_add_up(milliseconds: int, people: list[str]) -> None:
    """Only the first by name may have more, and by less than there are people."""
    parts = shares(milliseconds, people)
    assert sum(parts.values()) == milliseconds
    assert set(parts) == set(people or ["unknown"])
    assert max(parts.values()) - min(parts.values()) < len(parts)
    assert parts[min(parts)] == max(parts.values())


def test_what_cannot_be_told_is_not_observed() -> None:
    """A stale GPU is nobody's, and neither used nor free."""
    assert [kind_of(word) for word in ("stale", "unknown", None)] == [None, None, None]


def test_hours_are_the_same_before_and_after_they_are_sealed(tmp_path: Path) -> None:
    """Also idle time that was found out only in the hour after."""
    with opened(str(tmp_path)) as history:
        history.write(Batch(places=[place("GPU-a")]), now=DAY)
        for number in range(int(2.5 * 360)):
            at = DAY + number * 10
            hours = (at - DAY) / HOUR
            sample = gpu_sample(
                "GPU-a",
                at,
                holds=30,
                utilization=80.0 if hours < 0.75 else 0.0,
                verdict="busy" if hours < 1.25 else "idle",
                holders=("ana", "ben"),
            )
            history.write(Batch(gpu_samples=[sample]), now=at)
            tidy(history, at)
        before = history.usage(DAY, DAY + 3 * HOUR)
        tidy(history, DAY + 10 * HOUR)
        after = history.usage(DAY, DAY + 3 * HOUR)
    assert after == before
    whole = total_of(one.times for one in after.places)
    assert (whole.span, whole.used) == (3 * 3_600_000, 2_700_000)
    assert whole.idle == 2_700_000 + 3_600_000 + 20_000
    assert {name: part.used for name, part in after.places[0].people.items()} == {
        "ana": 1_350_000,
        "ben": 1_350_000,
    }
