"""The guides about finding and asking nodes: every key is explained, every sample works."""

import re
import tomllib
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields

from gpuboard.discovery.consul import ConsulOptions
from gpuboard.discovery.hosts_file import HostsFileOptions
from gpuboard.discovery.registry import DISCOVERIES
from gpuboard.discovery.ssh_config import SshConfigOptions
from gpuboard.sources.folder import FolderOptions
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.sources.ssh import SshOptions
from tests.docs.blocks import GUIDES, texts_of

SAMPLES = [
    pytest.param(sample, id=f"{page} {number}")
    for page in ("consul.md", "folder.md", "hosts.md", "pull.md", "ssh.md")
    for number, sample in enumerate(texts_of(GUIDES / page, "toml"))
]


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("consul.md", ConsulOptions),
        ("folder.md", FolderOptions),
        ("pull.md", PullOptions),
        ("hosts.md", HostsFileOptions),
        ("hosts.md", SshConfigOptions),
        ("ssh.md", SshOptions),
    ],
)
def test_every_key_is_explained(page: str, options: type[Struct]) -> None:
    """What can be set can be looked up."""
    text = (GUIDES / page).read_text()
    assert [field.name for field in fields(options) if not re.search(rf"\b{field.name}\b", text)] == []


def test_every_way_to_find_nodes_is_explained() -> None:
    """By the key that names it."""
    text = "".join((GUIDES / page).read_text() for page in ("hosts.md", "consul.md"))
    assert [way for way in DISCOVERIES if f"{way} = " not in text] == []


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_works(sample: str) -> None:
    """As it stands, up to the files that it names."""
    for table in tomllib.loads(sample)["source"]:
        make_source(table, Surroundings(now=lambda: 0.0, node="here"), where="sample")


def test_every_way_that_ssh_can_fail_is_explained() -> None:
    """By the code that the board shows."""
    sources = Path(__file__).parents[2] / "src" / "gpuboard" / "sources" / "ssh"
    codes = {
        code for path in sources.glob("*.py") for code in re.findall(r'code="([a-z-]+)"', path.read_text())
    }
    text = (GUIDES / "ssh.md").read_text()
    assert [code for code in sorted(codes) if f"`{code}`" not in text] == []
