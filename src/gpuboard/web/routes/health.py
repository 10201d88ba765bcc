"""Whether the board is alive, whether it works, and what it costs."""

import psutil
from litestar import MediaType, Response, get

from gpuboard.metrics.fleet import fleet_families
from gpuboard.metrics.own import own_families
from gpuboard.metrics.text import CONTENT_TYPE, Family, write
from gpuboard.web.routes.fleet import AnyRequest, admit
from gpuboard.web.services import Services

_MYSELF = psutil.Process()


@get("/healthz", media_type=MediaType.TEXT, summary="The process is alive", sync_to_thread=False)
def healthz() -> str:
    """Answer as long as the process can."""
    return "ok\n"


@get("/readyz", summary="The sources work")
async def readyz(services: Services) -> Response[dict[str, int]]:
    """Say how many nodes are live; 503 while nodes are known and none is live."""
    live = sum(row.state == "live" for row in services.tracker.nodes.values())
    known = len(services.fleet)
    return Response({"nodes": known, "nodes_live": live}, status_code=503 if known and not live else 200)


@get("/metrics", summary="The fleet for Prometheus", media_type=MediaType.TEXT)
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
    return Response(write(families), media_type=CONTENT_TYPE)
