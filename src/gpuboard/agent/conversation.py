"""What the agent should say next to the board, and what it learns from the answers. Pure.

At most one live sample and one batch are under way at any time, so a slow board never fills up; a sample that
is newer than the one under way simply takes its turn instead. History gets every sample in order: a live one
counts there only when nothing before it is missing, otherwise it comes again in a batch.
"""

from typing import Final

import msgspec

from gpuboard.agent.buffer import Held, SampleBuffer
from gpuboard.wire.ingest import (
    MAX_BATCH_BYTES,
    MAX_BATCH_SAMPLES,
    Acknowledgement,
    AgentMessage,
    Backfill,
    Hello,
    Live,
    Refusal,
    Sample,
    Welcome,
    encode,
)

AGAIN_SECONDS: Final = 30.0


class Conversation:
    """The agent's side of the protocol, over any number of connections."""

    def __init__(self, hello: Hello, buffer: SampleBuffer) -> None:
        self._hello = hello
        self._buffer = buffer
        self.is_welcome = False
        # The live sample and the batch that are under way, by their (last) sequence.
        self._live: int | None = None
        self._batch: int | None = None
        # The last sample sent to be shown, and the last one handed over in order.
        self._shown = -1
        self._handed = -1
        # A board whose history is full is not asked again at once.
        self._batch_after = float("-inf")

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is due."""
        return not self.is_welcome or self._live is not None or self._batch is not None

    def begin(self) -> bytes:
        """Start over on a new connection; the first message to send."""
        self.is_welcome = False
        self._live = self._batch = None
        return encode(self._hello)

    def due(self, now: float) -> list[bytes]:
        """The messages to send now, in this order."""
        if not self.is_welcome:
            return []
        messages: list[AgentMessage] = []
        newest = self._buffer.newest
        if self._live is None and newest is not None and newest.sequence > self._shown:
            messages.append(self._next_live(newest, now))
        if self._batch is None and now >= self._batch_after:
            messages.extend(self._next_batch(now))
        return [encode(message) for message in messages]

    def hear(self, answer: Welcome | Acknowledgement, now: float) -> tuple[Refusal, ...]:
        """Learn from an answer; what the board refused for good is returned, to be said in words."""
        if answer.taken is not None:
            self._buffer.release_through(answer.taken)
        if isinstance(answer, Welcome):
            self.is_welcome = True
            self._shown = -1 if answer.shown is None else answer.shown
            self._handed = -1 if answer.taken is None else answer.taken
            return ()
        if answer.live is not None and answer.live == self._live:
            self._live = None
        if answer.batch is not None and answer.batch == self._batch:
            self._batch = None
        if answer.again:
            self._handed = -1 if answer.taken is None else answer.taken
            self._batch_after = now + AGAIN_SECONDS
        for refusal in answer.refused:
            self._buffer.release(refusal.sequence)
        return answer.refused

    def _next_live(self, newest: Held, now: float) -> Live:
        follows = None
        if self._buffer.is_next(newest.sequence, after=self._handed):
            follows, self._handed = self._handed, newest.sequence
        self._live = self._shown = newest.sequence
        return Live(sample=_sample(newest, now), follows=follows)

    def _next_batch(self, now: float) -> list[Backfill]:
        # What is newer than the last live sample waits for its turn to be shown.
        held = self._buffer.between(
            self._handed, self._shown, max_samples=MAX_BATCH_SAMPLES, max_bytes=MAX_BATCH_BYTES
        )
        if not held:
            return []
        follows = self._handed
        self._batch = self._handed = held[-1].sequence
        return [Backfill(follows=follows, samples=tuple(_sample(sample, now) for sample in held))]


def _sample(held: Held, now: float) -> Sample:
    waited = max(0.0, now - held.held_since)
    return Sample(sequence=held.sequence, waited_seconds=waited, report=msgspec.Raw(held.data))
