"""GPU-hours: which kind of time each moment of a GPU was, and whose. Pure.

Every millisecond of a GPU is of one kind: used, idle, booked (and unused), free or broken, by its verdict;
and not observed where nothing is known. Used, idle and booked time is divided equally among the people on it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct, field

from gpuboard.history.records import Place
from gpuboard.model.verdict import VerdictWord

UsageKind = Literal["used", "idle", "booked", "free", "broken"]
# Their place here is their code in the file: a new one comes at the end.
USAGE_KINDS: Final[tuple[UsageKind, ...]] = ("used", "idle", "booked", "free", "broken")
# Those that are somebody's.
OWNED: Final[tuple[UsageKind, ...]] = USAGE_KINDS[:3]
UNKNOWN: Final = "unknown"
_KINDS: Final[dict[VerdictWord, UsageKind]] = {
    "busy": "used",
    "idle": "idle",
    "booked": "booked",
    "free": "free",
    "broken": "broken",
}


def kind_of(verdict: VerdictWord | None) -> UsageKind | None:
    """The kind of time that a verdict stands for; None: as if nothing had been observed."""
    return None if verdict is None else _KINDS.get(verdict)


def shares(milliseconds: int, people: Sequence[str]) -> dict[str, int]:
    """Time divided equally, the remainder to the first by name; of nobody known it is "unknown"."""
    names = sorted(set(people)) or [UNKNOWN]
    each, rest = divmod(milliseconds, len(names))
    return {name: each + (rest if name == names[0] else 0) for name in names}


class Times(Struct, kw_only=True):
    """Milliseconds by kind; all six together are the span."""

    span: int = 0
    used: int = 0
    idle: int = 0
    booked: int = 0
    free: int = 0
    broken: int = 0
    # The memory that was held while it was somebody's, in MiB times seconds; None: nothing is known of it.
    memory: int | None = None

    @property
    def unobserved(self) -> int:
        """What is left: nobody saw it, and it is nobody's."""
        return self.span - self.observed

    @property
    def observed(self) -> int:
        """What was seen."""
        return self.used + self.idle + self.booked + self.free + self.broken

    def add(self, other: "Times") -> None:
        """Add another's."""
        # One by one: asked of every person on every GPU.
        self.span += other.span
        self.used += other.used
        self.idle += other.idle
        self.booked += other.booked
        self.free += other.free
        self.broken += other.broken
        self.add_memory(other.memory)

    def add_memory(self, memory: int | None) -> None:
        """Add what was held, as far as it is known."""
        if memory is not None:
            self.memory = memory + (self.memory or 0)


class PlaceUsage(Struct, kw_only=True):
    """The time of one GPU while it was in one place, within a span."""

    place: Place
    times: Times
    # Person → the part of used, idle and booked that is theirs; the rest of it is zero. Where programs were
    # asked for, these; "": it cannot be told which.
    people: dict[str, Times] = field(default_factory=dict)

    def count(self, kind: UsageKind, parts: dict[str, int], milliseconds: int) -> None:
        """Count time of a kind, and whose it is."""
        setattr(self.times, kind, getattr(self.times, kind) + milliseconds)
        for person, part in parts.items():
            self.give(kind, person, part)

    def give(self, kind: UsageKind, person: str, part: int) -> None:
        """Let a part of the time of a kind be somebody's."""
        of_person = self.people.get(person)
        if of_person is None:
            of_person = self.people[person] = Times()
        setattr(of_person, kind, getattr(of_person, kind) + part)
        of_person.span += part

    def hold(self, memory: int, parts: Iterable[str]) -> None:
        """Count memory that was held meanwhile: of one person it is theirs, of several it is given apart."""
        self.times.add_memory(memory)
        if len(people := list(parts)) == 1:
            self.people[people[0]].add_memory(memory)

    def fit(self) -> None:
        """Let no more have been observed than there was: a place may be found to have ended earlier."""
        for kind in reversed(USAGE_KINDS):
            excess = -self.times.unobserved
            if excess <= 0:
                return
            cut = min(excess, getattr(self.times, kind))
            setattr(self.times, kind, getattr(self.times, kind) - cut)
            if kind in OWNED:
                self._take(kind, cut)

    def _take(self, kind: UsageKind, cut: int) -> None:
        for of_person in self.people.values():
            part = min(cut, getattr(of_person, kind))
            setattr(of_person, kind, getattr(of_person, kind) - part)
            of_person.span -= part
            cut -= part


class HourUse(Struct, frozen=True, kw_only=True):
    """How full the GPUs that count were in one hour, in milliseconds of them all."""

    start: float
    # Somebody was on it, used or held idle.
    taken: int
    observed: int
    # Of the GPU that was observed longest: as long as the board saw anything, or nearly.
    seen: int


class Usage(Struct, kw_only=True):
    """The answer: from when to when was counted, and the GPUs that count, place by place."""

    start: float
    end: float
    places: list[PlaceUsage]

    def total(self) -> Times:
        """All together."""
        return total_of(one.times for one in self.places)


def total_of(parts: Iterable[Times]) -> Times:
    """Several as one."""
    whole = Times()
    for part in parts:
        whole.add(part)
    return whole


def gpus_of(places: Iterable[PlaceUsage]) -> int:
    """How many GPUs these are."""
    return len(Counter(one.place.gpu for one in places))
