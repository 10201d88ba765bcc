"""Why something cannot be booked: a code and values for pages, and words. Pure."""

import math
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Final

from gpuboard.model.booking import NOT_YOURS, Booking, place_words
from gpuboard.model.errors import BookingRefused
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import GpuPlace, Reason

CONFLICT: Final = "booking-conflict"
IN_USE: Final = "booking-in-use"
NOT_ENOUGH: Final = "booking-not-enough"
# Those of policies; whoever is refused by one of them is not allowed it.
LONGEST: Final = "booking-longest"
AHEAD: Final = "booking-ahead"
AT_ONCE: Final = "booking-gpus-at-once"
HOURS: Final = "booking-hours-per-week"
POLICIES: Final = frozenset({LONGEST, AHEAD, AT_ONCE, HOURS})
OUTDATED: Final = "booking-outdated"
NO_PLACE: Final = "booking-no-such-place"


def refuse(code: str, text: str, **values: object) -> BookingRefused:
    """A refusal, to be raised."""
    return BookingRefused(Reason(code=code, text=text, values=values))


def refuse_naming(who: str, code: str, words: Callable[[str], str], **values: object) -> BookingRefused:
    """A refusal that says whose something is, and the same for whoever sees no names."""
    # Worded twice: a name may be any part of a sentence, also that of a node.
    return BookingRefused(
        Reason(code=code, text=words(who), values={**values, "who": who}),
        unnamed=Reason(code=code, text=words("somebody"), values={**values, "who": None}),
    )


def not_yours(who: str) -> BookingRefused:
    """It is somebody else's."""
    return refuse_naming(who, NOT_YOURS, lambda who: f"this is booked by {who}; ask, or ask an admin")


def outdated(now: Booking, zone: tzinfo | None) -> BookingRefused:
    """It has changed since whoever changes it has seen it: nobody undoes what they do not know of."""
    span = f"{clock_words(now.start, zone)} - {clock_words(now.end, zone)}"
    return refuse(OUTDATED, f"this booking has changed meanwhile: it is {span}", start=now.start, end=now.end)


def clock_words(at: float | None, zone: tzinfo | None) -> str:
    """A moment for people, with its zone."""
    if at is None:
        return "without end"
    return datetime.fromtimestamp(at, zone or datetime.now().astimezone().tzinfo).strftime(
        "%Y-%m-%d %H:%M %Z"
    )


def conflict(
    place: GpuPlace,
    who: str,
    until: float | None,
    *,
    kind: str,
    gap: float | None,
    asked_for: str,
    zone: tzinfo | None,
    is_vague: bool = False,
) -> BookingRefused:
    """Somebody has it already; also for whom it was asked, who may be the same under another name.

    Of what is vague nobody can tell whether it is this GPU or another one of its node.
    """
    verb = "blocked" if kind == "block" else "booked"
    verb = f"may be {verb}" if is_vague else f"is {verb}"
    end = "without end" if until is None else f"until {clock_words(until, zone)}"
    doubt = " (not verified)" if kind == "comments-json" else ""
    after = "" if gap is None else f"; as long as you want it, it is free from {clock_words(gap, zone)}"
    return refuse_naming(
        who,
        CONFLICT,
        lambda who: f"{place_words((place,))} {verb} by {who}{doubt} {end}{after}",
        node=place[0],
        gpu=None if place[1] < 0 else place[1],
        until=until,
        kind=kind,
        gap_start=gap,
        asked_for=asked_for,
    )


def in_use(place: GpuPlace, people: tuple[str, ...], *, seconds: float) -> BookingRefused:
    """Somebody else computes there now; what begins after so long is later."""
    later = format_duration(seconds)
    return refuse_naming(
        ", ".join(people),
        IN_USE,
        lambda who: f"{who} is on {place_words((place,))} now; ask, or book it for {later} from now or later",
        node=place[0],
        gpu=place[1],
    )


def of_group(group: str | None) -> str:
    """Where a policy stands."""
    return "[bookings]" if group is None else f"[bookings.groups.{group}]"


def hours_words(hours: float, to_whole: Callable[[float], int] = round) -> str:
    """Hours for people, in hundredths where there are any; rounded up, what is too much is said to be so."""
    return f"{to_whole(hours * 100) / 100:.2f}".rstrip("0").rstrip(".")


def _durations(limit: float, asked: float) -> tuple[str, str]:
    """Two durations as people write them; to the second where both would read the same."""
    words = format_duration(limit), format_duration(asked)
    return words if words[0] != words[1] else (_exact(limit), _exact(math.ceil(asked)))


def _exact(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (rest, "s"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def over_limit(
    code: str, policy: str, group: str | None, *, limit: float, asked: float, left: float
) -> BookingRefused:
    """A policy forbids it; it is named."""
    most, wanted = _durations(limit, asked)
    words = {
        LONGEST: f"a booking may last {most} at most, this would be {wanted}",
        AHEAD: f"a booking may begin {most} from now at the latest, this would be in {wanted}",
        AT_ONCE: f"you may have {limit:g} GPUs at once, this would make {asked:g}",
        HOURS: f"you may book {hours_words(limit)} GPU-hours a week, this would make "
        f"{hours_words(asked, math.ceil)}; {hours_words(left, math.floor)} are left in that week",
    }[code]
    text = f"{words} (policy {of_group(group)} {policy})"
    return refuse(code, text, policy=policy, group=group, limit=limit, asked=asked, left=left)
