"""Limits on how often somebody may try or send."""

import hypothesis.strategies as st
from hypothesis import given

from gpuboard.web.throttle import MAX_REMEMBERED, FailureLimit, Pace


@given(st.lists(st.floats(0, 0.2), min_size=100, max_size=200))
def test_whoever_waits_as_told_never_exceeds_the_rate(pauses: list[float]) -> None:
    """However it spreads its messages: the burst at once, then the steady rate."""
    now = start = 1000.0
    pace = Pace(per_second=10, burst=5, now=now)
    for pause in pauses:
        now += pause
        now += pace.delay(now)
    assert len(pauses) <= 5 + 10 * (now - start) + 1


def test_a_calm_sender_never_waits() -> None:
    """An agent at its usual interval does not notice."""
    pace = Pace(per_second=20, burst=60, now=0.0)
    assert {pace.delay(second * 0.2) for second in range(1000)} == {0.0}


def test_one_address_is_blocked_and_freed_again() -> None:
    """After a while it may try again; others never had to wait."""
    limit = FailureLimit(failures=3, seconds=30)
    for _ in range(4):
        limit.note_failure("a", 0.0)
    states = [limit.is_blocked(who, at) for who, at in (("a", 1.0), ("b", 1.0), ("a", 11.0))]
    assert states == [True, False, False]


def test_many_addresses_do_not_fill_the_memory() -> None:
    """The oldest are forgotten."""
    limit = FailureLimit(failures=1, seconds=1000)
    for number in range(2 * MAX_REMEMBERED):
        for _ in range(3):
            limit.note_failure(str(number), 0.0)
    assert max(len(limit._paces), len(limit._blocked)) <= MAX_REMEMBERED
    assert not limit.is_blocked("0", 0.0)
    assert limit.is_blocked(str(2 * MAX_REMEMBERED - 1), 0.0)
