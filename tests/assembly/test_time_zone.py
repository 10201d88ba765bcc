"""The zone of the board's clock, as browsers call it."""

from pathlib import Path

import pytest

from gpuboard.assembly.time_zone import time_zone


@pytest.fixture(autouse=True)
def _without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine says."""
    monkeypatch.delenv("TZ", raising=False)


@pytest.mark.parametrize("kind", ["", "posix/"])
def test_the_link_names_the_zone(tmp_path: Path, kind: str) -> None:
    """As nearly every system has it."""
    zone = tmp_path / "usr" / "zoneinfo" / kind / "Europe" / "Berlin"
    zone.parent.mkdir(parents=True)
    zone.touch()
    link = tmp_path / "localtime"
    link.symlink_to(zone)
    assert time_zone(link=link, name=tmp_path / "none") == "Europe/Berlin"


def test_a_copy_is_named_by_the_file_beside_it(tmp_path: Path) -> None:
    """As in many containers; without one nobody can tell."""
    (tmp_path / "localtime").touch()
    (tmp_path / "timezone").write_text("Asia/Taipei\n")
    assert time_zone(link=tmp_path / "localtime", name=tmp_path / "timezone") == "Asia/Taipei"
    assert time_zone(link=tmp_path / "localtime", name=tmp_path / "none") is None


@pytest.mark.parametrize(
    ("given", "zone"),
    [(":Asia/Tokyo", "Asia/Tokyo"), ("UTC", "UTC"), ("CET-1CEST", None), ("/etc/zone", None)],
)
def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch, given: str, zone: str | None) -> None:
    """A rule or a path is no name that a browser knows."""
    monkeypatch.setenv("TZ", given)
    assert time_zone() == zone
