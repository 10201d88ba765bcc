"""`gpuboard node`: what the administrator sees and the exit codes."""

import json
import os
import time
from pathlib import Path

import pytest

from gpuboard.accounts.connected import ConnectedNodes, Connection
from gpuboard.accounts.tokens import NodeTokens
from gpuboard.cli import main, service_board
from gpuboard.cli.enroll_hints import hint
from gpuboard.fleet.places import Places
from gpuboard.storage.named import NamedValues
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase
from gpuboard.storage.tables import BOARD_URL, NODE_PLACES
from tests.databases import open_database, open_url


def node(state: Path, *arguments: str) -> int:
    """Run the command on a state directory."""
    return main(["node", *arguments, "--state-dir", str(state)])


def redeem(state: Path, code: str) -> str:
    """What a node does with a code."""
    database = open_database(state)
    try:
        return NodeTokens(database).redeem(code)[0]
    finally:
        database.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state directory of a board that has run."""
    database = open_database(tmp_path / "state")
    database.set_fact(BOARD_URL, "https://gpus.lab.example:8042/")
    database.close()
    return tmp_path / "state"


def test_enroll_prints_a_code_and_the_whole_commands(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To be copied to the node as they stand, with the board's own address in them."""
    assert node(state, "enroll", "GPU01") == 0
    told = capsys.readouterr()
    commands = [line.split() for line in told.out.splitlines() if line.startswith("  gpuboard")]
    url = "https://gpus.lab.example:8042/"
    assert [words[:4] for words in commands] == [
        ["gpuboard", "agent", "enroll", url],
        ["gpuboard", "agent", "--push", url],
    ]
    code = told.out.split()[1]
    # Whoever reads the arguments of a process must not find it there.
    assert [code in words for words in commands] == [False, False]
    assert (redeem(state, code), "--ca-file" in told.err) == ("gpu01", True)


@pytest.mark.parametrize("action", [["enroll", "gpu01"], ["list"], ["revoke", "gpu01"], ["forget", "gpu01"]])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_directory_that_no_board_uses_is_said_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: list[str], *, is_there: bool
) -> None:
    """A code for a board that does not exist would help nobody."""
    if is_there:
        open_database(tmp_path / "state").close()
    assert node(tmp_path / "state", *action) == 1
    told = capsys.readouterr()
    assert (told.out, "no board uses" in told.err, "--config" in told.err) == ("", True, True)
    assert (tmp_path / "state").exists() == is_there


def test_a_directory_of_nobody_is_said_though_the_services_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was asked for is named; the other only as a hint."""
    (tmp_path / "service").mkdir()
    monkeypatch.setattr(service_board, "DIRECTORY", tmp_path / "service")
    monkeypatch.setattr(service_board, "SETTINGS", tmp_path / "gpuboard.toml")
    # Root may everything.
    monkeypatch.setattr(os, "access", lambda *_: False)
    (tmp_path / "gpuboard.toml").touch()
    assert node(tmp_path / "none", "list") == 1
    told = capsys.readouterr().err
    assert f"no board uses {tmp_path}/none" in told
    assert f"the settings of the service are {tmp_path}/gpuboard.toml" in told
    assert f"its directory is {tmp_path}/service" in told


@pytest.mark.parametrize("has_settings", [True, False])
def test_the_board_of_the_service_is_meant_where_no_other_is_named(
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    has_settings: bool,
) -> None:
    """As root, or as its user from a shell: systemd tells the directory to the service alone."""
    monkeypatch.setattr(service_board, "DIRECTORY", state)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    settings = tmp_path / "gpuboard.toml"
    settings.write_text("[board]\n")
    named = ["--config", str(settings)] if has_settings else []
    assert main(["node", "enroll", "gpu01", *named]) == 0
    assert redeem(state, capsys.readouterr().out.split()[1]) == "gpu01"


@pytest.fixture
def tried_before(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a board that was tried out by hand, before it became a service in `state`."""
    monkeypatch.setattr(service_board, "DIRECTORY", state)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    directory = tmp_path / "home" / "gpuboard"
    database = open_database(directory)
    database.set_fact(BOARD_URL, "http://127.0.0.1:8042/")
    database.close()
    return directory


