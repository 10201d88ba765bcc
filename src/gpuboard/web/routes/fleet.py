"""The fleet by GET: for scripts, and for pages that show one thing whole."""

from collections.abc import Iterable
from typing import Annotated, Final, cast
from urllib.parse import unquote

import msgspec
from litestar import Response, Router, get
from litestar.exceptions import NotFoundException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.fleet.activity import MINUTES
from gpuboard.fleet.node import Node
from gpuboard.fleet.summary import Wish, people_of
from gpuboard.fleet.views import find_gpu, fleet_view, node_view
from gpuboard.model.identity import Identity
from gpuboard.model.report import GpuProcess
from gpuboard.model.units import SIZE_PATTERN, parse_size
from gpuboard.verdict.holders import is_same
from gpuboard.web.answers import COMPRESSED, AnyRequest, SharedBody, not_modified, respond
from gpuboard.web.needs import NAMES_HINT, identity_of, needs, tier_of
from gpuboard.web.problems import problems
from gpuboard.web.query import check_query
from gpuboard.web.rewinding import fleet_at
from gpuboard.web.services import Services
from gpuboard.web.times import At, moment
from gpuboard.wire.redact import (
    IsOwn,
    hide_arguments,
    hide_arguments_in_gpu,
    hide_arguments_in_node,
    hide_names,
    hide_names_in_gpu,
    hide_names_in_node,
)
from gpuboard.wire.summary import MOST_GPUS, FreeAnswer, People, Summary
from gpuboard.wire.views import FleetView, GpuView, NodeView, Tier

# So many groups are named to whoever asks for one that is not there.
_GROUPS_NAMED: Final = 20


class ActivityHour(Struct, frozen=True, kw_only=True):
    """Utilisation per minute in the last hour, oldest first; null where nothing was heard."""

    minutes: int
    until: float
    gpus: dict[str, list[float | None]]


@get(
    "/fleet",
    summary="All nodes with all their GPUs",
    opt={COMPRESSED: True},
    responses={
        **problems(400, 401, 404, 429, 503),
        304: ResponseSpec(None, description="Nothing has changed"),
    },
)
async def get_fleet(request: AnyRequest, services: Services, at: At = None) -> Response[FleetView | None]:
    """Everything, now or at a moment of the past; send the ETag back to hear 304 while nothing changed."""
    tier = tier_of(request)
    if at is not None:
        past = await fleet_at(request, services, moment(at, "at", 0.0))
        return cast("Response[FleetView | None]", past)
    tag = f'"{services.broadcaster.version}-{tier}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    made = services.broadcaster.answers.get(("fleet", tier), lambda: _encode_fleet(services, tier))
    answer = not_modified(request, tag) or respond(request, made, headers=headers)
    return cast("Response[FleetView | None]", answer)


def _encode_fleet(services: Services, tier: Tier) -> bytes:
    view = fleet_view(services.tracker)
    view = replace(
        view,
        nodes=tuple(map(services.broadcaster.unwritable.mended, view.nodes)),
        sources_unknown=services.tracker.sources_unknown,
        title=services.info.title,
    )
    # Made once for all: whose a command line is, one node or GPU tells.
    return msgspec.json.encode(hide_arguments(view) if tier == "names" else hide_names(view))


@get("/nodes/{name:str}", summary="One node", responses=problems(400, 401, 404))
async def get_node(request: AnyRequest, services: Services, name: str) -> NodeView:
    """Everything about one node, by its own name or by what people call it."""
    tier = tier_of(request)
    node = services.tracker.find(name)
    found = None if node is None else node_view(services.tracker, node)
    if found is None:
        raise NotFoundException(f"No node {name!r} is known to this board.")
    view = services.broadcaster.unwritable.mended(found)
    if tier != "names":
        return hide_names_in_node(view)
    return hide_arguments_in_node(view, _is_own(identity_of(request), services))


def _is_own(identity: Identity, services: Services) -> IsOwn:
    """Whose command lines somebody sees whole: one's own, and as admin all."""
    names, is_admin = services.fleet.names, identity.has("admin") and "admin" in identity.scopes

    def is_own(node: str, process: GpuProcess) -> bool:
        if is_admin or identity.person is None or process.user is None:
            return is_admin
        person_of = names.person_on(node)
        owner = process.user if person_of is None else person_of(process.user)
        return is_same(owner, identity.person)

    return is_own


