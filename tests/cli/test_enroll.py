"""`gpuboard agent enroll`: the code comes by any way but the arguments, and the command ends."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from gpuboard.agent.node_token import read_token, write_token
from gpuboard.wire.enrolment import make_token, show_code
from tests.board import RunningBoard, free_port
from tests.cli.conftest import COMMAND
from tests.pushing import invite


def agent(*words: str, given: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run `gpuboard agent` with something on its stdin."""
    return subprocess.run(
        [*COMMAND, "agent", *words], env=os.environ | variables, input=given, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("way", ["stdin", "file", "environment"])
def test_a_code_is_taken_by_every_way_but_the_arguments(
    push_board: RunningBoard, tmp_path: Path, way: str
) -> None:
    """And the token lies in its file, for its owner only, when the command has ended."""
    node, token = f"enrolled-{way}", tmp_path / "new" / "token"
    code = show_code(invite(push_board.state, node))
    words = ["enroll", push_board.url, "--token-file", str(token)]
    (tmp_path / "code").write_text(f"{code}\n")
    done = {
        "stdin": lambda: agent(*words, given=f"{code}\n"),
        "file": lambda: agent(*words, "--code-file", str(tmp_path / "code")),
        "environment": lambda: agent(*words, GPUBOARD_ENROLMENT_CODE=code),
    }[way]()
    assert (done.returncode, node in done.stderr, done.stdout) == (0, True, ""), done.stderr
    assert (read_token(token).node, token.stat().st_mode & 0o777) == (node, 0o600)


def test_nobody_can_read_the_code_of_another_in_proc(push_board: RunningBoard, tmp_path: Path) -> None:
    """While the command waits for it, and afterwards."""
    words = [*COMMAND, "agent", "enroll", push_board.url, "--token-file", str(tmp_path / "token")]
    code = show_code(invite(push_board.state, "enrolled-secretly"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        process.stdin.write(f"{code}\n")
        process.stdin.close()
        process.stdin = None
        process.communicate(timeout=60)
    assert (process.returncode, code.encode() in arguments) == (0, False)


@pytest.mark.parametrize(("given", "code", "says"), [("", 2, "there is no code"), ("WRONG\n", 4, "unknown")])
def test_without_a_good_code_nothing_is_written(
    push_board: RunningBoard, tmp_path: Path, given: str, code: int, says: str
) -> None:
    """And the exit code says why."""
    done = agent("enroll", push_board.url, "--token-file", str(tmp_path / "token"), given=given)
    assert (done.returncode, says in done.stderr, list(tmp_path.iterdir())) == (code, True, []), done.stderr


def test_a_code_among_the_arguments_is_refused_with_the_way_to_go(tmp_path: Path) -> None:
    """Everybody on the machine could have read it."""
    words = ["--push", "http://127.0.0.1:1/", "--token-file", str(tmp_path / "token"), "--enroll", "CODE"]
    done = agent(*words)
    assert (done.returncode, "gpuboard agent enroll http://127.0.0.1:1/" in done.stderr) == (2, True)


def test_a_left_over_code_does_not_stop_a_node_that_has_its_token(tmp_path: Path) -> None:
    """An old unit goes on, and says what to remove."""
    token = tmp_path / "token"
    write_token(token, make_token("gpu01", "x" * 43))
    url = f"http://127.0.0.1:{free_port()}/"
    words = ["--push", url, "--token-file", str(token), "--enroll", "CODE", "--probe", "simulated"]
    with subprocess.Popen([*COMMAND, "agent", *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        ends = time.monotonic() + 60
        while "push failed" not in said and time.monotonic() < ends:
            said += process.stderr.readline()
        process.terminate()
    assert ("--enroll is left out" in said, process.returncode) == (True, 0)


@pytest.mark.parametrize(("value", "is_allowed"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_a_variable_allows_tokens_in_clear(tmp_path: Path, value: str, *, is_allowed: bool) -> None:
    """For units, which have no flags of their own; loudly, and never by accident."""
    words = ["enroll", "http://board.invalid:8042/", "--token-file", str(tmp_path / "token")]
    done = agent(*words, given="CODE\n", GPUBOARD_ALLOW_PLAINTEXT=value)
    assert ("travel in clear" in done.stderr) == (not is_allowed), done.stderr
