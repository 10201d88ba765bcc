"""gpuboard.toml: what is right is taken, what is wrong is named."""

from pathlib import Path

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import read_settings
from gpuboard.sources.registry import Surroundings, make_source

AROUND = Surroundings(now=lambda: 0.0, node="here")


def settings_file(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / "gpuboard.toml"
    path.write_text(text)
    return path


def test_everything_that_can_be_set_is_read(tmp_path: Path) -> None:
    """Units as people write them."""
    text = """
    [board]
    listen = "0.0.0.0:8042"
    base_path = "/gpus/"
    hostnames = ["gpus.lab.example"]
    [access]
    anonymous = "names"
    trusted_proxies = ["127.0.0.1"]
    [verdict]
    idle_after = "1h"
    memory_floor = "1G"
    [names]
    models = { "NVIDIA A100-SXM4-80GB" = "A100 80G" }
    people = { "achen2" = "chen" }
    [[source]]
    kind = "folder"
    path = "/nfs/status-gpu"
    pattern = "cml*"
    """
    settings = read_settings(settings_file(tmp_path, text))
    assert (settings.board.listen, settings.access.anonymous) == ("0.0.0.0:8042", "names")
    assert (settings.verdict.idle_after, settings.verdict.memory_floor) == (3600.0, 1024**3)
    assert [make_source(table, AROUND, where=where).kind for where, table in settings.sources] == ["folder"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[bord]", "'bord'"),
        ("[board]\nlissten = 1", "'lissten'"),
        ("[board]\nlisten = 8042", "listen"),
        ("[access]\nanonymous = 'all'", "anonymous"),
        ("[verdict]\nidle_after = 'soon'", "1h30m"),
        ("[source]\nkind = 'ssh'", "[[source]]"),
        ("x = = 1", "line 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    """File, table, key."""
    path = settings_file(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[source]]\nkind = 'carrier-pigeon'", "none of"),
        ("[[source]]\nkind = 'folder'", "path"),
        ("[[source]]\nkind = 'folder'\npath = '/x'\ncolour = 1", "'colour'"),
        ("[[source]]\nkind = 'pull'", "hosts = [...] or discover"),
    ],
)
def test_a_wrong_source_is_named_with_its_number(tmp_path: Path, text: str, says: str) -> None:
    """There may be many."""
    settings = read_settings(settings_file(tmp_path, text))
    ((where, table),) = settings.sources
    with pytest.raises(SettingsError) as caught:
        make_source(table, AROUND, where=where)
    assert says in str(caught.value)
    assert "[[source]] 1" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With what the system said."""
    with pytest.raises(SettingsError, match="No such file"):
        read_settings(tmp_path / "nope.toml")
