"""The book of claims: what several givers say of who holds which GPU by agreement, as one answer."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from gpuboard.model.node import is_host_name, short_name, spoken
from gpuboard.model.verdict import ENDED_CLAIM_SECONDS, WHOLE_NODE, Claim, GpuPlace

Giver = Literal["block", "booking", "lease", "comments-json"]

# The first that holds is the claim; the others stand behind it.
RANKS: Final[tuple[Giver, ...]] = ("block", "booking", "lease", "comments-json")
# What these say anybody may have typed.
UNVERIFIED: Final[frozenset[Giver]] = frozenset({"comments-json"})


def merge(claims: Iterable[Claim], now: float) -> Claim | None:
    """The one claim that holds now, with those behind it; they come with the highest rank first."""
    holding = [claim for claim in claims if claim.holds_at(now)]
    if not holding:
        return None
    return replace(holding[0], behind=tuple(holding[1:])) if len(holding) > 1 else holding[0]


class ClaimBook:
    """Keeps what each giver says, and knows when something begins or ends."""

    def __init__(self, is_node: Callable[[str], bool] = lambda _: False) -> None:
        """Keep a book for nodes that this knows by their own names."""
        self._is_node = is_node
        self._given: dict[Giver, dict[GpuPlace, tuple[Claim, ...]]] = {}
        # All claims of a place, the highest rank first.
        self._pages: dict[GpuPlace, tuple[Claim, ...]] = {}
        # The numbers of a node that are in the book.
        self._numbers: dict[str, list[int]] = {}
        # The names in the book by what they are without their domains.
        self._by_short: dict[str, list[str]] = {}
        # When claims begin and end, with their nodes; the next first.
        self._moments: list[tuple[float, str]] = []
        # Those who have yet to say for the first time what they claim.
        self._awaited: set[Giver] = set()
        # What people call a node besides its own name.
        self._called: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._pages)

    @property
    def is_whole(self) -> bool:
        """Whether all who are to give claims have said theirs; if not, anything may be claimed."""
        return not self._awaited

    def expect(self, giver: Giver) -> None:
        """Wait for what a giver has to say."""
        if giver not in self._given:
            self._awaited.add(giver)

    def write(self, giver: Giver, claims: Iterable[tuple[GpuPlace, Claim]], now: float) -> set[str]:
        """Replace what one giver said, and leave what others said; return the nodes it is about."""
        self._awaited.discard(giver)
        given: dict[GpuPlace, tuple[Claim, ...]] = {}
        for place, claim in claims:
            kept = replace(claim, is_unverified=True) if giver in UNVERIFIED else claim
            given[place] = (*given.get(place, ()), kept)
        before = self._given.setdefault(giver, {})
        if given == before:
            return set()
        self._given[giver] = given
        places = {place for said in self._given.values() for place in said}
        self._pages = {place: self._page(place) for place in places}
        self._numbers = {}
        for node, number in places:
            self._numbers.setdefault(node, []).append(number)
        self._by_short = {}
        for node in sorted(self._numbers):
            self._by_short.setdefault(_without_domain(node), []).append(node)
        self.wait_from(now)
        return {node for node, _ in before.keys() | given.keys()}

    def wait_from(self, now: float) -> None:
        """Wait for what begins and ends from now on: also once more, where the clock was set back."""
        moments = {(at, node) for (node, _), page in self._pages.items() for at in _moments(page) if at > now}
        self._moments = sorted(moments)

    def call_nodes(self, names: Mapping[str, str]) -> None:
        """Take what people call nodes, by the nodes' own names: they book under these too."""
        self._called = {node: spoken(name) for node, name in names.items()}

    def meant(self, nodes: Iterable[str], names: Iterable[str]) -> list[str]:
        """Those of the nodes that somebody may mean who writes one of these names."""
        written = set(map(_without_domain, names))
        return [
            node
            for node in nodes
            if short_name(node) in written
            or (node in self._called and _without_domain(self._called[node]) in written)
        ]

    def unmet(self, nodes: Iterable[str], now: float) -> list[str]:
        """The names under which something is booked, now or later, that none of these nodes has."""
        unmet = {node for (node, _), page in self._pages.items() if any(not c.is_over(now) for c in page)}
        for node in nodes if unmet else ():
            unmet.difference_update(self._names_of(node))
        return sorted(unmet)

    def at(self, place: GpuPlace, now: float) -> Claim | None:
        """The claim on a GPU that holds now."""
        return merge(self._page_of(place), now)

    def ended(self, place: GpuPlace, now: float) -> Claim | None:
        """The claim on a GPU that ended last, for as long as people may wonder whose it was."""
        since = now - ENDED_CLAIM_SECONDS
        ended = [
            claim for claim in self._page_of(place) if claim.until is not None and since < claim.until <= now
        ]
        return max(ended, key=lambda claim: claim.until or 0.0, default=None)

    def next_start(self, place: GpuPlace, now: float) -> float | None:
        """When the next claim on a GPU begins; None where none is to come."""
        starts = (claim.start for claim in self._page_of(place))
        return min((start for start in starts if start is not None and start > now), default=None)

    def to_come(self, place: GpuPlace, now: float) -> tuple[Claim, ...]:
        """The claims on a GPU that hold now or will."""
        return tuple(claim for claim in self._page_of(place) if not claim.is_over(now))

    def holds_on(self, node: str, now: float) -> bool:
        """Whether a claim holds on any GPU of a node now."""
        numbers = {number for name in self._names_of(node) for number in self._numbers.get(name, ())}
        return any(self.holds_at((node, number), now) for number in numbers)

    def places_on(self, node: str, now: float) -> list[GpuPlace]:
        """What is booked on a node, now or later, by number, under the names that were written."""
        places = [(name, number) for name in self._names_of(node) for number in self._numbers.get(name, ())]
        return [
            place
            for place in places
            if place[1] >= 0 and any(not claim.is_over(now) for claim in self._pages[place])
        ]

    def holds_at(self, place: GpuPlace, now: float) -> bool:
        """Whether a claim holds on a GPU now."""
        return any(claim.holds_at(now) for claim in self._page_of(place))

    def given_by(self, givers: Iterable[Giver], node: str, now: float) -> dict[int, tuple[Claim, ...]]:
        """What some givers claim on a node, now or later, by number, under every name of the node."""
        found: dict[int, tuple[Claim, ...]] = {}
        for giver in givers:
            said = self._given.get(giver, {})
            for place in ((name, n) for name in self._names_of(node) for n in self._numbers.get(name, ())):
                claims = tuple(claim for claim in said.get(place, ()) if not claim.is_over(now))
                if claims:
                    found[place[1]] = found.get(place[1], ()) + claims
        return found

    def due(self, now: float) -> set[str]:
        """The nodes on which a claim has begun or ended since this was last asked."""
        nodes = set()
        while self._moments and self._moments[0][0] <= now:
            nodes.add(heapq.heappop(self._moments)[1])
        return nodes

    def _names_of(self, node: str) -> Sequence[str]:
        """The names in the book by which people may mean a node, its own first.

        Either side may leave out the domain; of two that name one, it is the same.
        """
        called = self._called.get(node) if self._called else None
        # A name that another node has by itself means that one.
        if called is None or self._is_node(called):
            return self._named(node)
        return tuple(dict.fromkeys([*self._named(node), *self._named(called)]))

    def _named(self, name: str) -> Sequence[str]:
        short = _without_domain(name)
        # What sorts before all names with a domain is the name without.
        return self._by_short.get(name, ()) if short == name else (name, short)

    def _page_of(self, place: GpuPlace) -> tuple[Claim, ...]:
        """All claims on a GPU, under every name of its node; the highest rank first."""
        node, number = place
        numbers = (number,) if number < 0 else (number, WHOLE_NODE)
        places = [
            found
            for name in self._names_of(node)
            for each in numbers
            if (found := (name, each)) in self._pages
        ]
        return self._pages[places[0]] if len(places) == 1 else self._page(*places)

    def _page(self, *places: GpuPlace) -> tuple[Claim, ...]:
        given = [self._given[giver] for giver in RANKS if giver in self._given]
        return tuple([claim for said in given for place in places for claim in said.get(place, ())])


def _without_domain(name: str) -> str:
    """A name without its domain; in a text that names no host, like "A. Turing", a dot is only a dot."""
    return short_name(name) if "." in name and is_host_name(name) else name


def _moments(page: Iterable[Claim]) -> set[float]:
    """When what is said of claims changes: one begins, ends, or has ended so long ago that it is not told."""
    ends = {claim.until for claim in page if claim.until is not None}
    starts = {claim.start for claim in page if claim.start is not None}
    return starts | ends | {end + ENDED_CLAIM_SECONDS for end in ends}
