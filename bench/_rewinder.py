"""Rewinds a week, in a process of its own, as the API answers: rows, JSON, compressed; costs on stdout."""

import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench._past import START
from bench._sealed import DAY, OUTAGE_HOURS, WEEK_DAYS, outage
from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.rewind import Named, rows_at, view_at
from gpuboard.web.answers import SharedBody
from gpuboard.web.past import encode_by_parts
from gpuboard.wire.redact import gpu_rows_for_tier, node_rows_for_tier
from gpuboard.wire.stream import BoardInfo, Snapshot, columns
from gpuboard.wire.views import GpuRow, NodeRow

MOMENTS: Final = 40
ROUNDS: Final = 5
NAMED: Final = Named(names=Names(), groups=NodeGroups())
BOARD: Final = BoardInfo(version="0", name="bench", demo=False, tick_seconds=1.0)


class Rewinds(Struct, frozen=True, kw_only=True):
    """CPU seconds by what was asked: the median of some rounds, and of many moments the dearest, too."""

    costs: dict[str, float]


def snapshot(history: EmbeddedHistory, at: float) -> bytes:
    """The page's answer."""
    nodes, gpus = rows_at(history.moment(at), NAMED)
    whole = Snapshot(
        stream="past",
        sequence=0,
        at=at,
        tier="names",
        board=BOARD,
        nodes=columns(NodeRow, node_rows_for_tier(nodes, "names")),
        gpus=columns(GpuRow, gpu_rows_for_tier(gpus, "names")),
        troubles=[],
    )
    return SharedBody(msgspec.json.encode(whole)).compressed


def fleet(history: EmbeddedHistory, at: float) -> bytes:
    """The answer of `/fleet?at=`."""
    return SharedBody(encode_by_parts(view_at(history.moment(at), NAMED), "nodes")).compressed


def ask(path: Path, end: float) -> Rewinds:
    """Rewind to many minutes of the week, and to those that are special."""
    history = EmbeddedHistory(path, Keep())
    history.open()
    dice = random.Random(1)
    week = [end - 60 * dice.randrange(1, int(WEEK_DAYS * DAY / 60) - 1) for _ in range(MOMENTS)]
    found = [_cost(lambda at=at: snapshot(history, at), rounds=3) for at in week]  # type: ignore[misc]
    silence = outage()
    last = silence + (OUTAGE_HOURS[1] - OUTAGE_HOURS[0]) * 3600 - 600
    costs = {
        f"rewind, {MOMENTS} minutes of the week, median": statistics.median(found),
        "  the dearest of them": max(found),
        "  as /fleet?at=, the middle of it": _cost(lambda: fleet(history, START - 2.5 * DAY)),
        "  all silent for 30 minutes": _cost(lambda: snapshot(history, silence + 1800)),
        "  all silent for 5 hours 50 minutes": _cost(lambda: snapshot(history, last)),
        "  a minute ago": _cost(lambda: snapshot(history, end - 60)),
    }
    history.close()
    return Rewinds(costs=costs)


def _cost(question: Callable[[], object], rounds: int = ROUNDS) -> float:
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        question()
        found.append(time.process_time() - begun)
    return statistics.median(found)


if __name__ == "__main__":
    print(msgspec.json.encode(ask(Path(sys.argv[1]), float(sys.argv[2]))).decode())