# A path, not a word: the UUID of a MIG instance may hold slashes.
@get("/gpus/{uuid:path}", summary="One GPU", responses=problems(400, 401, 404))
async def get_gpu(request: AnyRequest, services: Services, uuid: str) -> GpuView:  # noqa: ARG001 - described
    """Everything about one GPU, its processes too."""
    tier = tier_of(request)
    # As it was asked for: the framework folds the slashes of a path.
    asked = unquote(request.scope["raw_path"].decode("latin-1").partition("/gpus/")[2])
    view = find_gpu(services.tracker, asked)
    if view is None:
        raise NotFoundException(f"No GPU {asked!r} is known to this board.")
    view = services.broadcaster.unwritable.mended(view)
    if tier != "names":
        return hide_names_in_gpu(view)
    return hide_arguments_in_gpu(view, _is_own(identity_of(request), services))


@get(
    "/activity",
    summary="The last hour of every GPU",
    opt={COMPRESSED: True},
    responses=problems(400, 401),
)
async def get_activity(
    request: AnyRequest,
    services: Services,
    node: Annotated[str | None, Parameter(max_length=253, description="Only this node's.")] = None,
) -> Response[ActivityHour]:
    """Utilisation per minute, for small plots."""
    if node is None:
        made = services.broadcaster.answers.get(
            "activity", lambda: _encode_activity(services, services.fleet)
        )
    else:
        known = services.fleet.find(node)
        made = SharedBody(_encode_activity(services, [known] if known else []))
    return cast("Response[ActivityHour]", respond(request, made))


def _encode_activity(services: Services, nodes: Iterable[Node]) -> bytes:
    now = services.fleet.clock.now()
    gpus = {uuid: memory.last_hour(now) for node in nodes for uuid, memory in node.gpus.items()}
    return msgspec.json.encode(ActivityHour(minutes=MINUTES, until=now, gpus=gpus))


@get("/summary", summary="The fleet in a few numbers", responses=problems(400, 401))
async def get_summary(services: Services) -> Summary:
    """Counts by verdict and model, memory and power."""
    return services.summary()


@get("/people", summary="Who holds what", responses=problems(400, 401))
async def get_people(request: AnyRequest, services: Services) -> People:
    """Everybody who holds a GPU, the heaviest first; null where names are hidden."""
    tier = tier_of(request)
    rows = services.tracker
    found = people_of(rows.gpus.values(), at=services.fleet.clock.now(), nodes=rows.nodes.values())
    return found if tier == "names" else replace(found, tier="counts", people=None, hint=NAMES_HINT)


@get("/free", summary="Where GPUs are free now", opt={COMPRESSED: True}, responses=problems(400, 401, 404))
async def get_free(
    request: AnyRequest,
    services: Services,
    *,
    gpus: Annotated[int, Parameter(ge=1, le=MOST_GPUS, description="How many GPUs are wanted.")] = 1,
    memory: Annotated[
        str,
        Parameter(
            max_length=32,
            description="Size of each GPU, as on its box, like 40G; a bare number is G.",
            schema_extra={"pattern": SIZE_PATTERN},
        ),
    ] = "0",
    model: Annotated[str | None, Parameter(max_length=64, description="Part of the model's name.")] = None,
    same_node: Annotated[bool, Parameter(description="All on one node.")] = False,
    group: Annotated[str | None, Parameter(max_length=64, description="Only nodes of this group.")] = None,
    limit: Annotated[
        int | None, Parameter(ge=1, le=1024, description="How many blocks are told, the best; null: all.")
    ] = None,
) -> Response[FreeAnswer]:
    """The free GPUs that fit, best fit first.

    That is the smallest block of one node that suffices, then of those that are too small alone the largest;
    what was just freed or is booked within four hours comes last. `chosen` says how many GPUs of each block,
    the first, to take, and `free_until` when the first booking of these begins. Where there are not enough,
    `fits_from` says when bookings that end leave enough.
    """
    try:
        wish = Wish(gpus=gpus, memory_bytes=parse_size(memory), model=model, same_node=same_node)
    except ValueError as error:
        raise ValidationException(f"memory: {error}") from None
    if group is not None and not services.fleet.has_group(group):
        known = services.fleet.group_names()
        more = f", and {len(known) - _GROUPS_NAMED} more" if len(known) > _GROUPS_NAMED else ""
        there = f"there are {', '.join(known[:_GROUPS_NAMED])}{more}" if known else "there are none"
        raise NotFoundException(f"there is no group {group!r}; {there}")
    # What was just freed is so no longer after a while, whether or not anything else happens.
    second = int(services.fleet.clock.now())
    made = services.broadcaster.answers.get(
        ("free", second, wish, group, limit), lambda: _encode_free(services, wish, group, limit)
    )
    return cast("Response[FreeAnswer]", respond(request, made))


def _encode_free(services: Services, wish: Wish, group: str | None, limit: int | None) -> bytes:
    return msgspec.json.encode(services.free(wish, group, limit))


ROUTER = Router(
    path="/api/v1",
    route_handlers=[get_fleet, get_node, get_gpu, get_activity, get_summary, get_people, get_free],
    opt=needs("counts"),
    guards=[check_query],
)
