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
from msgspec.structs import replace

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
from tests.sources.pull.agents import INTERVAL, TIMEOUT, TOKEN, Agent, at, pull, report, with_token

MSGPACK = "application/msgpack"


@pytest.fixture
def two_agents() -> Iterator[tuple[Agent, Agent]]:
    """Two agents that listen."""
    pair = Agent(), Agent()
    yield pair
    for agent in pair:
        agent.stop()


@pytest.fixture
def own_ca(tmp_path: Path) -> OwnCa:
    """A CA of our own, which has signed a certificate for this machine."""
    ca = OwnCa(tmp_path)
    ca.server()
    return ca


@pytest.fixture
def tls_agent(own_ca: OwnCa) -> Iterator[Agent]:
    """An agent that speaks TLS."""
    folder = own_ca.file.parent
    agent = Agent(tls_certificate=str(folder / "server.pem"), tls_key=str(folder / "server.key"))
    yield agent
    agent.stop()


async def first_trouble(handle: Handler) -> tuple[str, str, str]:
    """What a node that answers like this is said to be: code, state, text."""
    sink = RecordingSink()
    async with raw_server(handle) as fake, running(pull(at("gpu1", fake.port)), sink):
        trouble = await sink.trouble_of("gpu1")
    assert sink.reports == []
    return trouble


async def test_agents_are_asked_again_and_again(two_agents: tuple[Agent, Agent], tmp_path: Path) -> None:
    """A node can speak only for itself: its report carries the name that we know it by."""
    sink = RecordingSink()
    first, second = two_agents
    source = pull(at("gpu1", first.port), at("gpu2", second.port), options=with_token(tmp_path))
    async with running(source, sink):
        for round_number in range(1, 5):
            await sink.reports_of("gpu1", round_number)
            await sink.reports_of("gpu2", round_number)
            first.sample()
            second.sample()
    assert sink.expected == [{"gpu1", "gpu2"}]
    assert sink.addresses == {"gpu1": "127.0.0.1", "gpu2": "127.0.0.1"}
    assert {said.node for _, said in sink.reports} == {"gpu1", "gpu2"}
    assert sink.troubles == []


@pytest.mark.parametrize(("encoding", "media_type"), [("msgpack", MSGPACK), ("json", "application/json")])
async def test_both_encodings_are_read(encoding: str, media_type: str) -> None:
    """An agent that knows no msgpack may answer in JSON."""
    data = encode_report(report(), "json" if encoding == "json" else "msgpack")
    sink = RecordingSink()
    async with raw_server(always(answer_bytes(data, media_type=media_type))) as fake:
        async with running(pull(at("gpu1", fake.port)), sink):
            await sink.reports_of("gpu1", 1)
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


async def test_who_refuses_the_token_is_told_what_to_do(
    two_agents: tuple[Agent, Agent], tmp_path: Path
) -> None:
    """A new token in the file is taken up without a restart."""
    sink = RecordingSink()
    options = with_token(tmp_path, "wrong-token-wrong-token")
    async with running(pull(at("gpu1", two_agents[0].port), options=options), sink):
        code, state, text = await sink.trouble_of("gpu1")
        assert (code, state) == ("token-refused", "refused")
        assert "token_file" in text
        with_token(tmp_path)
        await sink.reports_of("gpu1", 1)


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
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
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
        # So long it would be if it had to stand in line behind only one that does not answer.
        assert asyncio.get_running_loop().time() - started < 10 * TIMEOUT
        codes = {node.node: (await sink.trouble_of(node.node))[0] for node in [*bad, unknown]}
    # A name server may be slower than this test.
    assert codes.pop("unknown") in {"unknown-host", "timeout"}
    assert codes == {
        "bad0": "timeout",
        "bad1": "timeout",
        "bad2": "too-large",
        "bad3": "connection-refused",
    }


