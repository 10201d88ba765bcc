"""The agent's side against the board's real side, over a line that may break at any moment."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gpuboard.agent.buffer import Held, SampleBuffer
from gpuboard.agent.conversation import AGAIN_SECONDS, Conversation
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.report import NodeReport
from gpuboard.model.source import SourceIdentity
from gpuboard.sources.push import PushSource
from gpuboard.wire.ingest import Acknowledgement, Hello, decode_from_board, encode_sample

NODE = "gpu01"
BOOT = "boot-1"


class Disk:
    """A ledger that puts samples aside and writes them later; what is not written dies with the board."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.aside: list[int] = []
        self.is_full = False

    def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        """Put a sample aside, unless there is no room."""
        del node, source, is_backfill
        if self.is_full:
            return False
        assert report.sequence is not None
        self.aside.append(report.sequence)
        return True

    def pass_over(self, node: str, report: NodeReport, *, source: SourceIdentity) -> None:
        """Nobody else has this node."""
        raise AssertionError(f"{node} is shown from {source.name}: {report.sequence}")

    def taken(self, node: str, boot_id: str) -> int | None:
        """How far all is written."""
        del node, boot_id
        return self.written[-1] if self.written else None

    def write(self) -> None:
        """Write what was put aside."""
        self.written += self.aside
        self.aside = []


def held(sequence: int, now: float = 0.0) -> Held:
    """One sample."""
    report = NodeReport(node=NODE, boot_id=BOOT, sequence=sequence, interval_seconds=5.0)
    return Held(sequence, encode_sample(report), now)


