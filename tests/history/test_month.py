"""A lab's weeks, written as they came, then plotted and rewound: every hour and every minute is as it was."""

from pathlib import Path

import numpy as np
import pytest

from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from tests.history.fleets import DAY, HOUR
from tests.history.month import MINUTE, PER_NODE, Month, hourly

FIGURES = {
    "utilization_percent": ("use", 0.5),
    "memory_used_bytes": ("memory", 1024**2),
    "power_watts": ("power", 0.1),
}


def plots_as_it_was(month: Month, history: EmbeddedHistory, gpu: int) -> int:
    """Compare every hour of a GPU with what it said; how many were observed."""
    seen = 0
    hours = int((month.time(month.minutes - 1) + MINUTE - DAY) / HOUR)
    for figure, (name, step) in FIGURES.items():
        told = hourly(history, month.name(gpu), figure, DAY, hours)
        for hour, (mean, least, most) in enumerate(told):
            held = month.held(getattr(month, name), gpu, hour)
            if not len(held):
                assert (mean, least, most) == (None, None, None), (gpu, figure, hour)
                continue
            assert mean is not None
            assert least is not None
            assert most is not None
            # Kept in whole steps: the mean of a minute, and of an hour, is at most half a step beside it.
            assert mean == pytest.approx(held.mean(), abs=step), (gpu, figure, hour)
            assert (least, most) == pytest.approx((held.min(), held.max()), abs=step / 2), (gpu, figure, hour)
            seen += 1
    return seen


def rewinds_as_it_was(month: Month, history: EmbeddedHistory, minute: int) -> int:
    """Compare the whole fleet at a minute; how many GPUs were observed."""
    at = month.time(minute) + MINUTE / 2
    moment = history.moment(at)
    found = {one.place.gpu: one for one in moment.gpus}
    there = {
        place.gpu for place in month.places() if place.start <= at and (place.end is None or at < place.end)
    }
    assert found.keys() == there
    seen = 0
    for gpu in range(month.nodes * PER_NODE):
        if month.name(gpu) not in there:
            continue
        one, truth = found[month.name(gpu)], month.truth(gpu, minute)
        # Of one that says nothing it is told who was on it last.
        holders = one.holders if one.numbers else None
        told = (one.numbers.get("utilization_percent"), one.verdict, holders)
        assert told == truth, (gpu, minute)
        seen += truth.utilization is not None
    return seen


def check(month: Month, folder: Path, *, gpus: list[int], moments: int) -> None:
    """Write it, open it again, and look at it from all sides."""
    history = EmbeddedHistory(folder / "history.sqlite", Keep(minutes_seconds=90 * 24 * HOUR))
    history.open()
    month.write(history)
    history.close()
    history.open()
    assert all(plots_as_it_was(month, history, gpu) for gpu in gpus)
    dice = np.random.default_rng(1)
    # Of what is older than two weeks minutes are known, of all others ten seconds.
    assert all(
        rewinds_as_it_was(month, history, int(minute)) for minute in dice.integers(0, month.minutes, moments)
    )
    away = month.away()[0]
    assert rewinds_as_it_was(month, history, away + 10) < month.nodes * PER_NODE - PER_NODE
    track = history.track(DAY, month.time(month.minutes - 1), 200)
    assert max(count for count in track.observed if count is not None) <= month.nodes * PER_NODE
    history.close()


def test_a_day_of_a_small_lab_plots_and_rewinds_as_it_was(tmp_path: Path) -> None:
    """With outages, shared GPUs, back-fill, instances, GPUs that come and go, and a clock that is set."""
    check(Month(6, 24 * 60), tmp_path, gpus=list(range(6 * PER_NODE)), moments=60)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_month_of_160_gpus_plots_and_rewinds_as_it_was(tmp_path: Path) -> None:
    """The same at the size of a lab: 43,200 minutes of 20 nodes."""
    check(Month(20, 30 * 24 * 60), tmp_path, gpus=[*range(48), 80, 85, 159], moments=200)
