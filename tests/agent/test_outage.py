"""The board is killed while twenty agents sample; counted at the wire, nothing is lost or taken twice."""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.board import free_port, running_board
from tests.outage import INTERVAL_SECONDS, Sampling, acknowledged, any_taken, handed_over
from tests.pushing import Wire, enrol, running_pusher, token_file, wait_until

AGENTS = tuple(f"dgx-{number}" for number in range(40, 60))
OUTAGE_SECONDS = 5.0


def wrong_ages(wire: Wire, offered: dict[int, float]) -> list[float]:
    """By how much the samples said to have waited for too long or too short a time."""
    errors = [
        abs((at - offered[sample.sequence]) - sample.waited_seconds)
        for message, at in zip(wire.said, wire.said_at, strict=True)
        for sample in handed_over(message)
    ]
    return [error for error in errors if error > 0.5]


@pytest.mark.timeout(120)
def test_kill_9_of_the_board_loses_nothing_and_takes_nothing_twice(tmp_path: Path) -> None:
    """Every sample taken meanwhile is acknowledged once and in order."""
    port = free_port()
    log = tmp_path / "log"
    tokens = enrol(log.parent / "state", *AGENTS)
    wires = {node: Wire() for node in AGENTS}
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        pushers = {
            node: stack.enter_context(
                running_pusher(url, token_file(tmp_path, token), open_channel=wires[node].open)
            )
            for node, token in tokens.items()
        }
        sampling = Sampling(pushers)
        stack.callback(sampling.stop)
        with running_board("--demo", "1", log=log, port=port) as board:
            wait_until(lambda: all(any_taken(wire) for wire in wires.values()))
            time.sleep(1)
            os.kill(board.process.pid, signal.SIGKILL)
            board.process.wait()
        before = {node: len(offered) for node, offered in sampling.offered.items()}
        time.sleep(OUTAGE_SECONDS)
        missed = [len(offered) - before[node] for node, offered in sampling.offered.items()]
        with running_board("--demo", "1", log=log, port=port):
            # Still sampling: the newest is shown beside the backlog.
            wait_until(lambda: all(pusher.waiting < 5 for pusher in pushers.values()), 20)
            sampling.stop()
            wait_until(lambda: all(pusher.waiting == 0 for pusher in pushers.values()))
    assert min(missed) >= OUTAGE_SECONDS / INTERVAL_SECONDS / 2
    for node, wire in wires.items():
        assert acknowledged(wire) == list(sampling.offered[node])
        assert wrong_ages(wire, sampling.offered[node]) == []
        assert wire.refusals() == []
        assert wire.most_under_way <= 2
    assert all(pusher.lost == 0 for pusher in pushers.values())
