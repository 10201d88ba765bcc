"""Servers for tests that answer exactly what a test wants, well or badly, over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RawServer:
    """A listening server and what it has seen."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0


Handler = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(
    handle: Handler, *, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[RawServer]:
    """Serve on loopback: the handler writes whatever bytes it likes in answer to each request."""
    seen = RawServer()
    open_ones: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                request = await read_request(reader)
                seen.requests.append(request)
                await handle(request, writer)
                await writer.drain()
                if writer.is_closing():
                    break
        writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in list(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read one request, head and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


def answer_bytes(
    body: bytes, *, status: str = "200 OK", media_type: str = "application/json", extra: str = ""
) -> bytes:
    """A well-formed answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode("latin-1") + body


def always(data: bytes) -> Handler:
    """A handler that answers every request with the same bytes."""

    async def handle(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return handle


async def silent(_request: Request, _writer: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    await asyncio.Event().wait()