async def test_the_token_does_not_travel_in_clear(
    two_agents: tuple[Agent, Agent],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the admin says so, and then the log says so too."""
    monkeypatch.setattr("gpuboard.outside.http.is_loopback", lambda _address: False)
    far = at("far", two_agents[0].port)
    careful, bold = RecordingSink(), RecordingSink()
    async with running(pull(far, options=with_token(tmp_path)), careful):
        code, _, text = await careful.trouble_of("far")
    assert code == "secret-in-clear"
    assert "allow_plaintext" in text
    assert "SECRET SENT UNENCRYPTED" not in caplog.text
    async with running(pull(far, options=with_token(tmp_path, allow_plaintext=True)), bold):
        await bold.reports_of("far", 1)
    assert "SECRET SENT UNENCRYPTED" in caplog.text
    assert TOKEN not in caplog.text


async def test_agents_with_tls_are_verified_by_our_own_ca(
    own_ca: OwnCa, tls_agent: Agent, tmp_path: Path
) -> None:
    """And one whose certificate nobody known has signed is not trusted."""
    trusting, doubting = RecordingSink(), RecordingSink()
    target = at("gpu1", tls_agent.port)
    options = with_token(tmp_path, tls=True, ca_file=str(own_ca.file))
    async with running(pull(target, options=options), trusting):
        await trusting.reports_of("gpu1", 1)
    async with running(pull(target, options=with_token(tmp_path, tls=True)), doubting):
        assert (await doubting.trouble_of("gpu1"))[0] == "certificate"


async def test_an_agent_with_tls_that_is_asked_without_has_a_hint(tls_agent: Agent) -> None:
    """It cannot answer; what it does instead depends on its TLS library."""
    sink = RecordingSink()
    async with running(pull(at("gpu1", tls_agent.port)), sink):
        assert (await sink.trouble_of("gpu1"))[0] in {"not-http", "cut-off"}


async def test_nodes_are_asked_as_long_as_they_are_on_the_list() -> None:
    """New ones join, old ones leave, and one that moves is asked at its new place."""
    sink = RecordingSink()
    good = always(answer_bytes(encode_report(NodeReport(node="x"))))
    async with raw_server(good) as first, raw_server(good) as second:
        discovery = SettableDiscovery(at("gpu1", first.port))
        async with running(PullSource(PullOptions(), discovery, interval=INTERVAL), sink):
            await sink.reports_of("gpu1", 1)
            discovery.change(at("gpu1", second.port), at("gpu2", second.port))
            await sink.until(lambda: sink.count("gpu2") > 1 and len(second.requests) > 2)
            discovery.change(at("gpu2", second.port))
            await asyncio.sleep(2 * INTERVAL)
            asked, told = len(first.requests), sink.count("gpu1")
            await asyncio.sleep(4 * INTERVAL)
    assert sink.expected == [{"gpu1"}, {"gpu1", "gpu2"}, {"gpu2"}]
    assert (len(first.requests), sink.count("gpu1")) == (asked, told)


async def test_a_frozen_agent_grows_old_although_it_answers(
    two_agents: tuple[Agent, Agent], tmp_path: Path
) -> None:
    """The one lie a board must never pass on; it lives again with the first new sample."""
    fleet = Fleet(SteadyClock())
    frozen, well = two_agents
    targets = SettableDiscovery(at("frozen", frozen.port), at("well", well.port))
    # Slow enough that a busy machine can be on time.
    source = PullSource(with_token(tmp_path), targets, interval=5 * INTERVAL)
    sink = fleet.sink("pull")
    sink.expect(["frozen", "well"])
    node, other = fleet.get("frozen"), fleet.get("well")
    assert node is not None
    assert other is not None
    async with running(source, sink), asyncio.timeout(60):

        async def turns(state: str) -> None:
            while (node.freshness.state, other.freshness.state) != (state, "live"):
                well.sample()
                await asyncio.sleep(INTERVAL / 2)
                fleet.settle()

        await turns("live")
        await turns("lost")
        assert node.freshness.reason is not None
        assert node.freshness.reason.code == "frozen"
        frozen.sample()
        await turns("live")


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
                await sink.reports_of("gpu1", before + 3)
                failures = len(sink.troubles)
                os.kill(process.pid, signal.SIGKILL)
                await sink.more_troubles_than(failures)
    assert caplog.text.count("pull works again") == 2
    assert caplog.text.count("reason=127.0.0.1:") <= 6


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9"])
async def test_a_list_from_outside_cannot_send_the_token_to_what_listens_here(
    tmp_path: Path, host: str
) -> None:
    """By address or by name; the node's trouble says what to set where that is meant."""
    async with raw_server(silent) as fake:
        somewhere = replace(at("gpu01", fake.port, host), may_be_here=False)
        sink = RecordingSink()
        options = await asyncio.to_thread(with_token, tmp_path)
        async with running(pull(somewhere, options=options), sink):
            code, _, text = await sink.trouble_of("gpu01")
    assert (code, fake.connections) == ("address-here", 0)
    assert "allow_loopback = true" in text


async def test_only_a_second_failure_in_a_row_is_one_that_lasts() -> None:
    """A single lost reply is not; and whoever answers again is well, though it has nothing new to say."""
    good = answer_bytes(encode_report(report(interval=60.0), "msgpack"), media_type=MSGPACK)
    bad = answer_bytes(b"", status="503 Service Unavailable")
    answers = iter([good, bad, good, bad, bad, good])

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers, good))

    sink = RecordingSink()
    async with raw_server(answer) as fake, running(pull(at("gpu1", fake.port)), sink):
        await sink.until(lambda: len(sink.mended) == 2)
    assert (len(sink.troubles), len(sink.lasting), len(sink.reports)) == (3, 1, 1)
