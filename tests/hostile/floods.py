"""Floods, bounded in time and size, and an honest node that reports beside them."""

import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.wire.ingest import Acknowledgement, Hello, Live, Sample, decode_from_board, encode
from tests.pushing import report_of

Place = tuple[str, int]

KEY = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
# As small as frames can be, masked with zeros.
TINY = {
    "ping": b"\x89\x80\0\0\0\0",
    "pong": b"\x8a\x80\0\0\0\0",
    "text": b"\x81\x81\0\0\0\0a",
    "fragments": b"\x01\x80\0\0\0\0" + b"\x00\x80\0\0\0\0" * 50 + b"\x80\x80\0\0\0\0",
    "binary": b"\x82\x80\0\0\0\0",
}
CHUNK_BYTES = 16 * 1024
# About a megabyte a second.
PAUSE_SECONDS = 0.016
_SEQUENCES = itertools.count(1)


def place_of(url: str) -> Place:
    """Where a board listens."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def upgrade(place: Place, path: str = "/api/v1/stream", more: bytes = b"") -> socket.socket:
    """A WebSocket's handshake, sent; what comes back is not read."""
    line = socket.create_connection(place, timeout=10)
    head = f"GET {path} HTTP/1.1\r\nHost: {place[0]}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    return said(line, head.encode() + KEY + more + b"\r\n")


def said(line: socket.socket, words: bytes) -> socket.socket:
    """A connection on which this was sent; closed where it was cut meanwhile."""
    try:
        line.sendall(words)
    except OSError:
        line.close()
        raise
    return line


def flood_with_frames(place: Place, frame: bytes, until: float, more: bytes = b"") -> int:
    """Talk on one connection, and on the next when that is cut; how many were."""
    chunk = frame * (CHUNK_BYTES // len(frame))
    path = "/api/v1/ingest" if more else "/api/v1/stream"
    cuts = 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError), upgrade(place, path, more) as line:
            while time.monotonic() < until:
                try:
                    line.sendall(chunk)
                except OSError:
                    cuts += 1
                    break
                time.sleep(PAUSE_SECONDS)
    return cuts


def report_with(*texts: str, node: str = "hostile", processes: int = 504) -> NodeReport:
    """A report whose processes have these texts, in turn, for names."""
    names = itertools.cycle(texts)
    gpus = [
        GpuReading(
            uuid=f"GPU-{number}",
            index=number,
            processes=tuple(
                GpuProcess(pid=pid + 1, user=name, program=name)
                for pid, name in zip(range(processes // 8), names, strict=False)
            ),
        )
        for number in range(8)
    ]
    return msgspec.structs.replace(report_of(node), gpus=tuple(gpus))


def push_without_pause(
    url: str, token: str, until: float, reports: Callable[[], NodeReport], *, node: str = "hostile"
) -> int:
    """Send reports with a good token, as many as are taken; how many were."""
    address = url.replace("http", "ws", 1) + "api/v1/ingest"
    headers = {"Authorization": f"Bearer {token}"}
    taken = 0
    with (
        contextlib.suppress(ConnectionClosed, TimeoutError),
        connect(address, additional_headers=headers, compression=None, max_size=None) as line,
    ):
        line.send(encode(Hello(node=node, boot_id="boot-1")))
        line.recv(timeout=30)
        first = int(time.monotonic() * 1000)
        while time.monotonic() < until:
            sequence = first + taken
            data = msgspec.msgpack.encode(msgspec.structs.replace(reports(), sequence=sequence))
            sample = Sample(sequence=sequence, waited_seconds=0.0, report=msgspec.Raw(data))
            line.send(encode(Live(sample=sample, follows=None)))
            line.recv(timeout=max(0.1, until - time.monotonic()))
            taken += 1
    return taken


@contextlib.contextmanager
def at_once(work: Callable[[], object], count: int) -> Iterator[list[object]]:
    """Do this so many times beside the block; what each gave is there afterwards."""
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield results
    finally:
        for thread in threads:
            thread.join(60)


class Honest:
    """A well-behaved pushing node: how long each of its reports waited for its acknowledgement."""

    def __init__(
        self,
        url: str,
        node: str,
        token: str,
        *,
        address: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._node = node
        # Where it comes from.
        self._options: dict[str, Any] = {"source_address": (address, 0)} if address else {}
        if tls is not None:
            self._options["ssl"] = tls
        self._address = url.replace("http", "ws", 1) + "api/v1/ingest"
        self._token = token
        self.took: list[float] = []

    def report(self, until: float, pause: float = 0.1) -> list[float]:
        """Report until then."""
        with self.line() as line:
            while time.monotonic() < until:
                self.report_once(line)
                time.sleep(pause)
        return self.took

    @contextlib.contextmanager
    def line(self) -> Iterator[ClientConnection]:
        """Its WebSocket, which has said hello."""
        headers = {"Authorization": f"Bearer {self._token}"}
        with connect(
            self._address, additional_headers=headers, compression=None, open_timeout=30, **self._options
        ) as line:
            line.send(encode(Hello(node=self._node, boot_id="boot-1")))
            line.recv(timeout=30)
            yield line

    def report_once(self, line: ClientConnection) -> None:
        """Report, and wait until that is acknowledged."""
        sequence = next(_SEQUENCES)
        report = msgspec.structs.replace(report_of(self._node), sequence=sequence)
        sample = Sample(
            sequence=sequence, waited_seconds=0.0, report=msgspec.Raw(msgspec.msgpack.encode(report))
        )
        started = time.monotonic()
        line.send(encode(Live(sample=sample, follows=None)))
        answer = decode_from_board(line.recv(timeout=60, decode=False))
        self.took.append(time.monotonic() - started)
        assert isinstance(answer, Acknowledgement)
        assert answer.refused == ()
