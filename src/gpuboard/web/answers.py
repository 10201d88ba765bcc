"""Answers that cost much: made once per tick for all who ask, and not sent to those who have them already."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar, cast

from isal import igzip
from litestar import MediaType, Request, Response

AnyRequest = Request[Any, Any, Any]
Made = TypeVar("Made")

# The application's own compression, made for answers that differ, leaves these alone.
COMPRESSED: Final = "compressed_by_route"
COMPRESS_FROM_BYTES: Final = 1024
# What visitors ask for in their own words must not fill the memory between two ticks.
MOST_KEPT: Final = 256
MOST_KEPT_BYTES: Final = 16 * 1024 * 1024
# Most of the gain for a fraction of the time; a quarter of what zlib takes for the same.
_COMPRESSION_LEVEL: Final = 1


class SharedBody:
    """One body, compressed when the first asks for it so; the very same bytes go to everybody."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._compressed: bytes | None = None

    @property
    def compressed(self) -> bytes:
        """The body as gzip."""
        if self._compressed is None:
            self._compressed = igzip.compress(self.body, compresslevel=_COMPRESSION_LEVEL, mtime=0)
        return self._compressed


class Answers:
    """What was answered since the last tick; another tick, and all is made anew."""

    def __init__(self, version: Callable[[], Hashable]) -> None:
        self._version = version
        self._made_for: Hashable = None
        self._made: dict[Hashable, Any] = {}
        self._bytes = 0

    def get(self, what: Hashable, make: Callable[[], bytes]) -> SharedBody:
        """The answer to this question."""
        return self.once(what, lambda: self._weighed(SharedBody(make())))

    def _weighed(self, answer: SharedBody) -> SharedBody:
        self._bytes += len(answer.body)
        return answer

    def once(self, what: Hashable, make: Callable[[], Made]) -> Made:
        """The same for what is no answer yet; a key is one kind of thing."""
        version = self._version()
        is_full = len(self._made) >= MOST_KEPT or self._bytes >= MOST_KEPT_BYTES
        if version != self._made_for or is_full:
            self._made_for, self._made, self._bytes = version, {}, 0
        if what not in self._made:
            self._made[what] = make()
        return cast("Made", self._made[what])


def respond(
    request: AnyRequest,
    answer: SharedBody,
    *,
    headers: dict[str, str] | None = None,
    media_type: str = MediaType.JSON,
) -> Response[bytes]:
    """Send an answer, compressed if that is understood and worth it."""
    headers = {"vary": "accept-encoding", **(headers or {})}
    if may_compress(request) and len(answer.body) >= COMPRESS_FROM_BYTES:
        return Response(
            answer.compressed, media_type=media_type, headers={**headers, "content-encoding": "gzip"}
        )
    return Response(answer.body, media_type=media_type, headers=headers)


def not_modified(request: AnyRequest, tag: str) -> Response[bytes] | None:
    """304 for those who have it already; None for the others."""
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if tag not in known and "*" not in known:
        return None
    return Response(b"", status_code=304, headers={"etag": tag, "cache-control": "no-cache"})


def may_compress(request: AnyRequest) -> bool:
    """Whether whoever asks understands gzip."""
    return "gzip" in request.headers.get("accept-encoding", "")
