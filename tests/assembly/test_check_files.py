"""What `serve --check` says of files: those that a board would wait for are named before it starts."""

import os
from pathlib import Path

import pytest

from gpuboard.assembly.check import unsent_secrets
from gpuboard.assembly.check_files import missing_paths, unreadable_paths
from gpuboard.settings.board import Settings, read_settings


def settings_of(place: Path, text: str) -> Settings:
    """Settings from a file that says this."""
    config = place / "gpuboard.toml"
    config.write_text(text)
    return read_settings(config)


def closed(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Let these be files that are not ours to read, also for root."""
    ask = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path not in paths and ask(path, mode))


def test_a_file_that_cannot_be_read_is_named_with_who_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a folder of tokens, which one; what can be read is not named."""
    tokens = tmp_path / "agents"
    tokens.mkdir()
    for file in (tmp_path / "consul.token", tmp_path / "ca.pem", tokens / "gpu01", tokens / "gpu02"):
        file.touch()
    settings = settings_of(
        tmp_path,
        f'[[source]]\nkind = "pull"\ntls = true\nca_file = "{tmp_path}/ca.pem"\ntoken_folder = "{tokens}"\n'
        '[source.discover]\nconsul = "http://127.0.0.1:8500"\nservice = "gpu-host"\n'
        f'token_file = "{tmp_path}/consul.token"\n',
    )
    assert unreadable_paths(settings) == []
    closed(monkeypatch, tmp_path / "consul.token", tokens / "gpu01")
    folder, token = unreadable_paths(settings)
    assert f"token_folder = '{tokens}': gpu01 cannot be read by user " in folder
    assert f"discover token_file = '{tmp_path}/consul.token' cannot be read by user " in token


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    """And a file that is a folder."""
    (tmp_path / "drops").touch()
    (tmp_path / "key").mkdir()
    settings = settings_of(
        tmp_path,
        f'[[source]]\nkind = "folder"\npath = "{tmp_path}/drops"\n'
        f'[[source]]\nkind = "ssh"\nhosts = ["gpu01"]\nkey_file = "{tmp_path}/key"\n',
    )
    drops, key = unreadable_paths(settings)
    assert drops.endswith(f"path = '{tmp_path}/drops' is no folder")
    assert key.endswith(f"key_file = '{tmp_path}/key' is a folder, and a file is expected")


def test_the_files_of_ssh_that_are_not_there_are_named(tmp_path: Path) -> None:
    """Without known_hosts no node is believed."""
    settings = settings_of(
        tmp_path,
        f'[[source]]\nkind = "ssh"\nknown_hosts = "{tmp_path}/known"\nssh_config = "{tmp_path}/config"\n'
        f'discover = {{ ssh_config = "{tmp_path}/list" }}\n',
    )
    said = " ".join(missing_paths(settings))
    for name in ("known", "config", "list"):
        assert f"'{tmp_path}/{name}' is not there" in said


def test_the_secret_of_a_provider_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Nobody could sign in with it."""
    settings = settings_of(
        tmp_path,
        f'[access.oidc]\nissuer = "https://login.lab.example"\nclient_id = "board"\n'
        f'client_secret_file = "{tmp_path}/secret"\n',
    )
    assert f"[access.oidc] client_secret_file = '{tmp_path}/secret' is not there" in missing_paths(settings)


@pytest.mark.parametrize(
    ("consul", "more", "is_said"),
    [
        ("http://consul.lab.example:8500", "", True),
        ("http://consul.lab.example:8500", "allow_plaintext = true", False),
        ("https://consul.lab.example:8501", "", False),
        ("http://127.0.0.1:8500", "", False),
        ("http://localhost:8500", "", False),
    ],
)
def test_a_token_that_would_never_be_sent_to_consul_is_named(
    tmp_path: Path, consul: str, more: str, *, is_said: bool
) -> None:
    """The board would have no list of nodes, and nobody had been told."""
    settings = settings_of(
        tmp_path,
        '[[source]]\nkind = "ssh"\n[source.discover]\nservice = "gpu-host"\n'
        f'consul = "{consul}"\ntoken_file = "{tmp_path}/token"\n{more}\n',
    )
    assert ("write https://" in " ".join(unsent_secrets(settings))) == is_said
