"""How many GPUs people use lately, when not all of the fleet, or not all of the time, was observed."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuboard.history.averaging import AveragesWanted, ask_averages
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.records import Batch, Place
from tests.history.fleets import DAY, HOUR, gpu_sample, place, tidy

BOTH = ("GPU-a", "GPU-b")


def means(folder: Path, places: list[Place], hours: Mapping[int, tuple[str, ...]]) -> list[object]:
    """What ana used over the last two hours and day, and what was free, if she was on these GPUs by hour."""
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    history.write(Batch(places=places), now=DAY)
    for hour in range(24):
        at = DAY + hour * HOUR
        told = [gpu_sample(gpu, at, holds=HOUR) for gpu in hours.get(hour, ())]
        history.write(Batch(gpu_samples=told), now=at)
        tidy(history, at)
    found = ask_averages(history, AveragesWanted(now=DAY + 24 * HOUR))
    history.close()
    (person,) = found.people
    assert [mean.used for mean in person.means] == [mean.used for mean in found.total]
    return [*(mean.used for mean in person.means[:2]), *found.free[:2]]


def test_a_node_that_is_away_makes_nobody_use_more(tmp_path: Path) -> None:
    """Whoever is on two GPUs is on two, however many others are silent."""
    places = [place(gpu, index=at) for at, gpu in enumerate(BOTH)]
    silent = [place(f"GPU-silent-{at}", node="gpu02", index=at) for at in range(8)]
    found = means(tmp_path, [*places, *silent], dict.fromkeys(range(24), BOTH))
    assert found == [2.0, 2.0, 0.0, 0.0]


def test_while_the_board_was_away_nobody_used_less(tmp_path: Path) -> None:
    """What nobody saw is no time in which nothing was used."""
    places = [place(gpu, index=at) for at, gpu in enumerate(BOTH)]
    found = means(tmp_path, places, dict.fromkeys([*range(6), 23], BOTH))
    assert found == [2.0, 2.0, 0.0, 0.0]


def test_a_card_that_is_cut_is_observed_as_long_as_before(tmp_path: Path) -> None:
    """It is another GPU then: half a day of each is a day."""
    noon = DAY + 12 * HOUR
    whole = place("GPU-a")
    places = [
        replace(whole, end=noon),
        replace(whole, start=noon, counted=False),
        place("MIG-a", start=noon),
    ]
    hours = {hour: ("GPU-a",) if hour < 12 else ("MIG-a",) for hour in range(24)}
    assert means(tmp_path, places, hours) == [pytest.approx(1.0), 1.0, 0.0, 0.0]
