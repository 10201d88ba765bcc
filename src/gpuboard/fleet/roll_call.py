"""Who is missing: nodes that cannot be read, GPUs that are lost or no longer mentioned, of all sources."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from gpuboard.fleet.node import Node
from gpuboard.model.problems import missing_gpus
from gpuboard.wire.clean import clean_text

log = logging.getLogger(__name__)

# Whoever makes thousands of nodes, or lets one come and go all the time, does not fill the log.
MAX_NAMED: Final = 20
PAUSE_SECONDS: Final = 60.0
REASON_LENGTH: Final = 200

# A node that is late may only be slow; one that was never read, never had anything to lose.
_ABSENT: Final = frozenset({"lost", "refused", "error"})


class Presence(NamedTuple):
    """How much of a node is there."""

    is_absent: bool = False
    gpus_missing: int = 0


class RollCall:
    """Remembers who is missing since when, and says in the log when that changes: once, and not too often."""

    def __init__(self) -> None:
        # A board says it; a command that looks once shows it anyway.
        self.speaks = False
        # Nodes that are not there, and since when; nodes that are, but not with all their GPUs.
        self.absent: dict[str, float] = {}
        self.short: dict[str, int] = {}
        self._told: dict[str, tuple[Presence, float]] = {}
        self._waiting: set[str] = set()

    def call(self, changed: Iterable[Node], everybody: Mapping[str, Node], now: float) -> None:
        """Hear of the nodes that may have come or gone, and say what is new."""
        names = self._waiting.union(node.name for node in changed)
        if not names:
            return
        self._waiting, named = set(), 0
        for name in sorted(names):
            node = everybody.get(name)
            if node is None:
                continue
            presence = self._note(node, now)
            before, said_at = self._told.get(name, (Presence(), float("-inf")))
            if presence == before:
                continue
            if named == MAX_NAMED or now - said_at < PAUSE_SECONDS:
                self._waiting.add(name)
                continue
            named += 1
            self._told[name] = presence, now
            if self.speaks:
                _say(node, before, presence)

    def _note(self, node: Node, now: float) -> Presence:
        # Another source that only expects it has not brought it back.
        is_awaited = node.freshness.state == "never" and node.name in self.absent
        is_absent = node.freshness.state in _ABSENT or is_awaited
        if is_absent:
            self.absent.setdefault(node.name, now)
        else:
            self.absent.pop(node.name, None)
        missing = missing_gpus(node.problems()) + node.fewer
        if missing:
            self.short[node.name] = missing
        else:
            self.short.pop(node.name, None)
        return Presence(is_absent, missing)

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set: who is missing has been so for as long as before."""
        self.absent = {name: since + seconds for name, since in self.absent.items()}
        self._told = {name: (presence, at + seconds) for name, (presence, at) in self._told.items()}

    def forget(self, name: str) -> None:
        """Forget a node; nobody misses it."""
        self.absent.pop(name, None)
        self.short.pop(name, None)
        self._told.pop(name, None)


def _say(node: Node, before: Presence, now: Presence) -> None:
    if now.is_absent and not before.is_absent:
        reason = node.freshness.reason.text if node.freshness.reason is not None else node.freshness.state
        state, text = node.freshness.state, clean_text(reason)[:REASON_LENGTH]
        log.warning("node missing: node=%s source=%s state=%s reason=%s", node.name, node.source, state, text)
    if before.is_absent and not now.is_absent:
        log.info("node back: node=%s source=%s", node.name, node.source)
    if now.gpus_missing > before.gpus_missing:
        log.warning("GPUs missing: node=%s count=%d", node.name, now.gpus_missing)
    if now.gpus_missing < before.gpus_missing:
        log.info("GPUs back or replaced: node=%s missing=%d", node.name, now.gpus_missing)
