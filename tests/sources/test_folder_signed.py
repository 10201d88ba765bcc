"""Drops that carry the signature of their node: who may speak for whom."""

import asyncio
import hashlib
import hmac
import itertools
import os
import time
from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.probes.simulated import simulate
from gpuboard.settings.base import Duration
from gpuboard.sources.folder import FolderOptions, FolderSource
from gpuboard.wire.drop import decode_drop, encode_drop, signed_by
from gpuboard.wire.enrolment import digest, make_token
from tests.fakes.sink import RecordingSink, running

TOKEN = make_token("gpu01", "s" * 43)
OTHER = make_token("gpu02", "t" * 43)


def report(node: str = "gpu01") -> NodeReport:
    """What a node says now."""
    return msgspec.structs.replace(simulate("dgx-01", time.time()), node=node)


def source(path: Path, *keys: str, signed: bool = False) -> FolderSource:
    """A folder whose board knows these keys of every node."""
    options = FolderOptions(path=str(path), interval=Duration(1), signed=signed)
    return FolderSource(options, keys=lambda _: keys)


def outcome(folder: FolderSource) -> str:
    """What comes of one look: read, or why not."""
    sink = RecordingSink()
    folder.read_once(sink)
    return "read" if sink.reports else sink.troubles[0][1].text


def drop(path: Path, token: str | None) -> None:
    """Leave a drop of gpu01, signed with a token."""
    key = None if token is None else digest(token)
    write_drop(path, "gpu01", TimedReport(report(), 0.0), key=key)


def test_a_signature_is_of_one_node_and_one_report() -> None:
    """Whoever copies a drop under another name, or changes a byte, signs nothing."""
    key = digest(TOKEN)
    data = encode_drop(report(), key=key)
    assert signed_by(data, "gpu01", [digest(OTHER), key]) == "node"
    assert signed_by(data, "gpu02", [key]) == "stranger"
    assert signed_by(data, "gpu01", [digest(OTHER)]) == "stranger"
    assert signed_by(encode_drop(report()), "gpu01", [key]) == "nobody"
    changed = data.replace(b'"probe":"simulated"', b'"probe":"Simulated"')
    assert changed != data
    assert signed_by(changed, "gpu01", [key]) == "stranger"
    with pytest.raises(WireError):
        signed_by(data[:-20], "gpu01", [key])


def test_a_node_whose_token_is_revoked_is_lost_at_the_next_look(tmp_path: Path) -> None:
    """Though its file is as before, and whatever is written there; with a token again it is back."""
    keys = [digest(TOKEN)]
    options = FolderOptions(path=str(tmp_path), interval=Duration(1), signed=True)
    folder = FolderSource(options, keys=lambda _: tuple(keys))
    fleet = Fleet(SteadyClock())

    def state() -> str:
        folder.read_once(fleet.sink("folder"))
        fleet.settle()
        return next(iter(fleet)).freshness.state

    drop(tmp_path, TOKEN)
    states = [state()]
    keys.clear()
    states.append(state())
    drop(tmp_path, TOKEN)
    states.append(state())
    (node,) = fleet
    # Its file is there: whoever looks for it there looks in the wrong place.
    assert node.freshness.reason is not None
    assert (node.freshness.reason.code, node.problems()) == ("revoked", ())
    keys.append(digest(TOKEN))
    drop(tmp_path, TOKEN)
    states.append(state())
    assert states == ["live", "lost", "lost", "live"]


def test_a_reader_that_knows_no_signatures_reads_a_signed_drop() -> None:
    """Board and nodes need not be renewed together."""
    data = encode_drop(report(), key=digest(TOKEN))
    parts = {key: bytes(raw) for key, raw in msgspec.json.decode(data, type=dict[str, msgspec.Raw]).items()}
    assert parts["sha256"] == msgspec.json.encode(hashlib.sha256(parts["report"]).hexdigest())
    assert decode_drop(data).node == "gpu01"


def test_anyone_can_check_a_signature_with_ordinary_tools() -> None:
    """The frame is documented."""
    data = encode_drop(report(), key=digest(TOKEN))
    parts = {key: bytes(raw) for key, raw in msgspec.json.decode(data, type=dict[str, msgspec.Raw]).items()}
    key = hashlib.sha256(TOKEN.encode()).hexdigest().encode()
    expected = hmac.new(key, b"gpuboard drop\ngpu01\n" + parts["report"], "sha256").hexdigest()
    assert parts["hmac_sha256"] == msgspec.json.encode(expected)


@pytest.mark.parametrize("signed", [False, True])
def test_a_drop_with_the_nodes_signature_is_read(tmp_path: Path, signed: bool) -> None:  # noqa: FBT001
    """Whether it must be signed or not."""
    drop(tmp_path, TOKEN)
    assert outcome(source(tmp_path, digest(TOKEN), signed=signed)) == "read"


