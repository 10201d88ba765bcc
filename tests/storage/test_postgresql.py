"""What only a server can do: be away, be frozen, die and come back, ask for a password."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.model.errors import StorageAwayError, StorageError
from gpuboard.settings.board import StorageTable
from gpuboard.storage.base import Database
from gpuboard.storage.postgresql import connecting
from gpuboard.storage.registry import make_database
from tests.board import free_port
from tests.databases import open_url
from tests.fakes.real_postgresql import RealPostgres
from tests.started import eventually

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgres: RealPostgres) -> Iterator[str]:
    """An empty database on a server that a test may stop."""
    yield postgres.url(postgres.new_database())
    postgres.start()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(connecting, "LONGEST_RETRY_SECONDS", 0.05)


@contextlib.contextmanager
def opened(url: str, *, as_board: bool = False) -> Iterator[Database]:
    """A database until the block ends."""
    database = make_database(StorageTable(url=url), "")
    database.open(as_board=as_board)
    try:
        yield database
    finally:
        database.close()


def works(database: Database) -> bool:
    """Whether it can be written."""
    try:
        database.set_fact("works", "yes")
    except StorageError:
        return False
    return True


def test_what_was_acknowledged_survives_kill_9_of_the_server(postgres: RealPostgres, url: str) -> None:
    """In the middle of writes, three times; and the board goes on by itself."""
    with opened(url, as_board=True) as database:
        acknowledged, failed, stop = -1, threading.Event(), threading.Event()

        def write() -> None:
            nonlocal acknowledged
            while not stop.is_set():
                try:
                    database.set_fact("number", str(acknowledged + 1))
                except StorageAwayError:
                    # It may have been written all the same: nobody has heard of it.
                    kept[0] = True
                    failed.set()
                    time.sleep(0.01)
                else:
                    acknowledged += 1

        kept = [False]
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                before = acknowledged
                eventually(lambda least=before: acknowledged > least + 20)  # type: ignore[misc] # bound now
                failed.clear()
                postgres.kill()
                assert failed.wait(30)
                postgres.start()
        finally:
            stop.set()
            writer.join()
        eventually(lambda: works(database))
        assert acknowledged <= int(database.fact("number") or -1) <= acknowledged + 1
        # The lock died with the server, and is taken again.
        eventually(lambda: _is_ours(database))


def _is_ours(database: Database) -> bool:
    try:
        return database.find_loss() is None
    except StorageAwayError:
        return False


def test_a_server_that_is_away_is_said_at_once_and_found_again(postgres: RealPostgres, url: str) -> None:
    """Nobody waits for what was refused a moment ago."""
    with opened(url) as database:
        postgres.stop()
        with pytest.raises(StorageAwayError, match=r"cannot be (reached|used)"):
            database.fact("a")
        postgres.start()
        eventually(lambda: works(database))


def test_a_server_that_is_away_is_asked_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the board wants something."""
    monkeypatch.setattr(connecting, "FIRST_RETRY_SECONDS", 600.0)
    monkeypatch.setattr(connecting, "LONGEST_RETRY_SECONDS", 600.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        came = 0

        def hang_up() -> None:
            nonlocal came
            while not stop.is_set():
                with contextlib.suppress(BlockingIOError):
                    server.accept()[0].close()
                    came += 1
                time.sleep(0.005)

        stop = threading.Event()
        counter = threading.Thread(target=hang_up)
        counter.start()
        database = make_database(StorageTable(url=f"postgresql://x@127.0.0.1:{port}/x?sslmode=disable"), "")
        for _ in range(50):
            with pytest.raises(StorageAwayError):
                database.fact("a")
        stop.set()
        counter.join()
        database.close()
    assert came == 1


def test_a_server_that_is_frozen_is_cut_off(
    postgres: RealPostgres, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes what it is sent and never answers; no promise of its own helps then."""
    with opened(url) as database:
        monkeypatch.setattr(connecting, "DEADLINE_SECONDS", 0.5)
        monkeypatch.setattr(connecting, "_CONNECTION", {**connecting._CONNECTION, "connect_timeout": 2})
        postgres.send(signal.SIGSTOP)
        try:
            with pytest.raises(StorageAwayError):
                database.fact("a")
        finally:
            postgres.send(signal.SIGCONT)
        monkeypatch.setattr(connecting, "DEADLINE_SECONDS", 20.0)
        eventually(lambda: works(database))


def test_a_server_that_freezes_within_a_transaction_is_cut_off(
    postgres: RealPostgres, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is not done, and says so."""
    with opened(url) as database:
        monkeypatch.setattr(connecting, "DEADLINE_SECONDS", 0.5)
        with pytest.raises(StorageAwayError), database.write() as connection:  # noqa: PT012 - frozen within
            postgres.send(signal.SIGSTOP)
            try:
                connection.exec_driver_sql("INSERT INTO facts VALUES ('a', '1')")
            finally:
                postgres.send(signal.SIGCONT)
        monkeypatch.setattr(connecting, "DEADLINE_SECONDS", 20.0)
        eventually(lambda: works(database))
        assert database.fact("a") is None


def test_a_statement_that_takes_too_long_is_ended_by_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the connection goes on."""
    monkeypatch.setattr(connecting, "_SESSION", {**connecting._SESSION, "statement_timeout": "200ms"})
    with opened(url) as database:
        with pytest.raises(StorageError, match="statement timeout"), database.read() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(60)")
        assert works(database)


def test_a_board_that_came_while_the_server_was_gone_is_said_until_it_ends(
    postgres: RealPostgres, url: str
) -> None:
    """A restart of the server lets go of every lock; whoever is quick has it then."""
    with opened(url, as_board=True) as first:
        postgres.stop()
        postgres.start()
        with opened(url, as_board=True):
            eventually(lambda: works(first))
            assert first.has_board()
            loss = first.find_loss()
            assert loss is not None
            assert loss.code == "storage-shared"
            assert (
                f"another board (gpuboard on {socket.gethostname()[:30]}, process {os.getpid()})" in loss.text
            )
        eventually(lambda: first.find_loss() is None)


def test_the_password_comes_from_its_file_and_is_never_said(
    postgres: RealPostgres, url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when it is wrong; a right one is used as soon as it stands there."""
    name = url.partition("/board")[2].partition("?")[0]
    postgres.ask("DROP ROLE IF EXISTS keeper")
    postgres.ask("CREATE ROLE keeper LOGIN PASSWORD 'right-secret' SUPERUSER")
    file = tmp_path / "password"
    by_network = postgres.url_by_network(f"board{name}", "keeper")
    database = make_database(StorageTable(url=by_network, password_file=str(file)), "")
    with pytest.raises(StorageAwayError, match=str(file)):
        database.open()
    file.write_text("wrong-secret\n")
    file.chmod(0o644)
    eventually(lambda: "authentication failed" in _why_closed(database))
    assert "secret" not in _why_closed(database)
    file.write_text("right-secret\n")
    eventually(lambda: _why_closed(database) == "")
    assert (works(database), "secret" in database.name) == (True, False)
    # Everybody here can read it: said once, with what to do.
    assert [message for message in caplog.messages if "chmod" in message] == [
        f"SECRET OPEN TO EVERYBODY HERE: path={file} remedy=run: chmod o= {file}"
    ]
    database.close()


def _why_closed(database: Database) -> str:
    try:
        database.open()
    except StorageError as error:
        return str(error)
    return ""


def test_a_database_that_does_not_keep_every_letter_is_refused(postgres: RealPostgres) -> None:
    """With the command that makes a good one."""
    name = postgres.new_database("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StorageError, match=r"SQL_ASCII, and UTF8 is needed.*CREATE DATABASE"):
        open_url(postgres.url(name))


def test_a_database_that_a_board_never_used_is_left_as_it_is(url: str) -> None:
    """Commands ask first."""
    database = make_database(StorageTable(url=url), "")
    assert not database.exists()
    assert not database.exists()
    database.close()


def test_where_nobody_listens_it_is_said_where() -> None:
    """With the address, and without what stands behind it."""
    port = free_port()
    database = make_database(StorageTable(url=f"postgresql://gpuboard@127.0.0.1:{port}/x?sslmode=prefer"), "")
    with pytest.raises(
        StorageAwayError, match=rf"postgresql://gpuboard@127.0.0.1:{port}/x cannot be reached: "
    ):
        database.open(as_board=True)
    database.close()


def test_a_database_that_belongs_to_another_is_said_with_the_remedy(postgres: RealPostgres) -> None:
    """Nobody but the owner may make tables in it."""
    postgres.ask("DROP ROLE IF EXISTS guest")
    postgres.ask("CREATE ROLE guest LOGIN")
    with pytest.raises(StorageError, match=r"permission denied.*OWNER TO") as refused:
        open_url(postgres.url(postgres.new_database(), "guest"))
    assert not isinstance(refused.value, StorageAwayError)


def test_a_server_that_only_reads_counts_as_away(postgres: RealPostgres) -> None:
    """It stands in for another, and may become the first one."""
    name = postgres.new_database()
    postgres.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    database = make_database(StorageTable(url=postgres.url(name)), "")
    with pytest.raises(StorageAwayError, match="read-only"):
        database.open(as_board=True)
    postgres.ask(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    database.open(as_board=True)
    assert works(database)
    database.close()


@pytest.mark.parametrize("as_board", [True, False])
def test_whether_a_board_runs_is_told_to_others(url: str, *, as_board: bool) -> None:
    """So that a command can say that it speaks to nobody."""
    with opened(url, as_board=as_board), opened(url) as command:
        assert command.has_board() == as_board
