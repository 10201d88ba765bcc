"""The board is killed while twenty agents sample; counted at the wire, nothing is lost or taken twice."""

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from gpuboard.wire.ingest import (
    Acknowledgement,
    AgentMessage,
    BoardMessage,
    Hello,
    Live,
    Sample,
    Welcome,
    decode_from_board,
    encode,
    encode_sample,
)
from tests.board import RunningBoard, free_port, running_board
from tests.outage import Sampling, acknowledged, all_safe, any_taken, handed_over, quick_history
from tests.pushing import Wire, enrol, report_of, running_pusher, token_file, wait_until

AGENTS = tuple(f"dgx-{number}" for number in range(40, 60))
# So many samples of each agent the board takes before it is killed, and so many it misses.
TAKEN, MISSED = 5, 12


def wrong_ages(wire: Wire, offered: dict[int, float]) -> list[float]:
    """By how much the samples said to have waited for too long or too short a time."""
    errors = [
        abs((at - offered[sample.sequence]) - sample.waited_seconds)
        for message, at in zip(wire.said, wire.said_at, strict=True)
        for sample in handed_over(message)
    ]
    return [error for error in errors if error > 2]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_of_the_board_loses_nothing_and_takes_nothing_twice(tmp_path: Path) -> None:
    """Every sample taken meanwhile is acknowledged once and in order."""
    port = free_port()
    log = tmp_path / "log"
    settings = quick_history(tmp_path)
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
        with running_board("--config", settings, log=log, port=port, until="healthz") as board:
            wait_until(lambda: all(any_taken(wire) for wire in wires.values()))
            wait_until(lambda: all(len(acknowledged(wire)) >= TAKEN for wire in wires.values()))
            os.kill(board.process.pid, signal.SIGKILL)
            board.process.wait()
        before = {node: len(offered) for node, offered in sampling.offered.items()}
        wait_until(lambda: all(len(sampling.offered[node]) >= before[node] + MISSED for node in AGENTS))
        with running_board("--config", settings, log=log, port=port, until="healthz"):
            # Still sampling: the newest is shown beside the backlog.
            offered = {node: list(numbers) for node, numbers in sampling.offered.items()}
            wait_until(lambda: all_safe(wires, offered))
            sampling.stop()
    for node, wire in wires.items():
        assert acknowledged(wire)[: len(offered[node])] == offered[node]
        assert wrong_ages(wire, sampling.offered[node]) == []
        assert wire.refusals() == []
        assert wire.most_under_way <= 2
    assert all(pusher.lost == 0 for pusher in pushers.values())


def say(board: RunningBoard, token: str, message: AgentMessage) -> BoardMessage:
    """Send one message and return the answer."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/msgpack"}
    answer = httpx.post(f"{board.url}api/v1/reports", headers=headers, content=encode(message))
    return decode_from_board(answer.raise_for_status().content)


def greet(board: RunningBoard, token: str, hello: Hello) -> BoardMessage:
    """Say hello; a board that has just started may not know its nodes yet."""
    answers: list[BoardMessage] = []

    def is_answered() -> bool:
        with suppress(httpx.HTTPStatusError):
            answers.append(say(board, token, hello))
        return bool(answers)

    wait_until(is_answered)
    return answers[0]


def test_a_board_that_was_stopped_knows_afterwards_what_it_had_shown(tmp_path: Path) -> None:
    """A recorded sample cannot be shown again by waiting for a restart."""
    log = tmp_path / "log"
    (node,) = AGENTS[:1]
    token = enrol(log.parent / "state", node)[node]
    report, settings = report_of(node), quick_history(tmp_path)
    sequence = report.sequence or 0
    recorded = Live(
        sample=Sample(sequence=sequence, waited_seconds=0.0, report=msgspec.Raw(encode_sample(report))),
        follows=-1,
    )
    hello = Hello(node=node, boot_id="boot-1")
    with running_board("--config", settings, log=log, until="healthz") as board:
        greet(board, token, hello)
        first = say(board, token, recorded)
    with running_board("--config", settings, log=log, until="healthz") as board:
        welcome = greet(board, token, hello)
        again = say(board, token, recorded)
    assert isinstance(first, Acknowledgement)
    # Kept for good with the next batch, or before the board stops.
    assert (first.taken, first.refused) == (None, ())
    assert isinstance(welcome, Welcome)
    assert (welcome.shown, welcome.taken) == (sequence, sequence)
    assert isinstance(again, Acknowledgement)
    assert [refusal.sequence for refusal in again.refused] == [sequence]
