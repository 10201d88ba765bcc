"""Copies of the database: made while the board runs, and put back when it does not."""

import os
import shlex
from pathlib import Path

import pytest

from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase
from tests.board import running_board
from tests.cli.test_login import command
from tests.databases import open_database
from tests.fakes.real_postgresql import RealPostgres
from tests.signing_in import make_token, revoke_token, signed_in

pytestmark = pytest.mark.slow


def test_a_copy_made_while_the_board_runs_brings_everything_back(tmp_path: Path) -> None:
    """Also what was revoked since, as it says."""
    copy, where = tmp_path / "copy.sqlite", ("--state-dir", str(tmp_path / "state"))
    with running_board("--demo", "1", "--anonymous", "counts", log=tmp_path / "log") as board:
        browser = signed_in(board, "ana")
        ident, _ = make_token(board.state, "ana", "read")
        done = command("backup", str(copy), *where, home=tmp_path)
        assert done.returncode == 0, done.stderr
        assert copy.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.glob("*copy*")] == ["copy.sqlite"]
        # The browser keeps its cookie, as a thief would.
        cookies = dict(browser.http.cookies)
        browser.post("api/v1/session/sign-out", {"everywhere": True})
        browser.http.cookies.update(cookies)
        assert browser.session()["person"] is None
        revoke_token(board.state, ident)
        refused = command("restore", str(copy), *where, home=tmp_path)
        assert (refused.returncode, "another board" in refused.stderr) == (1, True)
        port = int(board.url.rstrip("/").rpartition(":")[2])
    done = command("restore", str(copy), *where, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "revoke it once more" in done.stderr
    with running_board("--demo", "1", "--anonymous", "counts", log=tmp_path / "log", port=port):
        database = open_database(tmp_path / "state")
        with database.read() as connection:
            found = connection.exec_driver_sql("SELECT id FROM person_tokens").scalars().all()
        database.close()
        assert ident in found
        assert browser.session()["person"] == "ana"
    (kept,) = (tmp_path / "state").glob("gpuboard.sqlite.before-*")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_copy_is_put_back_on_a_machine_that_has_nothing_yet(tmp_path: Path) -> None:
    """And so the board moves."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        make_token(board.state, "ana", "read")
        where = ("--state-dir", str(board.state))
        assert command("backup", str(tmp_path / "copy"), *where, home=tmp_path).returncode == 0
    done = command("restore", str(tmp_path / "copy"), "--state-dir", str(tmp_path / "new"), home=tmp_path)
    assert (done.returncode, "there was nothing before" in done.stdout) == (0, True), done.stderr
    listed = command("token", "list", "--state-dir", str(tmp_path / "new"), home=tmp_path)
    assert "ana" in listed.stdout


@pytest.mark.parametrize("harm", ["other", "cut", "empty"])
def test_a_copy_is_put_back_over_a_database_that_is_damaged(tmp_path: Path, harm: str) -> None:
    """That is when it is needed; what is left of the file is set aside with its journal."""
    database = open_database(tmp_path / "state")
    database.backup(tmp_path / "copy")
    database.close()
    path = tmp_path / "state" / "gpuboard.sqlite"
    whole = path.read_bytes()
    left = {"other": b"\x07" * 20_000, "cut": whole[: len(whole) // 2], "empty": b""}[harm]
    path.write_bytes(left)
    path.with_name("gpuboard.sqlite-wal").write_bytes(b"journal")
    done = command("restore", str(tmp_path / "copy"), "--state-dir", str(path.parent), home=tmp_path)
    assert done.returncode == 0, done.stderr
    (aside,) = path.parent.glob("gpuboard.sqlite.damaged-*Z")
    assert f"was damaged, and is set aside as {aside}" in done.stdout
    assert aside.read_bytes() == left
    assert Path(f"{aside}-wal").read_bytes() == b"journal"
    restored = open_database(path.parent)
    assert restored.find_damage() is None
    restored.close()


def test_a_copy_that_is_put_back_where_the_database_is_gone_tells_of_no_start(tmp_path: Path) -> None:
    """No board was started, and nothing is lost any more."""
    state = tmp_path / "state"
    database = SqliteDatabase(state / FILE_NAME)
    database.open(as_board=True)
    database.backup(tmp_path / "copy")
    database.close()
    for path in state.glob("gpuboard.sqlite*"):
        path.unlink()
    done = command("restore", str(tmp_path / "copy"), "--state-dir", str(state), home=tmp_path)
    assert (done.returncode, "there was nothing before" in done.stdout) == (0, True), done.stderr
    assert "was gone" not in done.stderr
    assert not (state / "gpuboard.sqlite.lost").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_root_puts_back_belongs_to_the_user_of_the_board(tmp_path: Path) -> None:
    """The board could open neither its lock nor its database."""
    state = tmp_path / "state"
    open_database(tmp_path / "source").backup(tmp_path / "copy")
    state.mkdir()
    os.chown(state, 1234, 1234)
    where = ("restore", str(tmp_path / "copy"), "--state-dir", str(state))
    for _ in range(2):
        done = command(*where, home=tmp_path)
        assert done.returncode == 0, done.stderr
    found = {path.name.partition("before")[0]: path.stat() for path in state.iterdir()}
    assert {"board.lock", "gpuboard.sqlite", "gpuboard.sqlite."} <= found.keys()
    assert {(one.st_uid, one.st_gid, one.st_mode & 0o777) for one in found.values()} == {(1234, 1234, 0o600)}


@pytest.mark.parametrize("content", [b"", b"something else" * 100, b"SQLite format 3\x00" + b"\x00" * 4096])
def test_what_is_no_copy_is_not_put_back(tmp_path: Path, content: bytes) -> None:
    """What is there stays as it is."""
    open_database(tmp_path / "state").close()
    (tmp_path / "copy").write_bytes(content)
    where = ("--state-dir", str(tmp_path / "state"))
    done = command("restore", str(tmp_path / "copy"), *where, home=tmp_path)
    assert (done.returncode, "no copy of a board's database" in done.stderr) == (1, True), done.stderr
    assert list((tmp_path / "state").glob("*.before-*")) == []
    missing = command("restore", str(tmp_path / "absent"), *where, home=tmp_path)
    assert (missing.returncode, "is no file" in missing.stderr) == (1, True)


def test_on_postgresql_both_say_how(tmp_path: Path, postgres: RealPostgres) -> None:
    """Its own programs know best, and have to be told where the server is: options included."""
    config, url = tmp_path / "gpuboard.toml", postgres.url(postgres.new_database())
    assert "?" in url
    config.write_text(f'[storage]\nurl = "{url}"\n')
    where = ("--config", str(config))
    with running_board("--demo", "1", *where, log=tmp_path / "log"):
        done = command("backup", str(tmp_path / "copy"), *where, home=tmp_path)
        assert (done.returncode, "pg_dump --format=custom" in done.stderr) == (1, True)
        assert done.stderr.rstrip().endswith(shlex.quote(url))
    done = command("restore", str(tmp_path / "copy"), *where, home=tmp_path)
    assert (done.returncode, "pg_restore" in done.stderr) == (1, True)
    assert f"--dbname={shlex.quote(url)} " in done.stderr
