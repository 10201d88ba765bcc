"""What changed in the fleet, computed once per tick for all viewers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from msgspec import Struct

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.node import Node, Seen
from gpuboard.fleet.state import Fleet, find_called
from gpuboard.fleet.views import gpu_row, node_row, tagged
from gpuboard.wire.views import GpuRow, NodeRow


class Change(Struct, frozen=True, kw_only=True):
    """The rows that differ from the tick before: as they are, and as they were."""

    at: float
    nodes: list[NodeRow]
    gpus: list[GpuRow]
    gone_nodes: list[str]
    gone_gpus: list[str]
    # The rows before, of those that are gone, and of those that changed, if by more than their figures: what
    # these were is history's. New ones have none.
    nodes_before: dict[str, NodeRow]
    gpus_before: dict[str, GpuRow]

    def __bool__(self) -> bool:
        return bool(self.nodes or self.gpus or self.gone_nodes or self.gone_gpus)


_NONE: Final[Mapping[str, GpuMemory]] = {}

# Whoever follows the fleet gets each change once, in order, from the one who makes the ticks.
Subscriber = Callable[[Change], None]


class ChangeTracker:
    """The rows of the last tick: what every output reads, and with what the next tick is compared."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.nodes: dict[str, NodeRow] = {}
        self.gpus: dict[str, GpuRow] = {}
        # Sources that have not named their nodes yet; before the first tick nobody has been heard.
        self.sources_unknown = 1
        # What the rows were made of, and by which names and lines: who tells things whole reads the same.
        self.clock = fleet.clock
        self.names, self.thresholds = fleet.names, fleet.thresholds
        self._judged: dict[str, Node] = {}
        # By name, what is remembered of each GPU of a node: another one whenever it has others.
        self._gpus_of: dict[str, Mapping[str, GpuMemory]] = {}

    def now(self) -> float:
        """The board's time."""
        return self._fleet.clock.now()

    def __iter__(self) -> Iterator[Node]:
        """The nodes that have a row."""
        return iter(self._judged.values())

    def find(self, name: str) -> Node | None:
        """The node of this name that has a row, or the one that people call so; case says nothing."""
        return find_called(name, self.names, self._judged)

    def groups_of(self, node: Node) -> tuple[str, ...]:
        """The groups of a node that has a row."""
        return self.nodes[node.name].groups

    def tick(self) -> Change:
        """Settle the fleet and return what is different now."""
        nodes, gpus = _Rows(self.nodes, _is_other_node), _Rows(self.gpus, _is_other_gpu)
        self.sources_unknown = self._fleet.sources_unknown()
        self.names, self.thresholds = self._fleet.names, self._fleet.thresholds
        lost: list[tuple[str, str]] = []
        for node in self._fleet.take_changes():
            if node.seen is not None:
                self._compare(node, node.seen, nodes, gpus, lost)
        gone = self._fleet.take_gone()
        for name in gone:
            if self._fleet.get(name) is None:
                nodes.drop(name)
                self._judged.pop(name, None)
                lost.extend((name, uuid) for uuid in self._gpus_of.pop(name, ()))
        # What one node has no longer, another may have by now.
        gone_gpus = [uuid for name, uuid in lost if self.gpus[uuid].node == name]
        for uuid in gone_gpus:
            gpus.drop(uuid)
        return Change(
            at=self.now(),
            nodes=nodes.changed,
            gpus=gpus.changed,
            gone_nodes=sorted(gone - self.nodes.keys()),
            gone_gpus=gone_gpus,
            nodes_before=nodes.before,
            gpus_before=gpus.before,
        )

    def _compare(
        self,
        node: Node,
        seen: Seen,
        nodes: "_Rows[NodeRow]",
        gpus: "_Rows[GpuRow]",
        lost: list[tuple[str, str]],
    ) -> None:
        name = node.name
        self._judged[name] = node
        nodes.note(name, node_row(self._fleet, node, seen))
        for reading, memory, tag in tagged(self._fleet, seen):
            gpus.note(memory.uuid, gpu_row(self._fleet, name, reading, memory, tag))
        before = self._gpus_of.get(name, _NONE)
        if before is not seen.memories:
            lost.extend((name, uuid) for uuid in before.keys() - seen.memories.keys())
            self._gpus_of[name] = seen.memories


Row = TypeVar("Row", bound=Struct)


class _Rows(Generic[Row]):
    """The known rows of one kind, and what one tick changes in them."""

    def __init__(self, known: dict[str, Row], is_other: Callable[[Row, Row], bool]) -> None:
        self._known: dict[str, Row] = known
        self._is_other = is_other
        self.changed: list[Row] = []
        self.before: dict[str, Row] = {}

    def note(self, key: str, row: Row) -> None:
        """Take a row for the newest; it has changed if it differs."""
        old = self._known.get(key)
        if old == row:
            return
        # Every row that is kept costs its memory twice, and most change by a figure alone.
        if old is not None and self._is_other(old, row):
            self.before[key] = old
        self._known[key] = row
        self.changed.append(row)

    def drop(self, key: str) -> None:
        """Forget a row."""
        old = self._known.pop(key, None)
        if old is not None:
            self.before.setdefault(key, old)


def _is_other_gpu(old: GpuRow, new: GpuRow) -> bool:
    """Whether more than figures differs: the word, who is on it, who has claimed it, where it is."""
    return (
        old.verdict != new.verdict
        or old.users != new.users
        or old.flags != new.flags
        or old.claim != new.claim
        or old.node != new.node
    )


def _is_other_node(old: NodeRow, new: NodeRow) -> bool:
    """The same of a node: how it is, what is wrong with it, which GPUs are known."""
    return (
        old.state != new.state
        or old.problems != new.problems
        or old.reason != new.reason
        or old.gpus_known != new.gpus_known
    )
