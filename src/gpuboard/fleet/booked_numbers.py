"""Numbers of GPUs that can be booked, and booked ones that no GPU has: a slip, for nothing is held. Pure."""

from collections.abc import Iterable

from gpuboard.fleet.node import Node
from gpuboard.fleet.places import Places
from gpuboard.model.problems import HIDES_GPUS, lost_gpus
from gpuboard.model.verdict import GpuPlace


def numbers_of(node: Node) -> frozenset[int] | None:
    """The numbers that the GPUs of a node have, or had until lately; None: it may have others too."""
    seen = node.seen
    if seen is None or seen.report is None or seen.report.gpus is None or node.has_moved:
        return None
    cards = {gpu.uuid: gpu.index for gpu in seen.gpus if gpu.mig_parent_uuid is None}
    # An instance without its card: that has a number which nobody knows.
    is_hidden = any(gpu.mig_parent_uuid not in (None, *cards) for gpu in seen.gpus)
    if is_hidden or any(problem.kind in HIDES_GPUS for problem in seen.problems):
        return None
    return frozenset(cards.values()).union(*node.renumbered.values())


def unseen_numbers(node: Node, places: Places) -> frozenset[int]:
    """The numbers of GPUs that a node does not show now and is known to have: remembered, or by their count.

    Nobody knows the number of a card that is only said to be missing: any below the count may be it.
    """
    shown = node.seen.gpus if node.seen is not None else ()
    cards = {gpu.uuid: gpu.index for gpu in shown if gpu.mig_parent_uuid is None}
    known = frozenset(cards.values()).union(places.cards)
    if numbers_of(node) is not None:
        return known - frozenset(cards.values())
    problems = node.seen.problems if node.seen is not None else ()
    named, nameless = lost_gpus(problems)
    remembered = {card.uuid for card in places.cards.values()}
    hidden = {gpu.mig_parent_uuid for gpu in shown} | named
    count = len(known) + len(hidden - {None} - cards.keys() - remembered) + nameless
    return known.union(range(max(count, places.unnamed))) - frozenset(cards.values())


class BookedNumbers:
    """Remembers of each node which of the places that are booked under its names it has."""

    def __init__(self) -> None:
        # Those that are there, or may be, and those that are not.
        self._met: dict[str, frozenset[GpuPlace]] = {}
        self._lacking: dict[str, frozenset[GpuPlace]] = {}
        self._told: tuple[GpuPlace, ...] | None = ()

    def judge(self, node: Node, booked: Iterable[GpuPlace]) -> None:
        """Look at a node anew; the places are named as whoever booked has named them."""
        booked = frozenset(booked)
        if not booked and node.name not in self._met:
            return
        numbers = numbers_of(node) if booked else None
        met = booked if numbers is None else frozenset(place for place in booked if place[1] in numbers)
        if (met, booked - met) != (self._met.get(node.name), self._lacking.get(node.name)):
            self._met[node.name], self._lacking[node.name] = met, booked - met
            self._told = None

    def forget(self, name: str) -> None:
        """Forget a node."""
        if self._met.pop(name, None) is not None:
            del self._lacking[name]
            self._told = None

    def lacking(self) -> tuple[GpuPlace, ...]:
        """The places that none of the nodes has whom whoever booked may mean."""
        if self._told is None:
            met = frozenset[GpuPlace]().union(*self._met.values())
            self._told = tuple(sorted(frozenset[GpuPlace]().union(*self._lacking.values()) - met))
        return self._told
