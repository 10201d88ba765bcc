"""The same samples in VictoriaMetrics: mean, least and most are the same; and the fleet was as it said."""

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench._past import CROWDS, PER_HOUR, START, Fleet, Round
from bench._victoria import PROGRAM, Victoria, victoria
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.figures import GPU_NUMBERS, VERDICTS
from gpuboard.history.records import CurvesQuery, Member
from tests.history.fleets import tidy
from tests.parts import require
from tests.started import eventually

HOUR: Final = 3600
# What is asked for, and the steps in which it is kept here: half a percent of what it can be, or less.
FIGURES: Final = {"utilization_percent": 0.5, "memory_used_bytes": 1024.0**2, "power_watts": 0.1}
KINDS: Final = ("avg", "min", "max")
# Of so many moments it is asked how the fleet was.
MOMENTS: Final = 7
# GPU → hour by hour.
Told = dict[str, list[float]]


def theirs(peer: Victoria, figure: str, kind: str, hours: int) -> Told:
    """What VictoriaMetrics tells of every GPU, of each hour from its first moment to before its last."""
    words = {
        "query": f"{kind}_over_time(gpu_{figure}[{HOUR}s])",
        "start": START + HOUR - 1,
        "end": START + hours * HOUR - 1,
        "step": f"{HOUR}s",
        "nocache": 1,
    }
    answer = json.loads(peer.get(f"/api/v1/query_range?{urllib.parse.urlencode(words)}"))
    return {
        one["metric"]["gpu"]: [float(value) for _, value in one["values"]] for one in answer["data"]["result"]
    }


def ours(history: EmbeddedHistory, fleet: Fleet, figure: str, hours: int) -> dict[str, Told]:
    """The same of this history."""
    found = history.curves(
        CurvesQuery(
            kind="gpu",
            groups=tuple((Member(gpu),) for gpu in fleet.uuids),
            figures=(figure,),
            start=START,
            end=START + hours * HOUR,
            points=hours,
        )
    ).curves
    told: dict[str, Told] = {kind: {} for kind in KINDS}
    for gpu, curve in zip(fleet.uuids, found, strict=True):
        for kind, values in zip(KINDS, (curve.mean, curve.least, curve.most), strict=True):
            told[kind][gpu] = [value for value in values if value is not None]
    return told


def differences(history: EmbeddedHistory, peer: Victoria, fleet: Fleet, hours: int) -> Iterator[str]:
    """Where both say something else, by more than half a percent, or than a step."""
    for figure, step in FIGURES.items():
        here = ours(history, fleet, figure, hours)
        for kind in KINDS:
            there = theirs(peer, figure, kind, hours)
            assert there.keys() == set(fleet.uuids)
            for gpu in fleet.uuids:
                assert len(here[kind][gpu]) == hours
                if here[kind][gpu] != pytest.approx(there[gpu], rel=0.005, abs=step):
                    yield f"{kind} of {figure} of {gpu}: {here[kind][gpu]} and {there[gpu]}"


def has_all(peer: Victoria, fleet: Fleet, hours: int) -> bool:
    """Whether it tells of every round that it was given: what it flushes is seen a moment later."""
    peer.flush()
    counts = theirs(peer, "power_watts", "count", hours)
    return all(counts.get(gpu) == [PER_HOUR] * hours for gpu in fleet.uuids)


def rewind(history: EmbeddedHistory, fleet: Fleet, one: Round) -> None:
    """Compare the fleet at a moment with what it said in that round, GPU by GPU."""
    found = history.moment(one.now - 5.0)
    told = {gpu.place.gpu: gpu for gpu in found.gpus}
    assert found.step_seconds == 10.0
    assert told.keys() == set(fleet.uuids)
    place = GPU_NUMBERS.index("verdict")
    for number, gpu in enumerate(fleet.uuids):
        here, said = told[gpu], one.numbers[number]
        assert here.verdict == VERDICTS[int(said[place])]
        assert here.holders == CROWDS[one.people[number]]
        for figure, step in FIGURES.items():
            assert here.numbers[figure] == pytest.approx(said[GPU_NUMBERS.index(figure)], abs=step)


def compare(folder: Path, gpus: int, hours: int) -> None:
    """Write the same to both, and ask both."""
    require(PROGRAM)
    # A sample at the border of a cell is all of that cell: so the extremes of cells are those of samples.
    fleet = Fleet(gpus, is_on_the_grid=True)
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    busy, moments = [], []
    with victoria() as peer:
        for one in fleet.rounds(hours):
            busy.append(int((one.people > 0).sum()))
            if len(busy) % (hours * PER_HOUR // MOMENTS) == 1:
                moments.append(one)
            history.write(fleet.batch(one), now=one.now)
            tidy(history, one.now)
            peer.write(fleet, one)
        eventually(lambda: has_all(peer, fleet, hours))
        assert list(differences(history, peer, fleet, hours)) == []
    for one in moments:
        rewind(history, fleet, one)
    track = history.track(START, START + hours * HOUR, hours * PER_HOUR)
    assert track.times == [START + 10.0 * number for number in range(hours * PER_HOUR)]
    assert set(track.observed) == {gpus}
    assert track.verdicts["busy"] == busy
    assert track.verdicts["free"] == [gpus - count for count in busy]
    history.close()


def test_two_hours_of_64_gpus_are_the_same_in_victoriametrics(tmp_path: Path) -> None:
    """While they are not sealed yet; and how the fleet was at a moment is what it said then."""
    compare(tmp_path, 64, 2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_day_of_1600_gpus_is_the_same_in_victoriametrics(tmp_path: Path) -> None:
    """Most of it sealed: in full, and in hours."""
    compare(tmp_path, 1600, 24)
