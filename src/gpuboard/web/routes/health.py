"""Whether the board is alive, whether it works, and what it costs."""

from typing import Final

import psutil
from litestar import MediaType, Response, get
from litestar.openapi.datastructures import ResponseSpec

from gpuboard.metrics.fleet import fleet_families
from gpuboard.metrics.own import own_families
from gpuboard.metrics.text import CONTENT_TYPE, Family, write
from gpuboard.web.problems import problems
from gpuboard.web.routes.fleet import AnyRequest, admit
from gpuboard.web.services import Services

_MYSELF = psutil.Process()
# So long a board may take to hear of its nodes.
START_SECONDS: Final = 10.0


@get(
    "/healthz",
    media_type=MediaType.TEXT,
    summary="The process is alive",
    responses=problems(),
    sync_to_thread=False,
)
def healthz() -> str:
    """Answer as long as the process can."""
    return "ok\n"


@get(
    "/readyz",
    summary="The sources work",
    responses={**problems(), 503: ResponseSpec(dict[str, int], description="No node is live")},
)
async def readyz(services: Services) -> Response[dict[str, int]]:
    """Say how many nodes are live; 503 while none is, and at the start until each has an outcome."""
    states = [node.freshness.state for node in services.fleet]
    live = sum(row.state == "live" for row in services.tracker.nodes.values())
    is_starting = "never" in states and services.fleet.clock.now() - services.started_at < START_SECONDS
    is_ready = not states or (live > 0 and not is_starting)
    return Response({"nodes": len(states), "nodes_live": live}, status_code=200 if is_ready else 503)


@get("/metrics", summary="The fleet for Prometheus", media_type=MediaType.TEXT, responses=problems(401))
async def metrics(request: AnyRequest, services: Services) -> Response[str]:
    """Verdicts, figures and the board's own cost; no names of people."""
    admit(request, services)
    rows = services.tracker
    viewers = Family(
        name="gpuboard_viewers", help="Open pages.", samples=[({}, services.broadcaster.viewers)]
    )
    now = services.fleet.clock.now()
    families = [
        *fleet_families(rows.nodes.values(), rows.gpus.values(), now=now),
        viewers,
        *own_families(_MYSELF),
    ]
    # As a header: to a media type the framework adds its own charset.
    return Response(write(families), headers={"content-type": CONTENT_TYPE})
