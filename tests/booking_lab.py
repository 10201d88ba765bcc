"""A board with one node whose GPUs are as a test wants them, for bookings."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport, Problem
from gpuboard.model.units import GIB
from gpuboard.wire.ingest import Hello, Live, Sample, encode, encode_sample
from tests.board import RunningBoard, running_board
from tests.pushing import token_of, wait_until

NODE = "gpu01"
# So that it does not become late while a test thinks.
LONG_SECONDS = 3600.0
SETTINGS = """
[access]
anonymous = "counts"

[bookings]
longest = "8h"

[bookings.groups.vip]
longest = "10d"

[bookings.groups.few]
gpus_at_once = 2
hours_per_week = 10

[groups.people]
vip = ["vera"]
few = ["wim"]

[[source]]
kind = "push"
"""


def gpu(number: int, *, user: str | None = None, uid: int = 2000, size: int = 40) -> GpuReading:
    """A GPU that is free, or has somebody on it."""
    process = GpuProcess(pid=100 + number, user=user, uid=uid, memory_used_bytes=8 * GIB, kind="compute")
    return GpuReading(
        uuid=f"GPU-0000000{number}-0000-0000-0000-000000000000",
        index=number,
        model="NVIDIA A100",
        memory_used_bytes=8 * GIB if user else 0,
        memory_total_bytes=size * GIB,
        utilization_percent=90.0 if user else 0.0,
        processes=(process,) if user else (),
    )


class Lab:
    """A running board, and the node that reports to it."""

    def __init__(self, board: RunningBoard, claims: Path) -> None:
        self.board = board
        # Where the settings may say that another board's bookings are: FOLDER/comments.json.
        self.claims = claims
        self._token = token_of(board, NODE)
        self._said_hello = False
        self._sequence = 0

    def report(
        self, *gpus: GpuReading, problems: tuple[Problem, ...] = (), interval_seconds: float = LONG_SECONDS
    ) -> None:
        """Let the node say what its GPUs are like now, and wait until the board shows it."""
        # What was busy is free only after some looks.
        for _ in range(3):
            said_at = time.time()
            self._say(gpus, problems, interval_seconds)
        # Times are told to the millisecond.
        wait_until(lambda: (self._node().get("sampled_at") or 0.0) > said_at - 0.002)

    def _say(
        self, gpus: tuple[GpuReading, ...], problems: tuple[Problem, ...], interval_seconds: float
    ) -> None:
        self._sequence = max(self._sequence + 1, int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))
        sequence = self._sequence
        report = NodeReport(
            node=NODE,
            boot_id="boot-1",
            sequence=sequence,
            taken_at=time.time(),
            interval_seconds=interval_seconds,
            gpus=gpus,
            problems=problems,
        )
        raw = msgspec.Raw(encode_sample(report))
        sample = Sample(sequence=sequence, waited_seconds=0.0, report=raw)
        if not self._said_hello:
            self._post(encode(Hello(node=NODE, boot_id="boot-1")))
            self._said_hello = True
        self._post(encode(Live(sample=sample, follows=None)))

    def row(self, number: int) -> dict[str, Any]:
        """A GPU as the API shows it to whoever is not signed in."""
        found: dict[str, Any] = self._node()["gpus"][number]
        return found

    def _node(self) -> dict[str, Any]:
        answer = httpx.get(f"{self.board.url}api/v1/nodes/{NODE}")
        return answer.json() if answer.is_success else {}

    def _post(self, content: bytes) -> None:
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/msgpack"}
        url = f"{self.board.url}api/v1/reports"
        httpx.post(url, headers=headers, content=content).raise_for_status()


@contextlib.contextmanager
def booking_lab(directory: Path, settings: str = SETTINGS) -> Iterator[Lab]:
    """A board that takes bookings; its node has three free GPUs."""
    file = directory / "gpuboard.toml"
    file.write_text(settings.replace("FOLDER", str(directory)))
    claims = directory / "comments.json"
    claims.write_text("{}")
    with running_board("--config", str(file), log=directory / "log", until="healthz") as board:
        lab = Lab(board, claims)
        lab.report(gpu(0), gpu(1), gpu(2))
        yield lab
