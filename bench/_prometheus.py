"""Prometheus scraping what the agents would have pushed: the same nodes, the same figures, as series."""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import msgspec
import uvloop
from msgspec import Struct

from bench._messages import VARIANTS
from bench._server import Cost, Meter, watch
from gpuboard.metrics.node import node_families
from gpuboard.metrics.text import write
from gpuboard.probes.simulated import node_names, simulate
from tests.board import free_port, wait_for

PROGRAM: Final = "prometheus"
_PATH: Final = re.compile(rb"GET /(\d+) ")


class ScrapeOrder(Struct, frozen=True, kw_only=True):
    """How the nodes are to be played."""

    port: int
    nodes: int
    warm_up_seconds: float
    seconds: float


class Scrapes(Struct, frozen=True, kw_only=True):
    """What was asked for while it was measured, and how many series an answer had."""

    measured: int
    series: float


def is_installed() -> bool:
    """Whether there is a Prometheus to compare with."""
    return shutil.which(PROGRAM) is not None


def load_prometheus(*, nodes: int, interval: float, warm_up: float, seconds: float) -> tuple[Scrapes, Cost]:
    """Run a Prometheus of its own that scrapes this many nodes."""
    exporter, own = free_port(), free_port()
    order = ScrapeOrder(port=exporter, nodes=nodes, warm_up_seconds=warm_up, seconds=seconds)
    with (
        tempfile.TemporaryDirectory() as folder,
        _prometheus(Path(folder), own, exporter, nodes, interval) as pid,
    ):
        answer, cost = watch(
            [sys.executable, "-m", "bench._prometheus"], msgspec.json.encode(order), lambda _: Meter(pid)
        )
    return msgspec.json.decode(answer, type=Scrapes), cost


@contextmanager
def _prometheus(folder: Path, own: int, exporter: int, nodes: int, interval: float) -> Iterator[int]:
    config, log = folder / "prometheus.yml", folder / "log"
    config.write_text(_config(exporter, nodes, interval))
    command = [
        PROGRAM, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}", "--log.level=warn",
    ]  # fmt: skip
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_for(f"http://127.0.0.1:{own}/-/ready", process, log)
            yield process.pid
        finally:
            process.kill()


def _config(port: int, nodes: int, interval: float) -> str:
    """One target per node: the same address, each on a path of its own."""
    milliseconds = round(interval * 1000)
    head = (
        f"global: {{scrape_interval: {milliseconds}ms, scrape_timeout: {milliseconds}ms}}\n"
        "scrape_configs:\n- job_name: nodes\n  static_configs:\n"
    )
    return head + "".join(
        f"  - {{targets: ['127.0.0.1:{port}'], labels: {{instance: n{n}, __metrics_path__: /{n}}}}}\n"
        for n in range(nodes)
    )


class Exporters:
    """The answers of all nodes, written once."""

    def __init__(self, nodes: int) -> None:
        now = time.time()
        texts = [
            [write(node_families(simulate(node, now - 5.0 * v), age_seconds=0.1)) for v in range(VARIANTS)]
            for node in node_names(nodes)
        ]
        lines = [line for node in texts for line in node[0].splitlines()]
        self.series = sum(not line.startswith("#") for line in lines) / nodes
        self.asked = 0
        self._answers = [[_answer(text.encode()) for text in node] for node in texts]
        self._turns = [0] * nodes

    def answer(self, node: int) -> bytes:
        """What a node says to the next scrape."""
        self.asked += 1
        self._turns[node] += 1
        return self._answers[node][self._turns[node] % VARIANTS]


def _answer(body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Line(asyncio.Protocol):
    """One kept connection of Prometheus; its requests come in one piece each."""

    def __init__(self, exporters: Exporters) -> None:
        self._exporters = exporters

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer a scrape."""
        asked = _PATH.match(data)
        assert asked is not None
        self._transport.write(self._exporters.answer(int(asked[1])))


async def run(order: ScrapeOrder) -> Scrapes:
    """Answer as all nodes; say when it is measured."""
    exporters = Exporters(order.nodes)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Line(exporters), "127.0.0.1", order.port, backlog=4096)
    await asyncio.sleep(order.warm_up_seconds)
    before = exporters.asked
    print("measuring", flush=True)
    await asyncio.sleep(order.seconds)
    measured = exporters.asked - before
    print("measured", flush=True)
    return Scrapes(measured=measured, series=exporters.series)


if __name__ == "__main__":
    scrapes = uvloop.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=ScrapeOrder)))
    print(msgspec.json.encode(scrapes).decode(), flush=True)
