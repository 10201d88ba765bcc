"""Fixtures of the ssh source."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.ssh.server import Server, running_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running sshd of one test's own."""
    with running_server(tmp_path) as running:
        yield running
