"""A node's allowance is the board's time, not only messages: dirty reports cost whoever sends them."""

import contextlib
import time
from functools import partial
from pathlib import Path

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.web.limits import CPU_SECONDS_BURST, CPU_SECONDS_PER_SECOND
from gpuboard.web.throttle import NodeAllowance
from gpuboard.wire.clean import clean_facts, is_plain
from gpuboard.wire.ingest import Hello, Live, Sample, encode
from tests.board import RunningBoard, running_board
from tests.hostile.floods import Honest, at_once
from tests.pushing import report_of, token_of

SECONDS = 4.0
SLOWEST_SECONDS = 2.5


def report_with(text: str, node: str = "hostile", processes: int = 504) -> NodeReport:
    """A report whose every text is this one."""
    gpus = [
        GpuReading(
            uuid=f"GPU-{number}",
            index=number,
            processes=tuple(
                GpuProcess(pid=pid + 1, user=text, program=text) for pid in range(processes // 8)
            ),
        )
        for number in range(8)
    ]
    return msgspec.structs.replace(report_of(node), gpus=tuple(gpus))


def cost(report: NodeReport) -> float:
    """The time of the processor that looking at a report takes, at its best of five."""
    times = []
    for _ in range(5):
        started = time.process_time()
        if not is_plain(report):
            clean_facts(report)
        times.append(time.process_time() - started)
    return min(times)


def test_dirty_text_costs_little_more_than_clean_text() -> None:
    """It was a thousand times as much; what is left is what replacing every text takes."""
    plain, dirty = cost(report_with("a" * 200)), cost(report_with("\x01" * 200))
    assert dirty < 300 * plain


def test_a_node_that_costs_much_has_to_wait() -> None:
    """Until what it took is a small share of the time; a calm one never waits."""
    greedy, calm = NodeAllowance(0.0), NodeAllowance(0.0)
    greedy.charge(CPU_SECONDS_BURST + 0.1, 1.0)
    for second in range(100):
        calm.charge(0.005, 2.0 * second)
        assert calm.delay(2.0 * second) == 0
    assert abs(greedy.delay(1.0) - 0.1 / CPU_SECONDS_PER_SECOND) < 0.01
    assert greedy.delay(1.0 + 0.2 / CPU_SECONDS_PER_SECOND) == 0


def send_dirty(board: RunningBoard, token: str, until: float) -> int:
    """Send reports that are dear, as many as are taken; how many were."""
    address = board.url.replace("http", "ws", 1) + "api/v1/ingest"
    headers = {"Authorization": f"Bearer {token}"}
    report = report_with("a\x01" * 95)
    taken = 0
    with (
        contextlib.suppress(ConnectionClosed, TimeoutError),
        connect(address, additional_headers=headers, compression=None, max_size=None) as line,
    ):
        line.send(encode(Hello(node="hostile", boot_id="boot-1")))
        line.recv(timeout=30)
        while time.monotonic() < until:
            data = msgspec.msgpack.encode(msgspec.structs.replace(report, sequence=taken + 1))
            sample = Sample(sequence=taken + 1, waited_seconds=0.0, report=msgspec.Raw(data))
            line.send(encode(Live(sample=sample, follows=None)))
            line.recv(timeout=max(0.1, until - time.monotonic()))
            taken += 1
    return taken


def test_a_node_with_dear_reports_slows_itself_and_nobody_else(tmp_path: Path) -> None:
    """Within its messages it may be; its time is used up soon."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        until = time.monotonic() + SECONDS
        with at_once(partial(send_dirty, board, token_of(board, "hostile"), until), 1) as taken:
            took = sorted(honest.report(until))
    assert took[int(len(took) * 0.95)] < SLOWEST_SECONDS
    assert isinstance(taken[0], int)
    assert 0 < taken[0] < SECONDS * 20
    assert "Traceback" not in (tmp_path / "log").read_text()
