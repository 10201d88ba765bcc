"""What a push source believes, and what it does not."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import AccessRefused, SampleRefused, SourceError, WireError
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.source import SourceIdentity
from gpuboard.sources.ledger import CountingLedger, Position
from gpuboard.sources.push import PushSource
from gpuboard.sources.push.positions import WRITE_SECONDS
from gpuboard.wire.ingest import (
    MAX_BATCH_SAMPLES,
    MAX_MESSAGE_BYTES,
    Acknowledgement,
    Backfill,
    Hello,
    Live,
    Sample,
    Welcome,
    decode_from_board,
    encode,
    encode_sample,
)

NODE = "gpu01"


class Desk:
    """A push source with a real fleet behind it."""

    def __init__(self) -> None:
        self.fleet = Fleet(SteadyClock())
        self.ledger = self.fleet.taker = CountingLedger()
        self.source = PushSource(self.ledger)
        self.source.set_nodes([NODE])
        self.source._sink = self.fleet.sink("push")

    def hello(self, boot_id: str = "boot-1", *, node: str = NODE, speaks_for: str = NODE) -> Welcome:
        """A node says hello."""
        answer = decode_from_board(self.source.accept(speaks_for, encode(Hello(node=node, boot_id=boot_id))))
        assert isinstance(answer, Welcome)
        return answer

    def live(self, sequence: int, /, *, follows: int | None = -1, **changes: Any) -> Acknowledgement:  # noqa: ANN401
        """A node sends its newest sample."""
        return self.send(Live(sample=sample(sequence, **changes), follows=follows))

    def send(self, message: Live | Backfill) -> Acknowledgement:
        """A node sends a message."""
        answer = decode_from_board(self.source.accept(NODE, encode(message)))
        assert isinstance(answer, Acknowledgement)
        return answer

    @property
    def shown(self) -> int | None:
        """The sample that the fleet shows."""
        node = self.fleet.get(NODE)
        return node.report.sequence if node is not None and node.report is not None else None


def sample(sequence: int, /, *, waited: float = 0.0, **changes: Any) -> Sample:  # noqa: ANN401
    """One sample of the node, changed on purpose."""
    fields: dict[str, Any] = {
        "node": NODE,
        "boot_id": "boot-1",
        "sequence": sequence,
        "interval_seconds": 5.0,
    }
    report = NodeReport(**{**fields, **changes})
    return Sample(sequence=sequence, waited_seconds=waited, report=msgspec.Raw(encode_sample(report)))


@pytest.fixture
def board() -> Desk:
    """A source that listens and has been greeted."""
    desk = Desk()
    desk.hello()
    return desk


def test_a_live_sample_is_shown_with_its_age(board: Desk) -> None:
    """Its own age and the time that it waited at the agent."""
    answer = board.live(7, waited=2.0, age_seconds=1.5)
    node = board.fleet.get(NODE)
    assert (answer.live, answer.taken, answer.refused) == (7, 7, ())
    assert node is not None
    assert node.report is not None
    assert node.report.age_seconds == 3.5


def test_replays_are_refused_and_change_nothing(board: Desk) -> None:
    """Ten thousand of them, of every sample so far."""
    message = encode(Live(sample=sample(5), follows=-1))
    for number in range(1, 11):
        board.live(number)
    answers = [decode_from_board(board.source.accept(NODE, message)) for _ in range(10_000)]
    assert all(isinstance(answer, Acknowledgement) and answer.refused for answer in answers)
    assert (board.shown, board.ledger.live) == (10, {NODE: 10})


def test_a_replayed_batch_is_acknowledged_and_not_taken_twice(board: Desk) -> None:
    """The first answer may have been lost on its way."""
    batch = Backfill(follows=-1, samples=tuple(sample(number) for number in range(1, 6)))
    answers = [board.send(batch) for _ in range(3)]
    assert {(a.batch, a.taken, a.refused) for a in answers} == {(5, 5, ())}
    assert (board.ledger.backfilled, board.shown) == ({NODE: 5}, None)


def test_a_restarted_agent_goes_on_where_the_boot_is(board: Desk) -> None:
    """Its sequence comes from the time since boot, so it rises over a restart."""
    board.live(1000)
    welcome = board.hello()
    board.live(2000)
    assert (welcome.shown, welcome.taken, board.shown) == (1000, 1000, 2000)


def test_a_rebooted_node_may_begin_again(board: Desk) -> None:
    """Another boot has a sequence of its own."""
    board.live(1_000_000)
    welcome = board.hello("boot-2")
    board.live(5, boot_id="boot-2")
    assert (welcome.shown, welcome.taken, board.shown) == (None, None, 5)


def test_a_boot_that_is_over_does_not_come_back(board: Desk) -> None:
    """Recorded reports, or a second machine with a copy of the token."""
    board.hello("boot-2")
    with pytest.raises(AccessRefused, match="another machine has used the token"):
        board.hello("boot-1")


def test_a_token_speaks_for_one_node(board: Desk) -> None:
    """Whoever says to be another is sent away."""
    with pytest.raises(AccessRefused, match="belongs to gpu01"):
        board.hello(node="gpu02")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"node": "gpu02"}, "belongs to gpu01"),
        ({"boot_id": "boot-9"}, "another boot"),
        ({"boot_id": None}, "another boot"),
        ({"sequence": 8}, "another boot or sequence"),
        ({"sequence": None}, "another boot or sequence"),
        ({"version": 99}, "same gpuboard version"),
        ({"gpus": tuple(GpuReading(uuid="same", index=i) for i in range(2))}, "same GPU twice"),
    ],
)
def test_a_sample_that_contradicts_itself_is_refused_in_words(
    board: Desk, changes: dict[str, Any], words: str
) -> None:
    """The agent hears which and why, the fleet keeps what it has, and the next sample is fine."""
    board.live(1)
    live = board.live(2, **changes)
    late = board.send(Backfill(follows=-1, samples=(sample(3, **changes),)))
    assert [refusal.sequence for refusal in (*live.refused, *late.refused)] == [2, 3]
    assert words in live.refused[0].reason
    assert board.shown == 1
    assert board.live(4).refused == ()


def test_one_bad_sample_does_not_hold_up_the_others(board: Desk) -> None:
    """The rest of its batch is taken, in order."""
    samples = (sample(1), sample(2, node="gpu02"), sample(3))
    answer = board.send(Backfill(follows=-1, samples=samples))
    assert ([r.sequence for r in answer.refused], answer.taken) == ([2], 3)
    assert board.ledger.backfilled == {NODE: 2}


def test_a_sample_that_nobody_takes_ever_is_named(board: Desk) -> None:
    """The agent forgets it, and those after it are taken."""
    take = board.ledger.take

    def too_old(node: str, report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        is_taken = take(node, report, source=source, is_backfill=is_backfill)
        if report.age_seconds > 4500:
            raise SampleRefused("it is too old")
        return is_taken

    board.ledger.take = too_old  # type: ignore[method-assign]
    answer = board.send(Backfill(follows=-1, samples=(sample(1, waited=4600.0), sample(2), sample(3))))
    assert [(one.sequence, one.reason) for one in answer.refused] == [(1, "it is too old")]
    assert (answer.batch, answer.taken, answer.again) == (3, 3, False)


def test_a_sample_out_of_order_is_shown_but_left_to_the_batch(board: Desk) -> None:
    """History gets it when its turn comes."""
    live = board.live(9, follows=None)
    late = board.send(Backfill(follows=-1, samples=(sample(8), sample(9))))
    assert (board.shown, live.taken, late.taken) == (9, None, 9)
    assert (board.ledger.live, board.ledger.backfilled) == ({}, {NODE: 2})


def test_what_follows_on_something_missing_is_not_taken(board: Desk) -> None:
    """It was sent before the agent heard that the one before has to come again."""
    board.live(1)
    live = board.live(3, follows=2)
    late = board.send(Backfill(follows=3, samples=(sample(4),)))
    after = board.send(Backfill(follows=1, samples=(sample(2), sample(3), sample(4))))
    assert [(a.again, a.taken) for a in (live, late, after)] == [(True, 1), (True, 1), (False, 4)]
    assert (board.shown, board.ledger.backfilled) == (3, {NODE: 3})


def test_a_refused_sample_leaves_no_gap(board: Desk) -> None:
    """What follows on it follows on something that will never come."""
    board.live(1)
    board.live(2, follows=1, node="gpu02")
    answer = board.live(3, follows=2)
    assert (answer.again, answer.taken) == (False, 3)


def not_now(_node: str, _report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
    """Have no room."""
    del source, is_backfill
    return False


def test_what_the_ledger_cannot_take_is_shown_but_not_acknowledged(board: Desk) -> None:
    """A full disk must not become a gap, nor stop the live view."""
    take = board.ledger.take
    board.live(1)
    board.ledger.take = not_now  # type: ignore[method-assign, assignment]
    live = board.live(2)
    late = board.send(Backfill(follows=-1, samples=(sample(2), sample(3))))
    board.ledger.take = take  # type: ignore[method-assign]
    after = board.send(Backfill(follows=-1, samples=(sample(2), sample(3))))
    assert [(a.again, a.taken) for a in (live, late, after)] == [(True, 1), (True, 1), (False, 3)]
    assert board.shown == 2


def test_a_bad_sample_before_one_that_has_to_wait_is_named(board: Desk) -> None:
    """The agent need not send it again with the others."""
    board.ledger.take = not_now  # type: ignore[method-assign, assignment]
    answer = board.send(Backfill(follows=-1, samples=(sample(1, node="another"), sample(2))))
    assert (answer.again, [one.sequence for one in answer.refused], answer.taken) == (True, [1], None)


def test_a_ledger_that_breaks_leaves_its_samples_with_the_agent(board: Desk) -> None:
    """Nothing is acknowledged, and the next try takes it."""

    def fail(_node: str, _report: NodeReport, *, source: SourceIdentity, is_backfill: bool) -> bool:
        raise OSError(f"broken (source: {source.name}, backfill: {is_backfill})")

    take = board.ledger.take
    board.ledger.take = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(OSError, match="broken"):
        board.send(Backfill(follows=-1, samples=(sample(1),)))
    board.ledger.take = take  # type: ignore[method-assign]
    assert board.hello().taken is None
    assert board.send(Backfill(follows=-1, samples=(sample(1),))).taken == 1


def test_a_message_before_hello_is_refused() -> None:
    """Without it nobody knows which boot is speaking."""
    with pytest.raises(WireError, match="hello"):
        Desk().live(1)


def test_another_version_of_the_protocol_says_what_to_do() -> None:
    """In words for the administrator."""
    data = encode(Hello(node=NODE, boot_id="b", version=9))
    with pytest.raises(WireError, match="same gpuboard version"):
        Desk().source.accept(NODE, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xc1",
        b"\x81" * 100_000,
        b"\x91" * 100_000,
        msgspec.msgpack.encode({"kind": "nonsense"}),
        msgspec.msgpack.encode({"kind": "hello"}),
        msgspec.msgpack.encode({"kind": "hello", "node": "../etc", "boot_id": "b"}),
        msgspec.msgpack.encode({"kind": "hello", "node": NODE, "boot_id": "b" * 300}),
        msgspec.msgpack.encode({"kind": "backfill", "samples": []}),
        msgspec.msgpack.encode({"kind": "live", "follows": -1, "sample": {"sequence": -1}}),
        encode(
            Live(sample=Sample(sequence=2**63, waited_seconds=0.0, report=msgspec.Raw(b"\xc0")), follows=-1)
        ),
        encode(Live(sample=Sample(sequence=1, waited_seconds=-1.0, report=msgspec.Raw(b"\xc0")), follows=-1)),
        encode(
            Live(
                sample=Sample(sequence=1, waited_seconds=float("nan"), report=msgspec.Raw(b"\xc0")),
                follows=-1,
            )
        ),
        encode(Backfill(follows=-1, samples=(sample(1),) * (MAX_BATCH_SAMPLES + 1))),
        b"\xc4" + b"x" * MAX_MESSAGE_BYTES,
    ],
)
def test_what_no_agent_sends_is_refused_whole(board: Desk, data: bytes) -> None:
    """Limits hold before anything is believed."""
    with pytest.raises(WireError):
        board.source.accept(NODE, data)
    assert board.shown is None


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_in_words(data: bytes) -> None:
    """The only error out of the border is ours."""
    with pytest.raises(WireError):
        Desk().source.accept(NODE, data)


@given(st.binary(max_size=300))
def test_an_arbitrary_report_inside_a_good_message_is_refused(data: bytes) -> None:
    """Whatever it is, the agent hears that it need not be sent again."""
    board = Desk()
    board.hello()
    raw = Sample(sequence=1, waited_seconds=0.0, report=msgspec.Raw(msgspec.msgpack.encode(data)))
    assert board.send(Live(sample=raw, follows=-1)).refused
    assert board.shown is None


async def test_a_source_listens_only_while_it_runs() -> None:
    """Before and after, agents are asked to come back."""
    source = PushSource(CountingLedger())
    source.set_nodes(["gpu01", "gpu02"])
    with pytest.raises(SourceError):
        source.accept(NODE, b"")
    fleet = Fleet(SteadyClock())
    running = asyncio.create_task(source.run(fleet.sink("push")))
    await asyncio.sleep(0)
    names = sorted(node.name for node in fleet)
    source.set_nodes(["gpu02"])
    fleet.settle()
    # One that was never read leaves nothing behind.
    stay = [node.name for node in fleet]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (names, stay) == (["gpu01", "gpu02"], ["gpu02"])
    with pytest.raises(SourceError):
        source.accept(NODE, b"")


def restarted(desk: Desk, written: Mapping[str, Position] | None = None) -> Desk:
    """A new run of the board that knows the positions of the last one, and nothing else."""
    positions = desk.source.positions() if written is None else written
    new = Desk()
    new.ledger = new.fleet.taker = CountingLedger()
    new.ledger.restore(positions)
    new.source = PushSource(new.ledger)
    new.source.set_nodes([NODE])
    new.source._sink = new.fleet.sink("push")
    new.source.restore(positions)
    return new


def test_after_a_restart_the_board_asks_for_nothing_that_it_had() -> None:
    """The agent hears through which sample all was shown and taken."""
    desk = Desk()
    desk.hello()
    desk.live(5)
    welcome = restarted(desk).hello()
    assert (welcome.shown, welcome.taken) == (5, 5)


def test_after_a_restart_no_file_speaks_for_a_node_that_has_pushed() -> None:
    """Its agent may be down just then, and anybody may write into a shared folder."""
    desk = Desk()
    desk.hello()
    desk.live(5)
    after = restarted(desk)
    after.fleet.sink("folder").report(
        NODE, NodeReport(node=NODE, gpus=(GpuReading(uuid="GPU-fake", index=0),))
    )
    node = after.fleet.get(NODE)
    assert node is not None
    assert (node.source, len(node.readings()), sorted(node.also_from)) == ("push", 0, ["folder"])


def test_a_node_that_has_a_token_only_to_sign_its_files_is_shown_from_these() -> None:
    """It has never pushed."""
    desk = Desk()
    desk.fleet.sink("folder").report(NODE, NodeReport(node=NODE, gpus=()))
    node = desk.fleet.get(NODE)
    assert node is not None
    assert node.source == "folder"


def test_after_a_restart_a_sample_that_was_shown_is_refused() -> None:
    """A replay stays a replay; the next sample is shown and taken."""
    desk = Desk()
    desk.hello()
    desk.live(5)
    after = restarted(desk)
    after.hello()
    replayed = after.live(5, follows=None)
    assert ([r.sequence for r in replayed.refused], after.shown) == ([5], None)
    fresh = after.live(6, follows=5)
    assert (fresh.taken, fresh.again, after.shown) == (6, False, 6)


def test_after_a_crash_only_what_came_since_the_last_write_can_be_shown_again() -> None:
    """A second's worth: what was written down before stays a replay, whoever sends it."""
    assert WRITE_SECONDS <= 1.0
    desk = Desk()
    desk.hello()
    desk.live(5)
    written = desk.source.positions()
    desk.live(6, follows=5)
    after = restarted(desk, written)
    after.hello()
    before = after.live(5, follows=None)
    assert ([r.sequence for r in before.refused], after.shown) == ([5], None)
    since = after.live(6, follows=5)
    assert (since.refused, after.shown) == ((), 6)
    again = after.live(6, follows=5)
    assert [r.sequence for r in again.refused] == [6]


