"""The connections that are nobody's yet, and the room that they have: one address never takes all of it."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from gpuboard.model.address import customer, is_loopback
from gpuboard.web.limits import (
    AGENTS_RESERVE,
    MAX_REMEMBERED,
    MAX_UNTAKEN_BYTES,
    MAX_UNTAKEN_BYTES_OF_ONE,
    MAX_VISITORS,
    MAX_VISITORS_OF_ONE,
    PEOPLE_RESERVE,
)

log = logging.getLogger(__name__)


class Visitor(Protocol):
    """One connection."""

    def cut(self, reason: str) -> None:
        """End it at once."""


class _Reserve:
    """Places that are kept for some addresses."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        # The latest last.
        self.known: OrderedDict[str, None] = OrderedDict()

    def note(self, who: str) -> None:
        """Keep them for this one too."""
        self.known[who] = None
        self.known.move_to_end(who)
        if len(self.known) > MAX_REMEMBERED:
            self.known.popitem(last=False)


class _Whose(NamedTuple):
    """By whom a connection is counted."""

    who: str
    # In which it has a place, if in any.
    reserve: _Reserve | None


class _Untaken(NamedTuple):
    """What somebody has not taken of its answer."""

    size: int
    since: float


class Room:
    """Who is here, who of them waits, and whose answers wait.

    When it is full, whoever has waited longest without asking anything goes: that costs an honest one a new
    connection, and somebody who holds a thousand of them one of those. When nobody waits, the oldest goes of
    the address that has most of them, if that has more than whoever comes. Addresses from which a good token
    of a node has come have a reserve that nobody else can fill, and so have people who are signed in.
    """

    def __init__(
        self,
        *,
        most: int = MAX_VISITORS,
        most_of_one: int = MAX_VISITORS_OF_ONE,
        reserve: int = AGENTS_RESERVE,
        people_reserve: int = PEOPLE_RESERVE,
        is_limited: Callable[[str], bool] = lambda address: not is_loopback(address),
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._agents, self._people = _Reserve(reserve), _Reserve(people_reserve)
        # A proxy brings the connections of many; so does one on this machine.
        self._is_limited = is_limited
        self._here: dict[Visitor, _Whose] = {}
        self._waiting: dict[Visitor, None] = {}
        # Of those whose connections are counted.
        self._of_one: dict[str, dict[Visitor, None]] = {}
        self._untaken: dict[Visitor, _Untaken] = {}

    def is_limited(self, address: str) -> bool:
        """Whether what this address does is counted."""
        return self._is_limited(address)

    def enter(self, visitor: Visitor, address: str) -> bool:
        """Let a connection in, which waits at first; False if there is no room for it."""
        who, is_limited = customer(address), self._is_limited(address)
        own = self._of_one.get(who, {})
        if len(own) >= self._most_of_one and not self._make_room(
            each for each in own if each in self._waiting
        ):
            return False
        known = self._reserve_of(who)
        reserve = known if known is not None and known.taken < known.most else None
        if reserve is None and not self._has_room_for_visitors(len(own)):
            if known is None or not self._make_room(self._those_waiting(known)):
                return False
            reserve = known
        self._here[visitor] = _Whose(who, reserve)
        if reserve is not None:
            reserve.taken += 1
        self._waiting[visitor] = None
        if is_limited:
            self._of_one.setdefault(who, {})[visitor] = None
        return True

    def leave(self, visitor: Visitor) -> None:
        """Forget a connection: it has ended, or belongs to somebody from now on."""
        whose = self._here.pop(visitor, None)
        self._waiting.pop(visitor, None)
        self._untaken.pop(visitor, None)
        if whose is None:
            return
        if whose.reserve is not None:
            whose.reserve.taken -= 1
        own = self._of_one.get(whose.who, {})
        own.pop(visitor, None)
        if not own:
            self._of_one.pop(whose.who, None)

    def wait(self, visitor: Visitor) -> None:
        """Note that nothing is to be done for it at the moment."""
        if visitor in self._here:
            self._waiting.pop(visitor, None)
            self._waiting[visitor] = None

    def work(self, visitor: Visitor) -> None:
        """Note that it is being answered."""
        self._waiting.pop(visitor, None)

    def note_agent(self, address: str) -> None:
        """Remember that a good token of a node came from there."""
        self._agents.note(customer(address))

    def note_person(self, address: str) -> None:
        """Remember that somebody who is signed in came from there."""
        self._people.note(customer(address))

    def hold(self, visitor: Visitor, size: int, now: float) -> bool:
        """Note how much of its answer it has not taken; False if it was cut because of that.

        When that is too much of an address, or of all, those go who take the most room for the longest time:
        neither small answers nor many addresses keep it for ever, and whoever has just come is not harmed.
        """
        known = self._untaken.pop(visitor, None)
        if size == 0 or visitor not in self._here:
            return True
        self._untaken[visitor] = _Untaken(size, known.since if known else now)
        who = self._here[visitor].who
        while who in self._of_one and self._held()[who] > MAX_UNTAKEN_BYTES_OF_ONE:
            self._cut_hoarder(who, now)
        while sum(each.size for each in self._untaken.values()) > MAX_UNTAKEN_BYTES:
            burden = self._burden(now)
            self._cut_hoarder(max(burden, key=burden.__getitem__), now)
        return visitor in self._untaken

    def _held(self) -> Counter[str]:
        """How much waits to be taken, by address."""
        held: Counter[str] = Counter()
        for visitor, untaken in self._untaken.items():
            held[self._here[visitor].who] += untaken.size
        return held

    def _burden(self, now: float) -> dict[str, float]:
        """How much has waited for how long, by address."""
        burden: dict[str, float] = {}
        for visitor, (size, since) in self._untaken.items():
            who = self._here[visitor].who
            burden[who] = burden.get(who, 0.0) + size * (now - since)
        return burden

    def _cut_hoarder(self, who: str, now: float) -> None:
        own = {each: held for each, held in self._untaken.items() if self._here[each].who == who}
        hoarder = max(own, key=lambda each: own[each].size * (now - own[each].since))
        self.leave(hoarder)
        hoarder.cut("too much waits to be taken")

    def _reserve_of(self, who: str) -> _Reserve | None:
        return next((each for each in (self._agents, self._people) if who in each.known), None)

    def _has_room_for_visitors(self, own: int) -> bool:
        visitors = len(self._here) - self._agents.taken - self._people.taken
        return (
            visitors < self._most
            or self._make_room(self._those_waiting(None))
            or self._make_room(self._of_the_largest(beyond=own + 1))
        )

    def _those_waiting(self, reserve: _Reserve | None) -> Iterable[Visitor]:
        return (each for each in self._waiting if self._here[each].reserve is reserve)

    def _of_the_largest(self, *, beyond: int) -> Iterable[Visitor]:
        """The connections of the address that has most, if those are more."""
        of_visitors = (own for who, own in self._of_one.items() if self._reserve_of(who) is None)
        largest = max(of_visitors, key=len, default={})
        return largest if len(largest) > beyond else ()

    def _make_room(self, those: Iterable[Visitor]) -> bool:
        oldest = next(iter(those), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.cut("others need the room")
        return True
