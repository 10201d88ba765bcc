"""The load: agents and viewers of a board, in a process of their own. Orders on stdin, figures on stdout.

An agent has one report under way at most. When the board has not acknowledged it by the time of the next,
that one is held back, as a real agent would (it would send it later, as back-fill).
"""

import asyncio
import gzip
import sys
import time
from collections import Counter, deque
from collections.abc import Awaitable, Iterable
from typing import Any, Final

import msgspec
import uvloop
from msgspec import Struct

from bench._messages import BOOT_ID, Messages
from bench._socket import Socket, connect
from gpuboard.wire.ingest import Acknowledgement, Hello, decode_from_board, encode

CONNECTING_AT_ONCE: Final = 20
DRAIN_SECONDS: Final = 20.0
# Percentiles are good to this.
GRAIN_SECONDS: Final = 0.001
_GZIP: Final = b"\x1f\x8b"


class Order(Struct, frozen=True, kw_only=True):
    """What to load the board with."""

    port: int
    tokens: dict[str, str]
    viewers: int
    interval_seconds: float
    warm_up_seconds: float
    seconds: float


class Figures(Struct, frozen=True, kw_only=True):
    """What was seen."""

    sent: int
    acknowledged: int
    refused: int
    held_back: int
    lines_lost: int
    # Reports acknowledged while it was measured, and for how long that was.
    measured: int
    seconds: float
    ingest_p50: float
    ingest_p95: float
    frames: int
    lag_p50: float
    lag_p95: float
    cpu_seconds: float


