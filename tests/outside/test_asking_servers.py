"""One connection to one server: what it takes, what it refuses, and how it says why."""

import asyncio
import time
from pathlib import Path

import pytest

from gpuboard.model.errors import OutsideError
from gpuboard.outside.http import HttpServer, request_bytes
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.secrets import tls_by
from tests.fakes.http import Request, always, answer_bytes, raw_server, silent
from tests.fakes.tls import OwnCa
from tests.parts import free_ports

LIMIT = 1000
GET = request_bytes("GET", "/", host="test", headers={})


def server_at(port: int, host: str = "127.0.0.1", **options: object) -> HttpServer:
    """A server on this machine."""
    return HttpServer(host, port, resolver=Resolver(), **options)  # type: ignore[arg-type] # passed on as given


async def refusal(data: bytes) -> OutsideError:
    """Why an answer of these bytes is refused."""
    async with raw_server(always(data)) as fake:
        server = server_at(fake.port)
        with pytest.raises(OutsideError) as caught:
            await server.ask(GET, deadline=2, limit=LIMIT)
        server.close()
        return caught.value


async def test_many_questions_use_one_connection() -> None:
    """Connecting anew for every question is what makes polling dear."""
    async with raw_server(always(answer_bytes(b"fine"))) as fake:
        server = server_at(fake.port)
        bodies = [(await server.ask(GET, deadline=2, limit=LIMIT)).body for _ in range(20)]
        server.close()
    assert bodies == [b"fine"] * 20
    assert fake.connections == 1


async def test_a_kept_connection_that_the_server_ended_is_made_anew() -> None:
    """Servers end idle connections whenever they like; that is no failure."""

    async def answer_and_hang_up(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer_bytes(b"fine"))
        writer.close()

    async with raw_server(answer_and_hang_up) as fake:
        server = server_at(fake.port)
        for _ in range(3):
            assert (await server.ask(GET, deadline=2, limit=LIMIT)).body == b"fine"
            await asyncio.sleep(0.02)
        server.close()
    assert fake.connections == 3


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine",
    ],
)
async def test_all_usual_framings_are_understood(data: bytes) -> None:
    """Old Flask servers speak HTTP/1.0, others send chunks."""
    async with raw_server(always(data)) as fake:
        server = server_at(fake.port)
        answer = await server.ask(GET, deadline=2, limit=LIMIT)
        server.close()
    assert (answer.status, answer.body) == (200, b"fine")


async def test_an_answer_without_length_lasts_until_the_connection_ends() -> None:
    """HTTP/1.0 has this form."""

    async def handle(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nfi")
        await asyncio.sleep(0.02)
        writer.write(b"ne")
        writer.close()

    async with raw_server(handle) as fake:
        answer = await server_at(fake.port).ask(GET, deadline=2, limit=LIMIT)
    assert answer.body == b"fine"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "too-large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "too-large"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000, "too-large"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + b"x" * 4095, "too-large"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000, "too-large"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx", "compressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nxxxx", "not-http"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nxxxxx", "not-http"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nxxxx", "not-http"),
        (b"HTTP/9.9 200 OK\r\n\r\n", "not-http"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not-http"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "not-http"),
        (b"HTTP/1.1 OK\r\n\r\n", "not-http"),
        (b"\0" * 500, "not-http"),
    ],
)
async def test_a_bad_answer_is_refused_by_what_is_wrong_with_it(data: bytes, code: str) -> None:
    """A node must not be able to fill the board's memory or to confuse it."""
    assert (await refusal(data)).code == code


