"""Words for the log that somebody outside can cause."""

import logging

import pytest

from gpuboard.outside.seldom import MAX_KINDS, SeldomLog


def test_each_kind_is_said_once_a_minute_with_how_often_it_came(caplog: pytest.LogCaptureFixture) -> None:
    """The first at once; the others are counted."""
    now = [0.0]
    log = SeldomLog(logging.getLogger("test"), clock=lambda: now[0])
    for second in range(121):
        now[0] = float(second)
        log.say("a", "refused: number=%d", second)
        if second == 5:
            log.say("b", "other")
    assert [record.getMessage() for record in caplog.records] == [
        "refused: number=0",
        "other",
        "refused: number=60 (and 59 more like it)",
        "refused: number=120 (and 59 more like it)",
    ]


def test_many_kinds_do_not_fill_the_memory() -> None:
    """The oldest are forgotten."""
    log = SeldomLog(logging.getLogger("test"))
    for number in range(2 * MAX_KINDS):
        log.say(number, "x")
    assert len(log._said) == MAX_KINDS
