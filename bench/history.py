"""History: a day of a thousand GPUs, beside VictoriaMetrics and Prometheus on the same figures, in one run.

Usage: script/bench history [--gpus 1000] [--hours 24] [--alone]
       script/bench history usage [--gpus 1000]    GPU-hours of a month alone

Each figure that has a goal says whether it is met. Peers are given the figures of GPUs by remote write, a
request a batch; the history is given those of the hosts, too.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from bench import _sealed, _usage
from bench._history_reader import FOUR, Answer
from bench._live import HOURS as LIVE_HOURS
from bench._live import Live
from bench._past import PER_HOUR, START, Fleet, Round
from bench._peer import Peer, running
from bench._prometheus_store import PrometheusStore
from bench._remote_write import is_compressed
from bench._rewinder import Rewinds
from bench._rollover import Rollover
from bench._sealed import DAY, Sizes
from bench._server import Cost
from bench._sheet import Sheet
from bench._victoria import Victoria
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory

MILLI: Final = 1e3
MEGA: Final = 1e6
ROUNDS: Final = 20
ROLLOVERS: Final = 3
# What the fleet remembers of the last hour is full by then.
BARE_HOURS: Final = 2
PEERS: Final[tuple[type[Peer], ...]] = (Victoria, PrometheusStore)

Said = TypeVar("Said")


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


class Bench:
    """One run: the file of a day, the peers that were given the same, and the sheet."""

    def __init__(self, folder: Path, gpus: int, hours: int, peers: list[Peer]) -> None:
        self.folder = folder
        self.fleet = Fleet(gpus)
        self.hours = hours
        self.peers = peers
        self.end = START + hours * 3600.0
        self.rounds = hours * PER_HOUR
        self.sheet = Sheet([peer.program for peer in peers])
        self.costs = Costs()
        self.written: list[Cost] = []

    def run(self) -> None:
        """Write the day, then ask."""
        history = EmbeddedHistory(self.folder / "history.sqlite", Keep())
        history.open()
        for one in self.fleet.rounds(self.hours):
            self.costs.take(history, self.fleet, one)
            for peer in self.peers:
                peer.write(self.fleet, one)
        taken = history.size_bytes()
        history.close()
        for peer in self.peers:
            peer.flush()
            self.written.append(peer.meter.read())
        sealed = self.folder / "sealed.sqlite"
        _sealed.seal_all(self.folder / "history.sqlite", sealed, self.end)
        sizes = _sealed.sizes_of(sealed)
        print(f"{self.rounds} batches; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}")
        self._tell_sizes(sizes, taken)
        self._tell_questions()
        if self.hours * 3600 == DAY:
            self._tell_week(sealed)
        else:
            print("a week is made of whole days: --hours 24")
        self._tell_cpu()
        self._tell_rollover()

    def _tell_cpu(self) -> None:
        gpus, theirs = (
            len(self.fleet.uuids),
            [cost.cpu_seconds / self.rounds * MILLI for cost in self.written],
        )
        live = _said_by("bench._live", Live, gpus, LIVE_HOURS, 1)
        bare = _said_by("bench._live", Live, gpus, BARE_HOURS, 0)
        row = self.sheet.row
        row("CPU a batch, everything on, ms", sum(live.costs.values()) * MILLI, theirs, goal_ratio=0.2)
        for what, seconds in live.costs.items():
            row(f"  {what}, ms", seconds * MILLI)
        both = (sum(self.costs.write) + sum(self.costs.tidy)) / self.rounds * MILLI
        row("  without judging and gathering, ms", both, theirs)
        row("    writing, ms", sum(self.costs.write) / self.rounds * MILLI)
        row("    tidying and sealing, ms", sum(self.costs.tidy) / self.rounds * MILLI)
        row("    the longest step of tidying, ms", self.costs.longest * MILLI)
        row("memory above a board without history, MB", (live.peak_bytes - bare.peak_bytes) / MEGA, goal=60)

    def _tell_sizes(self, sizes: Sizes, taken: int) -> None:
        row, values = self.sheet.row, sizes.values
        print(f"{values / MEGA:.0f} M values")
        row("bytes a value, sealed, full, with indexes", sizes.tiers["full"] / values, goal=0.65)
        row("  entropy of the differences in time", sizes.entropy_bytes / values)
        row("  and for minutes", sizes.tiers["minutes"] / values)
        row("  and for hours", sizes.tiers["hours"] / values)
        disks = [peer.disk_bytes() / values for peer in self.peers]
        row("  all that is on the disk at the end of the day", taken / values, disks)
        self._tell_year(sizes)

    def _tell_year(self, sizes: Sizes) -> None:
        """What a year takes, by what a day of each tier took; the full tier and minutes end earlier."""
        keep = Keep()
        of_a_day = 24 / self.hours * 1000 / self.fleet.gpus / DAY
        kept = {"full": keep.full_seconds, "minutes": keep.minutes_seconds, "hours": 365 * DAY}
        parts = {tier: sizes.tiers[tier] * of_a_day * seconds for tier, seconds in kept.items()}
        parts["who used what"] = sizes.usage * of_a_day * 365 * DAY
        for name, size in parts.items():
            self.sheet.row(f"a year of 1,000 GPUs, {name}, MB", size / MEGA)
        self.sheet.row("  together, MB", sum(parts.values()) / MEGA)

    def _tell_rollover(self) -> None:
        found = [_said_by("bench._rollover", Rollover, self.fleet.gpus) for _ in range(ROLLOVERS)]
        beyond = statistics.median(one.while_sealing - one.otherwise for one in found)
        row = self.sheet.row
        row(
            "event loop, longest delay otherwise, ms",
            statistics.median(one.otherwise for one in found) * MILLI,
        )
        row(f"  more while an hour is sealed, median of {ROLLOVERS}, ms", beyond * MILLI, goal=50)

    def _tell_questions(self) -> None:
        answer = _said_by("bench._history_reader", Answer, self.folder, self.fleet.gpus, self.hours)
        theirs = [self._ask(peer) for peer in self.peers]
        goals = {"one GPU, 4 figures, whole span": 2.5, "fleet mean, whole span": 0.5}
        for question, (cpu, wall) in answer.costs.items():
            costs = [found.get(question, (0.0, 0.0)) for found in theirs]
            name, goal = f"{question}, CPU ms", goals.get(question)
            self.sheet.row(name, cpu * MILLI, [one * MILLI for one, _ in costs], goal_ratio=goal)
            self.sheet.row("  wall ms", wall * MILLI, [one * MILLI for _, one in costs])
        peaks = [cost.peak_bytes / MEGA for cost in self.written]
        self.sheet.row("peak memory of asking, MB", answer.peak_bytes / MEGA, peaks)

    def _ask(self, peer: Peer) -> dict[str, tuple[float, float]]:
        """The same questions to a peer: CPU and wall seconds."""
        # A line on which nothing was said for minutes was closed over there; a new one is opened by itself.
        peer.close()
        step = max(1, self.hours * 3600 // 300)
        gpu = self.fleet.uuids[self.fleet.gpus // 2]
        one = [f'avg_over_time(gpu_{name}{{gpu="{gpu}"}}[{step}s])' for name in FOUR]
        if isinstance(peer, Victoria):
            names = "|".join(f"gpu_{name}" for name in FOUR)
            one = [f'avg_over_time({{__name__=~"{names}",gpu="{gpu}"}}[{step}s])']
        questions = {
            "one GPU, 4 figures, whole span": one,
            "fleet mean, whole span": [f"avg(avg_over_time(gpu_utilization_percent[{step}s]))"],
        }
        return {name: self._cost(peer, parts, step) for name, parts in questions.items()}

    def _cost(self, peer: Peer, questions: list[str], step: int) -> tuple[float, float]:
        costs, walls = [], []
        for _ in range(ROUNDS):
            meter = peer.meter_now()
            walls.append(sum(peer.query(one, START + step, self.end, step) for one in questions))
            costs.append(meter.read().cpu_seconds)
        return statistics.median(costs), statistics.median(walls)

    def _tell_week(self, sealed: Path) -> None:
        week = self.folder / "week.sqlite"
        _sealed.make_week(self.folder / "history.sqlite", sealed, week)
        found = _said_by("bench._rewinder", Rewinds, week, self.end)
        for name, seconds in found.costs.items():
            self.sheet.row(f"{name}, CPU ms", seconds * MILLI, goal=300)
        most, size = _sealed.bounded(week, self.folder / "bounded.sqlite", self.end)
        self.sheet.row(
            "a week with half of its size as max_size, MB", size / MEGA, goal=round(most / MEGA, 2)
        )


def _said_by(module: str, kind: type[Said], *words: object) -> Said:
    """What a process of its own found."""
    command = [sys.executable, "-m", module, *map(str, words)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return msgspec.json.decode(said, type=kind)


def main() -> None:
    """Measure the parts asked for, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=["usage"], help="only this")
    parser.add_argument("--gpus", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--alone", action="store_true", help="without peers")
    asked = parser.parse_args()
    if asked.part == "usage":
        _usage.tell(asked.gpus)
        return
    kinds = [] if asked.alone else [kind for kind in PEERS if kind.is_installed()]
    if kinds:
        how = "compressed" if is_compressed() else "not compressed, as there is no libsnappy.so.1"
        print(f"remote write is {how}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        peers = [stack.enter_context(running(kind)) for kind in kinds]
        Bench(Path(name), asked.gpus, asked.hours, peers).run()


if __name__ == "__main__":
    main()
