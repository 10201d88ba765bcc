"""Agents without a machine: real pushers that hand over simulated reports, for tests with a real board."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.channel import Channel, open_websocket
from gpuboard.agent.node_token import write_token
from gpuboard.agent.push import Open, Pusher, RetryPauses
from gpuboard.model.report import NodeReport
from gpuboard.probes.simulated import simulate
from gpuboard.wire.enrolment import node_of_token, show_code
from gpuboard.wire.ingest import (
    Acknowledgement,
    AgentMessage,
    BoardMessage,
    decode_from_agent,
    decode_from_board,
)
from tests.board import RunningBoard
from tests.databases import open_database

IMPATIENT = RetryPauses(
    first_seconds=0.1, longest_seconds=0.3, first_refused_seconds=0.3, longest_refused_seconds=0.3
)


def enrol(state: Path, *nodes: str) -> dict[str, str]:
    """Tokens for these nodes, made before the board starts."""
    database = open_database(state)
    try:
        tokens = NodeTokens(database)
        return {node: tokens.redeem(tokens.invite(node))[1] for node in nodes}
    finally:
        database.close()


def invite(state: Path, node: str) -> str:
    """An enrolment code, made while the board runs."""
    database = open_database(state)
    try:
        return NodeTokens(database).invite(node)
    finally:
        database.close()


def revoke(state: Path, node: str) -> None:
    """Take a node's token away, while the board runs."""
    database = open_database(state)
    try:
        NodeTokens(database).revoke(node)
    finally:
        database.close()


def token_of(board: RunningBoard, node: str) -> str:
    """A fresh token of a node, asked for as a node does, so that the board knows it at once."""
    answer = httpx.post(f"{board.url}api/v1/enroll", json={"code": invite(board.state, node)})
    token: str = answer.json()["token"]
    return token


def enroll_by_command(board: RunningBoard, node: str, token_file: str) -> None:
    """Get a node's token into its file as people do, the code typed."""
    command = [sys.executable, "-m", "gpuboard", "agent", "enroll", board.url, "--token-file", token_file]
    code = f"{show_code(invite(board.state, node))}\n"
    subprocess.run(command, input=code, text=True, check=True, capture_output=True, timeout=30)


def without_history(folder: Path) -> tuple[str, str]:
    """What makes a demo a board without a past: what it has been sent is taken at once."""
    (folder / "no-history.toml").write_text('[history]\nkind = "none"\n')
    return "--config", str(folder / "no-history.toml")


def token_file(folder: Path, token: str) -> Path:
    """A token in its file."""
    path = folder / f"{node_of_token(token)}.token"
    write_token(path, token)
    return path


def report_of(node: str) -> NodeReport:
    """What a node says now, with the sequence that a real agent would give it."""
    now = time.time()
    sequence = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
    report = simulate(node, now)
    return NodeReport(
        node=node,
        boot_id="boot-1",
        sequence=sequence,
        taken_at=now,
        interval_seconds=5.0,
        host=report.host,
        gpus=report.gpus,
    )


class Wire:
    """Everything that one agent said and heard, as it was on the wire."""

    def __init__(self) -> None:
        self.said: list[AgentMessage] = []
        self.said_at: list[float] = []
        self.heard: list[BoardMessage] = []
        # Both, in the order in which they were on the wire.
        self.all: list[AgentMessage | BoardMessage] = []
        self.under_way = 0
        self.most_under_way = 0

    @contextlib.contextmanager
    def open(self, address: BoardAddress, token: str) -> Iterator[Channel]:
        """A WebSocket that is listened to."""
        self.under_way = 0
        with open_websocket(address, token) as channel:
            yield _Tapped(channel, self)

    def refusals(self) -> list[str]:
        """What the board refused, in its words."""
        return [
            r.reason for answer in self.heard if isinstance(answer, Acknowledgement) for r in answer.refused
        ]


class _Tapped:
    def __init__(self, channel: Channel, wire: Wire) -> None:
        self._channel = channel
        self._wire = wire

    def send(self, message: bytes) -> None:
        said = decode_from_agent(message)
        self._wire.said.append(said)
        self._wire.said_at.append(time.monotonic())
        self._wire.all.append(said)
        self._channel.send(message)
        self._wire.under_way += 1
        self._wire.most_under_way = max(self._wire.most_under_way, self._wire.under_way)

    def receive(self, seconds: float) -> bytes | None:
        data = self._channel.receive(seconds)
        if data is not None:
            heard = decode_from_board(data)
            self._wire.heard.append(heard)
            self._wire.all.append(heard)
            self._wire.under_way -= 1
        return data


@contextlib.contextmanager
def running_pusher(
    url: str,
    token: Path,
    *,
    ca_file: Path | None = None,
    pauses: RetryPauses = IMPATIENT,
    open_channel: Open = open_websocket,
) -> Iterator[Pusher]:
    """A pusher in its thread until the block ends."""
    pusher = Pusher(
        BoardAddress(url, ca_file=ca_file),
        token,
        interval_seconds=0.2,
        pauses=pauses,
        open_websocket=open_channel,
    )
    stop = threading.Event()
    thread = threading.Thread(target=pusher.run, args=(stop,))
    thread.start()
    try:
        yield pusher
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive()


def wait_until(what: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.02)
