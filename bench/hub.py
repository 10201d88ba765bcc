"""The board under load: what a report costs it, against Prometheus; what it holds; how it grows.

Every part runs a real board in a process of its own, with agents on real WebSockets from another process,
all on this machine. Parts: `report`, `held`, `growth`; all of them when none is named.
"""

import argparse
import os
import statistics
import sys
from typing import Final

from bench._load import Figures
from bench._prometheus import is_installed, load_prometheus
from bench._server import Cost, load_board

MICRO: Final = 1e6


def main() -> None:
    """Measure the parts asked for, print."""
    arguments = _arguments()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, Python {sys.version.split()[0]}")
    parts = {"report": compare_reports, "held": hold_load, "growth": grow}
    for name in [arguments.part] if arguments.part else parts:
        print(f"\n{name}")
        parts[name](arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/bench hub", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("report", "held", "growth"))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long `held` is held (default 60)")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of the others (default 3)")
    return parser.parse_args()


def compare_reports(arguments: argparse.Namespace) -> None:
    """CPU per report of 8 GPUs, 500 nodes, 1,000 a second, one viewer; against Prometheus in turn."""
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        figures, cost = load_board(nodes=500, viewers=1, interval=0.5, warm_up=5, seconds=15)
        ours.append(_per_report(figures, cost))
        _line("gpuboard", ours[-1], figures.measured / figures.seconds, cost)
        if not is_installed():
            continue
        scrapes, cost = load_prometheus(nodes=500, interval=0.5, warm_up=5, seconds=15)
        theirs.append(cost.cpu_seconds / scrapes.measured * MICRO)
        _line(f"prometheus ({scrapes.series:.0f} series)", theirs[-1], scrapes.measured / 15, cost)
    if theirs:
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"  gpuboard / prometheus: {ratio:.2f} (goal at most 0.50)")
    else:
        print("  needs Prometheus to compare with: apt-get install --no-install-recommends prometheus")


def hold_load(arguments: argparse.Namespace) -> None:
    """Nodes of 8 GPUs every 5 s with viewers, for a while."""
    for nodes, viewers in ((500, 100), (1000, 200)):
        figures, cost = load_board(
            nodes=nodes, viewers=viewers, interval=5.0, warm_up=10, seconds=arguments.seconds
        )
        lost = figures.sent - figures.acknowledged
        print(
            f"  {nodes} nodes, {viewers} viewers, {figures.seconds:.0f} s: {figures.sent} reports sent, "
            f"{lost} lost, {figures.held_back} held back, {figures.lines_lost} lines lost\n"
            f"    ingest p50 {figures.ingest_p50 * 1e3:.0f} ms, p95 {figures.ingest_p95 * 1e3:.0f} ms "
            f"(goal at most 100); viewer lag p50 {figures.lag_p50:.2f} s, p95 {figures.lag_p95:.2f} s "
            f"(goal at most 1)\n"
            f"    {figures.frames} frames; board {cost.cpu_seconds / figures.seconds * 100:.0f} % of a core, "
            f"{_per_report(figures, cost):.0f} us a report with viewers, peak {cost.peak_bytes / 1e6:.0f} MB "
            f"(goal at most 250); load {figures.cpu_seconds / figures.seconds * 100:.0f} % of a core",
            flush=True,
        )


def grow(arguments: argparse.Namespace) -> None:
    """CPU per report at 100 nodes and at 2,000, every report in a tick of its own; one viewer."""
    found: dict[int, list[float]] = {100: [], 2000: []}
    for _ in range(arguments.rounds):
        for nodes, interval in ((100, 1.0), (2000, 5.0)):
            figures, cost = load_board(nodes=nodes, viewers=1, interval=interval, warm_up=6, seconds=20)
            found[nodes].append(_per_report(figures, cost))
            _line(f"{nodes} nodes", found[nodes][-1], figures.measured / figures.seconds, cost)
    ratio = statistics.median(found[2000]) / statistics.median(found[100])
    print(f"  2,000 nodes / 100 nodes: {ratio:.2f} (goal at most 1.50)")


def _per_report(figures: Figures, cost: Cost) -> float:
    return cost.cpu_seconds / figures.measured * MICRO


def _line(name: str, micro: float, rate: float, cost: Cost) -> None:
    print(
        f"  {name:26}{micro:6.0f} us of CPU each, {rate:5.0f} a second, peak {cost.peak_bytes / 1e6:4.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
