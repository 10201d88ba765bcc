"""The past by GET: figures, states, episodes and events over time."""

from typing import Annotated, Final, Literal, cast

import msgspec
from litestar import Response, Router, get
from litestar.exceptions import ValidationException
from litestar.params import Parameter
from msgspec.structs import replace

from gpuboard.history.asking import GPU_NAMES, HOST_NAMES, Wanted, ask_curves, ask_learnt_later, ask_track
from gpuboard.history.base import History
from gpuboard.history.events import STATES
from gpuboard.history.hindsight import OF_THE_RECORD
from gpuboard.history.records import Episode, Event, StateSpan
from gpuboard.model.errors import UsageError
from gpuboard.model.problems import problem_of, public_kind
from gpuboard.settings.words import close_to
from gpuboard.web.answers import COMPRESSED, AnyRequest
from gpuboard.web.limits import (
    MAX_HISTORY_NAMED,
    MAX_HISTORY_POINTS,
    MAX_HISTORY_ROWS,
    MAX_HISTORY_VALUES,
)
from gpuboard.web.needs import check_names, needs, tier_of
from gpuboard.web.past import encode_by_parts, tell
from gpuboard.web.problems import problems
from gpuboard.web.query import check_query
from gpuboard.web.services import Services
from gpuboard.web.times import Around, From, To, moment, span
from gpuboard.wire.clean import clean_text
from gpuboard.wire.history import (
    EpisodesAnswer,
    EpisodeView,
    EventsAnswer,
    EventView,
    HistoryAnswer,
    StatesAnswer,
    StateView,
    TrackAnswer,
)
from gpuboard.wire.views import Tier

DAY: Final = 86400.0
WEEK: Final = 7 * DAY
_LONGEST_GPU: Final = 256
_LONGEST_NODE: Final = 253

Gpu = Annotated[str, Parameter(max_length=_LONGEST_GPU, description="Which GPU, by its UUID.")]
MaybeGpu = Annotated[str | None, Parameter(max_length=_LONGEST_GPU, description="Only of this GPU.")]
MaybeNode = Annotated[str | None, Parameter(max_length=_LONGEST_NODE, description="Only of this node.")]
Points = Annotated[
    int, Parameter(ge=1, le=MAX_HISTORY_POINTS, description="How many points at most, of equal length.")
]
Limit = Annotated[int, Parameter(ge=1, le=MAX_HISTORY_ROWS, description="How many at most, the newest.")]
_ERRORS: Final = problems(400, 401, 404, 429, 503)