def test_after_a_restart_an_earlier_boot_is_still_an_earlier_boot() -> None:
    """What two machines with one token do to each other does not begin anew."""
    desk = Desk()
    desk.hello("boot-1")
    desk.hello("boot-2")
    with pytest.raises(AccessRefused, match="another machine has used the token"):
        restarted(desk).hello("boot-1")


def test_positions_never_claim_what_was_only_shown() -> None:
    """A live sample with others before it is shown at once, and taken only in its turn."""
    desk = Desk()
    desk.hello()
    desk.live(9, follows=None)
    position = desk.source.positions()[NODE]
    assert (position.shown, position.taken) == (9, None)


def test_positions_of_a_node_that_lost_its_token_are_forgotten() -> None:
    """Revoked and enrolled again, it starts anew."""
    desk = Desk()
    desk.hello()
    desk.live(5)
    desk.source.set_nodes(["other"])
    assert desk.source.positions() == {}


def test_a_node_that_lost_its_token_says_nothing_more() -> None:
    """What was sent before, and comes only now, does not bring it back."""
    desk = Desk()
    desk.hello()
    desk.live(5)
    desk.source.set_nodes([])
    for message in (encode(Hello(node=NODE, boot_id="boot-1")), encode(Live(sample=sample(6), follows=5))):
        with pytest.raises(AccessRefused, match="no longer push"):
            desk.source.accept(NODE, message)
    assert desk.shown == 5


