"""The live stream: one snapshot, then what changed, encoded and compressed once for all viewers."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.fleet.changes import Change, ChangeTracker
from gpuboard.web.answers import Answers, SharedBody
from gpuboard.web.components import Components
from gpuboard.web.unwritable import ERRORS, Unwritable
from gpuboard.wire.component import ComponentView, component_for_tier
from gpuboard.wire.redact import gpu_rows_for_tier, node_rows_for_tier
from gpuboard.wire.stream import (
    BoardInfo,
    Bye,
    ChangeMessage,
    Gone,
    Heartbeat,
    HistoryInfo,
    Snapshot,
    StreamMessage,
    columns,
)
from gpuboard.wire.views import GpuRow, NodeRow, Tier

COMPRESS_FROM_BYTES: Final = 4096
HEARTBEAT_SECONDS: Final = 5.0
# A viewer that is so many frames behind is cut; it comes back with a snapshot.
QUEUE_FRAMES: Final = 10
# More than that are never sent again, so older ones need not be known.
REMEMBERED_FRAMES: Final = QUEUE_FRAMES

StreamFrame = str | bytes


class Viewer:
    """One open page: the frames that still have to reach it."""

    def __init__(
        self, tier: Tier, credential: str = "", role: str = "anonymous", person: str | None = None
    ) -> None:
        self.tier: Tier = tier
        # Who opened it, and when by the monotonic clock; None: a visitor.
        self.person = person
        self.since = time.monotonic()
        # The session or token that it was opened with, and the role that gave; empty: a visitor's.
        self.credential = credential
        self.role = role
        # What it is told at the end.
        self.goodbye = (1012, "the board stops, or has new settings")
        self.frames: asyncio.Queue[StreamFrame | None] = asyncio.Queue(maxsize=QUEUE_FRAMES)
        self.is_too_slow = False

    def offer(self, frame: StreamFrame) -> None:
        """Queue a frame; a viewer whose queue is full is given up, so that it harms nobody."""
        try:
            self.frames.put_nowait(frame)
        except asyncio.QueueFull:
            self.is_too_slow = True

    def stop(self) -> None:
        """Wake up whoever waits for frames: none is wanted any more."""
        if self.frames.empty():
            self.frames.put_nowait(None)


class _Past(Struct, frozen=True):
    """One change as it was sent; its rows are not kept, they would be most of the board's memory."""

    sequence: int
    frames: dict[Tier, StreamFrame]


class _Besides(NamedTuple):
    """What is new of the board itself; None: as before."""

    troubles: list[ComponentView] | None
    sources_unknown: int | None


