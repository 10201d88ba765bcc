"""Which nodes say that they have a GPU of which UUID, so that none can take another's away.

What a node says concerns itself alone. A UUID that two nodes have is no name for either: both are shown with
their node's name behind it, until one of the two no longer has it or has left. A node cannot invent such a
name for another's GPU: whatever it says that looks like one gets its own node's name behind it.
"""

import hashlib
from itertools import islice
from typing import Final

from gpuboard.model.names import NODE_MARK

LONGEST: Final = 256
TWINS_NAMED: Final = 3

_NOTHING: Final = frozenset[str]()


class _Shared:
    """A UUID that several nodes have."""

    __slots__ = ("left", "present")

    def __init__(self) -> None:
        self.present: set[str] = set()
        # Nodes that have left: still shown for a while, but they no longer dispute the name.
        self.left: set[str] = set()


class Identities:
    """Which node has which UUIDs; every answer is about nodes whose names change with it."""

    def __init__(self) -> None:
        self._uuids: dict[str, frozenset[str]] = {}
        self._left: set[str] = set()
        # Nearly every UUID has one node.
        self._holders: dict[str, str | _Shared] = {}

    def claim(self, node: str, uuids: frozenset[str]) -> set[str]:
        """Hear which UUIDs a node has now; return the other nodes that are called otherwise from now on."""
        before = self._uuids.get(node, _NOTHING)
        if uuids == before:
            return set()
        others: set[str] = set()
        for uuid in before - uuids:
            others |= self._release(node, uuid)
        for uuid in uuids - before:
            others |= self._add(node, uuid)
        if uuids:
            self._uuids[node] = uuids
        else:
            self._uuids.pop(node, None)
        return others - {node}

    def set_left(self, node: str, *, has_left: bool) -> set[str]:
        """Hear that a node has left or is back; return the nodes that are called otherwise from now on."""
        if (node in self._left) == has_left:
            return set()
        uuids = self._uuids.get(node, _NOTHING)
        others = self.claim(node, _NOTHING)
        (self._left.add if has_left else self._left.discard)(node)
        return others | self.claim(node, uuids)

    def forget(self, node: str) -> set[str]:
        """Forget a node; return the nodes that are called otherwise from now on."""
        others = self.claim(node, _NOTHING)
        self._left.discard(node)
        return others

    def name(self, node: str, uuid: str) -> str:
        """What a node's GPU is called on this board."""
        holder = self._holders.get(uuid)
        is_alone = not isinstance(holder, _Shared) or (holder.present or holder.left) == {node}
        return uuid if is_alone and NODE_MARK not in uuid else own_name(node, uuid)

    def twins(self, node: str) -> frozenset[str]:
        """Some of the nodes that have a UUID of this node too."""
        found: set[str] = set()
        for uuid in self._uuids.get(node, _NOTHING):
            holder = self._holders[uuid]
            if isinstance(holder, _Shared):
                found.update(islice(holder.present, TWINS_NAMED + 1))
        return frozenset(sorted(found - {node})[:TWINS_NAMED])

    def _add(self, node: str, uuid: str) -> set[str]:
        holder = self._holders.get(uuid)
        if holder is None:
            self._holders[uuid] = node
            return set()
        if isinstance(holder, str):
            shared = self._holders[uuid] = _Shared()
            self._side(shared, holder).add(holder)
        else:
            shared = holder
        before = _undisputed(shared)
        self._side(shared, node).add(node)
        return before - _undisputed(shared)

    def _release(self, node: str, uuid: str) -> set[str]:
        holder = self._holders[uuid]
        if not isinstance(holder, _Shared):
            del self._holders[uuid]
            return set()
        before = _undisputed(holder)
        self._side(holder, node).discard(node)
        after = _undisputed(holder)
        if len(holder.present) + len(holder.left) == 1:
            (self._holders[uuid],) = holder.present or holder.left
        return after - before

    def _side(self, shared: _Shared, node: str) -> set[str]:
        return shared.left if node in self._left else shared.present


def own_name(node: str, uuid: str) -> str:
    """The name of a GPU that no other node can invent."""
    room = LONGEST - len(NODE_MARK) - len(node)
    if len(uuid) > room:
        digest = hashlib.sha256(uuid.encode()).hexdigest()[:16]
        uuid = f"{uuid[: room - len(digest)]}{digest}"
    return f"{uuid}{NODE_MARK}{node}"


def _undisputed(shared: _Shared) -> set[str]:
    """The one node that has the plain name, if there is one."""
    names = shared.present or shared.left
    return set(names) if len(names) == 1 else set()
