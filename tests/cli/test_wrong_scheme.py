"""Commands that ask a board in the wrong way: what they say, and with which code they end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.cli import main
from gpuboard.wire.enrolment import make_token
from tests.board import RunningBoard, free_port, running_board
from tests.pushing import report_of, running_pusher, token_file, wait_until
from tests.tls import Authority


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningBoard, Path]]:
    """A board that speaks TLS, and the authority of its certificate."""
    folder = tmp_path_factory.mktemp("lab")
    authority = Authority(folder)
    certificate, key = authority.certificate("127.0.0.1")
    with running_board(
        "--demo", "1", "--tls-certificate", str(certificate), "--tls-key", str(key),
        log=folder / "log", ca_file=authority.ca_file,
    ) as board:  # fmt: skip
        yield board, authority.ca_file


def said_by(
    url: str, ca_file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, tuple[int, str]]:
    """What `agent enroll` and `status --board` end with and say."""
    monkeypatch.setenv("GPUBOARD_ENROLMENT_CODE", "CODE")
    trust = ["--ca-file", str(ca_file)]
    commands = {
        "enroll": ["agent", "enroll", url, "--token-file", str(folder / "token"), *trust],
        "status": ["status", "--board", url, *trust],
    }
    return {name: (main(words), capsys.readouterr().err) for name, words in commands.items()}


def test_http_to_a_board_with_tls_says_to_try_https(
    lab: tuple[RunningBoard, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody guesses that from a connection that is closed."""
    board, ca_file = lab
    said = said_by(board.url.replace("https:", "http:"), ca_file, tmp_path, monkeypatch, capsys)
    assert [(code, "write https://" in text) for code, text in said.values()] == [(3, True)] * 2, said


def test_an_agent_that_pushes_without_tls_to_a_board_with_it_says_so_once(
    lab: tuple[RunningBoard, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever way it tries."""
    token = token_file(tmp_path, make_token("gpu01", "w" * 43))
    with running_pusher(lab[0].url.replace("https:", "http:"), token) as pusher:
        pusher.offer(report_of("gpu01"))
        wait_until(lambda: pusher._failed._failures > 2)
        assert "write https://" in (pusher.trouble or "")
    assert caplog.text.count("push failed") == 1


def test_https_to_a_board_without_tls_says_to_try_http(
    lab: tuple[RunningBoard, Path],
    push_board: RunningBoard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In words, not in OpenSSL's."""
    said = said_by(push_board.url.replace("http:", "https:"), lab[1], tmp_path, monkeypatch, capsys)
    assert [(code, "write http://" in text) for code, text in said.values()] == [(3, True)] * 2, said


def test_a_certificate_for_another_name_says_which_names_are_in_it(
    lab: tuple[RunningBoard, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The authority is right, so nobody is told to name it."""
    board, ca_file = lab
    said = said_by(board.url.replace("127.0.0.1", "localhost"), ca_file, tmp_path, monkeypatch, capsys)
    words = "use a name that is in the certificate: 127.0.0.1"
    assert [(code, words in text, "--ca-file" in text) for code, text in said.values()] == [
        (3, True, False)
    ] * 2, said


def test_to_enroll_at_a_board_that_is_not_there_ends_with_3(
    lab: tuple[RunningBoard, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A script may try again; nobody has said no."""
    said = said_by(f"http://127.0.0.1:{free_port()}", lab[1], tmp_path, monkeypatch, capsys)
    assert [code for code, _ in said.values()] == [3, 3], said