def test_a_token_on_two_machines_is_said_on_the_node_and_once_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With what to do; not on every try."""
    desk = Desk()
    desk.hello("boot-1")
    desk.hello("boot-2")
    for _ in range(3):
        with pytest.raises(AccessRefused):
            desk.hello("boot-1")
    desk.fleet.settle()
    node = desk.fleet.get(NODE)
    assert node is not None
    assert node.freshness.reason is not None
    assert (node.freshness.state, node.freshness.reason.code) == ("refused", "token-shared")
    assert "gpuboard node enroll gpu01" in node.freshness.reason.text
    said = [record.getMessage().split(":")[0] for record in caplog.records]
    assert said.count("token shared") == 1


def test_while_the_other_machine_is_live_the_node_says_that_there_are_two() -> None:
    """Else its page would show the copy's GPUs as if all were well; a new enrolment ends it."""
    desk = Desk()
    desk.hello("boot-0")
    desk.hello("boot-1")
    with pytest.raises(AccessRefused):
        desk.hello("boot-0")
    desk.live(5)
    node = desk.fleet.get(NODE)
    assert node is not None
    said = [problem.kind for problem in node.problems()]
    desk.source.start_anew(NODE)
    desk.hello("boot-1")
    desk.live(6)
    assert (said, [problem.kind for problem in node.problems()]) == (["token-shared"], [])


def test_a_new_enrolment_lets_the_rightful_node_in_again() -> None:
    """Whatever boot it is in."""
    desk = Desk()
    desk.hello("boot-1")
    desk.hello("boot-2")
    desk.source.start_anew(NODE)
    desk.hello("boot-1")
    desk.live(5)
    assert desk.shown == 5


def test_fifty_newer_boots_do_not_bring_an_old_one_back() -> None:
    """Nor does a restart of the board among them."""
    desk = Desk()
    for number in range(50):
        desk.hello(f"boot-{number}")
    with pytest.raises(AccessRefused):
        restarted(desk).hello("boot-0")


def test_a_node_cannot_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """However it words its nonsense, and however many good samples it sends in between."""
    desk = Desk()
    desk.hello()
    for number in range(1, 200):
        desk.live(2 * number)
        desk.live(2 * number + 1, node=f"other-{number}")
    assert len(caplog.records) == 1