def test_a_wrong_signature_is_refused_wherever_it_can_be_checked(tmp_path: Path) -> None:
    """One that cannot be checked says nothing, good or bad."""
    drop(tmp_path, OTHER)
    assert "no token of this node" in outcome(source(tmp_path, digest(TOKEN)))
    assert outcome(source(tmp_path)) == "read"


def test_files_without_a_signature_are_read_unless_it_must_be_there(tmp_path: Path) -> None:
    """A crontab of before works on, until the administrator says otherwise."""
    drop(tmp_path, None)
    assert outcome(source(tmp_path, digest(TOKEN))) == "read"
    assert "not signed" in outcome(source(tmp_path, digest(TOKEN), signed=True))
    assert "node enroll" in outcome(source(tmp_path, signed=True))
    (tmp_path / "gpu01.json").write_text("[0] GPU | 45'C,  97 % | 18000 / 24564 MB |\n")
    assert "not signed" in outcome(source(tmp_path, digest(TOKEN), signed=True))


def test_before_the_tokens_are_read_nothing_is_refused_for_good(tmp_path: Path) -> None:
    """A board that starts takes a moment to read them."""
    drop(tmp_path, TOKEN)
    keys: list[Collection[str] | None] = [None]
    options = FolderOptions(path=str(tmp_path), interval=Duration(1), signed=True)
    folder, sink = FolderSource(options, keys=lambda _: keys[0]), RecordingSink()
    folder.read_once(sink)
    assert (sink.reports, sink.troubles) == ([], [])
    keys[0] = (digest(TOKEN),)
    folder.read_once(sink)
    assert [name for name, _ in sink.reports] == ["gpu01"]


def test_an_old_file_that_had_to_wait_for_the_keys_is_old(tmp_path: Path) -> None:
    """The board has seen it before it could read it: that makes it no newer."""
    path = tmp_path / "cml10"
    path.write_text("cml10  today  535.104.05\n[0] RTX 4090 | 45'C, 0 % | 1 / 24564 MB |\n")
    os.utime(path, (time.time() - 400,) * 2)
    known: list[Collection[str] | None] = [None, None, ()]
    options = FolderOptions(path=str(tmp_path), interval=Duration(1))
    folder = FolderSource(options, keys=lambda _: known.pop(0) if len(known) > 1 else known[0])
    sink = RecordingSink()
    while not sink.reports:
        folder.read_once(sink)
    assert sink.reports[0][1].age_seconds == pytest.approx(400, abs=30)


async def test_the_first_look_follows_at_once_when_the_tokens_are_known(tmp_path: Path) -> None:
    """Not after a whole interval; and until then the folder does not claim to have no nodes."""
    await asyncio.to_thread(drop, tmp_path, None)
    asked = itertools.count()
    options = FolderOptions(path=str(tmp_path), interval=Duration(3600))
    folder = FolderSource(options, keys=lambda _: () if next(asked) > 1 else None)
    sink = RecordingSink()
    async with running(folder, sink):
        await sink.reports_of("gpu01", 1)
    assert sink.expected == [{"gpu01"}]


async def test_a_folder_that_waits_for_the_tokens_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A board whose database is away reads none of its files; not said of one that has only just started."""
    caplog.set_level("INFO")
    await asyncio.to_thread(drop, tmp_path, None)
    said: list[str | None] = []

    def keys(_: str) -> Collection[str] | None:
        said.append(None if folder.trouble is None else folder.trouble.code)
        return None if said[-1] is None else ()

    folder = FolderSource(FolderOptions(path=str(tmp_path), interval=Duration(0.1)), keys=keys)
    sink = RecordingSink()
    async with running(folder, sink):
        await sink.reports_of("gpu01", 1)
    assert said[:2] == [None, None]
    assert (said[-1], folder.trouble) == ("folder-waits", None)
    assert (caplog.text.count("folder failed"), caplog.text.count("folder read again")) == (1, 1)


def test_an_unsigned_drop_of_a_node_that_has_a_token_is_read_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever may write there could speak for it; a node without a token has nothing to sign with."""
    for path, keys in ((tmp_path / "a", (digest(TOKEN),)), (tmp_path / "b", ())):
        path.mkdir()
        folder = source(path, *keys)
        for _ in range(2):
            drop(path, None)
            assert outcome(folder) == "read"
    assert caplog.text.count("drop not signed: node=gpu01") == 1


def test_a_drop_that_is_not_signed_is_not_blamed_on_the_disk(tmp_path: Path) -> None:
    """Writing it again by hand would help nobody."""
    options = FolderOptions(path=str(tmp_path), interval=Duration(1), signed=True)
    fleet = Fleet(SteadyClock())
    drop(tmp_path, None)
    FolderSource(options, keys=lambda _: (digest(TOKEN),)).read_once(fleet.sink("folder"))
    fleet.settle()
    (node,) = fleet
    (problem,) = node.problems()
    assert (problem.kind, "--token-file" in problem.remedy, "disk" in problem.remedy) == (
        "unreadable-file",
        True,
        False,
    )
