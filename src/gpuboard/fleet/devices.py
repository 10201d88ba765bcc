"""The GPUs of all nodes as they are shown: each under a name and a number of its node's own."""

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.forgotten import lost_cards, without
from gpuboard.fleet.identities import Identities
from gpuboard.fleet.node import Layout, Node
from gpuboard.fleet.places import MAX_CARDS, NOWHERE, Places, numbers, seat
from gpuboard.fleet.problems import gpu_missing, gpu_renumbered, gpu_replaced, numbers_moved
from gpuboard.model.names import in_order
from gpuboard.model.problems import lost_gpus
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.probes.inventory import blank

# The places of so many nodes are remembered; a fleet is far smaller.
MAX_NODES: Final = 10_000

_NOBODY: Final = frozenset[str]()


class ShownDevices:
    """Knows which node has which GPUs, and in which places."""

    def __init__(self, *, forget_after: float) -> None:
        self._forget_after = forget_after
        self._identities = Identities()
        self.places: dict[str, Places] = {}

    def show(self, node: Node, now: float) -> Iterable[str]:
        """Bring the GPUs that are shown up to the node's newest report.

        Returns the nodes whose GPUs are called otherwise from now on; mostly none.
        """
        gpus = node.report.gpus if node.report is not None else None
        layout = None if gpus is None else _layout(gpus)
        if node.is_as_told and gpus is not None and layout == node.layout:
            node.shown = gpus
            return _NOBODY
        node.layout = layout
        places = self._seat(node.name, gpus, now)
        # An unreadable list says nothing of what is missing: what is known is shown, and nothing about it.
        absent = places.missing() if gpus is not None else places.cards
        rows = [*(gpus or ()), *(card.reading(number) for number, card in absent.items())]
        if gpus is None:
            rows += _nameless(node, places)
        others = self._identities.claim(node.name, frozenset(row.uuid for row in rows))
        self._arrange(node, places, rows)
        return others

    def _seat(self, name: str, gpus: tuple[GpuReading, ...] | None, now: float) -> Places:
        before = self.places.get(name, NOWHERE)
        if gpus is None:
            return before
        here = {gpu.uuid for gpu in gpus} if before.forgotten else _NOBODY
        places = replace(
            seat(before, gpus, now=now, forget_after=self._forget_after),
            forgotten=tuple([uuid for uuid in before.forgotten if uuid not in here]),
        )
        if places == NOWHERE:
            self.places.pop(name, None)
        elif places != before and (name in self.places or len(self.places) < MAX_NODES):
            self.places[name] = places
        return places

    def _arrange(self, node: Node, places: Places, rows: list[GpuReading]) -> None:
        """Name and number what is shown, and keep what is remembered of each GPU."""
        told = node.report.gpus if node.report is not None else None
        names = {row.uuid: self._identities.name(node.name, row.uuid) for row in rows}
        whole = [gpu for gpu in told or () if gpu.mig_parent_uuid is None]
        placed = {card.uuid: number for number, card in places.cards.items()}
        # In doubt the driver's numbers are shown: what has no UUID can be used by these alone.
        placed |= numbers({} if places.fewer_since is not None else places.cards, whole)
        node.names = {uuid: name for uuid, name in names.items() if uuid != name}
        node.shown = in_order([_shown(row, names, placed) for row in rows])
        node.memories = {row.uuid: node.memories.get(row.uuid) or GpuMemory() for row in rows}
        node.gpus = {names[uuid]: memory for uuid, memory in node.memories.items()}
        for name, memory in node.gpus.items():
            memory.uuid = name
        node.remembered = tuple([node.gpus[gpu.uuid] for gpu in node.shown])
        node.cut = frozenset(gpu.mig_parent_uuid for gpu in node.shown)
        for uuid in node.memories.keys() - {gpu.uuid for gpu in told or ()}:
            node.memories[uuid].interrupt()
        node.twins = self._identities.twins(node.name)
        node.notes = tuple(
            [
                note(number, card, names.get(card.uuid, card.uuid))
                for note, cards in (
                    (gpu_missing, places.missing()),
                    (gpu_replaced, places.replaced()),
                    (gpu_renumbered, places.renumbered()),
                )
                for number, card in cards.items()
            ]
        )
        node.renumbered = {
            names.get(card.uuid, card.uuid): card.earlier_numbers for card in places.renumbered().values()
        }
        lost, _ = lost_gpus(node.report.problems if node.report is not None else ())
        # Of a card that is lost the number has passed to the next one.
        for gpu in _of_one_number([gpu for gpu in whole if gpu.uuid not in lost]):
            # Whoever books that number may mean either.
            name = names[gpu.uuid]
            node.renumbered[name] = (*node.renumbered.get(name, ()), gpu.index)
        node.has_moved = places.fewer_since is not None
        node.fewer = max(0, places.unnamed - len(whole)) if node.has_moved else 0
        if node.has_moved:
            node.notes += (numbers_moved(len(whole), places.unnamed, places.fewer_since),)
        node.is_as_told = node.shown == told and not node.notes

    def shift(self, seconds: float, *, began: float, until: float) -> None:
        """Hear that the clock was set."""
        self.places = {
            name: places.shifted(seconds, began=began, until=until) for name, places in self.places.items()
        }

    def leave(self, name: str, *, has_left: bool) -> Iterable[str]:
        """Hear that a node has left or is back; return the nodes whose GPUs are called otherwise now."""
        return self._identities.set_left(name, has_left=has_left)

    def forget(self, name: str) -> Iterable[str]:
        """Forget a node; return the nodes whose GPUs are called otherwise now."""
        self.places.pop(name, None)
        return self._identities.forget(name)

    def lost(self, node: Node) -> tuple[str, ...]:
        """The cards that a node only remembers, those that were to be forgotten before too."""
        before = self.places.get(node.name, NOWHERE).forgotten
        return tuple(dict.fromkeys((*before, *sorted(lost_cards(node.report)))))[-MAX_CARDS:]

    def leave_out(self, name: str, lost: tuple[str, ...]) -> None:
        """Show these cards of a node no more until they answer, though it goes on to call them lost."""
        if lost and len(self.places) < MAX_NODES:
            self.places[name] = Places(forgotten=lost)

    def without_forgotten(self, name: str, report: NodeReport) -> NodeReport:
        """A report without the cards that somebody has had forgotten."""
        places = self.places.get(name)
        return report if places is None or not places.forgotten else without(report, places.forgotten)


