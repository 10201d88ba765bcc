"""What every source owes to whoever takes samples for good: each one once, in order; and what agents keep."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from gpuboard.agent.buffer import Held, SampleBuffer
from gpuboard.agent.conversation import AGAIN_SECONDS, Conversation
from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.agent.serve import ListenOptions, ListenOutlet
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.node import Node
from gpuboard.fleet.state import Fleet
from gpuboard.history.gathering import News
from gpuboard.history.recorder import Recorder
from gpuboard.model.errors import SourceError
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport
from gpuboard.model.source import PUSH, SourceIdentity, identify
from gpuboard.probes.simulated import simulate
from gpuboard.settings.base import Duration
from gpuboard.sources.base import Source
from gpuboard.sources.folder import FolderOptions, FolderSource, Owners, room
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.sources.registry import SOURCES
from gpuboard.sources.simulated import SimulatedOptions, SimulatedSource
from gpuboard.wire.ingest import Hello, decode_from_board, encode_sample
from tests.contracts.test_sources import KINDS as SUBJECTS
from tests.contracts.test_sources import Subject, nothing
from tests.fakes.history import WrittenDown
from tests.fakes.sink import running
from tests.pushing import report_of
from tests.sources.pull.agents import TOKEN, at, pull, with_token
from tests.sources.pull.agents import report as pulled_report

NODE = "pushing"
BOOT = "boot-1"
# So many samples of a node are enough to see whether they come in order.
ENOUGH = 7


class Taken(NamedTuple):
    """One sample that was taken."""

    node: str
    sequence: int
    is_backfill: bool


class RecordingTaker:
    """Remembers what it took; it writes it down later, and may have no room."""

    def __init__(self) -> None:
        self.samples: list[Taken] = []
        self.is_full = False
        self.refused = 0
        # How many of them are safe.
        self.written = 0

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Take one, if there is room."""
        del source
        assert report.sequence is not None
        if self.is_full:
            self.refused += 1
            return False
        self.samples.append(Taken(node, report.sequence, is_backfill))
        return True

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Nobody else has these nodes."""
        raise AssertionError(f"{node} is shown from {source.name}: {report.sequence}")

    def taken(self, node: str, boot_id: str) -> int | None:
        """How far all is written."""
        del boot_id
        return max((one.sequence for one in self.samples[: self.written] if one.node == node), default=None)

    def of(self, node: str) -> list[int]:
        """The samples of a node, as they were taken."""
        return [one.sequence for one in self.samples if one.node == node]


class Watched(Fleet):
    """A fleet of which is known what it was shown."""

    def __init__(self) -> None:
        super().__init__(SteadyClock())
        self.shown: dict[str, list[int | None]] = {}
        self.recorder = RecordingTaker()
        self.taker = self.recorder

    def accept(self, node: Node, report: NodeReport) -> None:
        """Show a report, and remember that."""
        self.shown.setdefault(node.name, []).append(report.sequence)
        super().accept(node, report)


class Agent:
    """The agent's own side of push, without a wire."""

    def __init__(self, source: PushSource) -> None:
        self._source = source
        self.buffer = SampleBuffer(max_samples=1000)
        self._conversation = Conversation(Hello(node=NODE, boot_id=BOOT), self.buffer)
        self._is_known = False
        self.now = 0.0
        self.offered: list[int] = []

    def sample(self) -> None:
        """Take a sample."""
        sequence = len(self.offered) + 1
        report = replace(report_of(NODE), node=NODE, boot_id=BOOT, sequence=sequence)
        self.buffer.add(Held(sequence, encode_sample(report), self.now))
        self.offered.append(sequence)

    def lose_line(self) -> None:
        """Begin anew with the next word; the board says how far it has come."""
        self._is_known = False

    def talk(self) -> None:
        """Say all that is due, and hear the answers."""
        if not self._is_known:
            self._hear(self._conversation.begin())
            self._is_known = True
        while messages := self._conversation.due(self.now):
            for message in messages:
                self._hear(message)

    def _hear(self, message: bytes) -> None:
        answer = decode_from_board(self._source.accept(NODE, message))
        assert self._conversation.hear(answer, self.now) == ()

    def stir(self) -> None:
        """Sample, and talk if somebody listens yet; what is said later is back-filled."""
        self.sample()
        try:
            self.talk()
        except SourceError:
            return


Made = Callable[[Path, Watched], AbstractAsyncContextManager[Subject]]


@asynccontextmanager
async def pushed(_folder: Path, fleet: Watched) -> AsyncIterator[Subject]:
    """An agent that has missed the board for a while."""
    source = PushSource(fleet.recorder)
    source.set_nodes([NODE])
    agent = Agent(source)
    for _ in range(3):
        agent.sample()
    yield Subject(source, {NODE}, agent.stir)


def alone(kind: str) -> Made:
    """A source that needs nothing of whoever takes its samples."""
    return lambda folder, _fleet: SUBJECTS[kind](folder)


