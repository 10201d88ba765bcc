"""What is booked in a demo that keeps nothing: one of everything that people will meet. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gpuboard.bookings.use import Use
from gpuboard.model.booking import Booking
from gpuboard.model.verdict import WHOLE_NODE, GpuPlace
from gpuboard.probes.simulated import simulate
from gpuboard.sources.simulated import SILENT_NODE

MINUTE: Final = 60.0
HOUR: Final = 3600.0
# Among so many nodes there is everything.
MOST_NODES: Final = 50


class Invented(Struct, frozen=True, kw_only=True):
    """A booking, and how it was used so far."""

    booking: Booking
    use: Use = Use()


def demo_bookings(
    nodes: Sequence[str], now: float, ahead: float, *, no_show_after: float, person: str
) -> list[Invented]:
    """As a lab would have them; where the nodes have too few GPUs for all, the first of these."""
    busy, free = _places(nodes, now + ahead)
    at = float(int(now))
    found = [
        *_running(busy[:1], at),
        *_trespassed(busy[-1:] if len(busy) > 1 else [], at),
        *_waiting(free, at, no_show_after, person),
    ]
    if len(nodes) > 1:
        found.append(_block(nodes[-1], at))
    return found


def _places(nodes: Sequence[str], moment: float) -> tuple[list[tuple[GpuPlace, str]], list[GpuPlace]]:
    """The GPUs that somebody is on, with who, and those that nobody is on."""
    busy: list[tuple[GpuPlace, str]] = []
    free: list[GpuPlace] = []
    for node in nodes[:MOST_NODES]:
        for gpu in (simulate(node, moment).gpus or ()) if node != SILENT_NODE else ():
            users = [process.user for process in gpu.processes or () if process.user]
            if users:
                busy.append(((node, gpu.index), users[0]))
            elif gpu.processes == ():
                free.append((node, gpu.index))
    return busy, free


def _running(busy: Sequence[tuple[GpuPlace, str]], now: float) -> Iterator[Invented]:
    """Somebody computes on what they have booked."""
    for place, user in busy:
        booking = _booking("running", user, place, (now - HOUR, now + 3 * HOUR), "paper deadline", now=now)
        yield Invented(booking=booking, use=Use(used_seconds=HOUR, came_at=booking.start))


def _trespassed(busy: Sequence[tuple[GpuPlace, str]], now: float) -> Iterator[Invented]:
    """Somebody else computes on what is booked."""
    for place, user in busy:
        who = "garcia" if user != "garcia" else "weber"
        booking = _booking(
            "trespass", who, place, (now - 20 * MINUTE, now + 2 * HOUR), "ablation study", now=now
        )
        yield Invented(booking=booking, use=Use(others_seconds=20 * MINUTE))


def _waiting(free: Sequence[GpuPlace], now: float, no_show_after: float, person: str) -> Iterator[Invented]:
    """Nobody is on it: its booker has not come; has just booked it; or will come."""
    spans = {
        "no-show": ("dupont", now - no_show_after - 10 * MINUTE, now + 20 * HOUR),
        "running-2": ("wang", now - 2 * MINUTE, now + 3 * HOUR),
        "coming": (person, now + 2 * HOUR, now + 10 * HOUR),
    }
    for place, (ident, (who, start, end)) in zip(free[-len(spans) :], spans.items(), strict=False):
        away = max(0.0, now - start)
        booking = _booking(ident, who, place, (start, end), "fine-tuning", now=now)
        yield Invented(booking=booking, use=Use(unused_seconds=away, absent_seconds=away))


def _block(node: str, now: float) -> Invented:
    start = now - now % HOUR + 40 * HOUR
    span = (start, start + 2 * HOUR)
    return Invented(booking=_booking("block", "admin", (node, WHOLE_NODE), span, "new driver", now=now))


def _booking(
    ident: str, who: str, place: GpuPlace, span: tuple[float, float], comment: str, *, now: float
) -> Booking:
    start, end = span
    return Booking(
        id=f"demo-{ident}",
        kind="block" if ident == "block" else "booking",
        who=who,
        places=(place,),
        gpus=1,
        start=start,
        end=end,
        comment=comment,
        # What is to come was booked before now too.
        created_at=min(start, now) - HOUR,
    )
