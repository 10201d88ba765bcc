"""The live stream as a WebSocket."""

import asyncio
import contextlib
from typing import Any, Final

from litestar import WebSocket, websocket
from litestar.exceptions import WebSocketDisconnect

from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster, Viewer

SEND_SECONDS: Final = 10.0
NOT_ALLOWED: Final = 4401
TRY_LATER: Final = 1013
MAX_VIEWERS: Final = 2000


@websocket("/api/v1/stream")
async def stream(
    socket: WebSocket[Any, Any, Any], services: Services, stream: str | None = None, after: int | None = None
) -> None:
    """Send one snapshot, then every change, until the viewer leaves or is too slow."""
    await socket.accept()
    peer = socket.client.host if socket.client else None
    tier = services.access.tier(peer, socket.headers)
    if tier is None:
        await socket.close(
            code=NOT_ALLOWED, reason="this board shows nothing to people who are not signed in"
        )
        return
    if services.broadcaster.viewers >= MAX_VIEWERS:
        await socket.close(code=TRY_LATER, reason="too many viewers")
        return
    address = services.access.counted_address(peer, socket.headers)
    if not services.crowd.enter(address):
        reason = f"{services.crowd.most} pages are open from your address already; close some of them"
        await socket.close(code=TRY_LATER, reason=reason)
        return
    try:
        await _show(socket, services.broadcaster, services.broadcaster.join(tier, stream=stream, after=after))
    finally:
        services.crowd.leave(address)


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
                    await socket.close(code=1012, reason="the board is stopping")
                    return
                await socket.send_data(frame, mode="text" if isinstance(frame, str) else "binary")
                if viewer.is_too_slow and viewer.frames.empty():
                    await socket.close(code=TRY_LATER, reason="too slow; reconnect for a snapshot")
                    return
        except (TimeoutError, WebSocketDisconnect):
            return


async def _hear(socket: WebSocket[Any, Any, Any]) -> None:
    """Wait for the viewer to leave; it has nothing to say."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
