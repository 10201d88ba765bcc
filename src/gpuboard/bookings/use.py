"""What really happens on what is booked: seconds of use, no-shows, trespass and overruns. Pure."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.booking import Booking
from gpuboard.model.verdict import Claim
from gpuboard.verdict.holders import has_claim, is_same

EventKind = Literal["no_show", "released", "trespass", "overrun"]


class Sight(Struct, frozen=True, kw_only=True):
    """One booked GPU at one moment; None: it is not observed."""

    # The people on it.
    people: tuple[str, ...]
    # Processes of nobody in particular are on it: a container of the booker's often runs as root.
    has_nobody: bool = False
    # Who may be on it.
    claim: Claim | None = None


class Use(Struct, frozen=True, kw_only=True):
    """How a booking was used: GPU-seconds, and how long its booker was away."""

    used_seconds: float = 0.0
    others_seconds: float = 0.0
    unused_seconds: float = 0.0
    unobserved_seconds: float = 0.0
    # Observed, since its begin, before the booker came, and not everywhere in the hands of others.
    absent_seconds: float = 0.0
    came_at: float | None = None


def count(use: Use, who: str, sights: Sequence[Sight | None], *, now: float, seconds: float) -> Use:
    """The use after so many more seconds in which it looked like this."""
    used = others = unused = unobserved = 0
    for sight in sights:
        if sight is None:
            unobserved += 1
        elif any(is_same(name, who) for name in sight.people) or (sight.has_nobody and not sight.people):
            used += 1
        elif sight.people:
            others += 1
        else:
            unused += 1
    came_at = use.came_at if use.came_at is not None or not used else now
    # Where one of them cannot be seen, the booker may be just there; where others are on all of them, the
    # booker cannot come.
    is_absent = came_at is None and not unobserved and others < len(sights)
    return replace(
        use,
        used_seconds=use.used_seconds + used * seconds,
        others_seconds=use.others_seconds + others * seconds,
        unused_seconds=use.unused_seconds + unused * seconds,
        unobserved_seconds=use.unobserved_seconds + unobserved * seconds,
        absent_seconds=use.absent_seconds + (seconds if is_absent else 0.0),
        came_at=came_at,
    )


def is_no_show(use: Use, after: float) -> bool:
    """Whether the booker has not come for so long, as far as anybody could see."""
    return use.came_at is None and use.absent_seconds >= after


def strangers(booking: Booking, sights: Sequence[Sight | None]) -> list[str]:
    """The people on it whose booking it is not, and who have no other claim on it: as its flag says."""
    claimed = [sight for sight in sights if sight is not None and sight.claim is not None]
    names = {name for sight in claimed for name in sight.people if not has_claim(name, sight.claim)}
    return sorted(name for name in names if not is_same(name, booking.who))


def is_still_there(booking: Booking, sights: Sequence[Sight | None]) -> bool:
    """Whether the booker is on it, and not by another claim."""
    return any(
        is_same(name, booking.who) and not has_claim(name, sight.claim)
        for sight in sights
        if sight is not None
        for name in sight.people
    )
