"""gpuboard.toml: what is right is taken, what is wrong is named."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from msgspec import Struct

from gpuboard.discovery.registry import DISCOVERIES
from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import Duration, Size, read_options
from gpuboard.settings.board import TABLES, read_settings
from gpuboard.sources.registry import SOURCES, Surroundings, make_source

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


def every_options() -> dict[str, type[Struct]]:
    """All tables that can stand in a gpuboard.toml."""
    sources = {f"source {kind}": found.options for kind, found in SOURCES.items()}
    discoveries = {f"discover {kind}": found.options for kind, found in DISCOVERIES.items()}
    return {**TABLES, **sources, **discoveries}


@pytest.mark.parametrize("table", every_options())
def test_what_comes_out_of_settings_is_plain(table: str) -> None:
    """Settings end up in reports and rows, and those who write them know only Python's own numbers."""
    kind = every_options()[table]
    ways: dict[Any, tuple[object, ...]] = {Duration: ("1h30m", 5400, 5400.0), Size: ("40G", 40 * 1024**3)}
    for field, hint in get_type_hints(kind).items():
        for way in {hint, *get_args(hint)} & set(ways):
            needed = {name: "http://127.0.0.1" for name in ("path", "consul", "service") if name != field}
            known = {name: value for name, value in needed.items() if name in kind.__struct_fields__}
            read = [read_options(kind, {**known, field: value}, where=table) for value in ways[way]]
            found = [getattr(options, field) for options in (*read, read_options(kind, known, where=table))]
            assert {type(value) for value in found} <= {int, float, type(None)}
            assert len({getattr(options, field) for options in read}) == 1


@pytest.mark.parametrize("value", ["true", "nan", "inf", "-1", "[]"])
def test_a_duration_is_no_other_value(tmp_path: Path, value: str) -> None:
    """Said with what to write instead."""
    with pytest.raises(SettingsError, match=r"tick = .* is no duration; write it like 5s"):
        read_settings(settings_file(tmp_path, f"[board]\ntick = {value}"))
