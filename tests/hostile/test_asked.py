"""Nodes that are asked and never come to an end: everything they send is counted."""

import asyncio
from collections.abc import Iterator

import pytest

from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions, PullSource
from tests.fakes.http import Request, raw_server
from tests.fakes.sink import RecordingSink, running
from tests.sources.pull.agents import at, pull

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
# Far more than the buffers of a connection; an attack ends here by itself.
MOST_BYTES = 64 * 1024 * 1024
ENDLESS = {
    "headers": (HEAD, b"X-More: and more\r\n" * 4000),
    "one header": (HEAD + b"X: ", b"x" * 65536),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-More: and more\r\n" * 4000),
    "one trailer": (CHUNKED + b"2\r\n{}\r\n0\r\nX: ", b"x" * 65536),
    "words beside a chunk's size": (CHUNKED + b"2;", b"x" * 65536),
    "chunks of one byte": (CHUNKED, b"1;words\r\n \r\n" * 4000),
    "a body": (CHUNKED, b"ffff\r\n" + b" " * 65535 + b"\r\n"),
    "a body until the end": (HEAD + b"\r\n", b" " * 65536),
}


def pieces(first: bytes, rest: bytes) -> Iterator[bytes]:
    """An answer without end, as far as it goes."""
    yield first
    for _ in range(MOST_BYTES // len(rest)):
        yield rest


def patient(port: int) -> PullSource:
    """A source that does not give up by the clock first."""
    return pull(at("endless", port), options=PullOptions(timeout=Duration(30)))


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_answer_without_end_is_cut(kind: str) -> None:
    """Long before it fills the memory; the node is in trouble, in words."""
    sent = 0

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        sent = 0
        for piece in pieces(*ENDLESS[kind]):
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    sink = RecordingSink()
    async with raw_server(answer) as fake, running(patient(fake.port), sink):
        code, _, text = await sink.trouble_of("endless")
    assert (code, sink.reports) == ("too-large", [])
    assert "bytes" in text
    assert sent < MOST_BYTES / 2
