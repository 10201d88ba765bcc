"""A node's allowance is the board's time, not only messages: dirty reports cost whoever sends them."""

import time
from functools import partial
from pathlib import Path

from gpuboard.model.report import NodeReport
from gpuboard.web.limits import CPU_SECONDS_BURST, CPU_SECONDS_PER_SECOND
from gpuboard.web.throttle import NodeAllowance
from gpuboard.wire.clean import clean_facts, is_plain
from tests.board import running_board
from tests.hostile.floods import Honest, at_once, push_without_pause, report_with
from tests.pushing import token_of

SECONDS = 6.0
SLOWEST_SECONDS = 2.5


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
    assert dirty < 200 * plain


def test_a_node_that_costs_much_has_to_wait() -> None:
    """Until what it took is a small share of the time; a calm one never waits."""
    greedy, calm = NodeAllowance(0.0), NodeAllowance(0.0)
    greedy.charge(CPU_SECONDS_BURST + 0.1)
    for second in range(100):
        calm.charge(0.005)
        assert calm.delay(2.0 * second) == 0
    assert abs(greedy.delay(1.0) - 0.1 / CPU_SECONDS_PER_SECOND) < 0.01
    assert greedy.delay(1.0 + 0.2 / CPU_SECONDS_PER_SECOND) == 0


def test_a_node_with_dear_reports_slows_itself_and_nobody_else(tmp_path: Path) -> None:
    """Within its messages it may be; its time is used up soon."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        honest = Honest(board.url, "honest", token_of(board, "honest"))
        until = time.monotonic() + SECONDS
        token, dirty = token_of(board, "hostile"), report_with("a\x01" * 95)
        dear = cost(dirty)
        with at_once(partial(push_without_pause, board.url, token, until, lambda: dirty), 1) as taken:
            took = sorted(honest.report(until))
    assert took[int(len(took) * 0.95)] < SLOWEST_SECONDS
    assert isinstance(taken[0], int)
    # By what one costs here: a fast machine looks at more of them in the same time.
    allowed = (CPU_SECONDS_BURST + CPU_SECONDS_PER_SECOND * SECONDS) / dear
    assert 0 < taken[0] < 1.5 * allowed
    assert "Traceback" not in (tmp_path / "log").read_text()
