"""Files with secrets: on mounts that hang, open to everybody, or the wrong one of two."""

import asyncio
import threading
from pathlib import Path

import pytest

from gpuboard.agent.certificate import ShownCertificate
from gpuboard.assembly.check_files import open_secrets
from gpuboard.model.errors import OutsideError, UsageError
from gpuboard.outside import secrets
from gpuboard.outside.files import follow
from gpuboard.outside.secrets import SecretFolder, secret_in
from gpuboard.settings.board import read_settings


async def test_tokens_on_a_hung_mount_take_few_threads_and_name_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many nodes there are, and however often each is asked for; when it answers, all are read."""
    monkeypatch.setattr(secrets, "PATIENCE_SECONDS", 0.1)
    answers, begun = threading.Event(), []

    def hang(path: Path, *, private: bool) -> str:
        assert private
        begun.append(path)
        answers.wait()
        return path.name

    monkeypatch.setattr(secrets, "read_secret", hang)
    folder = SecretFolder(str(tmp_path))
    for _ in range(2):
        asked = [folder.secret_of(f"n{number}").value() for number in range(30)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(one) for one in outcomes] == [
            f"{tmp_path / f'n{number}'} cannot be read: its mount hangs" for number in range(30)
        ]
    assert len(begun) == secrets.READERS_AT_ONCE
    answers.set()
    monkeypatch.setattr(secrets, "PATIENCE_SECONDS", 20.0)
    assert await asyncio.gather(*[folder.secret_of(f"n{number}").value() for number in range(30)]) == [
        f"n{number}" for number in range(30)
    ]


async def test_a_followed_file_that_hangs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which mount it is, people must know."""
    monkeypatch.setattr("gpuboard.outside.files.HUNG_SECONDS", 0.05)
    answers = threading.Event()
    outcome = await anext(follow(answers.wait, what="/nfs/hosts"))
    answers.set()
    assert isinstance(outcome, OutsideError)
    assert outcome.text == "/nfs/hosts does not answer: its mount hangs"


async def test_a_shared_token_that_everybody_can_read_is_used_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Set-ups of today go on; a private one is nothing to talk about."""
    for name, mode in (("open", 0o644), ("private", 0o640)):
        (tmp_path / name).write_text("secret\n")
        (tmp_path / name).chmod(mode)
        for _ in range(2):
            assert await secret_in(str(tmp_path / name)).value() == "secret"
    assert caplog.text.count("SECRET OPEN TO EVERYBODY HERE") == 1
    assert f"chmod o= {tmp_path / 'open'}" in caplog.text


def test_settings_are_checked_for_secrets_that_everybody_can_read(tmp_path: Path) -> None:
    """Those of pull, and those that Consul is asked with."""
    for name, mode in (("pull", 0o604), ("consul", 0o644), ("private", 0o600)):
        (tmp_path / name).write_text("secret\n")
        (tmp_path / name).chmod(mode)
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f"[[source]]\nkind='pull'\nhosts=['a']\ntoken_file='{tmp_path}/pull'\n"
        f"[[source]]\nkind='pull'\ntoken_file='{tmp_path}/private'\n"
        f"discover={{consul='http://localhost:8500', service='gpu', token_file='{tmp_path}/consul'}}\n"
    )
    said = open_secrets(read_settings(config))
    assert [str(tmp_path / name) in line for name, line in zip(("pull", "consul"), said, strict=True)] == [
        True,
        True,
    ]


def test_an_agent_names_the_file_that_it_cannot_read(tmp_path: Path) -> None:
    """OpenSSL does not say which of the two it was."""
    (tmp_path / "cert").write_text("x")
    with pytest.raises(UsageError, match=rf"^--tls-key {tmp_path}/key: No such file"):
        ShownCertificate(str(tmp_path / "cert"), str(tmp_path / "key"))
