"""Whether the board is alive and whether it works."""

from litestar import MediaType, Response, get

from gpuboard.web.services import Services


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
