"""Samples that the board has not taken yet: in order, bounded by count and by bytes. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct

HOUR_SECONDS: Final = 3600.0
MAX_BYTES: Final = 16 * 1024 * 1024

_sequence: Final = attrgetter("sequence")


class Held(Struct, frozen=True):
    """One encoded sample and when it was put here, by a clock that never jumps."""

    sequence: int
    data: bytes
    held_since: float


class SampleBuffer:
    """Keeps the newest samples; beyond its bounds the oldest are lost, and counted."""

    def __init__(self, *, max_samples: int, max_bytes: int = MAX_BYTES) -> None:
        self._max_samples = max(1, max_samples)
        self._max_bytes = max_bytes
        self._samples: list[Held] = []
        self.bytes = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def newest(self) -> Held | None:
        """The last sample that was added."""
        return self._samples[-1] if self._samples else None

    def add(self, sample: Held) -> None:
        """Add the newest sample.

        Raises:
            ValueError: its sequence does not rise.
        """
        newest = self.newest
        if newest is not None and sample.sequence <= newest.sequence:
            raise ValueError(f"sequence {sample.sequence} does not follow {newest.sequence}")
        self._samples.append(sample)
        self.bytes += len(sample.data)
        surplus = 0
        size = self.bytes
        # The newest always stays: without it the board would show nothing.
        while surplus < len(self._samples) - 1 and (
            len(self._samples) - surplus > self._max_samples or size > self._max_bytes
        ):
            size -= len(self._samples[surplus].data)
            surplus += 1
        self.lost += surplus
        self._drop(surplus)

    def between(self, after: int, through: int, *, max_samples: int, max_bytes: int) -> Sequence[Held]:
        """The oldest samples of a range, as many as fit; at least one if there is any."""
        start = bisect_right(self._samples, after, key=_sequence)
        end = min(bisect_right(self._samples, through, key=_sequence), start + max_samples)
        size = 0
        for index in range(start, end):
            size += len(self._samples[index].data)
            if size > max_bytes and index > start:
                return self._samples[start:index]
        return self._samples[start:end]

    def is_next(self, sequence: int, *, after: int) -> bool:
        """Whether this sample is the first one held after another."""
        start = bisect_right(self._samples, after, key=_sequence)
        return start < len(self._samples) and self._samples[start].sequence == sequence

    def release_through(self, sequence: int) -> int:
        """Let go of all samples through this one; how many there were."""
        count = bisect_right(self._samples, sequence, key=_sequence)
        self._drop(count)
        return count

    def release(self, sequence: int) -> None:
        """Let go of one sample."""
        index = bisect_left(self._samples, sequence, key=_sequence)
        if index < len(self._samples) and self._samples[index].sequence == sequence:
            self.bytes -= len(self._samples[index].data)
            del self._samples[index]

    def _drop(self, count: int) -> None:
        self.bytes -= sum(len(sample.data) for sample in self._samples[:count])
        del self._samples[:count]