class Broadcaster:
    """Hands every change of the fleet to every viewer."""

    def __init__(
        self,
        tracker: ChangeTracker,
        board: BoardInfo,
        components: Components | None = None,
        *,
        history: Callable[[], HistoryInfo | None] = lambda: None,
    ) -> None:
        self._tracker = tracker
        self._components = components or Components()
        self._board = board
        # What is known of the past just now.
        self._history = history
        self._stream = secrets.token_hex(8)
        self._sequence = 0
        self._ticks = 0
        # Whatever is asked for by GET, too: made once per tick.
        self.answers = Answers(lambda: (self._ticks, self._sequence))
        self._past: deque[_Past] = deque(maxlen=REMEMBERED_FRAMES)
        self._viewers: set[Viewer] = set()
        # The last change at which somebody of this tier was here.
        self._here: dict[Tier, int] = {}
        self._last_sent = 0.0
        self._told: list[ComponentView] = []
        self._sources_told = tracker.sources_unknown
        self.unwritable = Unwritable()
        self._components.add("rows", "", lambda: self.unwritable.trouble)

    @property
    def viewers(self) -> int:
        """How many pages are open."""
        return len(self._viewers)

    @property
    def version(self) -> str:
        """Changes whenever anything on the board does."""
        return f"{self._stream}-{self._sequence}"

    def follow(self, change: Change) -> None:
        """Bring all viewers up to the newest tick."""
        self._ticks += 1
        troubles = self._new_troubles(change.at)
        sources = self._new_sources()
        if change or troubles is not None or sources is not None:
            tiers = self._wanted()
            self._sequence += 1
            frames = self._frames(change, _Besides(troubles, sources), tiers)
            self._past.append(_Past(self._sequence, frames))
            for viewer in list(self._viewers):
                self._send(viewer, frames[viewer.tier])
            self._last_sent = change.at
        elif change.at - self._last_sent >= HEARTBEAT_SECONDS:
            beat = encode(Heartbeat(sequence=self._sequence, at=change.at))
            for viewer in list(self._viewers):
                self._send(viewer, beat)
            self._last_sent = change.at

    def join(
        self,
        tier: Tier,
        *,
        stream: str | None = None,
        after: int | None = None,
        credential: str | None = None,
        role: str = "anonymous",
        person: str | None = None,
    ) -> Viewer:
        """Add a viewer; it gets what it missed if that is still known, else a snapshot."""
        viewer = Viewer(tier, credential or "", role, person)
        for frame in self._missed(tier, stream, after):
            viewer.offer(frame)
        self._viewers.add(viewer)
        self._here[tier] = self._sequence
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        self._viewers.discard(viewer)

    def people(self) -> list[Viewer]:
        """The viewers that somebody has opened who is known by name."""
        return [viewer for viewer in self._viewers if viewer.credential or viewer.person]

    def dismiss(self, viewer: Viewer, code: int, reason: str) -> None:
        """Show a viewer out at once, whatever it has still to get."""
        self.leave(viewer)
        viewer.goodbye = (code, reason)
        while not viewer.frames.empty():
            viewer.frames.get_nowait()
        viewer.frames.put_nowait(None)

    def close(self, reason: str = "stopping") -> None:
        """Say good-bye to everybody."""
        for viewer in list(self._viewers):
            viewer.offer(encode(Bye(reason=reason)))
            viewer.is_too_slow = viewer.frames.full()
            if not viewer.is_too_slow:
                viewer.frames.put_nowait(None)
            self.leave(viewer)

    def set_contact(self, contact: str | None) -> None:
        """Say from now on how people are reached; whoever looks comes again, for a snapshot that says so."""
        self._board = replace(self._board, contact=contact)
        self._begin_anew("settings changed")

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set; whoever looks comes again, for a snapshot by the new time."""
        self._board = replace(self._board, started_at=self._board.started_at + seconds)
        self._last_sent += seconds
        self._begin_anew("clock set")

    def _begin_anew(self, reason: str) -> None:
        """Let everybody come again, for a snapshot."""
        self._past.clear()
        self._sequence += 1
        self.close(reason)

    def _frames(self, change: Change, besides: _Besides, tiers: list[Tier]) -> dict[Tier, StreamFrame]:
        """The change as each tier sees it; a row that cannot be written costs that row."""
        self.unwritable.forget(change.gone_nodes, change.gone_gpus)
        if self.unwritable or not tiers:
            # Also while nobody looks: who asks whether the board works shall hear it.
            change = self._mended(change)
        try:
            return {tier: encode(self._message(change, besides, tier)) for tier in tiers}
        except ERRORS:
            change = self._mended(change)
            return {tier: encode(self._message(change, besides, tier)) for tier in tiers}

    def _mended(self, change: Change) -> Change:
        """The change without what cannot be written; nobody else meets it either, by GET or in a snapshot."""
        nodes, gpus = {row.name: row for row in change.nodes}, {row.uuid: row for row in change.gpus}
        for name, node in nodes.items():
            self._tracker.nodes[name] = nodes[name] = self.unwritable.mended(node)
        for uuid, gpu in gpus.items():
            self._tracker.gpus[uuid] = gpus[uuid] = self.unwritable.mended(gpu)
        return replace(change, nodes=list(nodes.values()), gpus=list(gpus.values()))

    def _wanted(self) -> list[Tier]:
        """The tiers somebody sees now, or saw so lately that he may come back and ask for what he missed."""
        self._here.update({viewer.tier: self._sequence for viewer in self._viewers})
        return [tier for tier, at in self._here.items() if self._sequence - at < REMEMBERED_FRAMES]

    def _new_troubles(self, now: float) -> list[ComponentView] | None:
        self._components.look(now)
        found = self._components.troubles()
        # Compared with what was told: others look at the parts in between.
        if found == self._told:
            return None
        self._told = found
        return found

    def _new_sources(self) -> int | None:
        unknown = self._tracker.sources_unknown
        if unknown == self._sources_told:
            return None
        self._sources_told = unknown
        return unknown

    def _send(self, viewer: Viewer, frame: StreamFrame) -> None:
        viewer.offer(frame)
        if viewer.is_too_slow:
            self.leave(viewer)

    def _missed(self, tier: Tier, stream: str | None, after: int | None) -> list[StreamFrame]:
        if stream == self._stream and after is not None:
            missed = [past for past in self._past if past.sequence > after]
            frames = [past.frames[tier] for past in missed if tier in past.frames]
            if len(frames) == self._sequence - after < QUEUE_FRAMES:
                return frames or [self._beat()]
        return [_frame(self.snapshot(tier))]

    def _beat(self) -> StreamFrame:
        return encode(Heartbeat(sequence=self._sequence, at=self._tracker.now()))

    def snapshot(self, tier: Tier) -> SharedBody:
        """The whole fleet, for those who join the stream and those whom it does not reach."""
        return self.answers.get(("snapshot", tier), lambda: msgspec.json.encode(self._snapshot(tier)))

    def info(self, tier: Tier) -> BoardInfo:
        """What viewers of this tier should know about the board itself."""
        board = replace(self._board, history=self._history())
        return board if tier == "names" else replace(board, contact=None)

    def _snapshot(self, tier: Tier) -> Snapshot:
        nodes, gpus = list(self._tracker.nodes.values()), list(self._tracker.gpus.values())
        return Snapshot(
            stream=self._stream,
            sequence=self._sequence,
            at=self._tracker.now(),
            tier=tier,
            board=self.info(tier),
            nodes=columns(NodeRow, node_rows_for_tier(nodes, tier)),
            gpus=columns(GpuRow, gpu_rows_for_tier(gpus, tier)),
            troubles=[component_for_tier(one, tier) for one in self._told],
            sources_unknown=self._sources_told,
        )

    def _message(self, change: Change, besides: _Besides, tier: Tier) -> ChangeMessage:
        troubles = besides.troubles
        return ChangeMessage(
            sequence=self._sequence,
            at=change.at,
            nodes=columns(NodeRow, node_rows_for_tier(change.nodes, tier)),
            gpus=columns(GpuRow, gpu_rows_for_tier(change.gpus, tier)),
            gone=Gone(nodes=change.gone_nodes, gpus=change.gone_gpus),
            troubles=None if troubles is None else [component_for_tier(one, tier) for one in troubles],
            sources_unknown=besides.sources_unknown,
        )


def encode(message: StreamMessage) -> StreamFrame:
    """A message as a frame."""
    return _frame(SharedBody(msgspec.json.encode(message)))


def _frame(message: SharedBody) -> StreamFrame:
    """Text when small, gzip when large; that is done once for all viewers."""
    return message.body.decode() if len(message.body) < COMPRESS_FROM_BYTES else message.compressed
