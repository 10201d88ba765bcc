"""Asks a history that is there, in a process of its own; what each question cost on stdout."""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench._past import START, Fleet
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.records import CurvesQuery, Member

ROUNDS: Final = 20
FOUR: Final = ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius")


class Answer(Struct, frozen=True, kw_only=True):
    """What questions cost: name → CPU and wall seconds, the median of some rounds; the memory for all."""

    costs: dict[str, tuple[float, float]]
    mean: list[float | None]
    peak_bytes: int


def ask(folder: Path, gpus: int, hours: int) -> Answer:
    """Ask each question a few times."""
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    fleet = Fleet(gpus)
    end = START + hours * 3600.0
    everybody = tuple(Member(uuid) for uuid in fleet.uuids)
    one = everybody[gpus // 2 : gpus // 2 + 1]

    def curves(
        members: tuple[Member, ...], figures: tuple[str, ...], *, with_extremes: bool = False
    ) -> object:
        return history.curves(
            CurvesQuery(
                kind="gpu",
                groups=(members,),
                figures=figures,
                start=START,
                end=end,
                points=300,
                with_extremes=with_extremes,
            )
        )

    questions: dict[str, Callable[[], object]] = {
        "one GPU, 4 figures, whole span": lambda: curves(one, FOUR),
        "  with least and most": lambda: curves(one, FOUR, with_extremes=True),
        "fleet mean, whole span": lambda: curves(everybody, FOUR[:1]),
        "  with least and most, fleet": lambda: curves(everybody, FOUR[:1], with_extremes=True),
        "track, whole span": lambda: history.track(START, end, 300),
        "strips of all GPUs, last 24 h": lambda: history.curves(
            CurvesQuery(
                kind="gpu",
                groups=tuple((member,) for member in everybody),
                figures=FOUR[:1],
                start=max(START, end - 86_400),
                end=end,
                points=144,
                with_extremes=False,
            )
        ),
        "states of one GPU, last 24 h": lambda: history.states(fleet.uuids[0], max(START, end - 86_400), end),
    }
    costs = {name: _cost(question) for name, question in questions.items()}
    query = CurvesQuery(
        kind="gpu", groups=(everybody,), figures=FOUR[:1], start=START + 3600, end=end - 3600, points=10
    )
    mean = history.curves(query).curves[0].mean
    history.close()
    return Answer(costs=costs, mean=mean, peak_bytes=_peak_bytes())


def _peak_bytes() -> int:
    """The most that this process ever had, and not the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


def _cost(question: Callable[[], object]) -> tuple[float, float]:
    found = []
    for _ in range(ROUNDS):
        cpu, wall = time.process_time(), time.perf_counter()
        question()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return statistics.median(one[0] for one in found), statistics.median(one[1] for one in found)


if __name__ == "__main__":
    told = ask(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.buffer.write(msgspec.json.encode(told))
