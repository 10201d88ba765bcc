"""When samples were taken and how often they come, as far as files tell."""

import pytest

from gpuboard.model.report import LONGEST_INTERVAL_SECONDS
from gpuboard.sources.folder.pace import FilePace, Mark, Newness, Track
from gpuboard.sources.formats.local_time import WEST_SECONDS


def places(*marks: Mark | None) -> list[Newness]:
    """Where each of these comes, one after the other."""
    track = Track()
    return [track.place(mark, written_at=1000.0 + number, age=0.0) for number, mark in enumerate(marks)]


def boot(name: str, number: float, wall: float) -> Mark:
    """A sample of one boot."""
    return Mark(name, number, wall)


def test_the_pace_is_the_usual_gap() -> None:
    """One outage changes nothing, and two gaps are needed to know any."""
    pace = FilePace()
    said = []
    for gap in (300, 301, 299, 5000, 300):
        pace.add(gap)
        said.append(pace.seconds())
    assert said == [0, 300, 300, 300, 300]


@pytest.mark.parametrize("gap", [3600, 86400])
def test_no_pace_is_longer_than_a_quarter_of_an_hour(gap: float) -> None:
    """A node that writes once a day would never be missed."""
    pace = FilePace()
    pace.add(gap)
    pace.add(gap)
    assert pace.seconds() == LONGEST_INTERVAL_SECONDS


def test_a_number_rises_within_a_boot() -> None:
    """The same is no news, and a lower one is never taken, however often it comes."""
    marks = [boot("b", number, 0) for number in (1, 2, 2, 1, 1.5, 1.7, 3)]
    assert places(*marks) == ["new", "new", "same", "older", "older", "older", "new"]


def test_a_reboot_is_new_and_an_earlier_boot_is_not() -> None:
    """Wherever its numbers begin; after an old one was put back the node is not locked out."""
    assert places(
        boot("one", 900, 100),
        boot("two", 5, 200),
        boot("one", 899, 99),
        boot("one", 899.5, 99.5),
        boot("two", 6, 201),
    ) == ["new", "new", "older", "older", "new"]


def test_a_clock_that_is_set_back_is_believed_when_it_goes_on() -> None:
    """Summer time ends, or a reboot forgets the date; an old file that was put back does not go on."""
    assert places(*(Mark("", number) for number in (7000, 3600, 3620, 3640))) == [
        "new",
        "older",
        "new",
        "new",
    ]
    assert places(boot("one", 9, 5000), boot("two", 1, 0), boot("two", 2, 10)) == ["new", "older", "new"]
    assert places(boot("one", 9, 5000), boot("old", 1, 0), boot("one", 10, 5010)) == ["new", "older", "new"]


def test_a_file_of_another_kind_in_between_makes_no_old_one_new() -> None:
    """It has no mark of its own."""
    assert places(boot("b", 5, 100), None, boot("b", 4, 90), boot("b", 6, 110)) == [
        "new",
        "new",
        "older",
        "new",
    ]


def test_at_the_first_look_the_older_of_both_times_counts() -> None:
    """Later the file's own time of writing does."""
    track = Track()
    track.place(boot("b", 1, 100.0), written_at=1000.0, age=0.0)
    assert track.sampled_at == 100.0
    track.place(boot("b", 2, 110.0), written_at=1010.0, age=3.0)
    assert track.sampled_at == 1007.0


def test_drops_of_an_old_boot_that_are_put_back_in_turn_are_as_old_as_they_say() -> None:
    """However many there are, of however many boots; the node itself is fresh again with its next."""
    track = Track()
    track.place(boot("now", 100, 5000.0), written_at=5000.0, age=0.0)
    old = [boot("old", 1, 100.0), boot("old", 2, 110.0), boot("old", 3, 120.0), boot("other", 1, 130.0)]
    said = []
    for number, mark in enumerate((*old, boot("other", 2, 140.0), boot("now", 101, 5060.0))):
        place = track.place(mark, written_at=5010.0 + 10 * number, age=0.0)
        said.append((place, track.sampled_at))
    assert said == [
        ("older", 5000.0),
        ("new", 110.0),
        ("new", 120.0),
        ("older", 120.0),
        ("new", 140.0),
        ("new", 5060.0),
    ]


def test_a_node_whose_clock_was_behind_after_its_reboot_is_fresh_when_it_is_right_again() -> None:
    """Until then nobody can tell it from an old boot."""
    track = Track()
    track.place(boot("one", 9, 5000.0), written_at=5000.0, age=0.0)
    said = []
    for number, wall in ((1, 0.0), (2, 10.0), (3, 5030.0), (4, 5040.0)):
        track.place(boot("two", number, wall), written_at=5000.0 + 10 * number, age=0.0)
        said.append(track.sampled_at)
    assert said == [5000.0, 10.0, 5030.0, 5040.0]


def test_a_clock_that_is_set_back_within_a_boot_is_nothing_to_doubt() -> None:
    """The numbers of a boot rise whatever its clock says."""
    track = Track()
    for number, wall in ((1, 5000.0), (2, 1400.0), (3, 1410.0)):
        track.place(boot("one", number, wall), written_at=5000.0 + 10 * number, age=0.0)
    assert track.sampled_at == 5030.0


def test_a_drop_may_follow_on_a_local_time_of_any_zone() -> None:
    """What may be twelve hours later than it reads is no reason to call a drop of now older."""
    now = 1_800_000_000.0
    local = Mark("", now, now + WEST_SECONDS)
    assert places(local, boot("b", 1, now + 2), boot("b", 2, now + 4)) == ["new", "new", "new"]
    assert places(local, boot("b", 1, now - 15 * 3600)) == ["new", "older"]
