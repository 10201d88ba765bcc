"""What was observed stands, and dropping what comes again leaves no gap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.history.covered import MAX_SPANS, Covered

HOLDS = 15.0
NOW = 1_800_000_000.0


def told(covered: Covered, *moments: float) -> list[bool]:
    """Which of these moments were new, one after the other."""
    return [covered.is_new("dgx", NOW + at, HOLDS, NOW + 5000) for at in moments]


@pytest.fixture
def covered() -> Covered:
    """Nothing is known yet."""
    return Covered()


def test_a_moment_between_two_that_were_taken_is_known(covered: Covered) -> None:
    """Nobody tells it anew, in this boot or in another."""
    assert told(covered, 0, 5, 10, 15, 20) == [True] * 5
    assert told(covered, 0, 3, 12, 19.9) == [False] * 4
    assert told(covered, 20.1) == [True]


def test_a_gap_is_filled_once_and_in_any_order(covered: Covered) -> None:
    """Afterwards it is known, too."""
    assert told(covered, 0, 5, 100, 105) == [True] * 4
    assert told(covered, 50, 60, 40, 30, 20, 70, 80, 90) == [True] * 8
    assert told(covered, 7, 33, 77, 99) == [False] * 4


def test_a_clock_that_was_set_back_takes_what_is_new(covered: Covered) -> None:
    """What it called a later hour is to come, and what was before is known."""
    told(covered, *range(0, 5000, 5))
    assert covered.is_new("dgx", NOW + 1000, HOLDS, NOW + 1000)
    assert covered.is_new("dgx", NOW + 1005, HOLDS, NOW + 1005)
    assert not covered.is_new("dgx", NOW + 500, HOLDS, NOW + 1006)


def test_after_a_restart_all_is_known_until_a_node_was_heard(covered: Covered) -> None:
    """Unless the clock was set back meanwhile: then until now."""
    covered.restore({"dgx": NOW + 100, "ahead": NOW + 10_000}, NOW + 200)
    assert told(covered, 50, 99, 150) == [False, False, True]
    assert covered.is_new("ahead", NOW + 201, HOLDS, NOW + 201)


def test_many_gaps_take_little_memory(covered: Covered) -> None:
    """A node with more of them may fill the newest."""
    assert all(told(covered, *range(0, 40_000, 20)))
    assert len(covered._spans["dgx"]) == MAX_SPANS
    assert told(covered, 10, 39_970) == [False, True]


@given(st.lists(st.integers(0, 600), max_size=60))
def test_whatever_is_dropped_leaves_no_gap(moments: list[int]) -> None:
    """It lies between two that were taken, and each of these holds until the next."""
    covered = Covered()
    taken = [at for at, is_new in zip(moments, told(covered, *moments), strict=True) if is_new]
    for at in set(moments) - set(taken):
        before = max(one for one in taken if one < at)
        after = min(one for one in taken if one > at)
        assert after - before <= HOLDS
