"""Where the board keeps its things, by URL; a password is never in it, and never shown."""

import re
import sys
from pathlib import Path

import pytest

from gpuboard.assembly.check import check_settings
from gpuboard.assembly.check_files import missing_paths
from gpuboard.cli import main
from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import settings_of
from gpuboard.storage.registry import make_database


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://gpuboard@db.lab.example/gpuboard",
        "postgres://gpuboard@db.lab.example:5433/gpuboard?sslmode=verify-full",
        "postgresql://gpuboard@/gpuboard?host=/run/postgresql",
        "postgresql://gpuboard@[2001:db8::1]:5432/gpuboard",
        "postgresql:///?host=/run/postgresql&dbname=gpuboard",
    ],
)
def test_every_way_to_name_a_server_is_taken(url: str) -> None:
    """As libpq has it; what stands behind the name of the database is not shown."""
    settings = settings_of({"storage": {"url": url}}, where="x")
    check_settings(settings)
    database = make_database(settings.storage, "")
    assert database.name == url.partition("?")[0]
    database.close()


@pytest.mark.parametrize(
    ("said", "why"),
    [("sslmod=require", '"sslmod"'), ("sslmode=always", "sslmode=always: use one of disable, allow")],
)
def test_what_the_client_would_never_understand_is_a_mistake_in_the_settings(said: str, why: str) -> None:
    """The board would wait for its server for ever."""
    settings = settings_of({"storage": {"url": f"postgresql://gpuboard@db/gpuboard?{said}"}}, where="x")
    with pytest.raises(SettingsError, match=re.escape(why)):
        check_settings(settings)


def test_files_that_the_url_names_are_looked_for() -> None:
    """Those of the system's own are none."""
    url = "postgresql://gpuboard@db/gpuboard?sslrootcert={}"
    for named, missing in (
        ("/nope/ca.pem", ["[storage] url: sslrootcert = '/nope/ca.pem' is not there"]),
        ("system", []),
    ):
        settings = settings_of({"storage": {"url": url.format(named)}}, where="x")
        assert missing_paths(settings) == missing


def test_a_client_that_is_not_installed_is_a_mistake_in_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Starting the board again would not help: systemd must not try."""
    monkeypatch.setitem(sys.modules, "gpuboard.storage.postgresql", None)
    config = tmp_path / "gpuboard.toml"
    config.write_text('[storage]\nurl = "postgresql://gpuboard@db.lab.example/gpuboard"\n')
    assert main(["serve", "--config", str(config), "--check"]) == 2
    assert "pip install '.[postgresql]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////srv/board.sqlite", "/srv/board.sqlite"),
        ("sqlite:///~/b.sqlite", "~/b.sqlite"),
        ("sqlite:////a@b/x", "/a@b/x"),
    ],
)
def test_a_file_is_named_by_its_whole_path(url: str, path: str) -> None:
    """Or from the home of whom the board runs as."""
    settings = settings_of({"storage": {"url": url}}, where="x")
    assert make_database(settings.storage, "/elsewhere").name == str(Path(path).expanduser())


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://gpuboard:hunter2@db/gpuboard",
        "postgresql://gpuboard:hun/ter2@db/gpuboard",
        "postgresql://gpuboard:hunter2%40@db/gpuboard",
        "postgresql://gpuboard@db/gpuboard?password=hunter2",
        "postgresql://gpuboard@db/gpuboard?sslpassword=hunter2",
        "postgresql://gpuboard@db/gpuboard?sslmode=require&password=hunter2&x=1",
        "mysql://gpuboard:hunter2@db/gpuboard",
    ],
)
def test_a_password_in_the_url_is_refused_and_not_repeated(url: str) -> None:
    """Settings are read by many, and errors by more."""
    with pytest.raises(SettingsError) as refused:
        settings_of({"storage": {"url": url}}, where="gpuboard.toml")
    said = str(refused.value)
    assert ("[storage]: url = " in said, "hun" in said, "ter2" in said) == (True, False, False)


@pytest.mark.parametrize(
    "url",
    [
        "gpuboard.sqlite",
        "sqlite://srv/x",
        "sqlite:///relative",
        "postgresql://db",
        "mysql://db/x",
        "http://[",
        "pg",
    ],
)
def test_what_is_no_database_is_refused_with_how_to_write_one(url: str) -> None:
    """Both ways."""
    with pytest.raises(SettingsError, match=r"postgresql://USER@HOST/DATABASE.*sqlite:////"):
        settings_of({"storage": {"url": url}}, where="gpuboard.toml")


def test_a_file_for_the_password_that_is_not_there_is_said_by_the_check(tmp_path: Path) -> None:
    """Before the board starts without it."""
    storage = {"url": "postgresql://gpuboard@db/gpuboard", "password_file": str(tmp_path / "none")}
    settings = settings_of({"storage": storage}, where="x")
    assert missing_paths(settings) == [f"[storage] password_file = {str(tmp_path / 'none')!r} is not there"]
