"""Hostile files in a shared folder and hostile answers of asked nodes: refused in words, the others go on."""

import contextlib
import hashlib
import json
import os
import socket
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuboard.model.verdict import Reason
from gpuboard.settings.base import Duration
from gpuboard.sources.folder import FolderOptions, FolderSource
from tests.fakes.http import always, answer_bytes, raw_server
from tests.fakes.sink import RecordingSink, running
from tests.hostile.attacks import REFUSED
from tests.parts import require_root
from tests.pushing import report_of
from tests.sources.pull.agents import at, pull

HONEST = "honest"


def tree() -> dict[str, Any]:
    """An honest report."""
    report: dict[str, Any] = msgspec.to_builtins(report_of(HONEST))
    return report


def drop(report: bytes) -> bytes:
    """A whole drop around a report, as whoever may write here can make it."""
    digest = hashlib.sha256(report).hexdigest()
    return b'{"gpuboard_drop":1,"length":%d,"sha256":"%s","report":%s}\n' % (
        len(report),
        digest.encode(),
        report,
    )


def folder_source(path: Path) -> FolderSource:
    """A source that looks often."""
    return FolderSource(FolderOptions(path=str(path), interval=Duration(0.05)))


def leave(path: Path, content: bytes) -> None:
    """Put a file there in one step."""
    temporary = path.with_name(f".{path.name}")
    temporary.write_bytes(content)
    temporary.rename(path)


def honest_drop() -> bytes:
    """What an honest node leaves."""
    return drop(json.dumps(tree()).encode())


# In a folder the file's name says whose the report is, whatever the report says itself.
LEFT = {kind: attacks for kind, attacks in REFUSED.items() if kind not in ("forged", "said-twice")}


@pytest.mark.parametrize("kind", LEFT)
async def test_a_hostile_drop_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    """Its node keeps the last good state; nothing else is shown, and the others are read on."""
    attacks = {f"bad{number}": attack for number, attack in enumerate(LEFT[kind].values())}
    for name in (HONEST, *attacks):
        leave(tmp_path / name, honest_drop())
    sink = RecordingSink()
    async with running(folder_source(tmp_path), sink):
        await sink.until(lambda: {name for name, _ in sink.reports} == {HONEST, *attacks})
        for name, attack in attacks.items():
            leave(tmp_path / name, drop(attack.encoded(tree())["json"]))
        await sink.until(lambda: {name for name, _, _ in sink.troubles} == set(attacks))
        leave(tmp_path / HONEST, honest_drop())
        await sink.reports_of(HONEST, 2)
    assert {sink.count(name) for name in attacks} == {1}
    assert all(reason.code == "file-refused" and reason.text for _, reason, _ in sink.troubles)


