"""Transactions, migrations, and what happens when a process dies in between: the same for every database."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import insert, inspect

from gpuboard.model.errors import StorageError
from gpuboard.settings.board import StorageTable
from gpuboard.storage import migrations
from gpuboard.storage.base import Database, set_fact
from gpuboard.storage.registry import make_database
from gpuboard.storage.sqlite import FILE_NAME
from gpuboard.storage.tables import METADATA, SCHEMA_VERSIONS
from tests.databases import open_database, open_url


def test_migrations_make_exactly_the_tables_that_queries_use(database: Database) -> None:
    """Two descriptions of one thing must agree."""
    with database.read() as connection:
        schema = inspect(connection)
        made = {
            name: [(c["name"], c["nullable"]) for c in schema.get_columns(name)]
            for name in schema.get_table_names()
        }
    wanted = {
        name: [(column.name, bool(column.nullable)) for column in table.columns]
        for name, table in METADATA.tables.items()
    }
    # SQLite lets a textual primary key be NULL unless told otherwise; the rest must fit to the letter.
    keys = {(name, column.name) for name, table in METADATA.tables.items() for column in table.primary_key}
    for columns in (made, wanted):
        for name, found in columns.items():
            columns[name] = [(c, False if (name, c) in keys else null) for c, null in found]
    assert made == wanted


def test_what_was_written_is_there_after_opening_again(database_url: str) -> None:
    """Opening twice migrates once."""
    database = open_url(database_url)
    database.set_fact("a", "1")
    database.set_fact("a", "2")
    database.close()
    again = open_url(database_url)
    assert (again.fact("a"), again.fact("b")) == ("2", None)
    again.close()


def test_a_transaction_that_fails_leaves_nothing_behind(database: Database) -> None:
    """Whole or not at all."""

    def write_and_fail() -> None:
        with database.write() as connection:
            set_fact(connection, "a", "1")
            raise KeyError("something")

    with pytest.raises(KeyError):
        write_and_fail()
    assert database.fact("a") is None


def test_a_failing_migration_leaves_the_old_schema(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also its first half, although it made a table."""
    open_url(database_url).close()
    steps = (*migrations.STEPS, ("CREATE TABLE half (a INTEGER)", "CREATE NONSENSE"))
    monkeypatch.setattr(migrations, "STEPS", steps)
    with pytest.raises(StorageError):
        open_url(database_url)
    monkeypatch.undo()
    database = open_url(database_url)
    with database.read() as connection:
        assert not inspect(connection).has_table("half")
    database.close()


def test_a_database_of_a_newer_gpuboard_is_left_alone(database_url: str) -> None:
    """An older program must not guess."""
    database = open_url(database_url)
    with database.write() as connection:
        connection.execute(insert(SCHEMA_VERSIONS).values(version=99, applied_at=0.0))
    database.close()
    with pytest.raises(StorageError, match="a newer gpuboard wrote it"):
        open_url(database_url)


def test_many_that_open_a_new_database_at_once_make_its_tables_once(database_url: str) -> None:
    """A board and whoever types commands may come at the same moment."""
    with ThreadPoolExecutor(6) as pool:
        for opened in list(pool.map(open_url, [database_url] * 6)):
            opened.close()
    database = open_url(database_url)
    with database.read() as connection:
        versions = [row.version for row in connection.execute(SCHEMA_VERSIONS.select())]
    database.close()
    assert sorted(versions) == list(range(1, len(migrations.STEPS) + 1))


def test_writers_come_one_after_the_other(database: Database) -> None:
    """What one reads in order to write it, no other changes meanwhile."""
    database.set_fact("count", "0")

    def count(_: int) -> None:
        with database.write() as connection:
            found = connection.exec_driver_sql("SELECT value FROM facts WHERE name = 'count'").scalar_one()
            set_fact(connection, "count", str(int(found) + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(40)))
    assert database.fact("count") == "40"


def test_a_look_sees_one_moment_and_waits_for_no_writer(database: Database) -> None:
    """However long it takes, and whatever is written meanwhile."""
    database.set_fact("a", "1")
    query = "SELECT value FROM facts WHERE name = 'a'"
    with database.write() as writing:
        set_fact(writing, "a", "2")
        with database.read() as reading:
            assert reading.exec_driver_sql(query).scalar_one() == "1"
    with database.read() as reading:
        before = reading.exec_driver_sql(query).scalar_one()
        database.set_fact("a", "3")
        assert (before, reading.exec_driver_sql(query).scalar_one()) == ("2", "2")
    assert database.fact("a") == "3"


def test_text_of_every_language_comes_back_as_it_was(database: Database) -> None:
    """Names of people and paths are written everywhere."""
    text = "Zoë 陳 \U0001f680 'quoted' \\ %s :name ?"
    database.set_fact(text, text)
    assert database.fact(text) == text


