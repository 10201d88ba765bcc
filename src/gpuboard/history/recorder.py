"""Takes every sample for good: gathered beside the live view, written together every few seconds."""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct

from gpuboard.fleet.changes import Change
from gpuboard.fleet.node import DEFAULT_INTERVAL, Seen
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import OLDEST_SAMPLE_SECONDS, History
from gpuboard.history.covered import Covered
from gpuboard.history.gathering import Gathered, Gatherer, News
from gpuboard.history.judged import Judged
from gpuboard.history.positions import Positions, mark_of
from gpuboard.history.records import Batch, GpuSamples, HostSample, Taken, Written
from gpuboard.history.samples import Told, told_of
from gpuboard.model.errors import SampleRefused, StorageError
from gpuboard.model.node import LATE_AFTER_INTERVALS
from gpuboard.model.report import NodeReport, possible_time
from gpuboard.model.source import PUSH, SourceIdentity
from gpuboard.model.verdict import Reason
from gpuboard.outside.seldom import SeldomLog

log = logging.getLogger(__name__)

# Samples of GPUs that may wait to be written: a disk that hangs must not fill the memory. So many at least,
# and of a large fleet so many of each GPU.
MIN_WAITING: Final = 40_000
WAITING_PER_GPU: Final = 40
# So many go into one batch.
BATCH_SAMPLES: Final = 20_000
# So many that came late are judged in one go, before others have their turn on the event loop.
LATE_SAMPLES: Final = 200

# A sample that a newer one overtook by less has its verdict: they came in one tick.
OVERTAKEN_SECONDS: Final = 5.0

_TOO_OLD: Final = (
    f"it is older than {OLDEST_SAMPLE_SECONDS / 60:.0f} minutes: nothing changes that past any more"
)

_NOTHING: Final = Gathered(None, None)


# Thousands of these wait to be written, and hold no cycles.
class _Taking(Struct, eq=False, gc=False):
    """One sample that was taken."""

    node: str
    # None: nothing of it is kept but how far its node has come.
    report: NodeReport | None
    at: float
    # Under which name it is known how far its node has come, and how far that is.
    key: str
    position: Taken
    is_backfill: bool = False
    # How many samples of GPUs it holds, at least one.
    weight: int = 1
    # What the fleet has not judged is looked at when it is.
    told: Told | None = None
    # What the fleet thought of it; None: it is to be judged here.
    judged: list[Judged] | None = None
    # As it is written; None: it is not ready.
    gathered: Gathered | None = None


class Counts(Struct):
    """What the history has done since the board started."""

    batches: int = 0
    samples: int = 0
    # Too old, of a past that was taken already, sealed already, or of more GPUs than a node may have.
    refused: int = 0
    # Of the thread that writes.
    cpu_seconds: float = 0.0
    size_bytes: int | None = None
    since: float | None = None


