"""Transactions, migrations, and what happens when a process dies in between."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import inspect

from gpuboard.model.errors import StorageError
from gpuboard.storage import migrations
from gpuboard.storage.database import FILE_NAME, open_database, set_fact
from gpuboard.storage.tables import METADATA


def test_migrations_make_exactly_the_tables_that_queries_use(tmp_path: Path) -> None:
    """Two descriptions of one thing must agree."""
    database = open_database(tmp_path)
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
    database.close()
    # SQLite lets a textual primary key be NULL unless told otherwise; the rest must fit to the letter.
    keys = {(name, column.name) for name, table in METADATA.tables.items() for column in table.primary_key}
    for columns in (made, wanted):
        for name, found in columns.items():
            columns[name] = [(c, False if (name, c) in keys else null) for c, null in found]
    assert made == wanted


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    """Opening twice migrates once."""
    database = open_database(tmp_path)
    database.set_fact("a", "1")
    database.set_fact("a", "2")
    database.close()
    again = open_database(tmp_path)
    assert (again.fact("a"), again.fact("b")) == ("2", None)
    again.close()


def test_a_transaction_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whole or not at all."""
    database = open_database(tmp_path)

    def write_and_fail() -> None:
        with database.write() as connection:
            set_fact(connection, "a", "1")
            raise KeyError("something")

    with pytest.raises(KeyError):
        write_and_fail()
    assert database.fact("a") is None
    database.close()


def test_a_failing_migration_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also its first half, although it made a table."""
    open_database(tmp_path).close()
    steps = (*migrations.STEPS, ("CREATE TABLE half (a INTEGER)", "CREATE NONSENSE"))
    monkeypatch.setattr(migrations, "STEPS", steps)
    with pytest.raises(StorageError):
        open_database(tmp_path)
    monkeypatch.undo()
    database = open_database(tmp_path)
    with database.read() as connection:
        assert not inspect(connection).has_table("half")
    database.close()


def test_a_database_of_a_newer_gpuboard_is_left_alone(tmp_path: Path) -> None:
    """An older program must not guess."""
    open_database(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE_NAME) as raw:
        raw.execute("INSERT INTO schema_versions VALUES (99, 0)")
    raw.close()
    with pytest.raises(StorageError, match="a newer gpuboard wrote it"):
        open_database(tmp_path)


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


WRITER = """
import sys
from pathlib import Path
from gpuboard.storage.database import open_database
database = open_database(Path(sys.argv[1]))
for number in range(100000):
    database.set_fact("number", str(number))
    print(number, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    """Five times, at different moments."""
    for lines in (1, 3, 10, 30, 100):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.stdout.readlines()
        writer.stdout.close()
        writer.wait()
        database = open_database(tmp_path)
        kept = int(database.fact("number") or -1)
        database.close()
        told = int([line for line in said if line.endswith("\n")][-1])
        assert told <= kept <= told + 1