async def test_calls_are_made_beside_the_event_loop(database: Database) -> None:
    """And what they raise comes back."""
    await database.run(lambda: database.set_fact("a", "1"))
    here = threading.get_ident()
    found, there = await database.run(lambda: (database.fact("a"), threading.get_ident()))
    assert (found, here == there) == ("1", False)

    def fail() -> None:
        raise StorageError("the disk is full")

    with pytest.raises(StorageError, match="the disk is full"):
        await database.run(fail)


async def test_many_calls_at_once_need_few_threads(database: Database) -> None:
    """However many nodes come at the same moment."""
    seen: set[int] = set()

    def call() -> str | None:
        seen.add(threading.active_count())
        return database.fact("a")

    before = threading.active_count()
    found = await asyncio.gather(*(database.run(call) for _ in range(100)))
    assert (len(found), set(found)) == (100, {None})
    # Each thread may have its deadline beside it.
    assert max(seen) - before <= 24


async def test_who_reads_waits_for_none_of_many_writers(database: Database) -> None:
    """One that takes its time holds up those behind it, and nobody who only looks."""
    is_writing, may_end = threading.Event(), threading.Event()

    def write_long() -> None:
        with database.write() as connection:
            set_fact(connection, "a", "1")
            is_writing.set()
            assert may_end.wait(60)

    def write(number: int) -> None:
        database.set_fact("b", str(number))

    long = asyncio.create_task(database.run(write_long, is_write=True))
    await asyncio.to_thread(is_writing.wait, 60)
    queue = [asyncio.create_task(database.run(partial(write, one), is_write=True)) for one in range(12)]
    try:
        async with asyncio.timeout(60):
            found = await asyncio.gather(*(database.run(lambda: database.fact("a")) for _ in range(20)))
        assert set(found) == {None}
        assert not any(task.done() for task in queue)
    finally:
        may_end.set()
        await asyncio.gather(long, *queue)
    # In the order in which they came.
    assert await database.run(lambda: database.fact("b")) == "11"


def test_a_board_keeps_other_boards_out_and_lets_commands_in(database_url: str) -> None:
    """In words that say who it is; and the next board may come when it has ended."""
    first, second = (make_database(StorageTable(url=database_url), "") for _ in range(2))
    assert not first.exists()
    first.open(as_board=True)
    with pytest.raises(StorageError, match=rf"another board \(.*process {os.getpid()}\) uses"):
        second.open(as_board=True)
    command = open_url(database_url)
    assert command.exists()
    assert (first.find_loss(), first.find_damage()) == (None, None)
    command.close()
    first.close()
    second.open(as_board=True)
    second.close()


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    """And stays as it is."""
    (tmp_path / FILE_NAME).write_bytes(b"something else" * 100)
    with pytest.raises(StorageError, match=FILE_NAME):
        open_database(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == b"something else" * 100


def test_others_cannot_read_the_file(tmp_path: Path) -> None:
    """Whatever the directory allows."""
    open_database(tmp_path).close()
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


MIGRATOR = """
import sys, time
from gpuboard.settings.board import StorageTable
from gpuboard.storage import migrations
from gpuboard.storage.registry import make_database

class Stuck:
    def time(self):
        print("the table is made", flush=True)
        time.sleep(600)

migrations.STEPS = (*migrations.STEPS, ("CREATE TABLE half (a INTEGER)",))
migrations.time = Stuck()
make_database(StorageTable(url=sys.argv[1]), "").open(as_board=True)
"""


def test_a_migration_that_is_killed_is_done_anew(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of its first half, nor of its locks."""
    open_url(database_url).close()
    upgrade = subprocess.Popen(
        [sys.executable, "-c", MIGRATOR, database_url], stdout=subprocess.PIPE, text=True
    )
    assert upgrade.stdout is not None
    assert upgrade.stdout.readline() == "the table is made\n"
    upgrade.kill()
    upgrade.stdout.close()
    upgrade.wait()
    database = make_database(StorageTable(url=database_url), "")
    database.open(as_board=True)
    with database.read() as connection:
        assert not inspect(connection).has_table("half")
    database.close()
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, ("CREATE TABLE half (a INTEGER)",)))
    again = open_url(database_url)
    with again.read() as connection:
        assert inspect(connection).has_table("half")
    again.close()


WRITER = """
import sys
from gpuboard.settings.board import StorageTable
from gpuboard.storage.registry import make_database
database = make_database(StorageTable(url=sys.argv[1]), "")
database.open(as_board=True)
for number in range(100000):
    database.set_fact("number", str(number))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9(database_url: str) -> None:
    """Five times, at different moments."""
    for lines in (1, 3, 10, 30, 100):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, database_url], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.stdout.readlines()
        writer.stdout.close()
        writer.wait()
        database = open_url(database_url)
        kept = int(database.fact("number") or -1)
        database.close()
        told = int([line for line in said if line.endswith("\n")][-1])
        assert told <= kept <= told + 1
