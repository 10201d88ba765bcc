"""The live stream as a WebSocket."""

import asyncio
import contextlib
from typing import Any, Final, cast

from litestar import Response, WebSocket, get, websocket
from litestar.exceptions import WebSocketDisconnect
from litestar.openapi.datastructures import ResponseSpec

from gpuboard.web.answers import COMPRESSED, AnyRequest, not_modified, respond
from gpuboard.web.deadline_socket import let_in
from gpuboard.web.limits import MAX_VIEWERS
from gpuboard.web.needs import identity_of, needs, tier_of, why_nothing_is_shown
from gpuboard.web.problems import problems
from gpuboard.web.rewinding import snapshot_at
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster, Viewer
from gpuboard.web.times import At, moment
from gpuboard.web.upgrade import is_spoiled, upgrade_missing
from gpuboard.wire.stream import Snapshot

SEND_SECONDS: Final = 10.0
NOT_ALLOWED: Final = 4401
TRY_LATER: Final = 1013


@websocket("/api/v1/stream", opt=needs("counts"))
async def stream(
    socket: WebSocket[Any, Any, Any], services: Services, stream: str | None = None, after: int | None = None
) -> None:
    """Send one snapshot, then every change, until the viewer leaves or is too slow."""
    await socket.accept()
    identity = identity_of(socket)
    refusal = why_nothing_is_shown(socket)
    if identity.tier is None or refusal is not None:
        await socket.close(code=NOT_ALLOWED, reason=refusal or "")
        return
    if services.broadcaster.viewers >= MAX_VIEWERS:
        await socket.close(code=TRY_LATER, reason="too many viewers")
        return
    here = services.viewers_per_address
    if not here.enter(identity.counted_as):
        reason = f"{here.most} pages are open from your address already; close some of them"
        await socket.close(code=TRY_LATER, reason=reason)
        return
    let_in(socket.scope)
    try:
        viewer = services.broadcaster.join(
            identity.tier,
            stream=stream,
            after=after,
            credential=identity.credential,
            role=identity.role,
            person=identity.person,
        )
        await _show(socket, services.broadcaster, viewer)
    finally:
        here.leave(identity.counted_as)


@get(
    "/api/v1/stream",
    summary="The live stream's snapshot",
    opt=needs("counts", **{COMPRESSED: True}),
    responses={
        **problems(400, 401, 404, 426, 429, 503),
        304: ResponseSpec(None, description="Nothing has changed"),
    },
)
async def get_snapshot(request: AnyRequest, services: Services, at: At = None) -> Response[Snapshot]:
    """The first message of the stream, for pages behind a proxy that lets no WebSocket through.

    Send the ETag back to hear 304 while nothing has changed. With `at` it is what the stream would have begun
    with at a moment of the past.
    """
    if is_spoiled(request):
        raise upgrade_missing(request)
    tier = tier_of(request)
    if at is not None:
        return cast("Response[Snapshot]", await snapshot_at(request, services, moment(at, "at", 0.0)))
    tag = f'"{services.broadcaster.version}-{tier}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    answer = not_modified(request, tag) or respond(
        request, services.broadcaster.snapshot(tier), headers=headers
    )
    return cast("Response[Snapshot]", answer)


async def _show(socket: WebSocket[Any, Any, Any], broadcaster: Broadcaster, viewer: Viewer) -> None:
    hearing = asyncio.ensure_future(_hear(socket))
    hearing.add_done_callback(lambda _: viewer.stop())
    try:
        await _send_all(socket, viewer, hearing)
    finally:
        broadcaster.leave(viewer)
        hearing.cancel()
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect):
            await hearing


async def _send_all(
    socket: WebSocket[Any, Any, Any], viewer: Viewer, hearing: "asyncio.Future[None]"
) -> None:
    while True:
        frame = await viewer.frames.get()
        if hearing.done():
            return
        try:
            # The one place where a slow viewer can hold us up, and only its own task.
            async with asyncio.timeout(SEND_SECONDS):
                if frame is None:
                    code, reason = viewer.goodbye
                    await socket.close(code=code, reason=reason)
                    return
                await socket.send_data(frame, mode="text" if isinstance(frame, str) else "binary")
                if viewer.is_too_slow and viewer.frames.empty():
                    await socket.close(code=TRY_LATER, reason="too slow; reconnect for a snapshot")
                    return
        except (TimeoutError, WebSocketDisconnect, OSError):
            # Gone, or cut off.
            return


async def _hear(socket: WebSocket[Any, Any, Any]) -> None:
    """Wait for the viewer to leave; it has nothing to say."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return


ROUTES: Final = (stream, get_snapshot)
