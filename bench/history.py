"""History: a day of a thousand GPUs, beside VictoriaMetrics on the same figures, in one run.

Usage: script/bench history [--gpus 1000] [--hours 24] [--alone]
       script/bench history usage [--gpus 1000]    GPU-hours of a month alone
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bench import _usage
from bench._history_reader import FOUR, Answer
from bench._past import START, Fleet, Round
from bench._rollover import Rollover
from bench._victoria import PROGRAM, Victoria, is_installed, victoria
from gpuboard.history.base import Keep
from gpuboard.history.blocks import unpack
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.embedded.schema import OBSERVED, SERIES
from gpuboard.history.figures import GPU_FIGURES, NOTHING

MILLI: Final = 1e3
ROUNDS: Final = 20


class Costs:
    """CPU seconds of writing and of tidying, step by step."""

    def __init__(self) -> None:
        self.write: list[float] = []
        self.tidy: list[float] = []
        self.longest = 0.0

    def take(self, history: EmbeddedHistory, fleet: Fleet, one: Round) -> None:
        """Write a round, and do what is due."""
        batch = fleet.batch(one)
        begun = time.process_time()
        history.write(batch, now=one.now)
        self.write.append(time.process_time() - begun)
        total, more = 0.0, True
        while more:
            begun = time.process_time()
            more = history.tidy(now=one.now)
            step = time.process_time() - begun
            self.longest = max(self.longest, step)
            total += step
        self.tidy.append(total)


def sizes(history: EmbeddedHistory) -> dict[str, float]:
    """Bytes a value of the sealed full tier, and the least that differences in time could take."""
    file = history._file  # noqa: SLF001 - a bench looks inside
    values = bytes_all = bits = 0.0
    with file.read() as connection:
        for place in range(OBSERVED, len(GPU_FIGURES)):
            counts: dict[int, int] = {}
            rows = connection.execute(
                "SELECT blob FROM chunks WHERE tier = 0 AND kind = 0 AND figure = ?", (place,)
            )
            for (blob,) in rows:
                bytes_all += len(blob)
                if place != OBSERVED:
                    mean = unpack(blob)[:SERIES]
                    values += int((mean != NOTHING).sum())
                    _count(counts, mean)
            bits += _entropy(counts)
        tiers = connection.execute(
            "SELECT tier, sum(length(blob)) FROM chunks WHERE kind = 0 GROUP BY tier"
        ).fetchall()
        # Of GPUs, by the full tier: blocks of so many, each so many hours.
        (hours,) = connection.execute(
            "SELECT count(DISTINCT start_ms) FROM chunks WHERE tier = 0 AND kind = 0"
        ).fetchone()
    return {
        "values": values,
        "blob": bytes_all / values,
        "entropy": bits / 8 / values,
        "file": history.size_bytes() / values,
        "hours": hours,
        **{f"tier{tier}": found / values for tier, found in tiers},
    }


def _count(counts: dict[int, int], mean: "np.ndarray[tuple[int, int], np.dtype[np.int32]]") -> None:
    told = mean[(mean != NOTHING).any(axis=1)]
    for value, number in zip(*np.unique(np.diff(told, axis=1), return_counts=True), strict=True):
        counts[int(value)] = counts.get(int(value), 0) + int(number)


def _entropy(counts: dict[int, int]) -> float:
    """How many bits all differences of a figure take at least, if each is written by itself."""
    numbers = np.array(list(counts.values()), np.float64)
    return float((numbers * -np.log2(numbers / numbers.sum())).sum()) if len(numbers) else 0.0


def compare(peer: Victoria, fleet: Fleet, hours: int) -> dict[str, tuple[float, float]]:
    """The same questions to VictoriaMetrics: CPU and wall seconds."""
    start, end = float(START), START + hours * 3600.0
    step = (end - start) / 300
    gpu = fleet.uuids[fleet.gpus // 2]
    names = "|".join(f"gpu_{name}" for name in FOUR)
    questions = {
        "one GPU, 4 figures, whole span": (f'avg_over_time({{__name__=~"{names}",gpu="{gpu}"}}[{step:g}s])'),
        "fleet mean, whole span": f"avg(avg_over_time(gpu_utilization_percent[{step:g}s]))",
    }
    found = {}
    for name, question in questions.items():
        meter = peer.meter_now()
        walls = [peer.query(question, start + step, end, step) for _ in range(ROUNDS)]
        # The kernel counts in hundredths: only many together can be told.
        found[name] = (meter.read().cpu_seconds / ROUNDS, statistics.median(walls))
    return found


def main() -> None:
    """Write a day, then ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["usage"], help="only this")
    parser.add_argument("--gpus", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--alone", action="store_true", help="without VictoriaMetrics")
    asked = parser.parse_args()
    if asked.part == "usage":
        _usage.tell(asked.gpus)
        return
    fleet, costs = Fleet(asked.gpus), Costs()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        peer = stack.enter_context(victoria()) if is_installed() and not asked.alone else None
        history = EmbeddedHistory(Path(name) / "history.sqlite", Keep())
        history.open()
        for one in fleet.rounds(asked.hours):
            costs.take(history, fleet, one)
            if peer is not None:
                peer.write(fleet, one)
        found = sizes(history)
        history.close()
        peer_cost = None
        if peer is not None:
            peer.flush()
            peer_cost = peer.meter.read()
        answer = _ask(Path(name), asked.gpus, asked.hours)
        theirs = compare(peer, fleet, asked.hours) if peer is not None else {}
        _tell(asked.hours * 360, costs, found)
        if peer is not None and peer_cost is not None:
            ours = (sum(costs.write) + sum(costs.tidy)) / (asked.hours * 360) * MILLI
            _row("CPU a batch, ms", ours, peer_cost.cpu_seconds / (asked.hours * 360) * MILLI)
            _row("bytes on the disk by the values sealed", found["file"], peer.disk_bytes() / found["values"])
            _row("peak memory, MB", answer.peak_bytes / 1e6, peer_cost.peak_bytes / 1e6)
        _tell_year(asked.gpus, found)
        _tell_rollover(asked.gpus)
        for question, (cpu, wall) in answer.costs.items():
            their_cpu, their_wall = theirs.get(question, (0.0, 0.0))
            _row(f"{question}, CPU ms", cpu * MILLI, their_cpu * MILLI)
            _row("  wall ms", wall * MILLI, their_wall * MILLI)


def _tell(rounds: int, costs: Costs, found: dict[str, float]) -> None:
    print(f"{rounds} batches, {found['values'] / 1e6:.0f} M values sealed")
    print(f"{'':52}{'gpuboard':>10}{PROGRAM:>18}{'ratio':>8}")
    _row("CPU of writing a batch, ms", sum(costs.write) / rounds * MILLI)
    _row("CPU of tidying, by the batch, ms", sum(costs.tidy) / rounds * MILLI)
    _row("the longest step of tidying, ms", costs.longest * MILLI)
    _row("bytes a value, sealed, full", found["blob"])
    _row("  entropy of differences", found["entropy"])
    for tier, label in ((1, "minutes"), (2, "hours")):
        _row(f"  and for {label}", found.get(f"tier{tier}", 0.0))


def _tell_year(gpus: int, found: dict[str, float]) -> None:
    """What a year takes, by what an hour of each tier took; the full tier and minutes end earlier."""
    keep = Keep()
    an_hour = found["values"] / found["hours"] * 1000 / gpus
    seconds = {0: keep.full_seconds, 1: keep.minutes_seconds, 2: 365 * 86_400.0}
    sizes = [found.get(f"tier{tier}", 0.0) * an_hour * kept / 3600 for tier, kept in seconds.items()]
    names = ("full, 14 days", "minutes, 90 days", "hours, a year")
    for name, size in zip(names, sizes, strict=True):
        _row(f"1,000 GPUs, {name}, MB", size / 1e6)
    _row("  together, MB", sum(sizes) / 1e6)


def _tell_rollover(gpus: int) -> None:
    command = [sys.executable, "-m", "bench._rollover", str(gpus)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    one = msgspec.json.decode(said, type=Rollover)
    _row("event loop, longest delay otherwise, ms", one.otherwise * MILLI)
    _row(f"  while an hour is sealed ({one.steps} steps), ms", one.while_sealing * MILLI)
    _row("memory of writing, tidying and sealing, MB", one.memory_bytes / 1e6)


def _ask(folder: Path, gpus: int, hours: int) -> Answer:
    command = [sys.executable, "-m", "bench._history_reader", str(folder), str(gpus), str(hours)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return msgspec.json.decode(said, type=Answer)


def _row(name: str, ours: float, theirs: float | None = None) -> None:
    beside = "" if not theirs else f"{theirs:18.2f}{ours / theirs:8.2f}"
    print(f"{name:52}{ours:10.2f}{beside}")


if __name__ == "__main__":
    main()
