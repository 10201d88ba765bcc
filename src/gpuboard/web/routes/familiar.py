"""Addresses that people and scripts know from the boards they had before."""

from datetime import UTC, datetime, tzinfo
from typing import Any, Final, cast

import msgspec
from litestar import Response, get

from gpuboard.fleet.views import fleet_view
from gpuboard.model.names import holder_name
from gpuboard.model.units import MIB
from gpuboard.settings.zones import zone_of
from gpuboard.web.answers import COMPRESSED, AnyRequest, respond
from gpuboard.web.needs import needs, tier_of
from gpuboard.web.problems import problems
from gpuboard.web.services import Services
from gpuboard.wire.redact import hide_names
from gpuboard.wire.views import GpuView, NodeView, Tier


@get(
    ["/index", "/index.php", "/gpus", "/nodes"],
    include_in_schema=False,
    status_code=302,
    opt=needs("nothing"),
    sync_to_thread=False,
)
def to_the_board(request: AnyRequest) -> Response[bytes]:
    """Lead to the page; relative, so that it works under any path that a proxy gives it."""
    depth = request.scope["raw_path"].count(b"/") - 1
    return Response(b"", status_code=302, headers={"location": "../" * depth or "./"})


@get(
    "/get-status",
    summary="All nodes, as gpu-cluster-monitor tells them",
    opt=needs("counts", **{COMPRESSED: True}),
    responses=problems(401),
)
async def get_status(request: AnyRequest, services: Services) -> Response[dict[str, Any]]:
    """For scripts that were written for that board; of commands only the program's name is known here."""
    tier = tier_of(request)
    made = services.broadcaster.answers.get(("get-status", tier), lambda: _encode(services, tier))
    answer = respond(request, made, headers={"cache-control": "no-cache"})
    return cast("Response[dict[str, Any]]", answer)


def _encode(services: Services, tier: Tier) -> bytes:
    view = fleet_view(services.tracker)
    shown = view if tier == "names" else hide_names(view)
    zone = zone_of(services.info.time_zone)
    mended = map(services.broadcaster.unwritable.mended, shown.nodes)
    return msgspec.json.encode({"Nodes": [_node(node, zone) for node in mended]})


def _node(node: NodeView, zone: tzinfo | None) -> dict[str, Any]:
    addresses = node.host.addresses if node.host is not None else ()
    return {
        "hostname": (node.host and node.host.hostname) or node.name,
        "last_update": None if node.sampled_at is None else _local_time(node.sampled_at, zone),
        "ips": [[each.interface, each.address] for each in addresses],
        "gpus": [_gpu(gpu) for gpu in node.gpus],
        "status": node.state == "live",
        "version": node.gpus[0].model if node.gpus else None,
    }


def _gpu(gpu: GpuView) -> dict[str, Any]:
    reading = gpu.reading
    return {
        "index": reading.index,
        "name": gpu.model,
        "use_mem": _mebibytes(reading.memory_used_bytes),
        "tot_mem": _mebibytes(reading.memory_total_bytes),
        "utilize": reading.utilization_percent,
        "temp": reading.temperature_celsius,
        "users": [
            {
                "pid": process.pid,
                "username": holder_name(process.user, process.uid),
                "mem(MiB)": _mebibytes(process.memory_used_bytes),
                "command": process.program,
            }
            for process in reading.processes or ()
        ],
    }


def _mebibytes(size: int | None) -> int | None:
    return None if size is None else size // MIB


def _local_time(at: float, zone: tzinfo | None) -> str:
    """As that board wrote it: the time of its wall clock, without saying so."""
    return datetime.fromtimestamp(at, UTC).astimezone(zone).replace(tzinfo=None).isoformat()


ROUTES: Final = (to_the_board, get_status)