class Line(RuleBasedStateMachine):
    """Samples come, messages and answers travel or are lost, the board writes, crashes, starts again."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = Disk()
        self.sequence = 100
        self.now = 0.0
        self.offered: list[int] = []
        self.shown: list[int] = []
        self.buffer = SampleBuffer(max_samples=10_000)
        self.conversation = Conversation(Hello(node=NODE, boot_id=BOOT), self.buffer)
        self.to_board: list[bytes] = []
        self.to_agent: list[bytes] = []
        self.start_board()
        self.connect()

    def start_board(self) -> None:
        """A board with nothing in memory, and what is on its disk."""
        self.disk.aside = []
        self.fleet = Fleet(SteadyClock())
        self.fleet.taker = self.disk
        self.source = PushSource(self.disk)
        self.source.set_nodes([NODE])
        self.source._sink = self.fleet.sink("push")

    @rule()
    def connect(self) -> None:
        """The line breaks, with all that is on it, and is made again."""
        self.to_board = [self.conversation.begin()]
        self.to_agent = []

    @rule()
    def crash(self) -> None:
        """Kill -9, restart, reconnect."""
        self.start_board()
        self.connect()

    @rule(step=st.integers(1, 3))
    def sample(self, step: int) -> None:
        """The node samples."""
        self.sequence += step
        self.offered.append(self.sequence)
        self.buffer.add(held(self.sequence))

    @rule()
    def fill_or_clear(self) -> None:
        """The disk is full, or no longer."""
        self.disk.is_full = not self.disk.is_full

    @rule()
    def send(self) -> None:
        """The agent says what is due."""
        self.now += AGAIN_SECONDS / 2
        self.to_board += self.conversation.due(self.now)
        assert len(self.to_board) + len(self.to_agent) <= 2

    @rule()
    def arrive(self) -> None:
        """One message reaches the board, which answers."""
        if self.to_board:
            self.to_agent.append(self.source.accept(NODE, self.to_board.pop(0)))
            node = self.fleet.get(NODE)
            report = node.report if node is not None else None
            if report is not None and report.sequence not in self.shown[-1:]:
                assert report.sequence is not None
                self.shown.append(report.sequence)

    @rule()
    def answer(self) -> None:
        """One answer reaches the agent."""
        if self.to_agent:
            assert self.conversation.hear(decode_from_board(self.to_agent.pop(0)), self.now) == ()

    @rule()
    def write(self) -> None:
        """The board writes down what it has taken."""
        self.disk.write()

    @invariant()
    def nothing_is_taken_twice_out_of_order_or_lost(self) -> None:
        """What is written is the beginning of what was offered; the rest is still with the agent."""
        written = self.disk.written
        assert written == self.offered[: len(written)]
        newest = self.buffer.newest
        missing = self.offered[len(written) :]
        assert not missing or (newest is not None and len(self.buffer) >= len(missing))

    @invariant()
    def the_live_view_never_goes_back(self) -> None:
        """Within one run of the board newer samples replace older ones, never the reverse."""
        assert self.shown == sorted(set(self.shown))

    def teardown(self) -> None:
        """When the trouble ends, everything arrives, and the newest is shown."""
        if not self.offered:
            return
        self.disk.is_full = False
        self.connect()
        for _ in range(len(self.offered) + 10):
            self.send()
            while self.to_board:
                self.arrive()
            self.disk.write()
            while self.to_agent:
                self.answer()
        # How far all is written comes with the next answer.
        self.sample(1)
        for _ in range(2):
            self.send()
            while self.to_board:
                self.arrive()
            self.disk.write()
            while self.to_agent:
                self.answer()
        assert self.disk.written == self.offered
        assert self.shown[-1] == self.offered[-1]


TestLine = Line.TestCase
TestLine.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)


def talk(conversation: Conversation, source: PushSource, now: float = 0.0) -> None:
    """Let both talk until nothing is due."""
    for _ in range(1000):
        messages = conversation.due(now)
        for message in messages:
            conversation.hear(decode_from_board(source.accept(NODE, message)), now)
        if not messages:
            return


def test_an_hour_of_backlog_arrives_in_few_messages_with_right_ages() -> None:
    """Each sample is as old as it has waited, by the agent's clock."""
    ages = []

    class Ages(Disk):
        def take(self, node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
            """Note how old it was."""
            ages.append((report.sequence, report.age_seconds))
            super().take(node, report, source=source, is_backfill=is_backfill)
            self.write()
            return True

    fleet = Fleet(SteadyClock())
    ledger = fleet.taker = Ages()
    source = PushSource(ledger)
    source.set_nodes([NODE])
    source._sink = fleet.sink("push")
    buffer = SampleBuffer(max_samples=720)
    conversation = Conversation(Hello(node=NODE, boot_id=BOOT), buffer)
    for number in range(720):
        buffer.add(held(number, now=number * 5.0))
    conversation.hear(decode_from_board(source.accept(NODE, conversation.begin())), 0.0)
    talk(conversation, source, now=3600.0)
    assert ages == [(number, 3600.0 - number * 5.0) for number in range(720)]
    assert len(buffer) == 0


def test_backlog_never_touches_the_live_state() -> None:
    """Only the newest sample is shown."""
    shown = []
    fleet = Fleet(SteadyClock())
    ledger = fleet.taker = Disk()
    source = PushSource(ledger)
    sink = fleet.sink("push")
    show = sink.show

    def spy(node: str, newest: NodeReport) -> None:
        shown.append(newest.sequence)
        show(node, newest)

    sink.show = spy  # type: ignore[method-assign, assignment]
    source.set_nodes([NODE])
    source._sink = sink
    buffer = SampleBuffer(max_samples=100)
    conversation = Conversation(Hello(node=NODE, boot_id=BOOT), buffer)
    for number in range(50):
        buffer.add(held(number))
    conversation.hear(decode_from_board(source.accept(NODE, conversation.begin())), 0.0)
    talk(conversation, source)
    assert shown == [49]


def test_a_newer_sample_takes_the_turn_of_one_that_waits() -> None:
    """While one is under way, the board hears only of the newest afterwards."""
    buffer = SampleBuffer(max_samples=100)
    conversation = Conversation(Hello(node=NODE, boot_id=BOOT), buffer)
    fleet = Fleet(SteadyClock())
    ledger = fleet.taker = Disk()
    source = PushSource(ledger)
    source.set_nodes([NODE])
    source._sink = fleet.sink("push")
    conversation.hear(decode_from_board(source.accept(NODE, conversation.begin())), 0.0)
    buffer.add(held(1))
    first = conversation.due(0.0)
    for number in (2, 3, 4):
        buffer.add(held(number))
    quiet = conversation.due(0.0)
    conversation.hear(decode_from_board(source.accept(NODE, first[0])), 0.0)
    answers = [decode_from_board(source.accept(NODE, message)) for message in conversation.due(0.0)]
    assert quiet == []
    assert [(a.live, a.batch) for a in answers if isinstance(a, Acknowledgement)] == [(4, None), (None, 4)]


def test_a_full_history_is_left_alone_for_a_while_and_then_gets_everything() -> None:
    """Meanwhile the live view goes on."""
    disk = Disk()
    fleet = Fleet(SteadyClock())
    fleet.taker = disk
    source = PushSource(disk)
    source.set_nodes([NODE])
    source._sink = fleet.sink("push")
    buffer = SampleBuffer(max_samples=100)
    conversation = Conversation(Hello(node=NODE, boot_id=BOOT), buffer)
    conversation.hear(decode_from_board(source.accept(NODE, conversation.begin())), 0.0)
    disk.is_full = True
    said = []
    for number in range(1, 11):
        buffer.add(held(number))
        said.append(len(conversation.due(float(number))))
        answer = Acknowledgement(live=number, again=number == 1)
        conversation.hear(answer, float(number))
    disk.is_full = False
    late = conversation.due(40.0)
    source.accept(NODE, late[0])
    assert said == [1] * 10
    assert disk.aside == list(range(1, 11))
