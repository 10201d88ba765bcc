"""Lists that change while the board runs: hosts files and ssh configs."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from gpuboard.discovery.hosts_file import HostsFileDiscovery, HostsFileOptions
from gpuboard.discovery.registry import DISCOVERIES, make, make_for_source
from gpuboard.discovery.ssh_config import SshConfigDiscovery, SshConfigOptions, read_aliases
from gpuboard.model.errors import SettingsError
from gpuboard.outside.files import read_file
from tests.fakes.lists import following


def hosts_file(path: Path) -> HostsFileDiscovery:
    """A hosts file that is looked at often."""
    return HostsFileDiscovery(HostsFileOptions(hosts_file=str(path)), every=0.02)


async def test_a_hosts_file_that_is_replaced_by_another_is_taken_up(tmp_path: Path) -> None:
    """As editors do that write whole files."""
    path = tmp_path / "hosts.txt"
    path.write_text("gpu1\n")
    async with following(hosts_file(path)) as lists:
        await lists.until(["gpu1"])
        (tmp_path / "new").write_text("gpu3\n")
        (tmp_path / "new").rename(path)
        await lists.until(["gpu3"])
    assert len(lists.all) == 2


class Looks:
    """Counts how often a file is looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr("gpuboard.discovery.hosts_file.read_file", self._read)

    def _read(self, path: Path) -> bytes:
        self.count += 1
        return read_file(path)

    async def more(self, times: int) -> None:
        """Wait until it was looked at so often again."""
        enough = self.count + times
        async with asyncio.timeout(60):
            while self.count < enough:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("harm", ["missing", "empty", "comments", "garbage", "folder"])
async def test_a_damaged_hosts_file_changes_nothing_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """An editor that truncates before it writes must not empty the board."""
    path = tmp_path / "hosts.txt"
    path.write_text("gpu1\ngpu2\n")
    looks = Looks(monkeypatch)
    discovery = hosts_file(path)
    async with following(discovery) as lists:
        await lists.until(["gpu1", "gpu2"])
        caplog.set_level(logging.WARNING)
        path.unlink()
        if harm == "folder":
            path.mkdir()
        elif harm != "missing":
            path.write_bytes({"empty": b"", "comments": b"# none\n", "garbage": b"\0\0 \0"}[harm])
        await looks.more(5)
        assert lists.all == [["gpu1", "gpu2"]]
        assert discovery.trouble is not None
        assert sum("hosts_kept=2" in line for line in caplog.messages) == 1
        if harm == "folder":
            path.rmdir()
        path.write_text("gpu1\n")
        await lists.until(["gpu1"])
        assert discovery.trouble is None


def test_an_ssh_config_names_its_concrete_aliases(tmp_path: Path) -> None:
    """Patterns and negations are no hosts; included files count, in their place, each once."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "a.conf").write_text("Host rack1 rack2\n  Include ../config\n")
    (tmp_path / "lab" / "b.conf").write_text('host="quoted"\nHOST=equals\nHost = spaced\n')
    config = tmp_path / "config"
    config.write_text(
        "# Host commented\n"
        "Host gpu1 gpu2 *.lab !bad g?\n  HostName 10.0.0.1\n  User ana\n"
        "Match host secret exec true\n"
        "Include lab/*.conf missing.conf ~nobody-here/x\n"
        "Host gpu1 last\n"
        'Host "unclosed\n'
    )
    assert read_aliases(config) == ("gpu1", "gpu2", "rack1", "rack2", "quoted", "equals", "spaced", "last")


async def test_an_ssh_config_is_followed_through_its_includes(tmp_path: Path) -> None:
    """Only the hosts that fit are nodes: most configs also name others."""
    (tmp_path / "more").write_text("Host gpu2\n")
    config = tmp_path / "config"
    config.write_text("Include more\nHost gpu1 git.example\n")
    options = SshConfigOptions(ssh_config=str(config), only=("gpu*",))
    async with following(SshConfigDiscovery(options, every=0.02)) as lists:
        await lists.until(["gpu2", "gpu1"])
        (tmp_path / "more").write_text("Host gpu2 gpu3\n")
        await lists.until(["gpu2", "gpu3", "gpu1"])


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"hosts": ["a"]}, "hosts"),
        ({"hosts_file": "/x"}, "hosts_file"),
        ({"ssh_config": "/x", "only": ["gpu*"]}, "ssh_config"),
        ({"consul": "http://127.0.0.1:8500", "service": "gpu-host"}, "consul"),
        ({"consul": "https://c", "service": "s", "token_file": "/t", "grace": "5min"}, "consul"),
    ],
)
def test_every_way_is_made_from_its_table(options: dict[str, Any], kind: str) -> None:
    """The key names the way."""
    assert make(options).kind == kind
    assert kind in DISCOVERIES


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "no known way"),
        ({"dns": "x"}, "no known way"),
        ({"hosts": ["a"], "hosts_file": "x"}, "several ways"),
        ({"hosts": []}, "hosts is empty"),
        ({"hosts": ["a b"]}, "'a b' is no host"),
        ({"hosts": ["gpu[16-01]"]}, r"runs backwards; write \[01-16\]"),
        ({"hosts": "gpu1"}, "a list of texts"),
        ({"hosts_file": 7}, "a text in quotes"),
        ({"hosts_file": "x", "servce": "y"}, "unknown key 'servce'"),
        ({"consul": "http://127.0.0.1:8500"}, "service"),
        ({"consul": "127.0.0.1:8500", "service": "x"}, "is no address"),
        ({"consul": "ftp://a", "service": "x"}, "is no address"),
        ({"consul": "http://a:99999", "service": "x"}, "out of range"),
        ({"consul": "http://a", "service": "x", "grace": "soon"}, "no duration"),
    ],
)
def test_a_wrong_table_says_what_is_wrong(options: dict[str, Any], why: str) -> None:
    """With the place in the settings first."""
    with pytest.raises(SettingsError, match=rf"^source 1\.discover: .*{why}"):
        make(options, where="source 1.discover")


def test_a_source_has_either_hosts_or_a_discovery() -> None:
    """Two lists in one source would be one too many to reason about."""
    assert make_for_source(["gpu1"], None, where="source 1").kind == "hosts"
    assert make_for_source([], {"hosts_file": "/x"}, where="source 1").kind == "hosts_file"
    for hosts, discover in (([], None), (["a"], {"hosts_file": "/x"})):
        with pytest.raises(SettingsError, match=r"source 1: give hosts = \[...\] or discover"):
            make_for_source(hosts, discover, where="source 1")
