"""Any GPUs that fit, for a span: what is said where there are not enough."""

from datetime import UTC
from typing import Any

import pytest

from gpuboard.bookings.book import MemoryBook
from gpuboard.bookings.choosing import EARLIEST_SECONDS, Offer, choose
from gpuboard.bookings.rules import SOON_SECONDS, Span
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish
from gpuboard.model.booking import Booking
from gpuboard.model.errors import BookingRefused
from gpuboard.model.report import NodeReport
from tests.booking_lab import gpu
from tests.clock import HandClock

HOUR = 3600.0
# A full minute of some day.
NOW = 1_800_000_000.0


def offer(*, busy: bool = False) -> Offer:
    """Two nodes with two GPUs each; of the second node's somebody may be on one."""
    fleet = Fleet(HandClock())
    tracker = ChangeTracker(fleet)
    user = "eve" if busy else None
    for name, gpus in (("a", (gpu(0), gpu(1))), ("b", (gpu(2, user=user), gpu(3)))):
        fleet.sink("push").report(name, NodeReport(node=name, interval_seconds=HOUR, gpus=gpus))
    tracker.tick()
    return Offer(nodes=list(tracker.nodes.values()), gpus=list(tracker.gpus.values()))


def booked(node: str, number: int, start: float, end: float) -> Booking:
    """Somebody has a GPU, so many hours from now."""
    return Booking(
        id=f"{node}{number}{start}", who="eve", places=((node, number),), gpus=1, start=NOW + start * HOUR,
        end=NOW + end * HOUR, created_at=NOW,
    )  # fmt: skip


def refused(wish: Wish, *bookings: Booking, hours: float = 1, offered: Offer | None = None) -> dict[str, Any]:
    """What whoever asks is told, in words and values."""
    span = Span(start=NOW, end=NOW + hours * HOUR)
    with pytest.raises(BookingRefused) as refusal:
        choose(
            MemoryBook(bookings), wish, span, offer=offered or offer(), facts={}, now=NOW, zone=UTC,
        )  # fmt: skip
    return {"text": refusal.value.reason.text, **refusal.value.reason.values}


TOGETHER = Wish(gpus=2, same_node=True)
ONE_EACH = (booked("a", 0, 0, 2), booked("b", 2, 0, 3))


def test_how_many_there_are_on_one_node_is_said_where_one_was_wanted() -> None:
    """Not how many there are on all: those were enough."""
    said = refused(TOGETHER, *ONE_EACH)
    assert (said["on_one_node"], said["free"], said["gap_start"]) == (1, 2, NOW + 2 * HOUR)
    assert said["text"].startswith(
        "2 wanted on one node, but of 4 GPUs that fit at most 1 on one node can be had then; "
        "as many can be had from "
    )


def test_from_when_on_there_are_enough_is_from_when_on_they_are_for_so_long() -> None:
    """A gap that is too short is none."""
    assert refused(TOGETHER, *ONE_EACH, booked("a", 1, 2.5, 9))["gap_start"] == NOW + 3 * HOUR
    assert refused(Wish(gpus=3), *ONE_EACH)["gap_start"] == NOW + 2 * HOUR
    assert refused(Wish(gpus=4), *ONE_EACH, hours=2)["gap_start"] == NOW + 3 * HOUR


def test_where_there_are_never_enough_no_time_is_said() -> None:
    """Nor one that nobody would plan for."""
    assert refused(Wish(gpus=3, same_node=True))["gap_start"] is None
    said = refused(Wish(gpus=4), booked("a", 0, 0, EARLIEST_SECONDS / HOUR + 1))
    assert (said["gap_start"], said["text"]) == (None, "4 wanted, but of 4 GPUs that fit 3 can be had then")


def test_whoever_is_on_a_gpu_now_may_be_gone_when_it_is_asked_for_again() -> None:
    """The time that is said is still far enough ahead a few minutes later."""
    assert refused(Wish(gpus=4), offered=offer(busy=True))["gap_start"] >= NOW + 1.5 * SOON_SECONDS
