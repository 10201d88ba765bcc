"""The board under load: what a report costs it, against Prometheus; what it holds; how it grows; ssh.

Every part but the last runs a real board in a process of its own, with agents on real WebSockets from another
process, all on this machine; `ssh` runs the ssh source in a process of its own, against a real sshd. Parts:
`report`, `held`, `growth`, `ssh`; all of them when none is named.
"""

import argparse
import os
import statistics
import sys
from typing import Final, NamedTuple

from msgspec.structs import replace

from bench._against import compare, report_cost
from bench._hosts import dead_ports, hosts, read_hosts
from bench._load import Figures
from bench._prometheus import is_installed, load_prometheus
from bench._server import Cost, load_board
from bench._ssh import SshOrder

MICRO: Final = 1e6
SSH_NODES: Final = 200
SSH_DEAD: Final = 20
# Slow enough that this machine also can be all of the nodes.
SSH_INTERVAL_SECONDS: Final = 20.0


def main() -> None:
    """Measure the parts asked for, print."""
    arguments = _arguments()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, Python {sys.version.split()[0]}")
    parts = {"report": compare_reports, "held": hold_load, "growth": grow, "ssh": read_over_ssh}
    for name in [arguments.part] if arguments.part else parts:
        print(f"\n{name}")
        parts[name](arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/bench hub", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("report", "held", "growth", "ssh"))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long `held` is held (default 60)")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of the others (default 5)")
    parser.add_argument(
        "--against", metavar="COMMIT", help="compare `report` with this commit's program, in turn"
    )
    return parser.parse_args()


def compare_reports(arguments: argparse.Namespace) -> None:
    """CPU per report of 8 GPUs, 500 nodes, 1,000 a second, one viewer; against a peer in turn."""
    if arguments.against:
        compare(
            arguments.against,
            arguments.rounds,
            lambda tree: report_cost(tree, nodes=500, interval=0.5, seconds=15),
        )
        return
    ours: list[float] = []
    bare: list[float] = []
    theirs: list[float] = []
    peaks: dict[bool, list[int]] = {True: [], False: []}
    for _ in range(arguments.rounds):
        for found, has_history in ((ours, True), (bare, False)):
            figures, cost = load_board(
                nodes=500, viewers=1, interval=0.5, warm_up=5, seconds=15, has_history=has_history
            )
            found.append(_per_report(figures, cost))
            peaks[has_history].append(cost.peak_bytes)
            name = "gpuboard" if has_history else "gpuboard, no history"
            _line(name, found[-1], figures.measured / figures.seconds, cost)
        if not is_installed():
            continue
        scrapes, cost = load_prometheus(nodes=500, interval=0.5, warm_up=5, seconds=15)
        theirs.append(cost.cpu_seconds / scrapes.measured * MICRO)
        _line(f"prometheus ({scrapes.series:.0f} series)", theirs[-1], scrapes.measured / 15, cost)
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"  with history / without: {ratio:.2f} (goal at most 1.25)")
    more = statistics.median(peaks[True]) - statistics.median(peaks[False])
    print(f"  peak memory with history above without: {more / 1e6:.0f} MB (goal at most 60)")
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


def read_over_ssh(_arguments: argparse.Namespace) -> None:
    """CPU per sweep over 200 nodes of 8 GPUs, against logins for every sample; then with 20 nodes dead."""
    with hosts() as server, dead_ports(SSH_DEAD) as ports:
        order = SshOrder(
            way="source",
            user=server.user,
            key_file=str(server.user_key),
            known_hosts=str(server.known_hosts),
            port=server.port,
            nodes=SSH_NODES,
            interval_seconds=SSH_INTERVAL_SECONDS,
            seconds=2 * SSH_INTERVAL_SECONDS,
        )
        logins = _sweep("a login each time", replace(order, way="logins", seconds=1))
        ours = _sweep("our connections", order)
        some = _sweep(
            f"{SSH_DEAD} of them dead", replace(order, nodes=SSH_NODES - SSH_DEAD, dead_ports=ports)
        )
    print(
        f"  our connections / a login each time: {ours.sweep / logins.sweep:.2f} (goal at most 0.20)\n"
        f"  p95 of the age with {SSH_DEAD} dead / without: {some.p95 / ours.p95:.2f} (goal at most 1.20)"
    )


class _Sweep(NamedTuple):
    sweep: float
    p95: float


def _sweep(name: str, order: SshOrder) -> _Sweep:
    figures, cost = read_hosts(order)
    each = cost.cpu_seconds / figures.reports
    print(
        f"  {name:26}{each * 1e3:6.2f} ms of CPU a sample, {each * SSH_NODES:5.2f} s a sweep of {SSH_NODES}; "
        f"{figures.reports} samples, {figures.gpus} GPUs, {figures.troubles} failures, "
        f"age p50 {figures.age_p50:.1f} s, p95 {figures.age_p95:.1f} s",
        flush=True,
    )
    return _Sweep(each * SSH_NODES, figures.age_p95)


def _per_report(figures: Figures, cost: Cost) -> float:
    return cost.cpu_seconds / figures.measured * MICRO


def _line(name: str, micro: float, rate: float, cost: Cost) -> None:
    print(
        f"  {name:26}{micro:6.0f} us of CPU each, {rate:5.0f} a second, peak {cost.peak_bytes / 1e6:4.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
