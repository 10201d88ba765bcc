"""What is written into the history, and what it answers, as values.

Times are the board's, in Unix seconds; those of samples in whole milliseconds, since they are compared and
cut to each other. Spans are `[start, end)`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from gpuboard.history.figures import Kind
from gpuboard.model.verdict import VerdictWord

Tier = Literal["full", "minutes", "hours"]


def packed(figures: Iterable[float | None], count: int = -1) -> bytes:
    """Figures as `GpuSamples` has them, NaN where one cannot be told; quicker if it is said how many.

    One object instead of one for each: thousands of reports wait to be written, far from the processor.
    """
    return np.fromiter(figures, np.float64, count).tobytes()


class GpuSamples(Struct, frozen=True, gc=False):
    """What the GPUs of one node said at one moment, column by column, since there are hundreds a second.

    It holds from `at_ms` for `holds_ms` at most, and ends earlier where the next sample of the same GPU
    begins. A GPU that is missing in a later report of its node gets a sample that holds for 0 ms: that ends
    the one before. Samples may come in any order; two of one GPU for the same millisecond are one.
    """

    gpus: tuple[str, ...]
    at_ms: int
    holds_ms: int
    # `packed`, GPU after GPU, in the order of `figures.GPU_MEASURED`.
    figures: bytes
    # By GPU: whether it was throttled, and the verdict by its code.
    throttled: Sequence[bool | None]
    verdicts: Sequence[int | None]
    # By GPU: the people on it, by name, sorted, each once; () is nobody, None is "cannot tell". Of
    # one that is booked, and on which nobody is: who has claimed it.
    holders: tuple[tuple[str, ...] | None, ...]


class HostSample(Struct, frozen=True, gc=False):
    """What one host said at one moment; it holds as a GPU's does."""

    node: str
    at_ms: int
    holds_ms: int
    # In the order of `figures.HOST_NUMBERS`.
    numbers: tuple[float | None, ...]


class Taken(Struct, frozen=True, gc=False):
    """How far a pushing node has come: every sample of this boot up to this sequence is safe."""

    boot_id: str
    sequence: int


class Place(Struct, frozen=True, kw_only=True):
    """Where a GPU was, from when to when, and what it was there; `end` None: it is there still.

    One is written when a GPU is first seen, when anything of this changes (its earlier place then ends at the
    new one's start by itself), and again with an end when it is gone: when it was seen
    last. What ends no later than it begins is taken back, and so is what was told of that GPU in between.
    """

    gpu: str
    node: str
    index: int
    # The number people say: `0`, and `0:1` for an instance of GPU 0.
    label: str
    parent: str | None = None
    model: str | None = None
    memory_total_bytes: int | None = None
    counted: bool = True
    start: float
    end: float | None = None


class Episode(Struct, frozen=True, kw_only=True):
    """One person's program on one GPU, from when to when; `end` None: it goes on, as far as is known.

    Gpu, person, program and start are its name: writing it again replaces what is there.
    """

    gpu: str
    node: str
    label: str
    person: str
    # Never with arguments.
    program: str | None
    start: float
    end: float | None = None
    memory_peak_bytes: int | None = None
    utilization_mean_percent: float | None = None
    # Told when it is read: it ran already when its GPU was first looked at, so that `start` is no beginning.
    began_before: bool = False


class Event(Struct, frozen=True, kw_only=True):
    """Something that befell a node or one of its GPUs; `end` None: it lasts still.

    Node, gpu, kind and start are its name: writing it again replaces what is there.
    """

    # Empty: the board itself.
    node: str
    gpu: str | None = None
    # A state of a node (late, lost, refused, error), a kind of problem, or one of `hindsight.OF_THE_RECORD`.
    kind: str
    start: float
    end: float | None = None
    detail: str | None = None


class Batch(Struct, frozen=True, kw_only=True):
    """What is written in one transaction, whole or not at all. Written twice it is the same as once."""

    gpu_samples: Sequence[GpuSamples] = ()
    host_samples: Sequence[HostSample] = ()
    # A GPU needs a place before its first sample, in an earlier batch or in this one.
    places: Sequence[Place] = ()
    positions: Mapping[str, Taken] = {}
    # Nodes whose positions are forgotten.
    positions_gone: frozenset[str] = frozenset()
    episodes: Sequence[Episode] = ()
    events: Sequence[Event] = ()
    # Node → what is remembered of its GPUs from run to run, as whoever takes samples wrote it.
    memories: Mapping[str, bytes] = {}
    # Nodes of which nothing is remembered any more.
    memories_gone: frozenset[str] = frozenset()


class Written(Struct, frozen=True, kw_only=True):
    """What became of a batch that was written."""

    # Nodes that have named more different GPUs than are recorded of one; those beyond are not.
    overfull: frozenset[str] = frozenset()
    # Samples whose time had been sealed already, so that they came too late, and of GPUs without a place.
    refused: int = 0


class Member(NamedTuple):
    """A GPU or a host, and when it counts: only while it was in a node, say."""

    # A GPU's UUID, or a node's name.
    name: str
    start: float = float("-inf")
    end: float = float("inf")


class CurvesQuery(Struct, frozen=True, kw_only=True):
    """What is asked for: each group becomes one curve per figure, the mean over its members."""

    kind: Kind
    groups: tuple[tuple[Member, ...], ...]
    figures: tuple[str, ...]
    start: float
    end: float
    points: int = 300
    # Without them, `least` and `most` of the answer are empty: a strip of a thousand GPUs shows neither.
    with_extremes: bool = True


class Curve(Struct, frozen=True, kw_only=True):
    """One figure of one group, a value a point; None where nothing was observed.

    The mean is weighted by how long each value held. Of a state all three are the last one of the point's
    span, and None where the group has more than one member.
    """

    group: int
    figure: str
    mean: list[float | None]
    least: list[float | None]
    most: list[float | None]


class Curves(Struct, frozen=True, kw_only=True):
    """The answer: points of equal length, beginning at `times`."""

    start: float
    end: float
    step_seconds: float
    tier: Tier
    times: list[float]
    curves: tuple[Curve, ...]


class StateSpan(Struct, frozen=True, kw_only=True):
    """That a GPU was so from when to when; what lies between spans was not observed."""

    start: float
    end: float
    verdict: VerdictWord | None
    # Those on it; None: cannot tell.
    holders: tuple[str, ...] | None


class GpuMoment(Struct, frozen=True, kw_only=True):
    """One GPU at a moment of the past."""

    place: Place
    # By name of the figure, without verdict and holders; None: cannot tell. Empty: it was not observed.
    numbers: dict[str, float | None]
    verdict: VerdictWord | None
    # Of one that was not observed, who was on it when it last was; None: cannot tell.
    holders: tuple[str, ...] | None
    # Of one that was booked and unused, who had claimed it, if that was noted.
    claimant: str | None = None


class Moment(Struct, frozen=True, kw_only=True):
    """The fleet at a moment of the past, as finely as is still known."""

    at: float
    # How long the values hold that were found: 10 s, a minute, an hour.
    step_seconds: float
    gpus: tuple[GpuMoment, ...]
    # Node → its host's figures by name; nodes whose host said nothing are missing.
    hosts: dict[str, dict[str, float | None]]
    # What lasted at that moment.
    events: tuple[Event, ...]


class Track(Struct, frozen=True, kw_only=True):
    """How many GPUs had which verdict, point by point; None where no GPU was observed at all."""

    step_seconds: float
    times: list[float]
    # Of the GPUs that count, those observed, and of these how many had each verdict at the end of the point.
    observed: list[int | None]
    verdicts: dict[VerdictWord, list[int | None]]
