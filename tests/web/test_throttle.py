"""Limits on how often somebody may try or send."""

import hypothesis.strategies as st
from hypothesis import given

from gpuboard.outside.pace import RateBucket
from gpuboard.web.limits import MAX_REMEMBERED, TLS_BURST, TLS_PER_SECOND
from gpuboard.web.throttle import AddressCount, FailureLimit, RateLimit


@given(st.lists(st.floats(0, 0.2), min_size=100, max_size=200))
def test_whoever_waits_as_told_never_exceeds_the_rate(pauses: list[float]) -> None:
    """However it spreads its messages: the burst at once, then the steady rate."""
    now = start = 1000.0
    pace = RateBucket(per_second=10, burst=5, now=now)
    for pause in pauses:
        now += pause
        now += pace.delay(now)
    assert len(pauses) <= 5 + 10 * (now - start) + 1


def test_a_calm_sender_never_waits() -> None:
    """An agent at its usual interval does not notice."""
    pace = RateBucket(per_second=20, burst=60, now=0.0)
    assert {pace.delay(second * 0.2) for second in range(1000)} == {0.0}


def test_one_address_is_blocked_and_freed_again() -> None:
    """After a while it may try again; others never had to wait."""
    limit = FailureLimit(failures=3, seconds=30)
    for _ in range(4):
        limit.note_failure("a", 0.0)
    states = [limit.is_blocked(who, at) for who, at in (("a", 1.0), ("b", 1.0), ("a", 11.0))]
    assert states == [True, False, False]


def test_the_agents_of_64_nodes_behind_one_address_agree_on_tls_as_often_as_they_need() -> None:
    """They post every two seconds, each on a new connection, and all come at once when the board is back."""
    limit = RateLimit(per_second=TLS_PER_SECOND, burst=TLS_BURST)
    moments = sorted(2.0 * round_ + node / 40 for round_ in range(300) for node in range(64))
    moments += [moments[-1]] * 256
    assert all(limit.admits("10.0.0.1", at) for at in moments)


def test_whoever_was_refused_for_long_is_welcome_a_moment_later() -> None:
    """What was refused does not count; who hurries gets the rate and no more."""
    limit = RateLimit(per_second=50, burst=500)
    admitted = sum(limit.admits("10.0.0.1", number / 1000) for number in range(60_000))
    assert 3400 <= admitted <= 3501
    assert limit.admits("10.0.0.1", 60.1)
    assert limit.admits("10.0.0.2", 60.0)


def test_many_addresses_do_not_fill_the_memory() -> None:
    """The oldest are forgotten."""
    limit = FailureLimit(failures=1, seconds=1000)
    for number in range(2 * MAX_REMEMBERED):
        for _ in range(3):
            limit.note_failure(str(number), 0.0)
    assert max(len(limit._paces), len(limit._blocked)) <= MAX_REMEMBERED
    assert not limit.is_blocked("0", 0.0)
    assert limit.is_blocked(str(2 * MAX_REMEMBERED - 1), 0.0)


def test_one_address_cannot_take_the_room_of_all() -> None:
    """Another is let in beside it, and it itself again when one of its own has left."""
    crowd = AddressCount(most=2)
    entered = [crowd.enter(address) for address in ("192.0.2.1",) * 3 + ("192.0.2.2",)]
    crowd.leave("192.0.2.1")
    assert (entered, crowd.enter("192.0.2.1")) == ([True, True, False, True], True)


def test_the_addresses_of_one_customer_count_as_one() -> None:
    """Whoever has IPv6 has more addresses than the board has room; and IPv4 may come dressed as IPv6."""
    crowd = AddressCount(most=1)
    first = [crowd.enter("2001:db8::1"), crowd.enter("192.0.2.1")]
    again = [crowd.enter("2001:db8::ffff:2"), crowd.enter("::ffff:192.0.2.1")]
    assert (first, again, crowd.enter("2001:db8:0:1::1")) == ([True] * 2, [False] * 2, True)


def test_those_who_are_not_counted_are_never_too_many() -> None:
    """This machine has as many pages as it likes."""
    crowd = AddressCount(most=1)
    assert all(crowd.enter(None) for _ in range(100))


def test_a_crowd_that_has_left_is_forgotten() -> None:
    """Otherwise every address that ever looked would stay in memory."""
    crowd = AddressCount()
    for number in range(100):
        crowd.enter(f"192.0.2.{number}")
        crowd.leave(f"192.0.2.{number}")
    assert not crowd._here


def test_failures_of_one_ipv6_customer_count_as_one() -> None:
    """Whoever has a network of them would otherwise guess from another address each time."""
    limit = FailureLimit(failures=3, seconds=30)
    for number in range(5):
        limit.note_failure(f"2001:db8::{number:x}", 0.0)
    assert (limit.is_blocked("2001:db8::ffff", 1.0), limit.is_blocked("2001:db8:0:1::1", 1.0)) == (
        True,
        False,
    )


def test_an_address_that_asks_too_fast_waits_and_no_other() -> None:
    """And what is not counted never waits."""
    limit = RateLimit(per_second=10, burst=5)
    hasty = [limit.delay("192.0.2.1", 0.0) for _ in range(7)]
    assert [wait > 0 for wait in hasty] == [False] * 5 + [True] * 2
    assert (limit.delay("192.0.2.2", 0.0), limit.delay(None, 0.0), limit.delay("192.0.2.1", 1.0)) == (0, 0, 0)