@get("/history", summary="Figures over time", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_history(
    request: AnyRequest,
    services: Services,
    *,
    gpu: Annotated[
        tuple[str, ...], Parameter(max_items=MAX_HISTORY_NAMED, description="These GPUs, each by itself.")
    ] = (),
    node: Annotated[
        tuple[str, ...],
        Parameter(max_items=MAX_HISTORY_NAMED, description="These nodes: the mean over the GPUs of each."),
    ] = (),
    figure: Annotated[
        str,
        Parameter(max_length=400, description=f"With commas between: {', '.join(GPU_NAMES + HOST_NAMES)}"),
    ] = "utilization_percent",
    start: From = None,
    end: To = None,
    points: Points = 300,
    each: Annotated[
        Literal["gpu"] | None, Parameter(description="One series per GPU of the nodes, or of all.")
    ] = None,
) -> Response[HistoryAnswer]:
    """Mean, least and most of figures, of GPUs, nodes or (with neither) of the fleet; the last day."""
    since, until = span(start, end, now=services.fleet.clock.now(), usual=DAY)
    wanted = Wanted(
        gpus=tuple(dict.fromkeys(gpu)),
        nodes=tuple(dict.fromkeys(_own_name(services, name) for name in node)),
        figures=_figures(figure, of_nodes=bool(node)),
        start=since,
        end=until,
        points=points,
        each_gpu=each is not None,
    )
    if wanted.gpus and (wanted.nodes or wanted.each_gpu):
        raise ValidationException("gpu: GPUs are asked for by themselves, without node or each")

    def read(history: History) -> bytes:
        return encode_by_parts(ask_curves(history, wanted, most_values=MAX_HISTORY_VALUES), "series")

    try:
        answer = await tell(request, services.history, services.past, read)
    except UsageError as error:
        raise ValidationException(f"points: {error}") from None
    return cast("Response[HistoryAnswer]", answer)


@get(
    "/history/states", summary="The verdicts of one GPU over time", opt={COMPRESSED: True}, responses=_ERRORS
)
async def get_states(
    request: AnyRequest,
    services: Services,
    gpu: Gpu,
    start: From = None,
    end: To = None,
) -> Response[StatesAnswer]:
    """What a GPU was from when to when, and who was on it; what lies between was not observed.

    Idle counts from when work stopped, at most an hour back. Of too many changes the newest are told, and
    `from` is when these begin.
    """
    tier = tier_of(request)
    since, until = span(start, end, now=services.fleet.clock.now(), usual=DAY)
    quiet = services.fleet.thresholds.idle_utilization_percent

    def read(history: History) -> bytes:
        states = _states(history.states(gpu, since, until, quiet_percent=quiet), tier)
        told = states[-MAX_HISTORY_ROWS:]
        # What is left out was observed.
        start = since if len(told) == len(states) else told[0].start
        later = ask_learnt_later(history, gpu, start, until)
        return encode_by_parts(
            StatesAnswer(start=start, end=until, states=told, learnt_later=later), "states"
        )

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[StatesAnswer]", answer)


@get("/history/track", summary="How many GPUs were free over time", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_track(
    request: AnyRequest,
    services: Services,
    start: From = None,
    end: To = None,
    points: Points = 300,
) -> Response[TrackAnswer]:
    """Of the GPUs that count, how many were free and busy; and the gravest of what happened."""
    tier = tier_of(request)
    since, until = span(start, end, now=services.fleet.clock.now(), usual=DAY)

    def read(history: History) -> bytes:
        track = ask_track(history, since, until, points)
        if tier != "names":
            events = [replace(one, kind=_kind(one.kind, tier)) for one in track.events]
            track = replace(track, events=events)
        return msgspec.json.encode(track)

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[TrackAnswer]", answer)


@get(
    "/episodes",
    summary="Who ran what on which GPU, from when to when",
    opt={COMPRESSED: True},
    responses=_ERRORS,
)
async def get_episodes(
    request: AnyRequest,
    services: Services,
    *,
    gpu: MaybeGpu = None,
    node: MaybeNode = None,
    person: Annotated[str | None, Parameter(max_length=256, description="Only of this person.")] = None,
    start: From = None,
    end: To = None,
    around: Around = None,
    limit: Limit = 1000,
) -> Response[EpisodesAnswer]:
    """One person's program on one GPU is one episode; those that touch the last week, the newest first."""
    tier = tier_of(request)
    if person is not None:
        check_names(request)
    since, until = span(start, end, now=services.fleet.clock.now(), usual=WEEK)
    own = None if node is None else _own_name(services, node)
    near = None if around is None else moment(around, "around", until)

    def read(history: History) -> bytes:
        found = history.episodes(since, until, gpu=gpu, node=own, person=person, around=near, limit=limit)
        return encode_by_parts(EpisodesAnswer(episodes=[_episode(one, tier) for one in found]), "episodes")

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[EpisodesAnswer]", answer)


@get("/events", summary="What befell nodes and GPUs", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_events(
    request: AnyRequest,
    services: Services,
    *,
    node: MaybeNode = None,
    start: From = None,
    end: To = None,
    around: Around = None,
    limit: Limit = 1000,
) -> Response[EventsAnswer]:
    """Nodes that were late, lost or refused, and problems; those that touch the last week."""
    tier = tier_of(request)
    since, until = span(start, end, now=services.fleet.clock.now(), usual=WEEK)
    own = None if node is None else _own_name(services, node)
    near = None if around is None else moment(around, "around", until)

    def read(history: History) -> bytes:
        found = history.events(since, until, node=own, around=near, limit=limit)
        return encode_by_parts(EventsAnswer(events=[_event(one, tier) for one in found]), "events")

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[EventsAnswer]", answer)


def _own_name(services: Services, name: str) -> str:
    """A node's own name, where people have another for it; one that is gone is known by its own."""
    node = services.fleet.find(name)
    return name if node is None else node.name


def _figures(text: str, *, of_nodes: bool) -> tuple[str, ...]:
    known = GPU_NAMES + HOST_NAMES if of_nodes else GPU_NAMES
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in found:
        if name in HOST_NAMES and not of_nodes:
            raise ValidationException(f"figure: {name} is asked for of nodes, as in node=gpu01")
        if name not in known:
            shown = clean_text(name)[:64]
            hint = close_to(shown, known) or f"; known are {', '.join(known)}"
            raise ValidationException(f"figure: there is none that is called {shown!r}{hint}")
    return found


def _states(spans: list[StateSpan], tier: Tier) -> list[StateView]:
    """In order; where names are hidden, nobody sees when one person followed another."""
    states: list[StateView] = []
    for one in (_state(each, tier) for each in spans):
        last = states[-1] if states else None
        if last and (last.end, last.verdict, last.users) == (one.start, one.verdict, one.users):
            states[-1] = replace(last, end=one.end)
        else:
            states.append(one)
    return states


def _state(span: StateSpan, tier: Tier) -> StateView:
    users = None if span.holders is None or tier != "names" else list(span.holders)
    return StateView(start=span.start, end=span.end, verdict=span.verdict, users=users)


def _episode(one: Episode, tier: Tier) -> EpisodeView:
    is_told = tier == "names"
    return EpisodeView(
        gpu=one.gpu,
        node=one.node,
        label=one.label,
        person=one.person if is_told else None,
        # A program may be called after whoever wrote it.
        program=one.program if is_told else None,
        start=one.start,
        end=one.end,
        memory_peak_bytes=one.memory_peak_bytes,
        utilization_mean_percent=one.utilization_mean_percent,
        began_before=one.began_before,
    )


def _event(one: Event, tier: Tier) -> EventView:
    kind = _kind(one.kind, tier)
    detail = one.detail if tier == "names" else None
    return EventView(
        node=one.node or None,
        gpu=one.gpu,
        kind=kind,
        text=None if kind in STATES else OF_THE_RECORD.get(kind) or problem_of(kind, detail).text,
        start=one.start,
        end=one.end,
        detail=detail,
    )


def _kind(kind: str, tier: Tier) -> str:
    return kind if tier == "names" or kind in OF_THE_RECORD else public_kind(kind)


ROUTER = Router(
    path="/api/v1",
    route_handlers=[get_history, get_states, get_track, get_episodes, get_events],
    opt=needs("counts"),
    guards=[check_query],
)