@pytest.mark.usefixtures("tried_before")
def test_the_board_that_runs_is_meant_where_another_was_tried_before(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that is revoked where no board runs would go on."""
    board = SqliteDatabase(state / FILE_NAME)
    board.open(as_board=True)
    try:
        assert main(["node", "enroll", "gpu01"]) == 0
    finally:
        board.close()
    assert redeem(state, capsys.readouterr().out.split()[1]) == "gpu01"


def test_where_two_boards_have_been_and_none_runs_nothing_is_changed(
    state: Path, tried_before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by a command nor by putting a copy back: whoever means one of them can say so."""
    copy = tmp_path / "copy"
    assert main(["backup", str(copy), "--state-dir", str(state)]) == 0
    for words in (["node", "revoke", "gpu01"], ["restore", str(copy)]):
        assert main(words) == 1
        told = capsys.readouterr().err
        assert all(part in told for part in (str(state), str(tried_before), "--state-dir"))
    assert main(["restore", str(copy), "--state-dir", str(state)]) == 0


def test_the_service_keeps_its_things_where_its_settings_say(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lies in its directory may be from before it was moved: a node revoked there would go on."""
    now = tmp_path / "moved" / "gpuboard.sqlite"
    database = open_url(f"sqlite:///{now}")
    database.set_fact(BOARD_URL, "http://127.0.0.1:8042/")
    database.close()
    settings = tmp_path / "service.toml"
    settings.write_text(f'[storage]\nurl = "sqlite:///{now}"\n')
    monkeypatch.setattr(service_board, "DIRECTORY", state)
    monkeypatch.setattr(service_board, "SETTINGS", settings)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert main(["node", "enroll", "gpu01"]) == 0
    assert redeem(now.parent, capsys.readouterr().out.split()[1]) == "gpu01"


def test_a_copy_is_put_back_where_the_service_has_its_database(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it was made from there, without naming it; and not while the service runs."""
    monkeypatch.setattr(service_board, "DIRECTORY", state)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    copy = str(tmp_path / "copy")
    assert main(["backup", copy]) == 0
    board = SqliteDatabase(state / FILE_NAME)
    board.open(as_board=True)
    try:
        assert main(["restore", copy]) == 1
    finally:
        board.close()
    assert main(["restore", copy]) == 0
    assert f"{state}/{FILE_NAME} is as it was in the copy" in capsys.readouterr().out
    assert not (tmp_path / "home").exists()


def test_the_settings_of_the_board_name_its_directory(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that nobody has to know it by heart."""
    settings = tmp_path / "gpuboard.toml"
    settings.write_text(f'[board]\nstate_dir = "{state}"\n')
    assert main(["node", "enroll", "gpu01", "--config", str(settings)]) == 0
    assert redeem(state, capsys.readouterr().out.split()[1]) == "gpu01"


def test_list_says_who_is_connected_since_when_and_from_where(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As long as the board that wrote it down still runs."""
    node(state, "enroll", "gpu01")
    redeem(state, capsys.readouterr().out.split()[1])
    database = open_database(state)
    now = time.time()
    line = {"gpu01": Connection(since=now - 3 * 3600, address="192.0.2.7")}
    ConnectedNodes(database, clock=lambda: now).save(line)
    assert node(state, "list") == 0
    live = capsys.readouterr().out.splitlines()[1]
    node(state, "list", "--json")
    records = json.loads(capsys.readouterr().out)
    ConnectedNodes(database, clock=lambda: now - 600).save(line)
    database.close()
    node(state, "list")
    assert ("live since 3h" in live, "192.0.2.7" in live) == (True, True)
    assert records[0]["connected"]["address"] == "192.0.2.7"
    assert "never" in capsys.readouterr().out


def test_forget_is_asked_of_the_board_and_takes_the_token_too(state: Path) -> None:
    """The board does it when it looks; one of another source may be forgotten too."""
    node(state, "enroll", "gpu01")
    database = open_database(state)
    NamedValues(database, NODE_PLACES, Places).save({"over-ssh": Places()}, frozenset())
    assert [node(state, "forget", name) for name in ("gpu01", "over-ssh")] == [0, 0]
    tokens = NodeTokens(database)
    assert (sorted(tokens.forgotten()), tokens.records()) == (["gpu01", "over-ssh"], [])
    tokens.note_forgotten(["gpu01"])
    assert tokens.forgotten() == ["over-ssh"]
    database.close()


def test_forget_says_that_nobody_knows_the_name(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A typing mistake must not look like success; a source may list it all the same."""
    assert node(state, "forget", "nosuch") == 1
    told = capsys.readouterr()
    assert (told.out, "no node 'nosuch' is enrolled" in told.err) == ("", True)


PLAIN, HERE = "http://board.lab.example:9142/", "http://127.0.0.1:9142/"


@pytest.mark.parametrize(
    ("own", "given", "says", "says_not"),
    [
        (HERE, None, "--listen 0.0.0.0:9142 and --tls-certificate", "8042"),
        (HERE.replace("http", "https"), None, "--listen 0.0.0.0:9142, or", "--tls-certificate"),
        (HERE, HERE, "other nodes need one that leads here", "with --url"),
        (HERE, "https://gpus.lab.example/", "--ca-file", "listens on this machine"),
        (PLAIN, None, "the board does not speak TLS", "https"),
        (PLAIN, PLAIN, "--allow-plaintext", "speaks TLS"),
        (PLAIN, PLAIN.replace("http", "https"), "does not speak TLS at board.lab.example:9142", "--ca-file"),
        (PLAIN.replace("http", "https"), PLAIN, "the board speaks TLS", "--tls-certificate"),
        (PLAIN.replace("http", "https"), None, "--ca-file", "--tls-certificate"),
        (PLAIN, "gpus.lab.example", "--ca-file", "--allow-plaintext"),
    ],
)
def test_enroll_says_what_is_true_of_this_board(
    own: str, given: str | None, says: str, says_not: str
) -> None:
    """As it listens, and as the caller says that it is reached."""
    text = hint(given, own)
    assert (says in text, says_not in text) == (True, False), text


def test_enroll_gives_its_hint_apart_from_the_commands(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr: the command itself stays clean."""
    assert node(state, "enroll", "gpu01", "--url", PLAIN) == 0
    told = capsys.readouterr()
    assert (PLAIN in told.out, "the board speaks TLS" in told.err) == (True, True)


def test_list_tells_who_is_enrolled_and_who_waits(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people, and for scripts."""
    node(state, "enroll", "gpu01")
    redeem(state, capsys.readouterr().out.split()[1])
    node(state, "enroll", "gpu02")
    capsys.readouterr()
    assert node(state, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert node(state, "list", "--json") == 0
    records = json.loads(capsys.readouterr().out)
    assert [line.split()[0] for line in lines] == ["NODE", "gpu01", "gpu02"]
    assert "never" in lines[1]
    assert "code waits" in lines[2]
    assert [(record["node"], record["tokens"]) for record in records] == [("gpu01", 1), ("gpu02", 0)]


def test_revoke_says_whether_there_was_anything_to_revoke(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing mistake must not look like success."""
    node(state, "enroll", "gpu01")
    assert [node(state, "revoke", name) for name in ("gpu01", "gpu01")] == [0, 1]
    assert "gpuboard node list" in capsys.readouterr().err


def test_an_empty_list_says_how_to_begin(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout."""
    assert node(state, "list") == 0
    told = capsys.readouterr()
    assert (told.out, "gpuboard node enroll NAME" in told.err) == ("", True)


@pytest.mark.parametrize("name", ["gpu 1", "../etc", "gpu~1"])
def test_a_name_that_cannot_be_a_nodes_is_a_usage_error(
    state: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Exit code 2, with what is allowed."""
    assert node(state, "enroll", name) == 2
    assert "cannot name a node" in capsys.readouterr().err


@pytest.mark.parametrize("by_url", [True, False])
def test_another_board_on_the_database_is_told_with_what_to_set(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, by_url: bool
) -> None:
    """Where the settings name a database, a state_dir would change nothing."""
    config = tmp_path / "gpuboard.toml"
    named = f'[storage]\nurl = "sqlite:///{state}/{FILE_NAME}"\n' if by_url else ""
    config.write_text(f'[board]\nlisten = "127.0.0.1:9999"\nstate_dir = "{state}"\n{named}')
    main(["node", "list", "--config", str(config)])
    told = capsys.readouterr().err
    assert "it may be another board" in told
    assert ("[storage] url" in told, "a state_dir of its own" in told) == (by_url, not by_url)


def test_a_state_directory_that_cannot_be_used_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback."""
    (tmp_path / "file").touch()
    assert node(tmp_path / "file" / "state", "list") == 1
    assert "--state-dir" in capsys.readouterr().err


@pytest.mark.parametrize("action", [["enroll", "gpu01"], ["list"], ["forget", "gpu01"]])
@pytest.mark.parametrize("runs", [True, False])
def test_it_is_said_when_no_board_runs_there_now(
    state: Path, capsys: pytest.CaptureFixture[str], action: list[str], *, runs: bool
) -> None:
    """Enrolling before a start is fine; taking a dead board for a living one is not."""
    board = SqliteDatabase(state / FILE_NAME)
    board.open(as_board=runs)
    try:
        assert node(state, *action) == (1 if action[0] == "forget" else 0)
    finally:
        board.close()
    assert ("no board runs on" in capsys.readouterr().err) != runs


@pytest.mark.parametrize("action", [["enroll", "gpu01"], ["list"], ["revoke", "gpu01"], ["forget", "gpu01"]])
@pytest.mark.parametrize("by", ["replaced", "deleted"])
def test_a_database_that_is_another_than_the_boards_is_left_alone(
    state: Path, capsys: pytest.CaptureFixture[str], action: list[str], by: str
) -> None:
    """A token that is revoked in a copy still opens the board: nothing is done, and why is said."""
    assert node(state, "enroll", "gpu01") == 0
    redeem(state, capsys.readouterr().out.split()[1])
    board = SqliteDatabase(state / FILE_NAME)
    board.open(as_board=True)
    try:
        if by == "replaced":
            (state / "copy").write_bytes((state / FILE_NAME).read_bytes())
            (state / "copy").rename(state / FILE_NAME)
        else:
            (state / FILE_NAME).unlink()
        assert node(state, *action) == 1
    finally:
        board.close()
    told = capsys.readouterr()
    assert (told.out, "was deleted or replaced while the board runs" in told.err) == ("", True)


@pytest.mark.parametrize(("listen", "is_other"), [("0.0.0.0:8042", False), ("127.0.0.1:9000", True)])
def test_settings_of_another_board_are_noticed(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], listen: str, *, is_other: bool
) -> None:
    """Two settings files with one directory: the code would be that of the wrong board."""
    settings = tmp_path / "gpuboard.toml"
    settings.write_text(f'[board]\nstate_dir = "{state}"\nlisten = "{listen}"\n')
    assert main(["node", "list", "--config", str(settings)]) == 0
    assert ("it may be another board" in capsys.readouterr().err) == is_other
