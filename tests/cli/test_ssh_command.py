"""`gpuboard ssh-command`: a line that can be put into authorized_keys as it is."""

from pathlib import Path

import pytest

from gpuboard.cli import main
from gpuboard.sources.ssh import forced_command
from tests.parts import require
from tests.sources.ssh.server import make_key


def test_the_whole_line_for_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The options, then the key."""
    require("ssh-keygen")
    public = make_key(tmp_path / "key").with_suffix(".pub")
    assert main(["ssh-command", str(public)]) == 0
    assert capsys.readouterr().out == f"{forced_command()} {public.read_text()}"


def test_only_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    """For those who keep their keys elsewhere."""
    assert main(["ssh-command"]) == 0
    assert capsys.readouterr().out.startswith('restrict,command="sh -c ')


@pytest.mark.parametrize(
    "content", ["-----BEGIN OPENSSH PRIVATE KEY-----\n", "hello\n", "ssh-rsa A\nssh-rsa B\n"]
)
def test_what_is_no_public_key(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A private key above all is never printed."""
    path = tmp_path / "key"
    path.write_text(content)
    assert main(["ssh-command", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err


def test_a_key_that_is_not_there_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without numbers of errors."""
    path = tmp_path / "nope.pub"
    assert main(["ssh-command", str(path)]) == 2
    assert capsys.readouterr().err == f"gpuboard: {path} cannot be read: No such file or directory\n"
