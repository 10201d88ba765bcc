"""What outlives the board of what it knows of GPUs: since when they are quiet, empty or broken."""

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from gpuboard.fleet.activity import HEARD_SECONDS, NodeMemory, Remembered
from gpuboard.model.errors import NOT_DECODED

log = logging.getLogger(__name__)

_DECODER = msgspec.msgpack.Decoder(NodeMemory)


class _Known:
    """One node, and when it was written down last."""

    __slots__ = ("at", "gpus", "is_new", "written_at")

    def __init__(self) -> None:
        self.at = 0.0
        self.gpus: dict[str, Remembered] = {}
        self.is_new = True
        self.written_at = float("-inf")


class Left(NamedTuple):
    """What is to be written: nodes, and those that are gone."""

    memories: dict[str, bytes]
    gone: frozenset[str]


class Remembering:
    """Follows the samples of nodes; what has changed waits here to be written."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Known] = {}
        self._errors_since: dict[str, dict[str, float]] = {}
        self._gone: set[str] = set()

    def observe(
        self, node: str, pasts: Mapping[str, Remembered], at: float, errors: Mapping[str, float]
    ) -> None:
        """Take in what is known of a node's GPUs at the moment of a sample."""
        known = self._nodes.get(node)
        if known is None:
            known = self._nodes[node] = _Known()
        known.at = max(known.at, at)
        gpus = known.gpus
        for name, past in pasts.items():
            before = gpus.get(name)
            if before is None or not _is_same(before, past):
                gpus[name], known.is_new = past, True
        if errors != self._errors_since.get(node, {}):
            self._errors_since[node], known.is_new = dict(errors), True

    def forget(self, nodes: Iterable[str], gpus: Iterable[str]) -> None:
        """Forget nodes and GPUs that are gone."""
        for node in nodes:
            if self._nodes.pop(node, None) is not None:
                self._gone.add(node)
            self._errors_since.pop(node, None)
        for gpu in gpus:
            for known in self._nodes.values():
                known.gpus.pop(gpu, None)

    def take_news(self, *, is_last: bool = False) -> Left:
        """What is to be written: whatever changed, and now and then that a node was heard."""
        memories = {}
        for node, known in self._nodes.items():
            if known.is_new or is_last or known.at - known.written_at >= HEARD_SECONDS:
                known.is_new, known.written_at = False, known.at
                memories[node] = msgspec.msgpack.encode(
                    NodeMemory(at=known.at, gpus=known.gpus, errors_since=self._errors_since.get(node, {}))
                )
        gone, self._gone = frozenset(self._gone - self._nodes.keys()), set()
        return Left(memories, gone)


def read_memories(memories: Mapping[str, bytes]) -> dict[str, NodeMemory]:
    """What an earlier run of the board remembered; what cannot be read is forgotten."""
    found = {}
    for node, memory in memories.items():
        try:
            found[node] = _DECODER.decode(memory)
        except NOT_DECODED as error:
            log.warning("memory of a node cannot be read: node=%s reason=%s", node, error)
    return found


def _is_same(one: Remembered, other: Remembered) -> bool:
    """Whether nothing has changed that outlives a board; single samples do not."""
    return (
        one.quiet_since == other.quiet_since
        and one.empty_since == other.empty_since
        and one.seen_empty_since == other.seen_empty_since
        and one.is_taken == other.is_taken
        and one.word == other.word
        and one.word_since == other.word_since
    )
