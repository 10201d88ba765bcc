"""Whether the board is alive, whether it works, and what it costs."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, cast, get_args

import psutil
from litestar import MediaType, Response, get
from litestar.openapi.datastructures import ResponseSpec
from msgspec.structs import replace

from gpuboard.metrics.components import component_families
from gpuboard.metrics.fleet import fleet_families
from gpuboard.metrics.own import own_families
from gpuboard.metrics.text import CONTENT_TYPE, Family, write
from gpuboard.model.booking import BookingState
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.web.answers import COMPRESSED, AnyRequest, respond
from gpuboard.web.needs import identity_of, needs
from gpuboard.web.problems import problems
from gpuboard.web.services import Services
from gpuboard.wire.component import Readiness, component_for_tier
from gpuboard.wire.redact import hide_names_in_node_row

_MYSELF = psutil.Process()
# So long a board may take to hear of its sources which nodes there are.
START_SECONDS: Final = 10.0


@get(
    "/healthz",
    media_type=MediaType.TEXT,
    summary="The process is alive",
    opt=needs("nothing"),
    responses=problems(),
    sync_to_thread=False,
)
def healthz() -> str:
    """Answer as long as the process can."""
    return "ok\n"


@get(
    "/readyz",
    summary="The board and its parts work",
    opt=needs("nothing"),
    responses={**problems(), 503: ResponseSpec(Readiness, description="No node is live")},
)
async def readyz(request: AnyRequest, services: Services) -> Response[Readiness]:
    """Say how many nodes are live, and how the board's own parts are.

    503 while no node is live, and at the start until every source has named its nodes. A part in trouble
    (Consul down, a mount that hangs) makes `ok` false and no more: the board goes on with what it has.
    """
    rows = services.tracker
    live = sum(row.state == "live" for row in rows.nodes.values())
    age = boot_seconds() - services.started_boot_seconds
    # A source that has no list (its server is down) is in trouble, and the board goes on without.
    is_starting = rows.sources_unknown > 0 and age < START_SECONDS
    is_ready = not is_starting and (live > 0 or not rows.nodes)
    services.components.look(services.fleet.clock.now())
    is_ok = is_ready and not services.components.troubles()
    tier = identity_of(request).tier
    view = Readiness(ready=is_ready, ok=is_ok)
    if tier is not None:
        parts = [component_for_tier(part, tier) for part in services.components.views()]
        view = replace(view, components=parts)
        if rows.nodes or not rows.sources_unknown:
            # Else nobody knows yet, and 0 would be a figure.
            view = replace(view, nodes=len(rows.nodes), nodes_live=live)
    return Response(view, status_code=200 if is_ready else 503)


@get(
    "/metrics",
    summary="The fleet for Prometheus",
    media_type=MediaType.TEXT,
    opt=needs("metrics", **{COMPRESSED: True}),
    responses=problems(401),
)
async def metrics(request: AnyRequest, services: Services) -> Response[str]:
    """Verdicts, figures and the board's own cost; no names of people."""
    made = services.broadcaster.answers.get("metrics", lambda: _write_metrics(services))
    # As a header: to a media type the framework adds its own charset.
    answer = respond(request, made, headers={"content-type": CONTENT_TYPE}, media_type=MediaType.TEXT)
    return cast("Response[str]", answer)


def _booking_families(services: Services, now: float) -> Iterator[Family]:
    desk = services.bookings
    if desk is None:
        return
    counts = Counter(one.state_at(now) for one in desk.known())
    yield Family(
        name="gpuboard_bookings",
        help="Bookings and blocks by state; of those that are over, those of the last three days.",
        samples=[({"state": state}, float(counts[state])) for state in get_args(BookingState)],
    )


def _history_families(services: Services, now: float) -> Iterator[Family]:
    desk = services.history
    if desk is None:
        return
    counts = desk.counts
    oldest = None if counts.since is None else now - counts.since
    gauges = {
        "size_bytes": ("What the history takes on the disk.", counts.size_bytes),
        "oldest_seconds": ("How far back the history goes.", oldest),
        "paused": ("1 while nothing is written.", desk.is_paused),
    }
    counters = {
        "batches": ("Batches that were written.", counts.batches),
        "samples": ("Samples of GPUs that were written.", counts.samples),
        "refused": ("Samples that were too old, or of too many GPUs.", counts.refused),
        "cpu_seconds": ("CPU time of the thread that writes.", counts.cpu_seconds),
    }
    for name, (words, value) in gauges.items():
        yield Family(name=f"gpuboard_history_{name}", help=words, samples=[({}, value)])
    for name, (words, total) in counters.items():
        yield Family(name=f"gpuboard_history_{name}_total", help=words, kind="counter", samples=[({}, total)])


def _write_metrics(services: Services) -> bytes:
    rows = services.tracker
    viewers = Family(
        name="gpuboard_viewers", help="Open pages.", samples=[({}, services.broadcaster.viewers)]
    )
    now = services.fleet.clock.now()
    services.components.look(now)
    families = [
        *fleet_families(
            map(hide_names_in_node_row, rows.nodes.values()),
            rows.gpus.values(),
            now=now,
            sources_unknown=rows.sources_unknown,
        ),
        *component_families(services.components.views()),
        viewers,
        *_booking_families(services, now),
        *_history_families(services, now),
        *own_families(_MYSELF),
    ]
    return write(families).encode()
