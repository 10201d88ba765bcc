"""Asking agents: what arrives, what is refused, and that one bad node costs no other."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import NodeReport
from gpuboard.settings.base import Duration
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.wire.report import encode_report
from tests.fakes.http import Handler, Request, always, answer_bytes, raw_server, silent
from tests.fakes.sink import RecordingSink, SettableDiscovery, running
from tests.fakes.tls import OwnCa
from tests.parts import free_ports
from tests.sources.pull.agents import INTERVAL, TOKEN, agents, at, pull, report, with_token

MSGPACK = "application/msgpack"


async def first_trouble(handle: Handler) -> tuple[str, str, str]:
    """What a node that answers like this is said to be: code, state, text."""
    sink = RecordingSink()
    async with raw_server(handle) as fake, running(pull(at("gpu1", fake.port)), sink):
        trouble = await sink.trouble_of("gpu1")
    assert sink.reports == []
    return trouble


async def test_agents_are_asked_over_one_kept_connection(tmp_path: Path) -> None:
    """A node can speak only for itself: its report carries the name that we know it by."""
    sink = RecordingSink()
    with agents(2) as (first, second):
        source = pull(at("gpu1", first.port), at("gpu2", second.port), options=with_token(tmp_path))
        async with running(source, sink):
            for _ in range(4):
                first.sample()
                second.sample()
                before = sink.count("gpu1"), sink.count("gpu2")
                await sink.until(
                    lambda seen=before: sink.count("gpu1") > seen[0] and sink.count("gpu2") > seen[1]
                )
    assert sink.expected == [{"gpu1", "gpu2"}]
    assert {said.node for _, said in sink.reports} == {"gpu1", "gpu2"}
    assert sink.troubles == []


@pytest.mark.parametrize(("encoding", "media_type"), [("msgpack", MSGPACK), ("json", "application/json")])
async def test_both_encodings_are_read(encoding: str, media_type: str) -> None:
    """An agent that knows no msgpack may answer in JSON."""
    data = encode_report(report(), "json" if encoding == "json" else "msgpack")
    sink = RecordingSink()
    async with raw_server(always(answer_bytes(data, media_type=media_type))) as fake:
        async with running(pull(at("gpu1", fake.port)), sink):
            await sink.until(lambda: sink.count("gpu1") > 0)
        assert fake.requests[0].headers["accept"].startswith(MSGPACK)
        assert "authorization" not in fake.requests[0].headers


@pytest.mark.parametrize(
    ("answer", "code", "state"),
    [
        (answer_bytes(b"", status="401 Unauthorized"), "token-refused", "refused"),
        (answer_bytes(b"", status="403 Forbidden"), "token-refused", "refused"),
        (answer_bytes(b"", status="404 Not Found"), "not-an-agent", "error"),
        (answer_bytes(b"", status="503 Service Unavailable"), "not-ready", "error"),
        (answer_bytes(b"", status="302 Found", extra="Location: http://evil/\r\n"), "redirected", "error"),
        (answer_bytes(b"<html>", media_type="text/html"), "not-an-agent", "error"),
        (answer_bytes(b"\xc1", media_type=MSGPACK), "bad-report", "error"),
        (answer_bytes(b"{}"), "bad-report", "error"),
        (answer_bytes(b'{"node": "a", "version": 99}'), "bad-report", "error"),
        (answer_bytes(b"[" * 100_000), "bad-report", "error"),
        (answer_bytes(b" " * (256 * 1024 + 1)), "too-large", "error"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "too-large", "error"),
        (answer_bytes(b"x", extra="Content-Encoding: gzip\r\n"), "compressed", "error"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not-http", "error"),
    ],
)
async def test_every_bad_answer_has_its_word(answer: bytes, code: str, state: str) -> None:
    """And the words are printable, whatever the node sent."""
    said = await first_trouble(always(answer))
    assert said[:2] == (code, state)
    assert said[2].isprintable()


async def test_who_refuses_the_token_is_told_what_to_do(tmp_path: Path) -> None:
    """A new token in the file is taken up without a restart."""
    sink = RecordingSink()
    options = with_token(tmp_path, "wrong-token-wrong-token")
    with agents(1) as (agent,):
        async with running(pull(at("gpu1", agent.port), options=options), sink):
            code, state, text = await sink.trouble_of("gpu1")
            assert (code, state) == ("token-refused", "refused")
            assert "token_file" in text
            with_token(tmp_path)
            await sink.until(lambda: sink.count("gpu1") > 0)


async def test_a_missing_token_file_is_the_nodes_trouble(tmp_path: Path) -> None:
    """Nothing is asked without it."""
    options = PullOptions(token_file=str(tmp_path / "none"), timeout=Duration(1))
    sink = RecordingSink()
    async with raw_server(silent) as fake, running(pull(at("gpu1", fake.port), options=options), sink):
        assert (await sink.trouble_of("gpu1"))[0] == "file-missing"
        assert fake.connections == 0


async def test_bad_nodes_do_not_delay_good_ones() -> None:
    """A hung, a trickling, an endless, a refusing and an unknown node beside one that works."""

    async def trickle(_request: Request, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"H")
            await asyncio.sleep(0.05)

    async def endless(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    good = always(answer_bytes(encode_report(NodeReport(node="x"))))
    sink = RecordingSink()
    async with AsyncExitStack() as stack:
        ports = [
            (await stack.enter_async_context(raw_server(handle))).port
            for handle in (silent, trickle, endless, good)
        ]
        bad = [at(f"bad{place}", port) for place, port in enumerate([*ports[:3], *free_ports(1)])]
        unknown = at("unknown", 80, "no-such-host.invalid")
        await stack.enter_async_context(running(pull(*bad, unknown, at("good", ports[3])), sink))
        started = asyncio.get_running_loop().time()
        await sink.until(lambda: sink.count("good") >= 10)
        assert asyncio.get_running_loop().time() - started < 20 * INTERVAL
        codes = {node.node: (await sink.trouble_of(node.node))[0] for node in [*bad, unknown]}
    assert (
        codes
        == {
            "bad0": "timeout",
            "bad1": "timeout",
            "bad2": "too-large",
            "bad3": "connection-refused",
            "unknown": "unknown-host",
        }
        or codes["unknown"] == "timeout"
    )  # a name server may be slower than this test


async def test_the_token_does_not_travel_in_clear(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Unless the admin says so, and then the log says so too."""
    far = at("far", 8043, "192.0.2.1")
    sink = RecordingSink()
    async with running(pull(far, options=with_token(tmp_path)), sink):
        code, _, text = await sink.trouble_of("far")
    assert code == "secret-in-clear"
    assert "allow_plaintext" in text
    assert "SECRET SENT UNENCRYPTED" not in caplog.text
    sink = RecordingSink()
    bold = with_token(tmp_path, allow_plaintext=True, timeout=Duration(0.2))
    async with running(pull(far, options=bold), sink):
        assert (await sink.trouble_of("far"))[0] in {"timeout", "unreachable", "network"}
    assert "SECRET SENT UNENCRYPTED" in caplog.text
    assert TOKEN not in caplog.text


