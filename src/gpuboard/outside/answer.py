"""The answer of an HTTP/1.1 server, read piece by piece within limits."""

from typing import Final

import httptools
from msgspec import Struct

from gpuboard.model.errors import OutsideError

# All that is no body: headers, the sizes of chunks and what stands beside them, trailers.
MAX_HEAD_BYTES: Final = 16 * 1024
# Large bodies come in many chunks, each with its size: so much of a body's length besides.
_CHUNKS_SHARE: Final = 1 / 8


class HttpAnswer(Struct, frozen=True, kw_only=True):
    """What a server said."""

    status: int
    # Names in lower case; of a repeated header the last value stands.
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class AnswerReader:
    """Collects one answer; what is too large, compressed or no HTTP is refused as soon as it shows."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._all_bytes = 0
        self._head_done = False
        self._parts: list[bytes] = []
        self._body_bytes = 0
        self._done = False
        self._extra = False
        self._lasts = False
        self._problem: OutsideError | None = None

    def feed(self, data: bytes) -> HttpAnswer | None:
        """Take in some bytes; return the answer once it is whole.

        Raises:
            OutsideError: this is no HTTP, or an answer that we do not take.
        """
        self._all_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse("what came back is no HTTP; does that port speak TLS?", "not-http")
        besides = self._all_bytes - self._body_bytes
        if not self._done and besides > MAX_HEAD_BYTES + self._body_bytes * _CHUNKS_SHARE:
            self._refuse(f"the answer's headers are larger than {MAX_HEAD_BYTES} bytes", "too-large")
        if self._problem is not None:
            raise self._problem
        return self._answer() if self._done else None

    def end(self) -> HttpAnswer:
        """The connection has ended: for an answer without a length that is its end.

        Raises:
            OutsideError: the answer is not whole.
        """
        bounded = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._head_done and not bounded:
            return self._answer()
        raise OutsideError("the connection ended in the middle of the answer", code="cut-off")

    def can_go_on(self) -> bool:
        """Whether the connection may carry another request."""
        return self._lasts and not self._extra

    def on_message_begin(self) -> None:
        """Notice bytes after the end: a server out of step is not asked again on this connection."""
        self._extra = self._done

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep one header; what follows the body is not for us."""
        if self._head_done:
            return
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Refuse by the head alone what would be refused in the end."""
        self._head_done = True
        length = self._headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._limit:
            self._refuse(
                f"the answer wants to be {length[:20]} bytes long; {self._limit} are allowed", "too-large"
            )
        encoding = self._headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            self._refuse(f"the answer is compressed ({encoding[:20]}), which was not asked for", "compressed")

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body."""
        self._body_bytes += len(body)
        if self._body_bytes > self._limit:
            self._refuse(f"the answer is larger than {self._limit} bytes", "too-large")
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """Note that the answer is whole; only now does the parser know whether the connection lasts."""
        self._done = True
        self._lasts = self._parser.should_keep_alive()

    def _refuse(self, text: str, code: str) -> None:
        # The parser's callbacks must not raise: it would hide the error in one of its own.
        self._problem = self._problem or OutsideError(text, code=code)

    def _answer(self) -> HttpAnswer:
        return HttpAnswer(
            status=self._parser.get_status_code(), headers=self._headers, body=b"".join(self._parts)
        )
