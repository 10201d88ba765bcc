"""Which board of this machine is meant."""

import argparse
from pathlib import Path

import pytest

from gpuboard.cli.which_board import add_asked, add_which, chosen_directory
from gpuboard.client.local import known_sockets


def test_the_settings_name_the_directory_unless_it_is_named_itself(tmp_path: Path) -> None:
    """For login and doctor as for all others."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[board]\nstate_dir = "{tmp_path}/state"\n')
    parser = argparse.ArgumentParser()
    add_which(parser)
    named = ("--config", str(config))
    words = [(), named, (*named, "--state-dir", "/other")]
    found = [chosen_directory(parser.parse_args(each)) for each in words]
    assert found == ["", f"{tmp_path}/state", "/other"]


def test_the_environment_names_the_board_unless_it_is_named_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """For usage, book and whoami as for free."""
    monkeypatch.setenv("GPUBOARD_BOARD", "http://one/")
    parser = argparse.ArgumentParser()
    add_asked(parser)
    found = [parser.parse_args(words).board for words in ([], ["--board", "http://two/"])]
    assert found == ["http://one/", "http://two/"]


def test_whoever_names_a_board_signs_in_at_its_socket(tmp_path: Path) -> None:
    """And not at another's, whatever the environment says; without a name the environment says which."""
    environment = {"GPUBOARD_SOCKET": "/elsewhere/board.sock"}
    assert next(known_sockets(str(tmp_path), environment)) == tmp_path / "board.sock"
    assert list(known_sockets("", environment)) == [Path("/elsewhere/board.sock")]
