"""The fleet of an earlier moment, as answers of the routes that tell how it is now."""

import msgspec
from litestar import Response
from litestar.exceptions import ValidationException
from msgspec.structs import replace

from gpuboard.history.base import History
from gpuboard.history.rewind import Named, rows_at, view_at
from gpuboard.web.answers import AnyRequest
from gpuboard.web.needs import tier_of
from gpuboard.web.past import encode_by_parts, tell
from gpuboard.web.services import Services
from gpuboard.wire.redact import gpu_rows_for_tier, hide_names, node_rows_for_tier
from gpuboard.wire.stream import Snapshot, columns
from gpuboard.wire.views import GpuRow, NodeRow

# No stream has this name: nothing can be resumed from the past.
STREAM = "past"


async def fleet_at(request: AnyRequest, services: Services, at: float) -> Response[bytes]:
    """All nodes with all their GPUs as they were."""
    tier, named = tier_of(request), _named(services)
    _check(services, at)

    def read(history: History) -> bytes:
        view = replace(view_at(history.moment(at), named), title=services.info.title)
        return encode_by_parts(view if tier == "names" else hide_names(view), "nodes")

    return await tell(request, services.history, services.past, read)


async def snapshot_at(request: AnyRequest, services: Services, at: float) -> Response[bytes]:
    """What the stream would have begun with."""
    tier, named, board = tier_of(request), _named(services), services.broadcaster.info(tier_of(request))
    _check(services, at)

    def read(history: History) -> bytes:
        nodes, gpus = rows_at(history.moment(at), named)
        snapshot = Snapshot(
            stream=STREAM,
            sequence=0,
            at=at,
            tier=tier,
            board=board,
            nodes=columns(NodeRow, node_rows_for_tier(nodes, tier)),
            gpus=columns(GpuRow, gpu_rows_for_tier(gpus, tier)),
            troubles=[],
        )
        return msgspec.json.encode(snapshot)

    return await tell(request, services.history, services.past, read)


def _named(services: Services) -> Named:
    return Named(names=services.fleet.names, groups=services.fleet.groups)


def _check(services: Services, at: float) -> None:
    if at > services.fleet.clock.now():
        raise ValidationException("at: nobody knows the future; name a moment that has been")
