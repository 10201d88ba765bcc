"""What asking 500 agents costs the board: our own HTTP client against httpx and, where installed, aiohttp.

A server process plays all agents, each on an address of its own (127.0.x.y), over kept connections; answers
are reports of eight GPUs. Every client runs in a process of its own and asks each agent once a second; the
CPU time of that process counts. `source` is the whole pull source: asking, decoding, checking, the fleet.
"""

import asyncio
import importlib.util
import random
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import cast

import httpx
import uvloop
from msgspec.structs import replace

from gpuboard.discovery.static import StaticDiscovery, StaticOptions
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.sink import FleetSink
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import NodeReport
from gpuboard.model.source import SourceIdentity
from gpuboard.outside.http import HttpServer, request_bytes
from gpuboard.outside.resolve import Resolver
from gpuboard.probes.simulated import simulate
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.wire.report import MAX_REPORT_BYTES, encode_report
from tests.board import free_port

AGENTS = 500
INTERVAL_SECONDS = 1.0
MEASURE_SECONDS = 10.0
HEADERS = {"Authorization": "Bearer 0123456789abcdef", "Accept": "application/msgpack"}

Ask = Callable[[int], Awaitable[int]]


def main() -> None:
    """Measure all clients in turn, print."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "bench.pull", "serve", str(port)], stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            print(server.stdout.readline().decode().strip())
            clients = ["own", "httpx", "source"]
            if importlib.util.find_spec("aiohttp") is not None:
                clients.insert(2, "aiohttp")
            for client in clients:
                subprocess.run([sys.executable, "-m", "bench.pull", client, str(port)], check=True)
        finally:
            server.kill()


def address(place: int) -> str:
    """The address of an agent."""
    return f"127.0.{1 + place // 250}.{1 + place % 250}"


class Agents(asyncio.Protocol):
    """Answers every request with the same bytes, as fast as can be."""

    # Without a number it counts as a new sample each time.
    body = encode_report(replace(simulate("dgx-01", 1_800_000_000.0), sequence=None), "msgpack")
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/msgpack\r\nContent-Length: {len(body)}\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer; requests are small enough to come in one piece."""
        assert data.endswith(b"\r\n\r\n")
        self._transport.write(self.head.encode() + self.body)


async def serve(port: int) -> None:
    """Listen as all agents until killed."""
    loop = asyncio.get_running_loop()
    for place in range(AGENTS):
        await loop.create_server(Agents, address(place), port)
    print(f"{AGENTS} agents, reports of {len(Agents.body)} bytes", flush=True)
    await asyncio.Event().wait()


def own(port: int) -> Ask:
    """Our own client."""
    resolver = Resolver()
    servers = [HttpServer(address(place), port, resolver=resolver) for place in range(AGENTS)]
    request = request_bytes("GET", "/report", host="agent", headers=HEADERS)

    async def ask(place: int) -> int:
        return len((await servers[place].ask(request, deadline=10, limit=MAX_REPORT_BYTES)).body)

    return ask


def by_httpx(port: int) -> Ask:
    """A client per agent: one for all searches its whole pool at every request and does not keep up."""
    clients = [httpx.AsyncClient(headers=HEADERS, trust_env=False, verify=False) for _ in range(AGENTS)]

    async def ask(place: int) -> int:
        answer = await clients[place].get(f"http://{address(place)}:{port}/report")
        return len(answer.content)

    return ask


def by_aiohttp(port: int) -> Ask:
    """One session for all."""
    import aiohttp  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - may be absent

    session = aiohttp.ClientSession(headers=HEADERS, connector=aiohttp.TCPConnector(limit=0))

    async def ask(place: int) -> int:
        async with session.get(f"http://{address(place)}:{port}/report", allow_redirects=False) as answer:
            return len(await answer.read())

    return ask


async def measure(name: str, port: int) -> None:
    """Ask all agents once a second; print the CPU time of a request."""
    ask = {"own": own, "httpx": by_httpx, "aiohttp": by_aiohttp}[name](port)
    answers = 0

    async def keep_asking(place: int) -> None:
        nonlocal answers
        await asyncio.sleep(random.random() * INTERVAL_SECONDS)
        while True:
            started = time.monotonic()
            async with asyncio.timeout(10):
                await ask(place)
            answers += 1
            await asyncio.sleep(max(0.0, INTERVAL_SECONDS - (time.monotonic() - started)))

    tasks = [asyncio.create_task(keep_asking(place)) for place in range(AGENTS)]
    await asyncio.sleep(2 * INTERVAL_SECONDS)
    before, cpu = answers, cpu_seconds()
    await asyncio.sleep(MEASURE_SECONDS)
    print_figures(name, answers - before, cpu_seconds() - cpu)
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()


class CountingSink(FleetSink):
    """The fleet's own sink, with a counter."""

    reports = 0

    def report(self, node: str, report: NodeReport) -> bool:
        """Count, and hand on."""
        self.reports += 1
        return super().report(node, report)


async def measure_source(port: int) -> None:
    """The whole source with the fleet behind it, judging once a second."""
    fleet = Fleet(SteadyClock())
    hosts = tuple(f"{address(place)}:{port}" for place in range(AGENTS))
    source = PullSource(PullOptions(), StaticDiscovery(StaticOptions(hosts=hosts)), interval=INTERVAL_SECONDS)
    sink = CountingSink(fleet, SourceIdentity(0, "pull"))
    task = asyncio.create_task(source.run(sink))
    await asyncio.sleep(AGENTS * 0.01 + INTERVAL_SECONDS)
    before, cpu = sink.reports, cpu_seconds()
    for _ in range(int(MEASURE_SECONDS)):
        await asyncio.sleep(1)
        fleet.settle()
    print_figures("source", sink.reports - before, cpu_seconds() - cpu)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def cpu_seconds() -> float:
    """The CPU time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def print_figures(name: str, answers: int, cpu: float) -> None:
    """One line."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = cpu / max(1, answers) * 1e6
    rate = answers / MEASURE_SECONDS
    print(f"{name:8} {each:6.0f} us of CPU a report, {rate:4.0f} reports/s, {memory:3.0f} MB", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["serve", number]:
            uvloop.run(serve(int(number)))
        case ["source", number]:
            uvloop.run(measure_source(int(number)))
        case [client, number]:
            uvloop.run(measure(client, int(number)))
