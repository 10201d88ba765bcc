"""What outlives the board of what it knows of GPUs: since when they are quiet, empty or broken."""

import logging
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import msgspec

from gpuboard.fleet.activity import HEARD_SECONDS, NodeMemory, Remembered
from gpuboard.model.errors import NOT_DECODED

log = logging.getLogger(__name__)

_DECODER = msgspec.msgpack.Decoder(NodeMemory)


class _Known:
    """One node, and when it was written down last."""

    __slots__ = ("at", "gpus", "heard_at", "is_new", "present", "seen", "written_at")

    def __init__(self, seen: dict[str, float]) -> None:
        self.at = 0.0
        self.gpus: dict[str, Remembered] = {}
        # The GPUs of its last sample, and when these were heard last; the same of all as they were before.
        self.present: tuple[str, ...] = ()
        self.heard_at = float("-inf")
        self.seen = seen
        self.is_new = True
        self.written_at = float("-inf")

    def seen_at(self, gpu: str) -> float | None:
        """When a GPU was heard last, by its own samples; None: it never was."""
        before = self.seen.get(gpu)
        if gpu not in self.present:
            return before
        return self.heard_at if before is None else max(before, self.heard_at)


class Left(NamedTuple):
    """What is to be written: nodes, and those that are gone."""

    memories: dict[str, bytes]
    gone: frozenset[str]


class Remembering:
    """Follows the samples of nodes; what has changed waits here to be written."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Known] = {}
        # What an earlier run knew of nodes that have not been heard since.
        self._before: dict[str, NodeMemory] = {}
        self._errors_since: dict[str, dict[str, float]] = {}
        self._gone: set[str] = set()

    def restore(self, memories: Mapping[str, NodeMemory]) -> None:
        """Go on with what an earlier run knew."""
        self._before = dict(memories)

    def turn(self, node: str, gpus: tuple[str, ...]) -> None:
        """Hear that the samples of a node are of these GPUs from now on, and no longer of those before."""
        known = self._known(node)
        for gpu in known.present:
            known.seen[gpu] = max(known.seen.get(gpu, known.heard_at), known.heard_at)
        known.present, known.heard_at, known.is_new = gpus, float("-inf"), True

    def seen_at(self, node: str, gpu: str) -> float | None:
        """When the last sample of a GPU was taken in its node; None: nobody can tell."""
        known, before = self._nodes.get(node), self._before.get(node)
        if known is not None:
            return known.seen_at(gpu)
        return None if before is None else before.seen.get(gpu, before.at)

    def set_back(self, now: float) -> None:
        """The clock was wrong: nothing was heard after now."""
        for known in self._nodes.values():
            known.at, known.heard_at = min(known.at, now), min(known.heard_at, now)
            known.written_at = min(known.written_at, now)
            known.seen = {gpu: min(at, now) for gpu, at in known.seen.items()}

    def _known(self, node: str) -> _Known:
        known = self._nodes.get(node)
        if known is None:
            before = self._before.pop(node, None)
            seen = {} if before is None else {**dict.fromkeys(before.gpus, before.at), **before.seen}
            known = self._nodes[node] = _Known(seen)
        return known

    def observe(
        self, node: str, pasts: Mapping[str, Remembered], at: float, errors: Mapping[str, float]
    ) -> None:
        """Take in what is known of a node's GPUs at the moment of a sample."""
        known = self._known(node)
        known.at, known.heard_at = max(known.at, at), max(known.heard_at, at)
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
            self._before.pop(node, None)
            self._errors_since.pop(node, None)
        for gpu in gpus:
            for known in self._nodes.values():
                known.gpus.pop(gpu, None)
                known.seen.pop(gpu, None)

    def take_news(self, *, is_last: bool = False, but_not: Container[str] = ()) -> Left:
        """What is to be written: whatever changed, and now and then that a node was heard.

        Of some nodes not yet: what was heard of them last is not written either.
        """
        memories = {}
        for node, known in self._nodes.items():
            if node in but_not:
                continue
            if known.is_new or is_last or known.at - known.written_at >= HEARD_SECONDS:
                known.is_new, known.written_at = False, known.at
                errors = self._errors_since.get(node, {})
                seen = {gpu: at for gpu, at in known.seen.items() if gpu not in known.present}
                memories[node] = msgspec.msgpack.encode(
                    NodeMemory(at=known.at, gpus=known.gpus, errors_since=errors, seen=seen)
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
