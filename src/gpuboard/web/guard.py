"""The outermost layer: Host and Origin checks on HTTP and WebSocket alike, and headers on every answer."""

from typing import Final, cast

from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from gpuboard.web.access import AccessPolicy
from gpuboard.web.problems import REFUSAL, send_problem

_CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
_HEADERS: Final = (
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # Proxies that buffer would hold back a live answer.
    (b"x-accel-buffering", b"no"),
)


# The first parts of all our own paths.
TOP: Final = frozenset(
    {"", "api", "assets", "get-status", "gpus", "healthz", "index", "metrics", "nodes", "people", "readyz"}
)


class Guard:
    """Lets through only requests that are meant for this board."""

    def __init__(self, app: ASGIApp, access: AccessPolicy, *, base_path: str = "/") -> None:
        self._app = app
        self._access = access
        self._base = f"/{base_path.strip('/')}/" if base_path.strip("/") else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, then hand it on."""
        kind: str = scope["type"]
        if kind not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(headers, is_read=scope.get("method") in ("GET", "HEAD", "OPTIONS"))
        if refusal is None:
            self._strip_base(scope)
            if kind == "websocket":
                await self._app(scope, receive, _with_refusal_in_words(scope, send))
            else:
                await self._app(_as_get(scope), receive, _with_headers(send))
            return
        if kind == "websocket":
            await receive()
        await send_problem(send, kind, 421, refusal, headers=_HEADERS)

    def _strip_base(self, scope: Scope) -> None:
        """Take the base path away, if the proxy has not done so itself.

        Under the base path /gpus/ our own /gpus/GPU-1 looks as if it had to be stripped; its next part
        is no name of ours, so it stays.
        """
        path: str = scope["path"]
        if self._base is None or not f"{path}/".startswith(self._base):
            return
        rest = path[len(self._base) :]
        first = rest.split("/", maxsplit=1)[0]
        if first in TOP or "." in first:
            scope["path"] = f"/{rest}"
            scope["raw_path"] = scope["raw_path"][len(self._base) - 1 :]

    def _refusal(self, headers: dict[str, str], *, is_read: bool) -> str | None:
        host, origin = headers.get("host"), headers.get("origin")
        if not self._access.accepts_host(host):
            return f"this board does not answer to the name {host!r}; add it to [board] hostnames"
        if not is_read and not self._access.accepts_origin(origin, host):
            return f"a page of {origin!r} may not use this board"
        return None


def _as_get(scope: Scope) -> Scope:
    """A question for the head alone is answered like any other; the server leaves out the body."""
    if scope.get("method") != "HEAD":
        return scope
    return cast("Scope", {**scope, "method": "GET"})


def _with_refusal_in_words(scope: Scope, send: Send) -> Send:
    """A handshake that the framework would refuse without a word hears why, like any other request."""
    is_open = False

    async def send_or_refuse(message: Message) -> None:
        nonlocal is_open
        kind: str = message["type"]
        error = scope["state"].get(REFUSAL)
        if kind == "websocket.close" and not is_open and isinstance(error, HTTPException):
            await send_problem(send, "websocket", error.status_code, error.detail, headers=_HEADERS)
            return
        is_open = is_open or kind == "websocket.accept"
        await send(message)

    return send_or_refuse


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(h for h in _HEADERS if h[0] not in present)]
        await send(message)

    return send_with_headers
