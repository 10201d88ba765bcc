"""Asking one HTTP/1.1 server again and again over one kept connection.

Made for hundreds of agents asked every few seconds; docs/decisions/0002 has the figures. Certificates are
verified, redirects are not followed, nothing is decompressed, and every answer has a size and a deadline.
"""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from gpuboard.model.address import is_loopback
from gpuboard.model.errors import OutsideError
from gpuboard.outside.answer import AnswerReader, HttpAnswer
from gpuboard.outside.network_words import in_words
from gpuboard.outside.resolve import Resolver, is_of_here

_READ_BYTES: Final = 64 * 1024
# A name with several addresses, the first of them dead, must not use up the whole deadline.
_CONNECT_SHARE: Final = 0.5
_MAX_ADDRESSES: Final = 4


def request_bytes(
    method: str, path: str, *, host: str, headers: Mapping[str, str], body: bytes = b""
) -> bytes:
    """Write a request.

    Raises:
        ValueError: a value would break out of its line.
    """
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    if any(not line.isprintable() for line in lines):
        raise ValueError("a request line holds a character that cannot be sent")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


class HttpServer:
    """One server, and the connection to it that is kept open between requests."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
        only_private: bool = False,
        only_elsewhere: bool = False,
    ) -> None:
        """Make a server known.

        `only_private` refuses to talk to it unless by TLS or loopback, `only_elsewhere` at an address of this
        machine or of its links.
        """
        self._host = host
        self._port = port
        self._resolver = resolver
        self._tls = tls
        self._only_private = only_private
        self._only_elsewhere = only_elsewhere
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._doing = ""

    @property
    def address(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self._port}"

    async def ask(self, request: bytes, *, deadline: float, limit: int) -> HttpAnswer:
        """Send a request and return the answer, all within the deadline in seconds.

        Raises:
            OutsideError: there is no answer, or none that we take; the text says why.
        """
        whole = False
        try:
            async with asyncio.timeout(deadline):
                answer = await self._ask(request, deadline, limit)
            whole = True
        except (OSError, TimeoutError) as error:
            raise in_words(error, address=self.address, doing=self._doing, deadline=deadline) from None
        else:
            return answer
        finally:
            if not whole:
                self.close()

    def close(self) -> None:
        """Drop the connection at once."""
        if self._connection is not None:
            # Closing politely would wait for the other side, which may be gone.
            self._connection[1].transport.abort()
            self._connection = None

    async def _ask(self, request: bytes, deadline: float, limit: int) -> HttpAnswer:
        if self._connection is not None:
            # A server may end a kept connection at any time; only then is the request sent once more.
            with suppress(_Ended):
                return await self._exchange(self._connection, request, limit)
            self.close()
        self._connection = await self._connect(deadline)
        try:
            return await self._exchange(self._connection, request, limit)
        except _Ended as ended:
            if isinstance(ended.__cause__, OSError):
                raise ended.__cause__ from None
            raise OutsideError(
                f"{self.address} ended the connection without an answer", code="cut-off"
            ) from None

    async def _connect(self, deadline: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._doing = "looking up its name"
        addresses = (await self._resolver.addresses(self._host))[:_MAX_ADDRESSES]
        self._doing = "connecting"
        share = deadline * _CONNECT_SHARE / len(addresses) if len(addresses) > 1 else None
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            self._refuse_in_clear(address)
            self._refuse_here(address)
            try:
                async with asyncio.timeout(share):
                    return await asyncio.open_connection(
                        address,
                        self._port,
                        limit=_READ_BYTES,
                        ssl=self._tls,
                        server_hostname=self._host if self._tls is not None else None,
                    )
            except (OSError, TimeoutError):
                if last == 0:
                    raise
        raise OutsideError(f"the name {self._host} has no address", code="unknown-host")

    def _refuse_in_clear(self, address: str) -> None:
        if self._only_private and self._tls is None and not is_loopback(address):
            text = f"the secret is not sent unencrypted to {address}"
            remedy = "use TLS, or allow_plaintext = true if nobody else can listen on that network"
            raise OutsideError(f"{text}: {remedy}", code="secret-in-clear", remedy=remedy)

    def _refuse_here(self, address: str) -> None:
        if self._only_elsewhere and is_of_here(address):
            text = f"its list says that it is at {address}, which is this machine itself or its own link"
            remedy = "correct the list, or set allow_loopback = true where the list may say so"
            raise OutsideError(f"{text}: {remedy}", code="address-here", remedy=remedy)

    async def _exchange(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes, limit: int
    ) -> HttpAnswer:
        stream_in, stream_out = connection
        reader = AnswerReader(limit=limit)
        self._doing = "waiting for its answer"
        try:
            stream_out.write(request)
            data = await stream_in.read(_READ_BYTES)
        except OSError as error:
            raise _Ended from error
        if not data:
            raise _Ended
        self._doing = "reading its answer"
        answer = None
        while answer is None and data:
            answer = reader.feed(data)
            data = b"" if answer is not None else await stream_in.read(_READ_BYTES)
        if answer is None:
            answer = reader.end()
        if not reader.can_go_on():
            self.close()
        return answer


class _Ended(Exception):  # noqa: N818 - a state of the connection, not a mistake
    """The other side ended the connection before it said anything."""
