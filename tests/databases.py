"""Databases for tests: files of SQLite, and databases of a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.settings.board import StorageTable
from gpuboard.storage.base import Database
from gpuboard.storage.registry import make_database
from tests.fakes.real_postgresql import RealPostgres


def open_database(directory: Path) -> Database:
    """The database of a state directory, as a board without settings has it."""
    return open_url("", str(directory))


def open_url(url: str, state_dir: str = "") -> Database:
    """The database of a URL."""
    database = make_database(StorageTable(url=url), state_dir)
    database.open()
    return database


@pytest.fixture(scope="session")
def postgres() -> Iterator[RealPostgres]:
    """A cluster that all tests of this process share; each has a database of its own."""
    cluster = RealPostgres()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a board may keep its things: each way that there is, empty."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/gpuboard.sqlite"
    cluster: RealPostgres = request.getfixturevalue("postgres")
    return cluster.url(cluster.new_database())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty database of each kind."""
    opened = open_url(database_url)
    yield opened
    opened.close()
