"""A WebSocket whose Upgrade a proxy has left out: the log names the proxy, the answer names the remedy."""

import logging
from typing import Any, Final

from litestar import Request
from litestar.exceptions import HTTPException

from gpuboard.outside.seldom import SeldomLog

log = logging.getLogger(__name__)

_REMEDY: Final = (
    "This is a WebSocket, but the request came without Upgrade: a proxy on the way does not pass it on. "
    "For nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
    'proxy_set_header Connection "upgrade";'
)
_SAY_AGAIN_SECONDS: Final = 3600.0
_news: Final = SeldomLog(log, seconds=_SAY_AGAIN_SECONDS)


def is_spoiled(request: Request[Any, Any, Any]) -> bool:
    """Whether this was a WebSocket's handshake when it set out."""
    return "sec-websocket-key" in request.headers


def upgrade_missing(request: Request[Any, Any, Any]) -> HTTPException:
    """What to answer to a plain request where a WebSocket was due."""
    detail = "This is a WebSocket."
    if is_spoiled(request):
        peer = request.client.host if request.client else "?"
        _news.say("upgrade", "WebSocket without Upgrade: proxy=%s remedy=%s", peer, _REMEDY)
        detail = _REMEDY
    return HTTPException(status_code=426, detail=detail, headers={"upgrade": "websocket"})
