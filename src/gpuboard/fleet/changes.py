"""What changed in the fleet, computed once per tick for all viewers."""

from typing import Any

from msgspec import Struct

from gpuboard.fleet.node import Node
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import gpu_row, node_row, placed
from gpuboard.wire.views import GpuRow, NodeRow


class Change(Struct, frozen=True, kw_only=True):
    """The rows that differ from the tick before."""

    at: float
    nodes: list[NodeRow]
    gpus: list[GpuRow]
    gone_nodes: list[str]
    gone_gpus: list[str]

    def __bool__(self) -> bool:
        return bool(self.nodes or self.gpus or self.gone_nodes or self.gone_gpus)


class ChangeTracker:
    """Remembers the rows last sent, so that only differences travel."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.nodes: dict[str, NodeRow] = {}
        self.gpus: dict[str, GpuRow] = {}
        self._gpus_of: dict[str, set[str]] = {}

    def now(self) -> float:
        """The board's time."""
        return self._fleet.clock.now()

    def tick(self) -> Change:
        """Settle the fleet and return what is different now."""
        changed_nodes: list[NodeRow] = []
        changed_gpus: list[GpuRow] = []
        lost: list[tuple[str, str]] = []
        for node in self._fleet.take_changes():
            self._compare(node, changed_nodes, changed_gpus, lost)
        gone = self._fleet.take_gone()
        for name in gone:
            if self._fleet.get(name) is None:
                self.nodes.pop(name, None)
                lost.extend((name, uuid) for uuid in self._gpus_of.pop(name, ()))
        # What one node has no longer, another may have by now.
        gone_gpus = [uuid for name, uuid in lost if self.gpus[uuid].node == name]
        for uuid in gone_gpus:
            del self.gpus[uuid]
        return Change(
            at=self.now(),
            nodes=changed_nodes,
            gpus=changed_gpus,
            gone_nodes=sorted(gone - self.nodes.keys()),
            gone_gpus=gone_gpus,
        )

    def _compare(
        self, node: Node, nodes: list[NodeRow], gpus: list[GpuRow], lost: list[tuple[str, str]]
    ) -> None:
        name = node.name
        _note(self.nodes, name, node_row(self._fleet, node), nodes)
        present = set()
        for reading, place in placed(self._fleet, node):
            present.add(reading.uuid)
            new = gpu_row(self._fleet, node, reading, place)
            _note(self.gpus, reading.uuid, new, gpus)
        lost.extend((name, uuid) for uuid in self._gpus_of.get(name, set()) - present)
        self._gpus_of[name] = present


def _note(known: dict[str, Any], key: str, row: Any, changed: list[Any]) -> None:  # noqa: ANN401 - any row
    if known.get(key) != row:
        known[key] = row
        changed.append(row)