class Recorder:
    """The ledger of a board with a history. Everything but writing happens on the event loop."""

    def __init__(self, history: History, fleet: Fleet, *, step_seconds: float = 10.0) -> None:
        self._history = history
        self._fleet = fleet
        self._step = step_seconds
        self._is_open = False
        # What is written next is written last.
        self._is_ending = False
        self.counts = Counts()
        self._trouble: Reason | None = None
        self._positions = Positions()
        self._covered = Covered()
        self._gatherer = Gatherer(fleet)
        # Since the last tick, and of each node the one that alone waits for it; those that are to be judged
        # here, and whose they are; those to be written.
        self._fresh: list[_Taking] = []
        self._alone: dict[str, _Taking | None] = {}
        self._late: deque[_Taking] = deque()
        self._late_of: dict[str, int] = {}
        self._ready: deque[_Taking] = deque()
        self._unwritten: Batch | None = None
        self._waiting = 0
        self._most_waiting = MIN_WAITING
        # Which life of the history knows who is where, and what goes on.
        self._told_in = history.lives
        self._news = asyncio.Event()
        self._log = SeldomLog(log)

    def start(self, positions: dict[str, Taken], news: News) -> None:
        """Go on where an earlier run of the board ended; from now on samples are taken."""
        now = self._fleet.clock.now()
        self._positions.restore(positions)
        self._covered.restore(self._gatherer.restore(news, now), now)
        self._is_open = True

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Put a sample aside to be written with others; False: there is no room now.

        Raises:
            SampleRefused: it was sent later, and is too old; how far its node has come is still written.
        """
        if not self._is_open or self._history.is_paused or self._waiting >= self._most_waiting:
            return False
        now = self._fleet.clock.now()
        at = possible_time(now - report.age_seconds)
        mark = mark_of(node, report, source, at)
        if not self._positions.is_new(mark):
            return True
        interval = report.interval_seconds or DEFAULT_INTERVAL
        holds = LATE_AFTER_INTERVALS * interval
        if now - at > OLDEST_SAMPLE_SECONDS or not self._covered.is_new(node, at, holds, now):
            # For good: nothing changes what is so old any more, or was observed.
            self.counts.refused += 1
            self._put(_Taking(node, None, at, *mark))
            if is_backfill and now - at > OLDEST_SAMPLE_SECONDS:
                raise SampleRefused(_TOO_OLD)
        else:
            gpus = report.gpus or ()
            told = None if is_backfill else told_of(gpus, report.host)
            if is_backfill:
                self._gatherer.hindsight.learn(node, at, interval, holds, now=now)
            self._put(_Taking(node, report, at, *mark, is_backfill, len(gpus) or 1, told))
        return True

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Let a sample go; how far its node has come is written after what was put aside before."""
        if source.kind != PUSH or not self._is_open:
            return
        at = self._fleet.clock.now()
        mark = mark_of(node, report, source, at)
        if self._positions.is_new(mark):
            self._put(_Taking(node, None, at, *mark))

    def taken(self, node: str, boot_id: str) -> int | None:
        """How far this boot of the node is safe."""
        return self._positions.safe(node, boot_id)

    def _put(self, taking: _Taking) -> None:
        node = taking.node
        before = self._alone.get(node)
        is_alone = self._hurry(before) if before is not None else node not in self._alone
        self._alone[node] = taking if is_alone else None
        self._fresh.append(taking)
        self._waiting += taking.weight

    def _hurry(self, taking: _Taking) -> bool:
        """Make a sample ready that a newer one has overtaken before a tick; whether that could be done.

        Nobody else needs it any more: whatever is kept until the tick has to be found room for.
        """
        node, report, told = self._fleet.get(taking.node), taking.report, taking.told
        if node is None or report is None or told is None or taking.node in self._late_of:
            return False
        gathered = self._gatherer.record_overtaken(node, report, told, taking.at)
        if gathered is not None:
            self._set_ready(taking, gathered)
        return gathered is not None

    def follow(self, change: Change) -> None:
        """Take in one tick: the fleet has just judged what was taken since the last."""
        self._gatherer.follow(change)
        self._gatherer.hindsight.note_pause(change.at, is_paused=self._history.is_paused)
        self._most_waiting = max(MIN_WAITING, WAITING_PER_GPU * self._gatherer.gpus)
        self._positions.forget(change.gone_nodes)
        self._covered.forget(change.gone_nodes)
        self._sort_fresh()
        if self._late or self._waiting >= BATCH_SAMPLES:
            self._news.set()

    def _sort_fresh(self) -> None:
        fresh, self._fresh = self._fresh, []
        self._alone.clear()
        for taking in fresh:
            if taking.gathered is not None:
                continue
            node, report = self._fleet.get(taking.node), taking.report
            seen = None if node is None else node.seen
            if node is not None and seen is not None and report is not None and _is_fresh(seen, taking):
                if taking.told is not None and taking.node not in self._late_of:
                    gathered = self._gatherer.record_live(node, seen, report, taking.told, taking.at)
                    self._set_ready(taking, gathered)
                    continue
                taking.judged = self._gatherer.live(node, seen, report)
            # What came before it goes first.
            if taking.node in self._late_of or (taking.judged is None and report is not None):
                self._late.append(taking)
                self._late_of[taking.node] = self._late_of.get(taking.node, 0) + 1
            else:
                self._make_ready(taking)

    def _make_ready(self, taking: _Taking) -> None:
        node, report, gathered = self._fleet.get(taking.node), taking.report, _NOTHING
        if node is not None and report is not None:
            judged = taking.judged
            if judged is None:
                judged = self._gatherer.late(node, report, taking.at)
            gathered = self._gatherer.record(node, report, judged, taking.at)
        self._set_ready(taking, gathered)

    def _set_ready(self, taking: _Taking, gathered: Gathered) -> None:
        # What it was made of is not needed any more.
        taking.report = taking.judged = taking.told = None
        taking.gathered = gathered
        self._ready.append(taking)

    def _judge_some(self) -> None:
        judged = 0
        while self._late and judged < LATE_SAMPLES:
            one = self._late.popleft()
            left = self._late_of[one.node] = self._late_of[one.node] - 1
            if not left:
                del self._late_of[one.node]
            judged += one.weight
            self._make_ready(one)

    async def run(self) -> None:
        """Write what was taken every few seconds, and tidy up in between, until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._step
        while True:
            await self._judge_until(due)
            due = max(due + self._step, loop.time())
            await self.write()
            await self._tidy_until(due)

    async def _judge_until(self, due: float) -> None:
        """Judge what came late, a little at a time; return when a batch is due, or full."""
        loop = asyncio.get_running_loop()
        while loop.time() < due and len(self._ready) < BATCH_SAMPLES:
            if self._late:
                self._judge_some()
                await asyncio.sleep(0)
                continue
            if self._waiting >= BATCH_SAMPLES:
                return
            self._news.clear()
            try:
                async with asyncio.timeout_at(due):
                    await self._news.wait()
            except TimeoutError:
                return

    async def write(self) -> None:
        """Write what is ready; what cannot be written now is tried again with the next."""
        while (batch := self._unwritten or self._gather()) is not None:
            if self._history.lives != self._told_in:
                self._told_in, batch = self._history.lives, self._gatherer.tell_again(batch)
            self._unwritten = batch
            try:
                written = await self._history.run(partial(self._write, batch), is_write=True)
            except StorageError as error:
                if self._trouble is None:
                    log.warning("history not written: reason=%s", error)
                self._trouble = error.reason
                return
            self._unwritten, self._trouble = None, None
            self._note(batch, written)

    def _write(self, batch: Batch) -> Written:
        began = time.thread_time()
        try:
            written = self._history.write(batch, now=self._fleet.clock.now())
            self._measure()
        finally:
            self.counts.cpu_seconds += time.thread_time() - began
        return written

    def _measure(self) -> None:
        # The batch is safe, whether or not this can be told.
        with suppress(StorageError):
            self.counts.size_bytes = self._history.size_bytes()
            self.counts.since = self._history.since()

    def _gather(self) -> Batch | None:
        """What is ready to be written, in the order in which it came; None: nothing."""
        gpus: list[GpuSamples] = []
        hosts: list[HostSample] = []
        positions: dict[str, Taken] = {}
        weight = 0
        while self._ready and weight < BATCH_SAMPLES:
            taking = self._ready.popleft()
            gathered = taking.gathered or _NOTHING
            weight += taking.weight
            if gathered.missing is not None:
                gpus.append(gathered.missing)
            if gathered.gpu_samples is not None:
                gpus.append(gathered.gpu_samples)
            if gathered.host_sample is not None:
                hosts.append(gathered.host_sample)
            positions[taking.key] = taking.position
        self._waiting -= weight
        waiting = {taking.node for taking in self._ready}
        is_last, gone = self._is_ending and not waiting, self._positions.take_gone()
        self._is_ending = self._is_ending and not is_last
        news = self._gatherer.take_news(is_last=is_last, waiting=waiting)
        if not (positions or gone or any(news[:-1]) or any(news.memories)):
            return None
        return Batch(
            gpu_samples=gpus,
            host_samples=hosts,
            places=news.places,
            positions={key: position for key, position in positions.items() if key not in gone},
            positions_gone=gone,
            episodes=news.episodes,
            events=news.events,
            memories=news.memories.memories,
            memories_gone=news.memories.gone,
        )

    def _note(self, batch: Batch, written: Written) -> None:
        self._positions.note_safe(batch.positions)
        self._fleet.note_unrecorded(written.overfull)
        self.counts.batches += 1
        self.counts.samples += sum(len(one.gpus) for one in batch.gpu_samples)
        self.counts.refused += written.refused

    async def _tidy_until(self, due: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            while loop.time() < due and not self._late:
                if not await self._history.run(self._tidy, is_write=True):
                    return
        except StorageError as error:
            self._log.say("tidy", "history not tidied: reason=%s", error)

    def _tidy(self) -> bool:
        began = time.thread_time()
        try:
            return self._history.tidy(now=self._fleet.clock.now())
        finally:
            self.counts.cpu_seconds += time.thread_time() - began

    @property
    def trouble(self) -> Reason | None:
        """Why nothing is written at the moment; None: all is well. Never waits."""
        return self._history.trouble or self._trouble

    async def finish(self) -> None:
        """Write what came last; nothing more is taken."""
        self._is_open, self._is_ending = False, True
        self._fleet.settle()
        self._sort_fresh()
        while self._late:
            self._judge_some()
        await self.write()


def _is_fresh(seen: Seen, taking: _Taking) -> bool:
    """Whether the fleet has judged this report, or one that came with it in the same tick."""
    if taking.is_backfill or seen.report is None:
        return False
    return seen.sampled_at is None or seen.sampled_at - taking.at < OVERTAKEN_SECONDS
