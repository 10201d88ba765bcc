"""A certificate that cannot be used is said before anything starts."""

from pathlib import Path

import pytest

from gpuboard.assembly.board import board_url
from gpuboard.assembly.tls import check_tls
from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import BoardTable
from tests.tls import Authority


def test_a_certificate_and_its_key_are_taken(tmp_path: Path) -> None:
    """And so is a board without either."""
    certificate, key = Authority(tmp_path).certificate("127.0.0.1")
    check_tls(BoardTable(tls_certificate=str(certificate), tls_key=str(key)))
    check_tls(BoardTable())


def test_one_without_the_other_is_refused() -> None:
    """Whichever is missing."""
    for settings in (BoardTable(tls_certificate="a"), BoardTable(tls_key="a")):
        with pytest.raises(SettingsError, match="needs both"):
            check_tls(settings)


def test_a_key_of_another_pair_or_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the setting that it came from."""
    certificate, key = Authority(tmp_path).certificate("127.0.0.1")
    _, other = Authority(tmp_path, "other").certificate("127.0.0.2")
    for wrong, words in (
        (other, "do not fit"),
        (tmp_path / "absent", "No such file"),
        (certificate, "do not fit"),
    ):
        with pytest.raises(SettingsError, match=words):
            check_tls(BoardTable(tls_certificate=str(certificate), tls_key=str(wrong)))
    assert key.exists()


def test_the_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And for whom; OpenSSL says neither."""
    certificate, key = Authority(tmp_path).certificate("127.0.0.1")

    def refuse(path: Path, *_words: object) -> object:
        if path == key:
            raise PermissionError(13, "Permission denied")
        return real(path, "rb")

    real = Path.open
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SettingsError, match=rf"tls_key {key}: Permission denied; .* as u"):
        check_tls(BoardTable(tls_certificate=str(certificate), tls_key=str(key)))


@pytest.mark.parametrize(
    ("named", "listen", "url"),
    [
        ("board.lab.example", "127.0.0.10:8442", "https://board.lab.example:8442/"),
        ("127.0.0.10", "127.0.0.10:8442", "https://127.0.0.10:8442/"),
        ("vision", "127.0.0.10:8442", "https://vision:8442/"),
        ("elsewhere.example", "127.0.0.10:8442", "https://127.0.0.10:8442/"),
        ("vision", "0.0.0.0:8442", "https://vision:8442/"),
    ],
)
def test_a_board_is_told_by_a_name_that_its_certificate_has(
    tmp_path: Path, named: str, listen: str, url: str
) -> None:
    """By any other the next call would fail."""
    certificate, _ = Authority(tmp_path).certificate(named)
    table = BoardTable(hostnames=("board.lab.example",), tls_certificate=str(certificate))
    assert board_url(table, "vision", listen) == url
