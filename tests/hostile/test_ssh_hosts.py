"""Whoever answers on a host's ssh port, before anybody knows who it is: no flood, no words of its own."""

import asyncio
import contextlib
import logging
import struct
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import asyncssh
import msgspec
import psutil
import pytest

from gpuboard.discovery.base import Target
from gpuboard.model.errors import ProbeFailed
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.sources.ssh import SshOptions, SshSource, Timing
from gpuboard.sources.ssh import meter as meter_module
from gpuboard.sources.ssh.meter import SPARE_SECONDS, FloodError, Meter
from tests.fakes.sink import RecordingSink, SettableDiscovery, running
from tests.sources.ssh.watching import until

PACE = Timing(interval=0.25, timeout=20.0, longest_retry=5.0)
GREETING = b"SSH-2.0-OpenSSH_9.2\r\n"
# Colours, a new line in the log, another title for the terminal, and what turns writing around.
NASTY = "bye\x1b[31m\x1b]0;mine\x07\r\n2026-01-01 12:00:00 WARNING all is well \u202e\x9b2J"
MOST_BYTES = 64 * 1024 * 1024


def packet(kind: int, payload: bytes = b"") -> bytes:
    """A packet as it is before keys are agreed on."""
    content = bytes([kind]) + payload
    padding = 16 - (5 + len(content)) % 8
    return struct.pack(">IB", 1 + len(content) + padding, padding) + content + bytes(padding)


def text(words: str) -> bytes:
    """A text in a packet."""
    data = words.encode()
    return struct.pack(">I", len(data)) + data


def disconnect(words: str) -> bytes:
    """A goodbye."""
    return packet(1, struct.pack(">I", 2) + text(words) + text("en"))


@contextlib.asynccontextmanager
async def host(pieces: Iterator[bytes]) -> AsyncIterator[int]:
    """Something that sends these to the first that connects; its port."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            await asyncio.Event().wait()
        writer.transport.abort()

    serving: list[asyncio.Task[None]] = []
    server = await asyncio.start_server(
        lambda _, writer: serving.append(asyncio.create_task(serve(writer))), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def source_of(folder: Path, port: int, *, pace: Timing = PACE, ssh_config: str = "/dev/null") -> SshSource:
    """A source that reads this one host, and knows no key of it."""
    (folder / "known_hosts").touch()
    options = SshOptions(
        user="board", known_hosts=str(folder / "known_hosts"), ssh_config=ssh_config, port=port
    )
    return SshSource(options, SettableDiscovery(Target(node="bad", host="127.0.0.1")), pace=pace)


async def test_a_flood_of_empty_packets_is_cut(tmp_path: Path) -> None:
    """They are few bytes and much work; all nodes share the time that they take."""
    began = time.thread_time()
    flood = (packet(2, text("")) * 2000 for _ in range(MOST_BYTES // 64_000))
    sink = RecordingSink()
    async with host(iter([GREETING, *flood])) as port, running(source_of(tmp_path, port), sink):
        code, state, words = await sink.trouble_of("bad")
    assert (code, state) == ("flood", "error")
    assert "sends a flood" in words
    assert time.thread_time() - began < 10


async def test_a_flood_through_a_proxy_command_is_cut_too(tmp_path: Path) -> None:
    """Whatever way leads to a host, what it sends is counted."""
    flood, config = tmp_path / "flood", tmp_path / "config"
    flood.write_bytes(GREETING + packet(2, text("")) * (MOST_BYTES // 32))
    config.write_text(f"Host *\n  ProxyCommand cat {flood}\n")
    began = time.thread_time()
    sink = RecordingSink()
    async with running(source_of(tmp_path, 22, ssh_config=str(config)), sink):
        code, _, words = await sink.trouble_of("bad")
    assert (code, "sends a flood" in words) == ("flood", True)
    assert time.thread_time() - began < 10
    # The command ends with its connection; who leaves before it is buried leaves it to the next test.
    await until(lambda: not any(str(flood) in child.cmdline() for child in psutil.Process().children()))


class Line:
    """A connection of which only that matters that it may be cut."""

    def __init__(self) -> None:
        self.known: dict[str, object] = {}
        self.cut: Exception | None = None

    def data_received(self, data: bytes) -> None:
        """Take something."""

    def set_extra_info(self, **known: object) -> None:
        """Remember something."""
        self.known.update(known)

    def get_extra_info(self, name: str) -> object:
        """What was remembered."""
        return self.known.get(name)

    def connection_lost(self, why: Exception | None) -> None:
        """Hear that it is over."""
        self.cut = why


def test_reading_what_a_host_says_counts_like_taking_it_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small samples may take long to be read."""
    # Its share of the time that passes would grow while a busy machine keeps us waiting.
    monkeypatch.setattr(meter_module, "BUSY_SHARE", 0.0)
    line = Line()
    connection = cast("asyncssh.SSHClientConnection", line)
    meter = Meter.of(connection)
    assert (meter.charge(lambda: "read"), line.cut) == ("read", None)
    began = time.thread_time()
    meter.charge(lambda: _work_until(began + SPARE_SECONDS + 0.5))
    assert isinstance(line.cut, FloodError)
    assert Meter.of(connection) is meter