async def test_agents_with_tls_are_verified_by_our_own_ca(tmp_path: Path) -> None:
    """And one whose certificate another CA signed is not trusted."""
    ca = OwnCa(tmp_path)
    ca.server()
    tls = {"tls_certificate": str(tmp_path / "server.pem"), "tls_key": str(tmp_path / "server.key")}
    trusting, doubting = RecordingSink(), RecordingSink()
    with agents(1, **tls) as (agent,):
        options = with_token(tmp_path, tls=True, ca_file=str(ca.file))
        async with running(pull(at("gpu1", agent.port), options=options), trusting):
            await trusting.until(lambda: trusting.count("gpu1") > 0)
        async with running(pull(at("gpu1", agent.port), options=with_token(tmp_path, tls=True)), doubting):
            assert (await doubting.trouble_of("gpu1"))[0] == "certificate"


async def test_an_agent_with_tls_that_is_asked_without_says_so(tmp_path: Path) -> None:
    """The remedy is in the text."""
    ca = OwnCa(tmp_path)
    sink = RecordingSink()
    async with raw_server(silent, tls=ca.server()) as fake, running(pull(at("gpu1", fake.port)), sink):
        code, _, text = await sink.trouble_of("gpu1")
    assert code in {"not-http", "cut-off"}
    assert "TLS" in text or "connection" in text