async def test_a_half_answer_is_no_answer() -> None:
    """A server that dies while it writes must not look like one with a short report."""

    async def handle(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        writer.close()

    async with raw_server(handle) as fake:
        with pytest.raises(OutsideError, match="middle") as caught:
            await server_at(fake.port).ask(GET, deadline=2, limit=LIMIT)
    assert caught.value.code == "cut-off"


async def test_a_server_out_of_step_is_not_asked_again_on_that_connection() -> None:
    """Bytes after the end could pass for the answer to the next question."""
    async with raw_server(always(answer_bytes(b"fine") * 2)) as fake:
        server = server_at(fake.port)
        for _ in range(2):
            await server.ask(GET, deadline=2, limit=LIMIT)
        server.close()
    assert fake.connections == 2


async def test_a_silent_server_costs_the_deadline_and_no_more() -> None:
    """The text says what we were waiting for."""
    async with raw_server(silent) as fake:
        started = time.monotonic()
        with pytest.raises(OutsideError, match=r"no answer within 0.2s \(while waiting") as caught:
            await server_at(fake.port).ask(GET, deadline=0.2, limit=LIMIT)
    assert caught.value.code == "timeout"
    assert time.monotonic() - started < 5


async def test_a_trickling_server_does_not_stretch_the_deadline() -> None:
    """One byte now and then keeps per-read time-outs alive forever; ours is for the whole answer."""

    async def trickle(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.02)

    async with raw_server(trickle) as fake:
        with pytest.raises(OutsideError, match="while reading") as caught:
            await server_at(fake.port).ask(GET, deadline=0.3, limit=LIMIT)
    assert caught.value.code == "timeout"


async def test_a_closed_port_is_told_from_an_unknown_name() -> None:
    """Two troubles with two different remedies."""
    with pytest.raises(OutsideError, match="refuses connections") as refused:
        await server_at(free_ports(1)[0]).ask(GET, deadline=2, limit=LIMIT)
    with pytest.raises(OutsideError, match="looked up") as unknown:
        await server_at(80, "no-such-host.invalid").ask(GET, deadline=20, limit=LIMIT)
    assert (refused.value.code, unknown.value.code) == ("connection-refused", "unknown-host")


async def test_the_second_address_is_tried_when_the_first_is_dead() -> None:
    """A name may have an IPv6 address that leads nowhere."""
    async with raw_server(always(answer_bytes(b"fine"))) as fake:
        resolver = Resolver(lambda _host: ["127.0.0.2", "127.0.0.1"])
        server = HttpServer("two.example", fake.port, resolver=resolver)
        assert (await server.ask(GET, deadline=2, limit=LIMIT)).status == 200
        server.close()


async def test_a_secret_does_not_leave_this_machine_in_clear() -> None:
    """The address decides, not the name: a name can be made to mean anything."""
    resolver = Resolver(lambda _host: ["192.0.2.1"])
    server = HttpServer("localhost.example", 80, resolver=resolver, only_private=True)
    with pytest.raises(OutsideError, match="not sent unencrypted") as caught:
        await server.ask(GET, deadline=2, limit=LIMIT)
    assert caught.value.code == "secret-in-clear"


async def test_a_server_with_a_certificate_of_our_own_ca_is_trusted(tmp_path: Path) -> None:
    """Labs have their own CA."""
    ca = OwnCa(tmp_path)
    async with raw_server(always(answer_bytes(b"fine")), tls=ca.server()) as fake:
        server = server_at(fake.port, tls=await tls_by(str(ca.file)).value(), only_private=True)
        for _ in range(2):
            assert (await server.ask(GET, deadline=5, limit=LIMIT)).body == b"fine"
        server.close()
    assert fake.connections == 1


async def test_a_strange_certificate_is_not_trusted(tmp_path: Path) -> None:
    """Neither one of another CA, nor ours for another name."""
    ca = OwnCa(tmp_path)
    async with raw_server(always(answer_bytes(b"fine")), tls=ca.server("DNS:other.example")) as fake:
        for trusted in (None, str(ca.file)):
            server = server_at(fake.port, tls=await tls_by(trusted).value())
            with pytest.raises(OutsideError, match="is not trusted") as caught:
                await server.ask(GET, deadline=5, limit=LIMIT)
            assert caught.value.code == "certificate"


async def test_a_server_without_tls_is_told_so() -> None:
    """The admin has set `tls = true` for an agent that has no certificate."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(plain, "127.0.0.1", 0)
    server = server_at(listener.sockets[0].getsockname()[1], tls=await tls_by(None).value())
    with pytest.raises(OutsideError, match="does not speak TLS"):
        await server.ask(GET, deadline=5, limit=LIMIT)
    listener.close()


def test_a_value_cannot_break_out_of_its_line() -> None:
    """A token with a line break would write headers of its own."""
    with pytest.raises(ValueError, match="cannot be sent"):
        request_bytes("GET", "/", host="x", headers={"Authorization": "a\r\nX-Evil: 1"})