KINDS: dict[str, Made] = {**{kind: alone(kind) for kind in SUBJECTS}, "push": pushed}


@pytest.fixture
def fleet() -> Watched:
    """An empty fleet and its taker."""
    return Watched()


@pytest.fixture(params=list(KINDS))
async def subject(request: pytest.FixtureRequest, tmp_path: Path, fleet: Watched) -> AsyncIterator[Subject]:
    """Each source in turn."""
    async with KINDS[request.param](tmp_path, fleet) as made:
        yield made


def test_every_kind_of_source_is_held_to_this() -> None:
    """A new one in the registry without its place here is not whole."""
    assert KINDS.keys() == SOURCES.keys()


async def until(is_so: Callable[[], bool], stir: Callable[[], None] = nothing) -> None:
    """Stir until something is so."""
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.to_thread(stir)
            await asyncio.sleep(0.1)


def each_once_in_order(sequences: list[int]) -> bool:
    """Whether none comes twice, and none before an earlier one."""
    return sequences == sorted(set(sequences))


async def test_every_sample_of_every_source_is_taken_once_and_in_order(
    subject: Subject, fleet: Watched
) -> None:
    """Whatever was shown was taken too, and what an agent had kept for the board as well."""
    taker = fleet.recorder
    async with running(subject.source, fleet.sink(subject.source.kind)):
        await until(lambda: all(len(taker.of(node)) >= ENOUGH for node in subject.nodes), subject.stir)
    for node in subject.nodes:
        assert each_once_in_order(taker.of(node))
        assert set(fleet.shown[node]) <= set(taker.of(node))
    if subject.source.kind == PUSH:
        assert taker.of(NODE) == list(range(1, len(taker.samples) + 1))
        # First what was missed, then each as it comes.
        is_late = [one.is_backfill for one in taker.samples]
        assert is_late == sorted(is_late, reverse=True)
        assert set(is_late) == {True, False}


class Both:
    """A taker that remembers, and a recorder that writes down what it took."""

    def __init__(self, taker: RecordingTaker, recorder: Recorder) -> None:
        self._taker = taker
        self._recorder = recorder

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Let both take it."""
        return self._taker.take(node, report, source=source, is_backfill=is_backfill) and self._recorder.take(
            node, report, source=source, is_backfill=is_backfill
        )

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Nobody else has these nodes."""
        self._taker.pass_over(node, report, source=source)


async def test_every_sample_of_every_source_reaches_the_history_once(
    subject: Subject, fleet: Watched
) -> None:
    """As many of each GPU as were taken of its node."""
    history, taker, tracker = WrittenDown(), fleet.recorder, ChangeTracker(fleet)
    recorder = Recorder(history, fleet)
    recorder.start({}, News([], [], []))
    fleet.taker = Both(taker, recorder)
    async with running(subject.source, fleet.sink(subject.source.kind)):

        def is_enough() -> bool:
            recorder.follow(tracker.tick())
            return all(len(taker.of(node)) >= ENOUGH for node in subject.nodes)

        await until(is_enough, subject.stir)
    recorder.follow(tracker.tick())
    await recorder.finish()
    for node in subject.nodes:
        gpus = {place.gpu for batch in history.batches for place in batch.places if place.node == node}
        written = Counter(one.gpu for one in history.samples if one.gpu in gpus)
        assert written == dict.fromkeys(gpus, len(taker.of(node)))


async def test_not_now_stops_no_live_view_and_brings_nothing_twice(subject: Subject, fleet: Watched) -> None:
    """The disk is full for a while; who can send a sample again does, and of the others none comes late."""
    taker = fleet.recorder
    async with running(subject.source, fleet.sink(subject.source.kind)):
        await until(lambda: all(taker.of(node) for node in subject.nodes), subject.stir)
        taker.is_full = True
        before = {node: len(fleet.shown[node]) for node in subject.nodes}
        await until(
            lambda: all(len(fleet.shown[node]) >= before[node] + 2 for node in subject.nodes), subject.stir
        )
        taker.is_full, taken = False, {node: len(taker.of(node)) for node in subject.nodes}
        if subject.source.kind != PUSH:
            await until(
                lambda: all(len(taker.of(node)) > taken[node] for node in subject.nodes), subject.stir
            )
    assert taker.refused
    assert all(each_once_in_order(taker.of(node)) for node in subject.nodes)


def test_an_agent_keeps_what_was_not_taken_and_forgets_nothing_before_it_is_safe(fleet: Watched) -> None:
    """Not at "not now", nor while what was taken is not written; in the end the taker has all of it, once."""
    taker = fleet.recorder
    source = PushSource(taker)
    source.set_nodes([NODE])
    source._sink = fleet.sink(PUSH)
    agent = Agent(source)
    for number in range(60):
        taker.is_full = number % 20 in range(8, 14)
        if number % 7 == 0:
            taker.written = len(taker.samples)
        agent.now += AGAIN_SECONDS / 3
        agent.stir()
        safe = taker.taken(NODE, BOOT) or 0
        newest = agent.buffer.newest
        assert newest is not None
        # All that is not safe is still there; how far all is safe it hears with an answer.
        assert len(agent.buffer) >= len(agent.offered) - safe
        assert fleet.shown[NODE][-1] == agent.offered[-1]
    agent.now += 2 * AGAIN_SECONDS
    agent.stir()
    assert taker.of(NODE) == agent.offered
    assert taker.refused
    taker.written = len(taker.samples)
    agent.stir()
    assert len(agent.buffer) == 1


