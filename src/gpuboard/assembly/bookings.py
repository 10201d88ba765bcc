"""The bookings that the settings name, given to a fleet: all the time, or for one look."""

from collections.abc import Callable
from functools import partial

from gpuboard.bookings.comments import Claims, CommentsFile
from gpuboard.fleet.state import Fleet
from gpuboard.settings.board import BookingsTable
from gpuboard.settings.zones import zone_of

# Stands before what takes the claims, and hands them on.
Keep = Callable[[str, Callable[[Claims], None]], Callable[[Claims], None]]


def bookings_of(
    table: BookingsTable, fleet: Fleet, now: Callable[[], float], *, keep: Keep | None = None
) -> CommentsFile | None:
    """What reads the bookings and gives the fleet its claims, if the settings name any; it waits for them."""
    path = table.comments_json
    if path is None:
        return None
    fleet.await_claims("comments-json")
    set_claims: Callable[[Claims], None] = partial(fleet.set_claims, "comments-json")
    zone = zone_of(table.comments_json_timezone)
    return CommentsFile(path, keep(path, set_claims) if keep else set_claims, zone=zone, now=now)
