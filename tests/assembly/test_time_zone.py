"""The zone of the board's clock, as browsers call it."""

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuboard.assembly.board import info_of
from gpuboard.assembly.bookings import bookings_of
from gpuboard.assembly.time_zone import board_zone, time_zone
from gpuboard.bookings.limits import week_of
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import BoardTable, BookingsTable, Settings, settings_of


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


def test_the_settings_come_before_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weeks begin on their Monday, and pages are told of their zone."""
    monkeypatch.setenv("TZ", "America/New_York")
    board = BoardTable(timezone="Asia/Tokyo")
    sunday_evening = datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp()
    start, _ = week_of(sunday_evening, board_zone(board))
    assert datetime.fromtimestamp(start, UTC) == datetime(2026, 11, 15, 15, tzinfo=UTC)
    assert info_of(Settings(board=board), "here", 0.0).time_zone == "Asia/Tokyo"
    assert info_of(Settings(), "here", 0.0).time_zone == "America/New_York"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("europe/berlin", "did you mean 'Europe/Berlin'?"),
        ("Europe", "write an IANA name"),
        ("../../etc/passwd", "write an IANA name"),
        ("CET-1CEST", "write an IANA name"),
    ],
)
def test_an_unknown_zone_is_refused_in_words(name: str, words: str) -> None:
    """A board would else count weeks by another clock than its admin thinks."""
    with pytest.raises(SettingsError) as caught:
        settings_of({"board": {"timezone": name}}, where="gpuboard.toml")
    assert "timezone" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(("zone", "hour"), [(None, 18), ("Europe/Berlin", 17)])
def test_dates_of_comments_json_are_utc_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str | None, hour: int
) -> None:
    """Whatever the machine's zone is, and the board's."""
    monkeypatch.setenv("TZ", "America/New_York")
    path = tmp_path / "comments.json"
    path.write_text('{"gpu1": [{"name": "ana", "date": "2099-12-01 18:00"}]}')
    table = BookingsTable(comments_json=str(path))
    if zone is not None:
        table = BookingsTable(comments_json=str(path), comments_json_timezone=zone)
    fleet = Fleet(SteadyClock())
    told: list[float] = []

    def keep(_: str, take: object) -> object:
        del take
        return lambda claims: told.extend(one.until or math.nan for one in claims.values())

    comments = bookings_of(table, fleet, fleet.clock.now, keep=keep)  # type: ignore[arg-type] # only listens
    assert comments is not None
    comments.read_once()
    assert told == [datetime(2099, 12, 1, hour, tzinfo=UTC).timestamp()]