async def test_nodes_are_asked_as_long_as_they_are_on_the_list() -> None:
    """New ones join, old ones leave, and one that moves is asked at its new place."""
    sink = RecordingSink()
    good = always(answer_bytes(encode_report(NodeReport(node="x"))))
    async with raw_server(good) as first, raw_server(good) as second:
        discovery = SettableDiscovery(at("gpu1", first.port))
        async with running(PullSource(PullOptions(), discovery, interval=INTERVAL), sink):
            await sink.until(lambda: sink.count("gpu1") > 0)
            discovery.change(at("gpu1", second.port), at("gpu2", second.port))
            await sink.until(lambda: sink.count("gpu2") > 1 and len(second.requests) > 2)
            discovery.change(at("gpu2", second.port))
            await asyncio.sleep(2 * INTERVAL)
            asked, told = len(first.requests), sink.count("gpu1")
            await asyncio.sleep(4 * INTERVAL)
    assert sink.expected == [{"gpu1"}, {"gpu1", "gpu2"}, {"gpu2"}]
    assert (len(first.requests), sink.count("gpu1")) == (asked, told)


async def test_a_frozen_agent_grows_old_although_it_answers(tmp_path: Path) -> None:
    """The one lie a board must never pass on; it lives again with the first new sample."""
    fleet = Fleet(SteadyClock())
    with agents(2) as (frozen, well):
        source = pull(at("frozen", frozen.port), at("well", well.port), options=with_token(tmp_path))
        async with running(source, fleet.sink("pull")):

            async def state_is(state: str) -> None:
                async with asyncio.timeout(10):
                    while fleet.get("frozen") is None or fleet.get("frozen").freshness.state != state:  # type: ignore[union-attr] # just asked
                        well.sample()
                        await asyncio.sleep(INTERVAL / 2)
                        fleet.settle()

            await state_is("live")
            await state_is("lost")
            node, other = fleet.get("frozen"), fleet.get("well")
            assert node is not None
            assert other is not None
            assert node.freshness.reason is not None
            assert node.freshness.reason.code == "frozen"
            assert other.freshness.state == "live"
            frozen.sample()
            await state_is("live")


@contextmanager
def agent_process(port: int, token: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real program, with simulated GPUs."""
    command = [sys.executable, "-m", "gpuboard", "agent", "--listen", f"127.0.0.1:{port}"]
    command += ["--token-file", str(token), "--probe", "simulated", "--interval", "0.1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def test_a_real_agent_that_is_killed_and_started_again_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By itself; and the log has each change once."""
    caplog.set_level(logging.INFO)
    (port,) = free_ports(1)
    options = with_token(tmp_path)
    token = tmp_path / "agents.token"
    token.chmod(0o600)
    sink = RecordingSink()
    async with running(pull(at("gpu1", port), options=options), sink):
        for _ in range(2):
            before = sink.count("gpu1")
            with agent_process(port, token) as process:
                await sink.until(lambda seen=before: sink.count("gpu1") >= seen + 3)
                os.kill(process.pid, signal.SIGKILL)
                failures = len(sink.troubles)
                await sink.until(lambda seen=failures: len(sink.troubles) > seen)
    assert caplog.text.count("pull works again") == 2
    assert caplog.text.count("reason=127.0.0.1:") <= 6
