"""A fleet with a recorder, whose nodes say what a test lets them say."""

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import History
from gpuboard.history.figures import VERDICTS
from gpuboard.history.gathering import News, read_news
from gpuboard.history.recorder import Recorder
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from tests.clock import HandClock
from tests.fakes.history import WrittenDown

Kept = TypeVar("Kept", bound=History)

GIB = 1024**3


def reading(
    index: int = 0,
    *,
    use: float = 0.0,
    user: str | None = None,
    began: float | None = None,
    **more: Any,  # noqa: ANN401
) -> GpuReading:
    """A GPU, with somebody on it or not."""
    held = 4 * GIB if user else 0
    process = GpuProcess(
        pid=7, user=user, uid=1000, program="train", kind="compute", memory_used_bytes=held, started_at=began
    )
    processes = () if user is None else (process,)
    return GpuReading(
        **{
            "uuid": f"GPU-{index}",
            "index": index,
            "model": "NVIDIA A100-SXM4-80GB",
            "memory_used_bytes": held,
            "memory_total_bytes": 80 * GIB,
            "utilization_percent": use,
            "processes": processes,
            **more,
        }
    )


class Lab(Generic[Kept]):
    """A fleet with a recorder, and a clock that a test moves."""

    def __init__(self, history: Kept, time: float = 1_800_000_000.0) -> None:
        self.clock = HandClock(time)
        self.fleet = Fleet(self.clock)
        self.history = history
        self.recorder = Recorder(self.history, self.fleet)
        self.fleet.taker = self.recorder
        self.tracker = ChangeTracker(self.fleet)
        self.recorder.start(history.positions(), self.legacy())

    def legacy(self) -> News:
        """What an earlier board left in the history."""
        return read_news(self.history, self.clock.time)

    def say(
        self,
        gpus: Iterable[GpuReading] | None = (),
        *,
        sequence: int | None = 1,
        age: float = 0.0,
        node: str = "dgx",
        source: str = "push",
        is_backfill: bool = False,
        boot: str | None = "boot",
        **more: Any,  # noqa: ANN401
    ) -> bool:
        """Let a node say something."""
        report = NodeReport(
            node=node,
            boot_id=boot,
            sequence=sequence,
            age_seconds=age,
            interval_seconds=5.0,
            gpus=None if gpus is None else tuple(gpus),
            **more,
        )
        sink = self.fleet.sink(source)
        return sink.take(node, report, is_backfill=True) if is_backfill else sink.report(node, report)

    def tick(self, seconds: float = 1.0) -> None:
        """Let time go by, and the fleet be judged."""
        self.clock.time += seconds
        self.recorder.follow(self.tracker.tick())

    async def write(self) -> None:
        """Write all that is ready."""
        while self.recorder._late:
            self.recorder._judge_some()
        await self.recorder.write()


def made_up() -> Lab[WrittenDown]:
    """One whose history only remembers what it was told."""
    return Lab(WrittenDown())


def verdicts(lab: Lab[WrittenDown], gpu: str = "GPU-0") -> list[str | None]:
    """The words that were written of a GPU."""
    codes = [one.numbers["verdict"] for one in lab.history.samples if one.gpu == gpu]
    return [None if code is None else VERDICTS[int(code)] for code in codes]
