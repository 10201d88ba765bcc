"""Whom a certificate is for, told from the file alone."""

from pathlib import Path

import pytest

from gpuboard.outside.certificate_names import is_for
from tests.tls import Authority


@pytest.mark.parametrize(
    ("named", "host", "is_named"),
    [
        ("board.lab.example", "board.lab.example", True),
        ("Gpus.Lab.Example", "gpus.lab.example", True),
        ("*.lab.example", "board.lab.example", True),
        ("*.lab.example", "board.other.example", False),
        ("board.lab.example", "lab.example", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.10", False),
        ("::1", "::1", True),
        ("10.0.0.65", "10.0.0.97", False),
        ("A" * 60 + ".lab.example", "a" * 60 + ".lab.example", True),
        ("board.lab.example", "b" * 300, False),
    ],
)
def test_a_certificate_is_for_whom_it_names(tmp_path: Path, named: str, host: str, *, is_named: bool) -> None:
    """In whatever case, also by a star; an address is none but itself."""
    certificate, _ = Authority(tmp_path).certificate(named)
    assert is_for(str(certificate), host) == is_named


def test_what_is_no_certificate_is_for_nobody(tmp_path: Path) -> None:
    """Whoever asks has another name to tell."""
    (tmp_path / "other").write_text("something else")
    assert not is_for(str(tmp_path / "other"), "board.lab.example")
    assert not is_for(str(tmp_path / "absent"), "board.lab.example")
