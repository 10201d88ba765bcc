"""Keys and known_hosts on a mount that hangs, and a board whose account has neither name nor home."""

import contextlib
import os
import pwd
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.model.report import NodeReport
from gpuboard.sources.ssh import connect, read_once
from tests.fakes.lagging_fs import HUNG, lagging
from tests.sources.ssh.server import Server
from tests.sources.ssh.watching import IMPATIENT, target, until, watching


def readers() -> set[threading.Thread]:
    """The threads that read something at the moment, for this test or for one before it."""
    return {thread for thread in threading.enumerate() if thread.name == "off-loop"}


@contextlib.contextmanager
def hung_file(folder: Path) -> Iterator[Path]:
    """A file that nobody comes to the end of opening."""
    path = folder / "hung"
    os.mkfifo(path)
    try:
        yield path
    finally:
        # Whoever still waits may go on.
        os.close(os.open(path, os.O_RDWR))


async def test_a_key_on_a_mount_that_hangs_costs_a_few_threads_and_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many nodes try however often."""
    monkeypatch.setattr(connect, "_READ_SECONDS", 0.1)
    nodes = [target(f"gpu{number:02}") for number in range(12)]
    others = readers()
    with hung_file(tmp_path) as key:
        async with watching(server.options(key_file=str(key)), *nodes, pace=IMPATIENT) as recorder:
            await until(lambda: all(len(recorder.troubles.get(node.node, [])) >= 3 for node in nodes))
            assert len(readers() - others) <= connect._READERS_AT_ONCE
        code, _, words = recorder.last_trouble("gpu05")
    assert code == "file-hung"
    assert f"{key} cannot be read: its mount hangs" in words


async def test_known_hosts_on_a_mount_that_hangs_is_named_and_read_when_it_is_back(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node comes back by itself."""
    monkeypatch.setattr(connect, "_READ_SECONDS", 0.3)
    others = readers()
    with lagging(tmp_path, lag_seconds=0.0) as share:
        (share.behind / HUNG).write_bytes(server.known_hosts.read_bytes())
        options = server.options(known_hosts=str(share.mount / HUNG))
        async with watching(options, target("gpu01")) as recorder:
            await until(lambda: len(recorder.troubles.get("gpu01", [])) >= 3)
            assert len(readers() - others) <= connect._READERS_AT_ONCE
            code, _, words = recorder.last_trouble("gpu01")
            share.release()
            await until(lambda: recorder.count("gpu01") > 0)
    assert (code, str(share.mount / HUNG) in words) == ("file-hung", True)


@pytest.fixture
def without_account(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - it needs a name
    """The system knows neither our name nor our home."""
    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)

    def nobody(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)


@pytest.mark.usefixtures("without_account")
async def test_an_account_without_name_and_home_can_log_in(server: Server) -> None:
    """All that is needed stands in the settings."""
    outcome = (await read_once([target("gpu01")], server.options()))["gpu01"]
    assert isinstance(outcome, NodeReport)


@pytest.mark.usefixtures("without_account")
async def test_an_account_without_name_is_told_what_to_set(server: Server) -> None:
    """Nobody would know the name that we make up."""
    async with watching(server.options(user=None), target("gpu01"), pace=IMPATIENT) as recorder:
        await until(lambda: bool(recorder.troubles))
    code, state, words = recorder.last_trouble("gpu01")
    assert (code, state) == ("no-user-name", "refused")
    assert 'set user = "…" in the [[source]] table' in words
