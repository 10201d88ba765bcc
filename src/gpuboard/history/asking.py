"""Questions of the API, put to a history. Every one blocks: they are asked in a thread."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from gpuboard.history.base import History
from gpuboard.history.figures import GPU_FIGURES, HOST_FIGURES, Kind
from gpuboard.history.hindsight import BOARD, LEARNT_LATER, PAUSED
from gpuboard.history.records import Curves, CurvesQuery, Event, Member, Place
from gpuboard.model.errors import UsageError
from gpuboard.model.problems import rank_of
from gpuboard.wire.history import HistoryAnswer, HistorySeries, SpanView, TrackAnswer, TrackEvent

# The figures of a host are asked for beside those of its GPUs, which have some of the same names.
HOST_PREFIX: Final = "host_"
GPU_NAMES: Final = tuple(figure.name for figure in GPU_FIGURES if not figure.is_state)
HOST_NAMES: Final = tuple(f"{HOST_PREFIX}{figure.name}" for figure in HOST_FIGURES)
TRACK_EVENTS: Final = 200
# So many are looked through for the gravest.
_MOST_EVENTS: Final = 5000


class Wanted(Struct, frozen=True, kw_only=True):
    """What somebody wants to see of the past."""

    gpus: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    figures: tuple[str, ...] = ("utilization_percent",)
    start: float
    end: float
    points: int = 300
    # One series per GPU, of the nodes or of all.
    each_gpu: bool = False


class _Subject(Struct, frozen=True, kw_only=True):
    """What one series is about."""

    members: tuple[Member, ...]
    gpu: str | None = None
    node: str | None = None
    label: str | None = None


def ask_curves(history: History, wanted: Wanted, *, most_values: int) -> HistoryAnswer:
    """Figures over time.

    Raises:
        UsageError: that would be too long an answer.
        StorageError: it cannot be read.
    """
    of_gpus = [name for name in wanted.figures if not name.startswith(HOST_PREFIX)]
    of_hosts = [name.removeprefix(HOST_PREFIX) for name in wanted.figures if name.startswith(HOST_PREFIX)]
    subjects: dict[Kind, list[_Subject]] = {
        "gpu": list(_gpu_subjects(history, wanted)) if of_gpus else [],
        "host": [_Subject(members=(Member(name=node),), node=node) for node in wanted.nodes],
    }
    series = len(subjects["gpu"]) * len(of_gpus) + len(subjects["host"]) * len(of_hosts)
    values = series * wanted.points * (1 if wanted.each_gpu else 3)
    if values > most_values:
        raise UsageError(
            f"{series} series of {wanted.points} points are too many at once; ask for fewer points, or less"
        )
    found: list[HistorySeries] = []
    curves = _ask(history, "gpu", subjects["gpu"], tuple(of_gpus), wanted)
    found += _series(curves, subjects["gpu"], wanted)
    if of_hosts:
        hosts = _ask(history, "host", subjects["host"], tuple(of_hosts), wanted)
        found += _series(hosts, subjects["host"], wanted, prefix=HOST_PREFIX)
        curves = curves if of_gpus else hosts
    return HistoryAnswer(
        start=curves.start,
        end=curves.end,
        step_seconds=curves.step_seconds,
        tier=curves.tier,
        times=curves.times,
        series=found,
        paused=spans_of(history.events(curves.start, curves.end, node=BOARD, kind=PAUSED)),
    )


def ask_learnt_later(history: History, gpu: str, start: float, end: float) -> list[SpanView]:
    """When what a GPU was came to be known only later, in order, wherever it was."""
    found: list[Event] = []
    for place in history.places(start, end, gpu=gpu):
        first, last = max(start, place.start), end if place.end is None else min(end, place.end)
        if last > first:
            found += history.events(first, last, node=place.node, kind=LEARNT_LATER)
    return spans_of(found)


def spans_of(events: Iterable[Event]) -> list[SpanView]:
    """From when to when these lasted, in order."""
    spans = {SpanView(start=one.start, end=one.end) for one in events if one.end is not None}
    return sorted(spans, key=lambda one: one.start)


def ask_track(history: History, start: float, end: float, points: int) -> TrackAnswer:
    """How many GPUs were free over time, and the gravest of what happened."""
    track = history.track(start, end, points)
    words = track.verdicts
    busy = [
        None if one is None or other is None else one + other
        for one, other in zip(words["busy"], words["idle"], strict=True)
    ]
    events = history.events(start, end, limit=_MOST_EVENTS)
    return TrackAnswer(
        times=track.times,
        step_seconds=track.step_seconds,
        free=words["free"],
        busy=busy,
        counted=track.observed,
        events=[
            TrackEvent(at=one.start, kind=one.kind, node=one.node or None) for one in gravest(events, start)
        ],
    )


def gravest(events: Iterable[Event], start: float) -> list[Event]:
    """The gravest of what began in a span, at most as many as a slider can show."""
    begun = (event for event in events if event.start >= start and event.kind != LEARNT_LATER)
    return sorted(begun, key=lambda one: (rank_of(one.kind), -one.start))[:TRACK_EVENTS]


def _ask(
    history: History, kind: Kind, subjects: list[_Subject], figures: tuple[str, ...], wanted: Wanted
) -> Curves:
    return history.curves(
        CurvesQuery(
            kind=kind,
            groups=tuple(one.members for one in subjects),
            figures=figures,
            start=wanted.start,
            end=wanted.end,
            points=wanted.points,
            with_extremes=not wanted.each_gpu,
        )
    )


def _series(
    curves: Curves, subjects: list[_Subject], wanted: Wanted, *, prefix: str = ""
) -> Iterator[HistorySeries]:
    for curve in curves.curves:
        subject = subjects[curve.group]
        yield HistorySeries(
            gpu=subject.gpu,
            node=subject.node,
            label=subject.label,
            figure=f"{prefix}{curve.figure}",
            mean=curve.mean,
            least=None if wanted.each_gpu else curve.least,
            most=None if wanted.each_gpu else curve.most,
        )


def _gpu_subjects(history: History, wanted: Wanted) -> Iterator[_Subject]:
    start, end = wanted.start, wanted.end
    if wanted.gpus:
        for gpu in wanted.gpus:
            places = history.places(start, end, gpu=gpu)
            yield _one_gpu(gpu, places[-1] if places else None, [Member(name=gpu)])
        return
    nodes = wanted.nodes or (None,)
    for node in nodes:
        places = history.places(start, end, node=node)
        if wanted.each_gpu:
            yield from _each_gpu(places)
        else:
            # Those that count; each as long as it was there.
            counted = tuple([_member(place) for place in places if place.counted])
            yield _Subject(members=counted, node=node)


def _each_gpu(places: list[Place]) -> Iterator[_Subject]:
    members: dict[str, list[Member]] = {}
    last = {}
    for place in places:
        members.setdefault(place.gpu, []).append(_member(place))
        last[place.gpu] = place
    for gpu, own in members.items():
        yield _one_gpu(gpu, last[gpu], own)


def _one_gpu(gpu: str, place: Place | None, members: list[Member]) -> _Subject:
    return _Subject(
        members=tuple(members),
        gpu=gpu,
        node=None if place is None else place.node,
        label=None if place is None else place.label,
    )


def _member(place: Place) -> Member:
    return Member(place.gpu, place.start, float("inf") if place.end is None else place.end)