# The name of a GPU, its number, and whose instance it is; asked of every GPU of every report.
_layout_of: Final = attrgetter("uuid", "index", "mig_parent_uuid")


def _layout(gpus: tuple[GpuReading, ...]) -> Layout:
    return list(map(_layout_of, gpus))


def _nameless(node: Node, places: Places) -> list[GpuReading]:
    """The GPUs without UUIDs that were shown last, which no place remembers; only what they are."""
    own = {name: uuid for uuid, name in node.names.items()}
    return [
        replace(blank(gpu), uuid=own.get(gpu.uuid, gpu.uuid))
        for gpu in node.shown
        # One in the place of a card may be that card.
        if gpu.uuid_is_synthetic and gpu.mig_parent_uuid is None and gpu.index not in places.cards
    ]


def _of_one_number(whole: list[GpuReading]) -> list[GpuReading]:
    """The cards of which another says the same number; mostly none."""
    told = Counter(gpu.index for gpu in whole)
    return [gpu for gpu in whole if told[gpu.index] > 1] if len(told) < len(whole) else []


def _shown(row: GpuReading, names: Mapping[str, str], numbers: Mapping[str, int]) -> GpuReading:
    """A GPU under the name and number by which people know it; an instance has its number in its card."""
    name = names[row.uuid]
    parent = row.mig_parent_uuid
    index = row.index if parent is not None else numbers.get(row.uuid, row.index)
    if parent is not None:
        parent = names.get(parent, parent)
    if (name, index, parent) == (row.uuid, row.index, row.mig_parent_uuid):
        return row
    return replace(row, uuid=name, index=index, mig_parent_uuid=parent)