class Spread:
    """Percentiles of many values, in little memory."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, values: Iterable[float]) -> None:
        """Count values."""
        self._counts.update(int(value / GRAIN_SECONDS) for value in values)

    def clear(self) -> None:
        """Forget all: the warm-up does not count."""
        self._counts.clear()

    def at(self, share: float) -> float:
        """The value below which this share of all lies."""
        left = share * self._counts.total()
        for grain, count in sorted(self._counts.items()):
            left -= count
            if left <= 0:
                return (grain + 1) * GRAIN_SECONDS
        return 0.0


class Agent:
    """One node that pushes."""

    def __init__(self, node: str, interval: float, latencies: Spread) -> None:
        self.sent = self.acknowledged = self.refused = self.held_back = 0
        # When the last reports left, by the wall clock; viewers ask how old they are.
        self.times: deque[float] = deque(maxlen=8)
        self.socket: Socket | None = None
        self._node = node
        self._messages = Messages(node, interval)
        self._latencies = latencies
        self._under_way_since: float | None = None

    async def open(self, port: int, token: str) -> None:
        """Connect and say hello."""
        self.socket = await connect(port, "/api/v1/ingest", self.hear, token=token)
        self.socket.send(encode(Hello(node=self._node, boot_id=BOOT_ID)))

    def speak(self) -> None:
        """Send the next report, unless the last is still under way."""
        assert self.socket is not None
        if self._under_way_since is not None or self.socket.is_lost:
            self.held_back += 1
            return
        now = time.time()
        self._under_way_since = time.perf_counter()
        self.times.append(now)
        self.socket.send(self._messages.next(now))
        self.sent += 1

    def hear(self, data: bytes) -> None:
        """Take in an answer of the board."""
        answer = decode_from_board(data)
        if not isinstance(answer, Acknowledgement):
            return
        assert answer.live == self._messages.sequence
        assert self._under_way_since is not None
        self._latencies.add([time.perf_counter() - self._under_way_since])
        self._under_way_since = None
        self.refused += len(answer.refused)
        # With a history it is safe some seconds later; what would have to come again is said at once.
        self.acknowledged += not answer.refused and not answer.again


class _Rows(Struct, frozen=True):
    nodes: dict[str, list[Any]] = {}


class Audience:
    """All viewers; a frame that many get is read once."""

    def __init__(self, agents: dict[str, Agent]) -> None:
        self.frames = 0
        self.lags = Spread()
        self.counts = False
        self._agents = agents
        self._sent_in: dict[bytes, list[float]] = {}
        self._decoder = msgspec.json.Decoder(_Rows)

    def hear(self, frame: bytes) -> None:
        """One frame has reached one viewer."""
        now = time.time()
        # gzip ends with checksum and length.
        key = frame[-8:] if frame.startswith(_GZIP) else frame
        if key not in self._sent_in:
            if len(self._sent_in) > 100:
                self._sent_in.clear()
            self._sent_in[key] = self._times_of(frame)
        if self.counts:
            self.frames += 1
            self.lags.add([now - sent for sent in self._sent_in[key]])

    def _times_of(self, frame: bytes) -> list[float]:
        """When the reports in a frame were sent: the last that left before the board got it."""
        nodes = self._decoder.decode(gzip.decompress(frame) if frame.startswith(_GZIP) else frame).nodes
        found = []
        for name, at in zip(nodes.get("name", ()), nodes.get("sampled_at", ()), strict=True):
            if at is not None and name in self._agents:
                before = [sent for sent in self._agents[name].times if sent <= at + 0.01]
                found.extend(before[-1:])
        return found


async def run(order: Order) -> Figures:
    """Connect all, warm up, measure, wait for the last answers."""
    latencies = Spread()
    agents = {node: Agent(node, order.interval_seconds, latencies) for node in order.tokens}
    audience = Audience(agents)
    await _some_at_once(agent.open(order.port, order.tokens[node]) for node, agent in agents.items())
    speaking = asyncio.create_task(_speak(list(agents.values()), order.interval_seconds))
    await _some_at_once(connect(order.port, "/api/v1/stream", audience.hear) for _ in range(order.viewers))
    await asyncio.sleep(order.warm_up_seconds)

    before, began, cpu = _acknowledged(agents), time.monotonic(), time.process_time()
    latencies.clear()
    audience.counts = True
    print("measuring", flush=True)
    await asyncio.sleep(order.seconds)
    audience.counts = False
    measured, seconds, cpu = (
        _acknowledged(agents) - before,
        time.monotonic() - began,
        time.process_time() - cpu,
    )
    print("measured", flush=True)

    speaking.cancel()
    everyone = agents.values()
    for _ in range(int(DRAIN_SECONDS / 0.05)):
        if all(agent.sent == agent.acknowledged + agent.refused for agent in everyone):
            break
        await asyncio.sleep(0.05)
    return Figures(
        sent=sum(agent.sent for agent in everyone),
        acknowledged=_acknowledged(agents),
        refused=sum(agent.refused for agent in everyone),
        held_back=sum(agent.held_back for agent in everyone),
        lines_lost=sum(agent.socket is None or agent.socket.is_lost for agent in everyone),
        measured=measured,
        seconds=seconds,
        ingest_p50=latencies.at(0.5),
        ingest_p95=latencies.at(0.95),
        frames=audience.frames,
        lag_p50=audience.lags.at(0.5),
        lag_p95=audience.lags.at(0.95),
        cpu_seconds=cpu,
    )


def _acknowledged(agents: dict[str, Agent]) -> int:
    return sum(agent.acknowledged for agent in agents.values())


async def _speak(agents: list[Agent], interval: float) -> None:
    """Let every agent speak once per interval, evenly spread."""
    began, turn = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - began) / interval * len(agents))
        for place in range(turn, due):
            agents[place % len(agents)].speak()
        turn = due
        await asyncio.sleep(0.002)


async def _some_at_once(openings: Iterable[Awaitable[object]]) -> None:
    """Connect everybody, a few at a time, so that the board's queue of new connections does not overflow."""
    limit = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def one(opening: Awaitable[object]) -> None:
        async with limit:
            await opening

    await asyncio.gather(*(one(opening) for opening in openings))


if __name__ == "__main__":
    figures = uvloop.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Order)))
    print(msgspec.json.encode(figures).decode(), flush=True)
