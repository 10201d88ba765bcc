"""The outermost layer: Host and Origin checks on HTTP and WebSocket alike, and headers on every answer."""

import math
import time
from collections.abc import Callable
from typing import Any, Final, cast

from litestar.datastructures import Headers
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from gpuboard.accounts.tokens import KnownToken
from gpuboard.model.identity import Identity
from gpuboard.web.access import AccessPolicy
from gpuboard.web.cookies import read_browser
from gpuboard.web.limits import VISITS_BURST, VISITS_PER_SECOND
from gpuboard.web.needs import BROWSER, IDENTITY, TOKEN
from gpuboard.web.people import PeopleDoor
from gpuboard.web.problems import REFUSAL, send_problem
from gpuboard.web.room import Room
from gpuboard.web.throttle import RateLimit

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
    {"", "account", "api", "assets", "audit", "get-status", "gpus", "healthz", "index", "metrics", "nodes"}
    | {"bookings", "people", "readyz", "sign-in", "usage"}
)


# What agents ask for, wherever the board is put.
_AGENTS: Final = ("/api/v1/reports", "/api/v1/ingest", "/api/v1/vouch")

# Status, words, and headers of its own.
RefusedRequest = tuple[int, str, tuple[tuple[bytes, bytes], ...]]


class Guard:
    """Lets through only requests that are meant for this board."""

    def __init__(
        self,
        app: ASGIApp,
        access: AccessPolicy,
        *,
        base_path: str = "/",
        recognise: Callable[[Headers], KnownToken | None] = lambda _: None,
        people: PeopleDoor | None = None,
    ) -> None:
        self._app = app
        self._access = access
        # Whose token a request carries.
        self._recognise = recognise
        # Who somebody is; None: nobody can sign in.
        self._people = people
        self._visits = RateLimit(per_second=VISITS_PER_SECOND, burst=VISITS_BURST)
        # For the server, which asks it about every connection.
        self.room = Room(is_limited=access.is_limited)
        self._base = f"/{base_path.strip('/')}/" if base_path.strip("/") else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, then hand it on."""
        kind: str = scope["type"]
        if kind not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers.from_scope(scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and kind == "http" and self._is_base_without_slash(scope["path"]):
            await _lead(scope, send)
            return
        if refusal is None:
            await self._identify(scope, headers)
            self._strip_base(scope)
            if kind == "websocket":
                await self._app(scope, receive, _with_refusal_in_words(scope, send))
            else:
                await self._app(_as_get(scope), receive, _with_headers(send))
            return
        if kind == "websocket":
            await receive()
        status, detail, own = refusal
        await send_problem(send, kind, status, detail, headers=(*_HEADERS, *own))

    def _is_base_without_slash(self, path: str) -> bool:
        """Whether the board's own path is asked for as if it were a file; what the page needs is below it."""
        return self._base is not None and f"{path}/" == self._base

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

    def _refusal(self, scope: Scope, headers: Headers) -> RefusedRequest | None:
        hosts, origin = headers.getall("host", []), headers.get("origin")
        # Whoever reads the one and whoever reads the other would not mean the same board.
        if len(hosts) != 1:
            return 400, "A request names its host once.", ()
        if not self._access.accepts_host(hosts[0]):
            return (
                421,
                f"this board does not answer to the name {hosts[0]!r}; add it to [board] hostnames",
                (),
            )
        is_read = scope.get("method") in ("GET", "HEAD", "OPTIONS")
        peer = scope["client"][0] if scope["client"] else None
        if not is_read and origin is not None:
            spoken = self._access.spoken_scheme(scope["scheme"], peer, headers)
            if not self._access.accepts_origin(origin, hosts[0], spoken):
                return 421, self._foreign_words(origin, hosts[0]), ()
        identity = self._access.identify(peer, headers)
        scope.setdefault("state", {})[IDENTITY] = identity
        return self._haste(scope, headers, identity)

    def _foreign_words(self, origin: str, host: str) -> str:
        text = f"a page of {origin!r} may not use this board"
        is_own_in_clear = self._access.accepts_origin(origin, host, None)
        return f"{text}, which speaks https here; open it by https" if is_own_in_clear else text

    async def _identify(self, scope: Scope, headers: Headers) -> None:
        """Find out who asks, once; everybody behind takes it as it is."""
        state, peer = scope["state"], scope["client"][0] if scope["client"] else None
        access = self._access
        state[BROWSER] = read_browser(
            headers,
            is_secure=access.is_secure(scope["scheme"], peer, headers),
            needs_https=access.needs_https(scope["scheme"], peer, headers),
        )
        # A node is no person, whatever cookies it sends.
        if self._people is not None and TOKEN not in state:
            state[IDENTITY] = identity = await self._people.identify(state[IDENTITY], scope, headers)
            # Who is somebody without having shown anything, as in a demo, is a visitor like any other.
            if identity.credential is not None and peer is not None:
                self.room.note_person(peer)

    def _haste(self, scope: Scope, headers: Headers, identity: Identity) -> RefusedRequest | None:
        """Why a visitor should wait before it asks again; nodes have an allowance of their own."""
        if "authorization" in headers and scope["path"].endswith(_AGENTS):
            known = self._recognise(headers)
            if known is not None:
                scope["state"][TOKEN] = known
                if scope["client"]:
                    self.room.note_agent(scope["client"][0])
                return None
        wait = self._visits.delay(identity.counted_as, time.monotonic())
        if not wait:
            return None
        after = (b"retry-after", str(math.ceil(wait)).encode())
        return 429, "Too many requests from your address; wait a moment.", (after, (b"connection", b"close"))


async def _lead(scope: Scope, send: Send) -> None:
    """Lead to the same path with a slash; relative, so that it works under any path that a proxy gives it."""
    query: bytes = scope["query_string"]
    last: bytes = scope["raw_path"].rpartition(b"/")[2]
    location = b"%s/%s" % (last, b"?" + query if query else b"")
    start: Any = {
        "type": "http.response.start",
        "status": 308,
        "headers": [(b"location", location), (b"content-length", b"0"), *_HEADERS],
    }
    await send(start)
    end: Any = {"type": "http.response.body", "body": b"", "more_body": False}
    await send(end)


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
