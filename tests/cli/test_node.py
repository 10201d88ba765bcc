"""`gpuboard node`: what the administrator sees and the exit codes."""

import json
from pathlib import Path

import pytest

from gpuboard.accounts.tokens import NodeTokens
from gpuboard.cli import main
from gpuboard.storage.database import open_database
from gpuboard.storage.tables import BOARD_URL


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


def test_enroll_prints_a_code_and_the_whole_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To be copied to the node as it stands, with the board's own address in it."""
    database = open_database(tmp_path)
    database.set_fact(BOARD_URL, "https://gpus.lab.example:8042/")
    database.close()
    assert node(tmp_path, "enroll", "GPU01") == 0
    told = capsys.readouterr()
    command = told.out.splitlines()[-1].split()
    assert command[:4] == ["gpuboard", "agent", "--push", "https://gpus.lab.example:8042/"]
    assert (redeem(tmp_path, command[-1]), told.err) == ("gpu01", "")


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("http://127.0.0.1:8042/", "listens on this machine only"),
        ("http://board.lab.example:8042/", "--allow-plaintext"),
    ],
)
def test_enroll_warns_when_the_command_cannot_work_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, advice: str
) -> None:
    """On stderr: the command itself stays clean."""
    assert node(tmp_path, "enroll", "gpu01", "--url", url) == 0
    told = capsys.readouterr()
    assert url in told.out
    assert advice in told.err


def test_list_tells_who_is_enrolled_and_who_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people, and for scripts."""
    node(tmp_path, "enroll", "gpu01")
    redeem(tmp_path, capsys.readouterr().out.split()[1])
    node(tmp_path, "enroll", "gpu02")
    capsys.readouterr()
    assert node(tmp_path, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert node(tmp_path, "list", "--json") == 0
    records = json.loads(capsys.readouterr().out)
    assert [line.split()[0] for line in lines] == ["NODE", "gpu01", "gpu02"]
    assert "never" in lines[1]
    assert "code waits" in lines[2]
    assert [(record["node"], record["tokens"]) for record in records] == [("gpu01", 1), ("gpu02", 0)]


def test_revoke_says_whether_there_was_anything_to_revoke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing mistake must not look like success."""
    node(tmp_path, "enroll", "gpu01")
    assert [node(tmp_path, "revoke", name) for name in ("gpu01", "gpu01")] == [0, 1]
    assert "gpuboard node list" in capsys.readouterr().err


def test_an_empty_list_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout."""
    assert node(tmp_path, "list") == 0
    told = capsys.readouterr()
    assert (told.out, "gpuboard node enroll NAME" in told.err) == ("", True)


@pytest.mark.parametrize("name", ["gpu 1", "../etc", "gpu~1"])
def test_a_name_that_cannot_be_a_nodes_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Exit code 2, with what is allowed."""
    assert node(tmp_path, "enroll", name) == 2
    assert "cannot name a node" in capsys.readouterr().err


def test_a_state_directory_that_cannot_be_used_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback."""
    (tmp_path / "file").touch()
    assert node(tmp_path / "file" / "state", "list") == 1
    assert "--state-dir" in capsys.readouterr().err
