"""The past, as the API tells it. Times are Unix seconds; null means "not observed" or "cannot tell"."""

from typing import Literal

from msgspec import Struct, field

from gpuboard.model.verdict import VerdictWord

HistoryTier = Literal["full", "minutes", "hours"]


class SpanView(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """From when to when something was so."""

    start: float
    end: float


class HistorySeries(Struct, frozen=True, kw_only=True):
    """One figure of one GPU, node or of the fleet, a value a point; null where nothing was observed."""

    # null: the mean over the node, or over the fleet.
    gpu: str | None
    node: str | None
    # The number people say: `0`, and `0:1` for an instance of GPU 0.
    label: str | None
    figure: str
    mean: list[float | None]
    # Left out where one series per GPU was asked for.
    least: list[float | None] | None = None
    most: list[float | None] | None = None


class HistoryAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """Figures over time, in points of equal length; the first and the last may reach beyond the span."""

    start: float
    end: float
    step_seconds: float
    # How finely it is still known: on the grid, by minutes or by hours.
    tier: HistoryTier
    # When each point begins.
    times: list[float]
    series: list[HistorySeries]
    # When nothing was written since the disk was full; gaps there are the board's.
    paused: list[SpanView] = field(default_factory=list)


class StateView(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """That a GPU was so from when to when; what lies between two was not observed."""

    start: float
    end: float
    verdict: VerdictWord | None
    # null: nobody can tell, or names are hidden.
    users: list[str] | None


class StatesAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """The verdicts of one GPU, and who was on it; `from` is later than asked where there were too many."""

    start: float
    end: float
    states: list[StateView]
    # When nobody looked, and what was on the node was learnt only later.
    learnt_later: list[SpanView] = field(default_factory=list)


class EpisodeView(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """One person's program on one GPU; `to` is null while it goes on, and is heard to."""

    gpu: str
    node: str
    label: str
    # null: names are hidden.
    person: str | None
    program: str | None
    start: float
    end: float | None
    memory_peak_bytes: int | None
    utilization_mean_percent: float | None
    # It ran already when its GPU was first looked at: it has run since `from` at least.
    began_before: bool


class EpisodesAnswer(Struct, frozen=True, kw_only=True):
    """Episodes that touch a span, the newest first."""

    episodes: list[EpisodeView]


class EventView(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """What befell a node or one of its GPUs; `to` is null while it lasts."""

    # null: the board itself.
    node: str | None
    gpu: str | None
    # A state of the node (late, lost, refused, error), a kind of problem, or of the record itself:
    # history-paused, learnt-later.
    kind: str
    # What is wrong, in English; null for a state.
    text: str | None
    start: float
    end: float | None
    # null: there is none, or names are hidden.
    detail: str | None


class EventsAnswer(Struct, frozen=True, kw_only=True):
    """Events that touch a span, the newest first."""

    events: list[EventView]


class TrackEvent(Struct, frozen=True, kw_only=True):
    """One thing that befell a node."""

    at: float
    kind: str
    # null: the board itself.
    node: str | None


class TrackAnswer(Struct, frozen=True, kw_only=True):
    """How many of the GPUs that count were free, and how many not, point by point; null: not observed."""

    times: list[float]
    step_seconds: float
    free: list[int | None]
    # In use, with work or without.
    busy: list[int | None]
    counted: list[int | None]
    # The gravest first.
    events: list[TrackEvent] = field(default_factory=list)