def unix_socket(path: Path) -> None:
    """Make a socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


LINKS = [
    "/etc/passwd", "/etc/shadow", "/dev/zero", "/dev/random", "/proc/self/environ", "/proc/self/mem",
    "honest", "./honest", "../honest", ".", "/", "nowhere", "it-s-me",
]  # fmt: skip
# null, zero, full, random, urandom, tty, console, a disk, a loop device, and one that nobody has.
DEVICES = [(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (8, 0), (7, 0), (240, 99), (10, 229)]


async def only_the_honest_one_is_read(folder: Path) -> None:
    """Look a few times; what must not be opened never blocks, and is never shown."""
    sink = RecordingSink()
    async with running(folder_source(folder), sink):
        for number in (1, 2):
            leave(folder / HONEST, honest_drop())
            await sink.reports_of(HONEST, number)
    assert {name for name, _ in sink.reports} == {HONEST}
    assert sink.expected[-1] == {HONEST}
    # What blocks is a trouble of the folder, said of all its nodes.
    assert "folder-hung" not in {reason.code for _, reason, _ in sink.troubles}


async def test_links_are_not_followed(tmp_path: Path) -> None:
    """Wherever they lead: this would show any file that the board can read."""
    for number, target in enumerate(LINKS):
        (tmp_path / f"link{number}").symlink_to(target)
    (tmp_path / "it-s-me").symlink_to("it-s-me")
    await only_the_honest_one_is_read(tmp_path)


async def test_pipes_and_sockets_are_not_waited_for(tmp_path: Path) -> None:
    """Some with a writer that says nothing."""
    for number in range(10):
        os.mkfifo(tmp_path / f"pipe{number}")
        unix_socket(tmp_path / f"sock{number}")
    with contextlib.ExitStack() as stack:
        for number in range(5):
            writer = os.open(tmp_path / f"pipe{number}", os.O_RDWR)
            stack.callback(os.close, writer)
            os.write(writer, honest_drop()[:1000])
        await only_the_honest_one_is_read(tmp_path)


async def test_device_files_are_not_read(tmp_path: Path) -> None:
    """An endless one least of all."""
    require_root()
    for number, (major, minor) in enumerate(DEVICES):
        os.mknod(tmp_path / f"device{number}", stat.S_IFCHR | 0o644, os.makedev(major, minor))
    await only_the_honest_one_is_read(tmp_path)


async def test_names_that_are_none_are_skipped(tmp_path: Path) -> None:
    """A file's name becomes a node's name only if it can be one."""
    names = (
        "..x", "-rf", "a b", "~", "*", "\x1b[31mred", "new\nline", "\u202egnp", "n\u00e4me", "$(id)", "`id`",
        "<b>", "a;b", "a|b", "a\\b", "%2e%2e", "x" * 200, "'", '"', "\udcff",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).write_bytes(honest_drop())
    await only_the_honest_one_is_read(tmp_path)


async def test_folders_and_files_that_may_not_be_read_are_skipped(tmp_path: Path) -> None:
    """Ten folders, ten with a hole larger than the disk."""
    for number in range(10):
        (tmp_path / f"folder{number}").mkdir()
        with (tmp_path / f"hole{number}").open("wb") as hole:
            hole.truncate(10**12)
    await only_the_honest_one_is_read(tmp_path)


# The name by which a node is known is ours, whatever its report says.
ASKED = {kind: attacks for kind, attacks in REFUSED.items() if kind not in ("forged", "said-twice")}
MEDIA_TYPES = {"json": "application/json", "msgpack": "application/msgpack"}


@pytest.mark.parametrize("kind", ASKED)
async def test_a_hostile_answer_is_refused_in_words(kind: str) -> None:
    """In both encodings; an honest node beside it is asked on."""
    said: dict[str, Reason] = {}
    for name, attack in ASKED[kind].items():
        for encoding, body in attack.encoded(tree()).items():
            said[f"{name} {encoding}"] = await complaint_about(body, MEDIA_TYPES[encoding])
    assert {name for name, reason in said.items() if reason.code not in ("bad-report", "too-large")} == set()
    assert all(reason.text and reason.text.isprintable() for reason in said.values())


async def complaint_about(body: bytes, media_type: str) -> Reason:
    """What the board says about a node that answers like this, while it shows another that is honest."""
    honest = answer_bytes(json.dumps(tree()).encode())
    sink = RecordingSink()
    async with (
        raw_server(always(answer_bytes(body, media_type=media_type))) as bad,
        raw_server(always(honest)) as good,
        running(pull(at("bad", bad.port), at(HONEST, good.port)), sink),
    ):
        await sink.trouble_of("bad")
        await sink.reports_of(HONEST, 1)
    assert sink.count("bad") == 0
    return next(reason for name, reason, _ in sink.troubles if name == "bad")


def with_attributes_from_nowhere(elements: int) -> bytes:
    """A document that declares what each of its elements has by default: a small file fills the memory."""
    defaults = " ".join(f"a{number} CDATA 'x'" for number in range(2500))
    head = f"<?xml version='1.0'?>\n<!DOCTYPE nvidia_smi_log [<!ATTLIST a {defaults}>]>\n"
    return f"{head}<nvidia_smi_log>{'<a/>' * elements}</nvidia_smi_log>".encode()


def test_attributes_from_nowhere_cost_nothing(tmp_path: Path) -> None:
    """They are refused before they are made."""
    (tmp_path / "bomb.xml").write_bytes(with_attributes_from_nowhere(1000))
    tracemalloc.start()
    sink = RecordingSink()
    folder_source(tmp_path).read_once(sink)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (sink.reports, most < 10_000_000) == ([], True)
