"""What stays the same from one sample of a node to the next, so that it is not looked up GPU by GPU.

Only a shorter way to the same samples: whatever is in doubt goes the long one (`gathering.py`).
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from gpuboard.fleet.node import Seen
from gpuboard.history.figures import VERDICT_CODES
from gpuboard.history.samples import Names, codes_of, names_noted
from gpuboard.verdict import Holder

People = tuple[Holder, ...] | None

# So long at most after the sample that was judged.
FRESH_SECONDS: Final = 5.0
BOOKED: Final = VERDICT_CODES["booked"]

_people: Final = attrgetter("people")
_verdict: Final = attrgetter("verdict")


class Steady:
    """The GPUs of a node as long as it has these and no others, in the order in which it tells them."""

    __slots__ = ("_memories", "_seen", "claims", "codes", "gpus", "holders", "looked_at", "people", "told")

    def __init__(self, gpus: Names, told: Names, seen: Seen) -> None:
        # Under the names that they have on this board, and under those that their node says.
        self.gpus = gpus
        self.told = told
        self._seen = seen
        self._memories = [seen.memories[gpu] for gpu in gpus]
        # What the fleet thinks of each, and who is on it.
        self.codes = codes_of(map(_verdict, self._memories))
        self.people: list[People] = []
        # Who has claimed those that are booked and unused; empty where none is.
        self.claims = self._claims_now()
        # By which names these are written, since when they were looked at closely.
        self.holders: tuple[Names | None, ...] = ()
        self.looked_at = float("-inf")

    def goes_on(self, seen: Seen) -> bool:
        """Whether these are still the GPUs that the fleet shows, under the same names."""
        # Whenever they are not, what is remembered of them is another list.
        return seen.remembered is self._seen.remembered

    def is_fresh(self, seen: Seen, at: float) -> bool:
        """Whether what was thought of them last still holds at the moment of a sample."""
        return (
            seen is self._seen and seen.sampled_at is not None and 0 <= at - seen.sampled_at < FRESH_SECONDS
        )

    def hear(self, seen: Seen) -> bool:
        """Take in what the fleet thinks now; whether others are on the GPUs than at the last closer look."""
        if seen is self._seen:
            return False
        self._seen = seen
        self.codes = codes_of(map(_verdict, self._memories))
        before, self.claims = self.claims, self._claims_now()
        return self.people_now() != self.people or self.claims != before

    def noted(self, names: Iterable[Names | None]) -> list[Names | None]:
        """Who is noted of each, if these are on it."""
        if not self.claims:
            return list(names)
        found = zip(names, self._memories, self.claims, strict=True)
        return [names_noted(who, memory.verdict, claimant) for who, memory, claimant in found]

    def _claims_now(self) -> list[str | None]:
        # Nearly always none is booked: then nothing is looked at.
        if BOOKED not in self.codes:
            return []
        return [None if one.claim is None else one.claim.on_account_of for one in self._memories]

    def people_now(self) -> list[People]:
        """Who is on each."""
        return list(map(_people, self._memories))

    def look(self, people: list[People], holders: Iterable[Names | None], at: float) -> None:
        """Note a closer look."""
        self.people, self.holders, self.looked_at = people, tuple(holders), at
