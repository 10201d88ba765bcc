"""An hour of samples: in order, bounded, until released."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gpuboard.agent.buffer import Held, SampleBuffer

MAX_SAMPLES = 8
MAX_BYTES = 100


class BufferAgainstModel(RuleBasedStateMachine):
    """Whatever is done to it, the buffer is the newest end of a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = SampleBuffer(max_samples=MAX_SAMPLES, max_bytes=MAX_BYTES)
        self.model: list[Held] = []
        self.sequence = 0
        self.added = 0
        self.released = 0

    @rule(step=st.integers(1, 5), size=st.integers(0, 60))
    def add(self, step: int, size: int) -> None:
        """A sample comes; the oldest make room for it."""
        self.sequence += step
        self.added += 1
        sample = Held(self.sequence, b"x" * size, 0.0)
        self.buffer.add(sample)
        self.model.append(sample)
        while len(self.model) > 1 and (
            len(self.model) > MAX_SAMPLES or sum(len(s.data) for s in self.model) > MAX_BYTES
        ):
            self.model.pop(0)

    @rule(back=st.integers(0, 30))
    def release_through(self, back: int) -> None:
        """The board has everything through some sample."""
        limit = self.sequence - back
        kept = [sample for sample in self.model if sample.sequence > limit]
        self.released += len(self.model) - len(kept)
        assert self.buffer.release_through(limit) == len(self.model) - len(kept)
        self.model = kept

    @rule(back=st.integers(0, 30))
    def release_one(self, back: int) -> None:
        """The board refuses one sample for good."""
        kept = [sample for sample in self.model if sample.sequence != self.sequence - back]
        self.released += len(self.model) - len(kept)
        self.buffer.release(self.sequence - back)
        self.model = kept

    @rule(
        after=st.integers(0, 60), width=st.integers(0, 40), count=st.integers(1, 5), size=st.integers(0, 90)
    )
    def ask(self, after: int, width: int, count: int, size: int) -> None:
        """A batch is the oldest of its range, within its limits, and never empty without need."""
        batch = list(self.buffer.between(after, after + width, max_samples=count, max_bytes=size))
        range_ = [s for s in self.model if after < s.sequence <= after + width]
        assert batch == range_[: len(batch)]
        assert len(batch) <= count
        assert len(batch) <= 1 or sum(len(s.data) for s in batch) <= size
        assert bool(batch) == bool(range_)

    @invariant()
    def agrees(self) -> None:
        """Counts, bytes and the newest are always right."""
        assert len(self.buffer) == len(self.model)
        assert self.buffer.bytes == sum(len(sample.data) for sample in self.model)
        assert self.buffer.newest == (self.model[-1] if self.model else None)
        assert self.added == len(self.model) + self.released + self.buffer.lost


TestBufferAgainstModel = BufferAgainstModel.TestCase
TestBufferAgainstModel.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)


def test_a_sequence_that_does_not_rise_is_a_mistake() -> None:
    """Order is what everything else rests on."""
    buffer = SampleBuffer(max_samples=3)
    buffer.add(Held(5, b"", 0.0))
    with pytest.raises(ValueError, match="does not follow"):
        buffer.add(Held(5, b"", 0.0))


def test_the_newest_stays_even_if_it_alone_is_too_large() -> None:
    """Without it the board would show nothing."""
    buffer = SampleBuffer(max_samples=3, max_bytes=10)
    buffer.add(Held(1, b"x" * 5, 0.0))
    buffer.add(Held(2, b"x" * 50, 0.0))
    assert (len(buffer), buffer.lost) == (1, 1)
