"""A booking: somebody's claim on places for `[start, end)`, as a value."""

from typing import Final, Literal

from msgspec import Struct

from gpuboard.model.verdict import WHOLE_NODE, Claim, GpuPlace

# `block`: an admin keeps everybody away, as for maintenance.
BookingKind = Literal["booking", "block"]
# Why one ends sooner than was agreed.
Outcome = Literal["cancelled", "released", "displaced"]
BookingState = Literal["upcoming", "running", "ended", "cancelled", "released", "displaced"]

MOST_PLACES: Final = 256
LONGEST_COMMENT: Final = 500
# Why something is refused to whoever is neither its owner nor an admin.
NOT_YOURS: Final = "booking-not-yours"


class Booking(Struct, frozen=True, kw_only=True):
    """What somebody has booked."""

    id: str
    kind: BookingKind = "booking"
    who: str
    # A node's own name with a number, or with WHOLE_NODE.
    places: tuple[GpuPlace, ...]
    # How many GPUs that were when it was booked.
    gpus: int
    start: float
    end: float
    comment: str | None = None
    outcome: Outcome | None = None
    created_at: float
    # The node that vouched for whoever booked.
    through: str | None = None
    # Rises with every change.
    revision: int = 0
    # When it was last changed, as far as that is written down.
    changed_at: float | None = None

    @property
    def never_was(self) -> bool:
        """Whether it was cancelled or displaced before it began."""
        return self.end <= self.start

    def state_at(self, now: float) -> BookingState:
        """Its state at a moment."""
        if self.never_was or self.end <= now:
            return self.outcome or "ended"
        return "upcoming" if self.start > now else "running"

    def is_open_at(self, now: float) -> bool:
        """Whether it is yet to come or runs at a moment; what is over does not change any more."""
        return self.state_at(now) in ("upcoming", "running")

    def claim(self, *, is_no_show: bool = False) -> Claim:
        """What it is to the verdict."""
        return Claim(
            who=self.who,
            start=self.start,
            until=self.end,
            comment=self.comment,
            is_block=self.kind == "block",
            is_no_show=is_no_show,
        )


def is_on(one: GpuPlace, other: GpuPlace) -> bool:
    """Whether two places have a GPU in common."""
    return one[0] == other[0] and (one[1] == other[1] or WHOLE_NODE in (one[1], other[1]))


def place_words(places: tuple[GpuPlace, ...]) -> str:
    """Places as people write them: `gpu01:0,1`, or `gpu02` for a whole node."""
    by_node: dict[str, list[int]] = {}
    for node, number in places:
        by_node.setdefault(node, []).append(number)
    return " ".join(
        node if WHOLE_NODE in numbers else f"{node}:{','.join(map(str, sorted(numbers)))}"
        for node, numbers in by_node.items()
    )
