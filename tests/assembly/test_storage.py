"""What the board remembers from run to run, whoever of its parts has to; a disk that hangs stops nothing."""

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuboard.assembly import storage as module
from gpuboard.assembly.storage import BoardStorage
from gpuboard.model.errors import StorageAwayError
from gpuboard.settings.board import StorageTable
from gpuboard.storage.base import Database
from gpuboard.storage.named import NamedValues
from gpuboard.storage.registry import make_database
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase
from gpuboard.storage.tables import NODE_PLACES


class Hanging(SqliteDatabase):
    """A file on a disk that does not answer for a while."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.answers = threading.Event()

    def open(self, *, as_board: bool = False) -> None:
        """Open it, once the disk answers."""
        assert self.answers.wait(60)
        super().open(as_board=as_board)


class Memory:
    """Remembers one number."""

    def __init__(self, storage: BoardStorage) -> None:
        self.number = 0
        store = NamedValues(storage.database, NODE_PLACES, int)
        storage.remember("number", store, lambda: {"number": self.number}, self._restore, 0.01)

    def _restore(self, known: Mapping[str, int]) -> None:
        self.number = known.get("number", 0)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPEN_SECONDS", 0.1)


def remembering(database: Database) -> tuple[BoardStorage, Memory]:
    """A storage that is not open yet, and somebody who remembers something in it."""
    storage = BoardStorage(database, "http://localhost/")
    return storage, Memory(storage)


def test_a_later_run_goes_on_where_the_last_one_ended(database_url: str) -> None:
    """What came just before the end is not lost."""
    numbers = []
    for _ in range(3):
        storage, memory = remembering(make_database(StorageTable(url=database_url), ""))
        storage.open()
        numbers.append(memory.number)
        memory.number += 1
        storage.close()
    assert numbers == [0, 1, 2]


def test_a_disk_that_hangs_keeps_no_board_from_starting(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """It is said, and all is gone on with when the disk answers; until then nobody waits for it."""
    first, memory = remembering(SqliteDatabase(tmp_path / FILE_NAME))
    first.open()
    memory.number = 7
    first.close()
    # Only now: a busy machine is slow, and its disk does not hang.
    request.getfixturevalue("_impatient")
    database = Hanging(tmp_path / FILE_NAME)
    storage, memory = remembering(database)
    started = time.monotonic()
    storage.open()
    assert time.monotonic() - started < 30
    assert storage.trouble is not None
    assert storage.trouble.code == "storage-hung"

    async def has_opened() -> None:
        """Nothing more to do."""

    async def follow() -> None:
        with pytest.raises(StorageAwayError):
            await storage.run(lambda: database.fact("a"))
        tasks = [asyncio.ensure_future(start()) for _, start in storage.parts()]
        database.answers.set()
        async with asyncio.timeout(60):
            await storage.once_open(has_opened)()
        assert storage.trouble is None
        assert memory.number == 7
        assert await storage.run(lambda: database.fact("a")) is None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(follow())
    storage.close()


@pytest.mark.usefixtures("_impatient")
def test_a_board_ends_while_its_disk_still_hangs(tmp_path: Path) -> None:
    """What it has not read it does not write over."""
    database = Hanging(tmp_path / FILE_NAME)
    storage, memory = remembering(database)
    storage.open()
    memory.number = 7
    storage.close()
    assert not database.path.exists()
    database.answers.set()


def test_who_uses_the_database_says_what_is_wrong_and_has_the_last_word(tmp_path: Path) -> None:
    """Several parts share one database and one place where its trouble is shown."""
    said = []
    storage, _ = remembering(SqliteDatabase(tmp_path / FILE_NAME))
    storage.also_ask(lambda: StorageAwayError("tokens cannot be read").reason)
    storage.at_last(lambda: said.append(storage.database.fact("a")))
    storage.open()
    assert storage.trouble is not None
    assert storage.trouble.text == "tokens cannot be read"
    storage.close()
    assert said == [None]