def test_what_an_agent_may_forget_is_never_told_by_another_source() -> None:
    """The numbers of ssh run ahead of those of the agent on the same machine, in the same boot."""
    fleet, ledger = Fleet(SteadyClock()), CountingLedger()
    fleet.taker = ledger
    first, second = identify([PUSH, "ssh"])
    source = PushSource(ledger)
    source.set_nodes([NODE])
    source._sink = fleet.sink(first)
    agent = Agent(source)
    agent.stir()
    fleet.sink(second).report(NODE, replace(report_of(NODE), node=NODE, boot_id=BOOT, sequence=10_000))
    for _ in range(2):
        agent.sample()
    agent.lose_line()
    agent.talk()
    assert ledger.taken(NODE, BOOT) == 3
    assert (ledger.live[NODE], ledger.backfilled[NODE]) == (1, 2)


async def told_again(source: Source, fleet: Watched, times: int, stir: Callable[[], None]) -> list[int]:
    """What is taken of a source that shows one sample so often."""
    async with running(source, fleet.sink(source.kind)):
        await until(lambda: any(len(shown) >= times for shown in fleet.shown.values()), stir)
    (shown,) = fleet.shown.values()
    assert len(set(shown)) == 1
    return [one.sequence for one in fleet.recorder.samples]


async def test_news_about_a_sample_of_an_agent_that_is_asked_are_shown_and_not_taken(
    tmp_path: Path, fleet: Watched
) -> None:
    """A driver that hangs is a problem of the last sample before it is a new one."""
    outlet = await asyncio.to_thread(ListenOutlet, ListenOptions(host="127.0.0.1", port=0, token=TOKEN))
    await asyncio.to_thread(outlet.start)
    details = iter(range(1000))

    def tell() -> None:
        news = replace(pulled_report(7), problems=(problem("slow-driver", f"{next(details)} s"),))
        outlet.offer(TimedReport(news, time.monotonic()))

    try:
        options = await asyncio.to_thread(with_token, tmp_path)
        source = pull(at("asked", outlet.port), options=options)
        assert await told_again(source, fleet, 3, tell) == [7]
    finally:
        await asyncio.to_thread(outlet.stop)


async def test_a_file_that_is_read_again_is_not_taken_again(tmp_path: Path, fleet: Watched) -> None:
    """Neither one that was half-written in between, nor one whose node was forgotten."""
    owners, report = Owners(forget_after=60.0), simulate("dgx-01", time.time())
    file = await asyncio.to_thread(write_drop, tmp_path, "dgx-01", TimedReport(report, 0.0))
    whole = await asyncio.to_thread(file.read_bytes)
    source = FolderSource(FolderOptions(path=str(tmp_path), interval=Duration(0.05)), owners=owners)
    steps = iter(range(1000))

    def disturb() -> None:
        step = next(steps) % 3
        if step == 0:
            file.write_bytes(whole[:100])
        elif step == 1:
            file.write_bytes(whole)
        else:
            owners.forget("dgx-01")

    assert await told_again(source, fleet, 4, disturb) == [report.sequence]


async def test_a_file_for_which_there_was_no_room_is_taken_once_there_is(
    tmp_path: Path, fleet: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read before, but nobody got it."""
    monkeypatch.setattr(room, "MAX_GPUS", 0)
    report = simulate("dgx-01", time.time())
    await asyncio.to_thread(write_drop, tmp_path, "dgx-01", TimedReport(report, 0.0))
    source = FolderSource(FolderOptions(path=str(tmp_path), interval=Duration(0.05)))
    async with running(source, fleet.sink(source.kind)):
        await until(lambda: source.trouble is not None)
        assert fleet.recorder.samples == []
        monkeypatch.undo()
        await until(lambda: bool(fleet.recorder.samples))
    assert fleet.recorder.of("dgx-01") == [report.sequence]


async def test_a_demo_that_is_started_again_does_not_tell_its_past_twice(fleet: Watched) -> None:
    """The part was restarted after a mistake; the hour before it was taken already."""
    source = SimulatedSource(SimulatedOptions(nodes=1, interval=Duration(0.1)), now=time.time)
    for count in (70, 75):
        async with running(source, fleet.sink(source.kind)):
            await until(lambda least=count: len(fleet.recorder.samples) >= least)  # type: ignore[misc]
    assert each_once_in_order([one.sequence for one in fleet.recorder.samples])