def _work_until(moment: float) -> None:
    while time.thread_time() < moment:
        pass


LOG = "<?xml version='1.0'?><nvidia_smi_log>{}</nvidia_smi_log>"


def test_a_document_of_more_gpus_than_a_node_may_have_is_not_read_further() -> None:
    """Thousands fit into one small sample."""
    with pytest.raises(ProbeFailed, match="more than 512 GPUs"):
        parse_xml(LOG.format("<gpu></gpu>" * 600).encode())
    assert len(parse_xml(LOG.format("<gpu></gpu>" * 512).encode()).gpus) == 512


def test_each_process_of_a_document_is_looked_at_once() -> None:
    """However many instances there are, and whatever they are called."""
    processes = "".join(f"<process_info><pid>{pid}</pid></process_info>" for pid in range(1, 4001))
    inside = f"<processes>{processes}</processes>" + "<mig_device></mig_device>" * 250
    began = time.thread_time()
    devices = parse_xml(LOG.format(f"<gpu>{inside}</gpu>").encode())
    assert sum(len(gpu.processes or ()) for gpu in devices.gpus) == 4000
    assert time.thread_time() - began < 3


@pytest.mark.parametrize(
    ("pieces", "patience"),
    [
        ([GREETING, disconnect(NASTY)], 20.0),
        # It says nothing more, and is waited for.
        ([NASTY.encode() + b"\r\n"], 3.0),
        ([b"SSH-1.5-" + NASTY.encode() + b"\r\n"], 20.0),
    ],
    ids=["goodbye", "no ssh", "another version"],
)
async def test_what_a_host_says_before_its_key_is_known_is_made_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, pieces: list[bytes], patience: float
) -> None:
    """In the reason that people see and in the log."""
    sink, pace = RecordingSink(), msgspec.structs.replace(PACE, timeout=patience)
    with caplog.at_level(logging.DEBUG, logger="gpuboard"):
        async with host(iter(pieces)) as port, running(source_of(tmp_path, port, pace=pace), sink):
            _, _, words = await sink.trouble_of("bad")
            await asyncio.sleep(0)
    assert words.isprintable()
    assert caplog.messages
    assert all(message.isprintable() for message in caplog.messages)


async def test_a_long_goodbye_is_cut(tmp_path: Path) -> None:
    """A packet has room for a book."""
    sink = RecordingSink()
    async with (
        host(iter([GREETING, disconnect("x" * 30_000)])) as port,
        running(source_of(tmp_path, port), sink),
    ):
        _, _, words = await sink.trouble_of("bad")
    assert len(words) < 2000


@pytest.mark.parametrize("here", ["127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1", "169.254.1.1"])
async def test_a_list_from_outside_leads_to_nothing_on_this_machine(tmp_path: Path, here: str) -> None:
    """Whoever names nodes does not choose which of our own ports is talked to."""
    (tmp_path / "known_hosts").touch()
    options = SshOptions(user="board", known_hosts=str(tmp_path / "known_hosts"), ssh_config="/dev/null")
    asked = []

    def pieces() -> Iterator[bytes]:
        asked.append(here)
        yield GREETING

    sink = RecordingSink()
    async with host(pieces()) as port:
        target = Target(node="bad", host=here, port=port, may_be_here=False)
        async with running(SshSource(options, SettableDiscovery(target), pace=PACE), sink):
            code, _, words = await sink.trouble_of("bad")
    assert (code, "allow_loopback" in words, asked) == ("address-here", True, [])
