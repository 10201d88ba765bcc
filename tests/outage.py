"""Agents that sample while their board is away, and what is counted at the wire afterwards."""

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuboard.agent.push import Pusher
from gpuboard.wire.ingest import Acknowledgement, Backfill, Live, Sample, Welcome
from tests.pushing import Wire, report_of

INTERVAL_SECONDS = 0.2


def quick_history(folder: Path) -> str:
    """Settings of a board that agents push to and that writes its history every second."""
    settings = folder / "gpuboard.toml"
    settings.write_text('[[source]]\nkind = "push"\n[history]\nkind = "embedded"\ngrid = "1s"\n')
    return str(settings)


class Sampling:
    """One thread that samples for all agents, and notes what it offered when."""

    def __init__(self, pushers: dict[str, Pusher], *, said_interval: float = 5.0) -> None:
        self._pushers = pushers
        self._said_interval = said_interval
        self.offered: dict[str, dict[int, float]] = {node: {} for node in pushers}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Take no more samples."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            for node, pusher in self._pushers.items():
                report = replace(report_of(node), interval_seconds=self._said_interval)
                pusher.offer(report)
                assert report.sequence is not None
                self.offered[node][report.sequence] = time.monotonic()
            # Never two at once: on a busy machine they would have the same number.
            due = max(due, time.monotonic()) + INTERVAL_SECONDS


def handed_over(message: object) -> list[Sample]:
    """The samples of a message that are meant for history."""
    if isinstance(message, Backfill):
        return list(message.samples)
    return [message.sample] if isinstance(message, Live) and message.follows is not None else []


def acknowledged(wire: Wire) -> list[int]:
    """The samples in the order in which the board acknowledged them, counted at the wire.

    Whatever is handed over once more after its acknowledgement would be counted a second time.
    """
    done: list[int] = []
    under_way: list[int] = []
    for message in wire.all:
        if isinstance(message, Welcome):
            # A new connection: what was under way on the last one was not acknowledged, unless now.
            under_way = [sequence for sequence in under_way if sequence <= (message.taken or -1)]
        if isinstance(message, Welcome | Acknowledgement):
            done += [sequence for sequence in under_way if sequence <= (message.taken or -1)]
            under_way = [sequence for sequence in under_way if sequence > (message.taken or -1)]
        under_way += [sample.sequence for sample in handed_over(message)]
    return done


def all_safe(wires: Mapping[str, Wire], offered: Mapping[str, Iterable[int]]) -> bool:
    """Whether agents were told of all these samples that they are safe; they hear it with a later answer."""
    return all(max(offered[node]) <= newest_safe(wire) for node, wire in wires.items())


def newest_safe(wire: Wire) -> int:
    """How far an agent was told that all is safe."""
    return next((answer.taken for answer in reversed(wire.heard) if answer.taken is not None), -1)


def any_taken(wire: Wire) -> bool:
    """Whether the board has taken something of this agent."""
    return any(answer.taken is not None for answer in list(wire.heard))
