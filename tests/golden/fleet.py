"""The golden fleet: one of everything on which outputs have disagreed, or could.

`python -m tests.golden.fleet` writes what a page is told of it, which the page's tests read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish
from gpuboard.history.desk import HistoryDesk
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.gathering import News
from gpuboard.history.recorder import Recorder
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB, MIB, parse_size
from gpuboard.model.verdict import Claim
from gpuboard.verdict import Thresholds
from gpuboard.web.access import AccessPolicy
from gpuboard.web.components import Components
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo
from gpuboard.wire.summary import FreeAnswer
from tests.clock import HandClock
from tests.web.conftest import decode_frame

HERE: Final = Path(__file__).parent
SNAPSHOT: Final = HERE / "snapshot.json"
FREE: Final = HERE / "free.json"
EXPECTED: Final[dict[str, Any]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
NOW: Final = 1_800_000_000.0
HOUR: Final = 3600.0
ALICE: Final = GpuProcess(pid=1, user="asmith", uid=2001, memory_used_bytes=4 * GIB, started_at=NOW - HOUR)
# The same person under another account, and a process whose memory nobody knows.
ALICE_AGAIN: Final = GpuProcess(pid=2, user="Alice", uid=2002, started_at=NOW - 2 * HOUR)
NUMBER: Final = GpuProcess(pid=3, uid=4711, memory_used_bytes=GIB)
BOB: Final = GpuProcess(pid=4, user="bob", uid=2003, memory_used_bytes=2 * GIB)
CLAIMS: Final = {
    ("lab-01", 4): Claim(who="dana", start=NOW + HOUR, until=NOW + 2 * HOUR),
    ("lab-01", 5): Claim(who="dana", until=NOW + HOUR),
    ("lab-01", 9): Claim(who="ALICE", until=NOW + HOUR),
}
SCREEN: Final = GpuProcess(pid=5, user="gdm", uid=120, kind="graphics", memory_used_bytes=20 * MIB)


def card(node: str, index: int, *processes: GpuProcess, use: float = 0.0, **facts: Any) -> GpuReading:  # noqa: ANN401 - any field
    """A GPU that answers."""
    told: dict[str, Any] = {
        "model": "NVIDIA H100 80GB HBM3",
        "memory_total_bytes": 81_559 * MIB,
        "memory_used_bytes": 4 * MIB + sum(process.memory_used_bytes or 0 for process in processes),
        "processes": processes,
        "temperature_celsius": 40.0,
        "power_watts": 100.0,
        "utilization_percent": use,
    }
    return GpuReading(uuid=f"GPU-{node}-{index}", index=index, **{**told, **facts})


def instance(index: int, *processes: GpuProcess) -> GpuReading:
    """A part of GPU 0 of mig-01."""
    return card(
        "mig-01-part",
        index,
        *processes,
        model="NVIDIA H100 80GB HBM3",
        memory_total_bytes=9_984 * MIB,
        mig_parent_uuid="GPU-mig-01-0",
        mig_profile="1g.10gb",
        power_watts=None,
        utilization_percent=None,
    )


def before() -> dict[str, tuple[GpuReading, ...]]:
    """What the nodes said an hour ago."""
    return {
        "mig-01": (
            card("mig-01", 0, mig_enabled=True),
            instance(0),
            instance(1, ALICE),
            instance(2),
            card("mig-01", 1),
            # MIG is switched on, and nobody has cut it yet.
            card("mig-01", 2, mig_enabled=True),
        ),
        "stale-01": (card("stale-01", 0), card("stale-01", 1, BOB, use=90.0)),
        # Somebody holds GPU 8 and does nothing from then on.
        "lab-01": lab(freed=False),
        "amd-01": amd(),
    }


def lab(*, freed: bool) -> tuple[GpuReading, ...]:
    """One of each."""
    node = "lab-01"
    return (
        card(node, 0, NUMBER, use=50.0),
        card(node, 1, *(() if freed else (BOB,))),
        card(
            node, 2, model="NVIDIA GB10", memory_total_bytes=None, memory_used_bytes=None, memory_unified=True
        ),
        card(node, 3, processes=None),
        card(node, 4),
        card(node, 5),
        card(node, 6, SCREEN, model="NVIDIA T1000", memory_total_bytes=4_096 * MIB),
        card(node, 7, processes=None),
        card(node, 8, BOB),
        card(node, 9, ALICE, ALICE_AGAIN, use=80.0),
        card(node, 10),
    )


def amd() -> tuple[GpuReading, ...]:
    """Cards of another vendor."""
    facts: dict[str, Any] = {
        "vendor": "amd",
        "model": "AMD Instinct MI300X",
        "memory_total_bytes": 196_592 * MIB,
    }
    return (card("amd-01", 0, **facts), card("amd-01", 1, BOB, use=30.0, **facts))


class Golden:
    """The golden fleet, with the web in front of it."""

    def __init__(self, history: EmbeddedHistory | None = None) -> None:
        self.clock = HandClock(NOW - HOUR)
        self.fleet = Fleet(
            self.clock,
            thresholds=Thresholds(ignore=("t1000",)),
            names=Names(
                people={"asmith": "alice"},
                nodes={"amd-01": "Red One"},
                models={"AMD Instinct MI300X": "Big Red"},
            ),
        )
        self.tracker = ChangeTracker(self.fleet)
        info = BoardInfo(version="0", name="golden", demo=False, tick_seconds=1.0, started_at=NOW - HOUR)
        components = Components()
        self.broadcaster = Broadcaster(self.tracker, info, components)
        self.services = Services(
            fleet=self.fleet,
            tracker=self.tracker,
            broadcaster=self.broadcaster,
            access=AccessPolicy(anonymous="names"),
            info=info,
            started_boot_seconds=NOW,
            components=components,
        )
        self.recorder = None
        if history is not None:
            self.recorder = self.fleet.taker = Recorder(history, self.fleet)
            self.recorder.start({}, News([], [], []))
            desk = HistoryDesk(history, self.recorder.counts)
            desk.closed = None
            self.services = replace(self.services, history=desk)
        self._live()

    def _live(self) -> None:
        sink = self.fleet.sink("push")
        sink.expect([*before(), "never-01"])
        for node, gpus in before().items():
            sink.report(node, NodeReport(node=node, gpus=gpus))
        self._tick()
        # GPU 1 of lab-01 was left two minutes ago.
        for age in (120.0, 0.0):
            self.clock.time = NOW - age
            for node, gpus in _now().items():
                sink.report(node, _report(node, gpus))
            self._tick()
        self.fleet.set_claims("booking", CLAIMS)
        self._tick()

    def _tick(self) -> None:
        change = self.tracker.tick()
        self.broadcaster.follow(change)
        if self.recorder is not None:
            self.recorder.follow(change)

    def say_again(self, at: float, changed: Mapping[str, tuple[GpuReading, ...]] | None = None) -> None:
        """Let the nodes that are live say the same once more, but for what has changed."""
        self.clock.time = at
        for node, gpus in {**_now(), **(changed or {})}.items():
            self.fleet.sink("push").report(node, _report(node, gpus))
        self._tick()

    def free(self) -> list[FreeAnswer]:
        """What the board answers to each of the expected wishes."""
        return [self.services.free(wish_of(asked)) for asked in EXPECTED["wishes"]]

    def snapshot(self) -> dict[str, Any]:
        """What the stream tells a page that has just been opened, in an order that is always the same."""
        frame = self.broadcaster.join("names").frames.get_nowait()
        assert frame is not None
        told = decode_frame(frame)
        told |= {"nodes": _in_order(told["nodes"], "name"), "gpus": _in_order(told["gpus"], "uuid")}
        return {**told, "stream": "golden", "sequence": 1, "at": NOW}


def wish_of(asked: dict[str, Any]) -> Wish:
    """One of the expected wishes."""
    memory = parse_size(asked["memory"])
    return Wish(gpus=asked["gpus"], memory_bytes=memory, same_node=asked["same_node"])


def _now() -> dict[str, tuple[GpuReading, ...]]:
    now = {**before(), "lab-01": lab(freed=True)}
    del now["stale-01"]
    return now


def _report(node: str, gpus: tuple[GpuReading, ...]) -> NodeReport:
    lost = problem("gpu-lost", gpu_uuid="GPU-lab-01-3", since=NOW - 60)
    return NodeReport(node=node, gpus=gpus, problems=(lost,) if node == "lab-01" else ())


def _in_order(columns: dict[str, list[Any]], key: str) -> dict[str, list[Any]]:
    order = sorted(range(len(columns[key])), key=lambda row: columns[key][row])
    return {name: [column[row] for row in order] for name, column in columns.items()}


def main() -> None:
    """Write what a page is told."""
    golden = Golden()
    for file, told in ((SNAPSHOT, golden.snapshot()), (FREE, golden.free())):
        file.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")


if __name__ == "__main__":
    main()
