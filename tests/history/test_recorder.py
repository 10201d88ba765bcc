"""The recorder: every sample once, with what was thought of it, and nothing said to be safe that is not."""

from itertools import groupby

import pytest

from gpuboard.fleet.names import Names
from gpuboard.history import recorder as module
from gpuboard.history.hindsight import BOARD, LEARNT_LATER, PAUSED
from gpuboard.history.records import Event
from gpuboard.model.booking import Booking
from gpuboard.model.errors import SampleRefused
from gpuboard.model.report import HostFacts, NodeReport, Problem
from gpuboard.model.source import SourceIdentity
from gpuboard.model.verdict import Claim
from tests.history.lab import GIB, Lab, made_up, reading, verdicts

PUSH = SourceIdentity(0, "push")


async def test_a_sample_is_written_with_its_figures_verdict_and_holders() -> None:
    """At the board's time, and it holds for three intervals."""
    lab = made_up()
    lab.say(
        [reading(use=93.0, user="ana", power_watts=301.5)], age=2.0, host=HostFacts(cpu_count=4, load_1=2.0)
    )
    lab.tick()
    await lab.write()
    (sample,) = lab.history.samples
    assert (sample.gpu, sample.at_ms, sample.holds_ms) == ("GPU-0", 1_799_999_998_000, 15_000)
    assert sample.numbers["utilization_percent"] == 93.0
    assert sample.numbers["memory_used_bytes"] == 4 * GIB
    assert sample.numbers["power_watts"] == 301.5
    assert sample.numbers["fan_percent"] is None
    assert sample.holders == ("ana",)
    assert verdicts(lab) == ["busy"]
    (batch,) = lab.history.batches
    (host,) = batch.host_samples
    assert host.node == "dgx"
    assert host.numbers[0] == 50.0
    (place,) = batch.places
    assert (place.gpu, place.node, place.label, place.counted) == ("GPU-0", "dgx", "0", True)


async def test_what_is_taken_is_safe_only_when_it_is_written() -> None:
    """Until then agents keep it."""
    lab = made_up()
    assert lab.say([reading()], sequence=5)
    assert lab.recorder.taken("dgx", "boot") is None
    lab.tick()
    assert lab.recorder.taken("dgx", "boot") is None
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 5
    assert lab.recorder.taken("dgx", "another boot") is None


async def test_what_comes_between_two_ticks_waits_for_its_verdict() -> None:
    """Neither it nor how far its node has come is written before."""
    lab = made_up()
    lab.say([reading()], sequence=1)
    lab.tick()
    lab.say([reading(use=50.0)], sequence=2)
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 1
    assert len(lab.history.samples) == 1
    lab.tick()
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 2
    assert verdicts(lab) == ["free", "busy"]


async def test_several_samples_in_one_tick_are_all_written_in_order() -> None:
    """Those that a newer one has overtaken wait for no verdict of their own, from the second tick on."""
    lab = made_up()
    for number in range(9):
        lab.say([reading(0, use=10.0 * number, user="ana"), reading(1)], sequence=number)
        lab.clock.time += 0.25
        if number % 3 == 2:
            lab.tick(0.25)
    await lab.write()
    of_first = [sample for sample in lab.history.samples if sample.gpu == "GPU-0"]
    assert [sample.numbers["utilization_percent"] for sample in of_first] == [10.0 * n for n in range(9)]
    assert [sample.at_ms for sample in of_first] == sorted({sample.at_ms for sample in of_first})
    assert {sample.holders for sample in of_first} == {("ana",)}
    assert verdicts(lab) == ["busy"] * 9
    assert lab.recorder.taken("dgx", "boot") == 8


async def test_a_sample_right_after_an_outage_waits_for_its_verdict() -> None:
    """What was thought of it before is of another time."""
    lab = made_up()
    lab.say([reading(user="ana", use=50.0)], sequence=1)
    lab.tick()
    lab.tick(60.0)
    lab.say([reading(user="ana", use=50.0)], sequence=2)
    lab.say([reading(user="ana", use=50.0)], sequence=3)
    lab.tick()
    await lab.write()
    assert verdicts(lab) == ["busy"] * 3


async def test_a_gpu_that_comes_between_two_samples_of_a_tick_is_written_with_the_second() -> None:
    """Each has the figures of its own."""
    lab = made_up()
    for number in range(3):
        lab.say([reading(0)], sequence=number)
        lab.tick()
    lab.say([reading(0, use=5.0)], sequence=3)
    lab.say([reading(1, use=7.0), reading(0, use=6.0)], sequence=4)
    lab.tick()
    await lab.write()
    found = [(one.gpu, one.numbers["utilization_percent"]) for one in lab.history.samples[3:]]
    assert sorted(found) == [("GPU-0", 5.0), ("GPU-0", 6.0), ("GPU-1", 7.0)]


async def test_a_sample_that_comes_again_is_written_once() -> None:
    """Also after a restart of the board, whatever source it has."""
    lab = made_up()
    for source in ("push", "folder"):
        lab.say([reading()], node=source, sequence=7, source=source)
    lab.tick()
    await lab.write()
    again = Lab(lab.history)
    for source in ("push", "folder"):
        assert again.say([reading()], node=source, sequence=7, source=source)
    again.tick()
    await again.write()
    assert len(lab.history.samples) == 2
    assert again.recorder.taken("push", "boot") == 7


async def test_a_file_without_numbers_is_known_by_its_second() -> None:
    """After a restart it is read again and is the same."""
    lab = made_up()
    lab.say([reading()], sequence=None, boot=None, source="folder")
    lab.tick()
    await lab.write()
    again = Lab(lab.history, time=lab.clock.time + 8)
    again.say([reading()], sequence=None, boot=None, source="folder", age=9.0)
    again.tick()
    await again.write()
    assert len(lab.history.samples) == 1
    again.say([reading()], sequence=None, boot=None, source="folder")
    again.tick()
    await again.write()
    assert len(lab.history.samples) == 2


async def test_numbers_of_another_source_do_not_say_how_far_an_agent_has_come() -> None:
    """Those of ssh run ahead."""
    lab = made_up()
    lab.say([reading()], sequence=10_000, source="ssh")
    lab.tick()
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") is None
    report = NodeReport(node="dgx", boot_id="boot", sequence=3)
    lab.recorder.pass_over("dgx", report, source=PUSH)
    lab.tick()
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 3


async def test_what_is_older_than_an_hour_and_a_quarter_is_refused_for_good() -> None:
    """It counts as taken: nobody needs to keep it."""
    lab = made_up()
    lab.say([reading()], sequence=1)
    lab.tick()
    with pytest.raises(SampleRefused, match="older than 75 minutes"):
        lab.say([reading()], sequence=2, age=75 * 60 + 1, is_backfill=True)
    assert lab.say([reading()], sequence=3, age=75 * 60 - 9, is_backfill=True)
    lab.tick()
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 3
    assert len(lab.history.samples) == 2
    assert lab.recorder.counts.refused == 1


async def test_while_the_history_is_paused_the_answer_is_not_now() -> None:
    """What was taken before is kept, and written when there is room again."""
    lab = made_up()
    assert lab.say([reading()], sequence=1)
    lab.tick()
    lab.history.full = True
    await lab.write()
    assert not lab.say([reading()], sequence=2)
    assert lab.recorder.trouble is not None
    assert lab.recorder.taken("dgx", "boot") is None
    lab.history.full = False
    assert lab.say([reading()], sequence=2)
    lab.tick()
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 2
    assert len(lab.history.samples) == 2
    assert lab.recorder.trouble is None


async def test_a_pause_of_the_history_is_an_event_when_it_is_over() -> None:
    """A gap has a cause, also when nobody reads the log any more."""
    lab = made_up()
    lab.tick()
    lab.history.full = True
    lab.tick()
    began = lab.clock.time
    for _ in range(60):
        lab.tick()
        await lab.write()
    assert not lab.history.batches
    lab.history.full = False
    lab.tick()
    await lab.write()
    events = [event for batch in lab.history.batches for event in batch.events]
    assert events == [Event(node=BOARD, kind=PAUSED, start=began, end=began + 61)]


async def test_what_was_learnt_later_is_said_to_be() -> None:
    """As one span that grows; what came a moment late is nothing that was ever shown otherwise."""
    lab = made_up()
    assert lab.say([reading()], sequence=1)
    lab.tick(600.0)
    began = lab.clock.time - 500
    for number in range(4):
        assert lab.say([reading()], sequence=2 + number, age=500.0 - 5 * number, is_backfill=True)
        if number == 1:
            lab.tick(0.0)
            await lab.write()
    assert lab.say([reading()], sequence=50, age=10.0, is_backfill=True)
    lab.tick(0.0)
    await lab.write()
    events = [event for batch in lab.history.batches for event in batch.events if event.kind == LEARNT_LATER]
    assert [(event.node, event.start, event.end) for event in events] == [
        ("dgx", began, began + 10),
        ("dgx", began, began + 20),
    ]


async def test_no_node_can_claim_what_is_said_of_the_record() -> None:
    """It is no problem of a node."""
    lab = made_up()
    wrong = tuple(Problem(kind=kind, text="x", remedy="y") for kind in (PAUSED, LEARNT_LATER, "other-kind"))
    lab.say([reading()], problems=wrong)
    lab.tick()
    await lab.write()
    assert [event.kind for batch in lab.history.batches for event in batch.events] == ["other-kind"]


async def test_what_waits_for_a_broken_disk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing that was put aside is lost."""
    monkeypatch.setattr(module, "MIN_WAITING", 80)
    monkeypatch.setattr(module, "WAITING_PER_GPU", 1)
    lab = made_up()
    lab.history.broken = True
    taken = 0
    for sequence in range(1, 30):
        taken += lab.say([reading(index) for index in range(8)], sequence=sequence)
        lab.tick()
        await lab.write()
    assert 10 <= taken <= 12
    lab.history.broken = False
    await lab.write()
    await lab.write()
    assert len(lab.history.samples) == 8 * taken
    assert lab.say([reading()], sequence=99)


async def test_a_gpu_that_its_node_no_longer_mentions_is_absent_from_then_on() -> None:
    """It is not as it was, though the last that it said would hold a while."""
    lab = made_up()
    lab.say([reading(0), reading(1)], sequence=1)
    lab.tick()
    lab.say([reading(0)], sequence=2)
    lab.tick()
    lab.say([reading(0)], sequence=3)
    lab.tick()
    await lab.write()
    of_lost = [sample for sample in lab.history.samples if sample.gpu == "GPU-1"]
    assert [sample.holds_ms for sample in of_lost] == [15_000, 0]
    assert set(of_lost[1].numbers.values()) == {None}
    assert of_lost[1].holders is None


async def test_a_list_of_gpus_that_cannot_be_read_ends_what_they_said() -> None:
    """Nobody can tell how they are."""
    lab = made_up()
    lab.say([reading(0)], sequence=1)
    lab.tick()
    lab.say(None, sequence=2)
    lab.tick()
    await lab.write()
    assert [sample.holds_ms for sample in lab.history.samples] == [15_000, 0]


async def test_back_filled_samples_are_judged_by_what_was_known_then() -> None:
    """Half an hour without work is idle, also if nobody looked; the live verdict hears nothing of it."""
    lab = made_up()
    lab.say([reading(use=80.0, user="ana")], sequence=1)
    lab.tick()
    lab.tick(3600)
    lab.fleet.sink("push").show(
        "dgx", NodeReport(node="dgx", boot_id="boot", sequence=1000, gpus=(reading(use=0.0, user="ana"),))
    )
    lab.tick()
    for minute in range(59, 0, -1):
        lab.say([reading(user="ana")], sequence=1000 - minute, age=60.0 * minute, is_backfill=True)
    lab.tick()
    await lab.write()
    words = verdicts(lab)
    assert words[0] == "busy"
    assert set(words[1:31]) == {"busy"}
    assert set(words[32:]) == {"idle"}
    assert lab.tracker.gpus["GPU-0"].verdict == "busy"
    times = [sample.at_ms for sample in lab.history.samples]
    assert times == sorted(times)


async def test_a_claim_of_then_makes_a_back_filled_gpu_booked() -> None:
    """By the time of the sample, not by now."""
    lab = made_up()
    now = lab.clock.time
    lab.fleet.set_claims("booking", {("dgx", 0): Claim(who="ana", start=now - 600, until=now - 300)})
    lab.say([reading()], sequence=99)
    lab.tick()
    for age in (700, 400, 200):
        lab.say([reading()], sequence=99 + 1000 - age, age=float(age), is_backfill=True)
    lab.tick()
    await lab.write()
    assert verdicts(lab) == ["free", "free", "booked", "free"]
    assert [one.holders for one in lab.history.samples] == [(), (), ("ana",), ()]


async def test_what_is_booked_and_unused_is_noted_as_the_claimants() -> None:
    """As soon as the claim begins or is another's, also while nothing else changes; not once it is over."""
    lab = made_up()
    lab.fleet.judge_by(lab.fleet.thresholds, Names(people={"ana2": "ana"}))
    start = lab.clock.time
    claims = (
        Claim(who="ana2", start=start + 3, until=start + 6),
        Claim(who="ben", start=start + 6, until=start + 9),
    )
    lab.fleet.set_claims("booking", {("dgx", 0): claims})
    for step in range(12):
        lab.say([reading()], sequence=step + 1)
        lab.tick()
    await lab.write()
    noted = [(word, one.holders) for word, one in zip(verdicts(lab), lab.history.samples, strict=True)]
    assert [key for key, _ in groupby(noted)] == [
        ("free", ()),
        ("booked", ("ana",)),
        ("booked", ("ben",)),
        ("free", ()),
    ]


async def test_what_anybody_may_have_typed_is_booked_on_nobodys_account() -> None:
    """A file's names are no people."""
    lab = made_up()
    lab.fleet.set_claims("comments-json", {("dgx", 0): Claim(who="ana")})
    lab.say([reading()])
    lab.tick()
    await lab.write()
    assert [(one.holders, *verdicts(lab)) for one in lab.history.samples] == [((), "booked")]


async def test_a_block_is_maintenance_and_not_its_admins() -> None:
    """Who keeps everybody away has no GPU either, and pays for none; also where a sample comes late."""
    lab = made_up()
    place, now = ("dgx", 0), lab.clock.time
    block = Booking(
        id="1",
        kind="block",
        who="ana",
        places=(place,),
        gpus=1,
        start=now - 600,
        end=now + 600,
        created_at=now,
    )
    lab.fleet.set_claims("block", {place: block.claim()})
    lab.say([reading()], sequence=99)
    lab.tick()
    lab.say([reading()], sequence=699, age=400.0, is_backfill=True)
    lab.tick()
    await lab.write()
    noted = [(one.holders, word) for one, word in zip(lab.history.samples, verdicts(lab), strict=True)]
    assert noted == [(("maintenance",), "booked")] * 2


async def test_a_trespasser_uses_what_others_have_booked() -> None:
    """Whoever is on it, it is theirs."""
    lab = made_up()
    lab.fleet.set_claims("booking", {("dgx", 0): Claim(who="ana")})
    lab.say([reading(use=90.0, user="mallory")])
    lab.tick()
    await lab.write()
    assert [(one.holders, *verdicts(lab)) for one in lab.history.samples] == [(("mallory",), "busy")]


async def test_a_live_sample_behind_back_filled_ones_is_not_safe_before_they_are() -> None:
    """An agent would forget them."""
    lab = made_up()
    lab.say([reading()], sequence=1)
    lab.tick()
    lab.say([reading()], sequence=2, age=60.0, is_backfill=True)
    lab.say([reading()], sequence=3)
    lab.tick()
    await lab.recorder.write()
    assert lab.recorder.taken("dgx", "boot") == 1
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 3


async def test_a_node_tells_nothing_of_the_past_of_anothers_gpu() -> None:
    """Back-filled under a stolen name it is its own."""
    lab = made_up()
    lab.say([reading(0)], node="honest")
    lab.say([reading(1)], node="liar")
    lab.tick()
    lab.say([reading(0, use=99.0, user="mallory")], node="liar", sequence=2, age=300.0, is_backfill=True)
    lab.tick()
    await lab.write()
    assert [sample.gpu for sample in lab.history.samples] == ["GPU-0", "GPU-1", "GPU-1", "GPU-0@liar"]


async def test_a_gpu_is_where_it_was_seen_first_also_by_back_fill() -> None:
    """So that its earlier samples have a place."""
    lab = made_up()
    lab.say([reading()], sequence=10)
    lab.tick()
    lab.say([reading()], sequence=11, age=600.0, is_backfill=True)
    lab.tick()
    await lab.write()
    places = [place for batch in lab.history.batches for place in batch.places]
    assert min(place.start for place in places) == lab.clock.time - 2 + 1 - 600


async def test_names_that_never_end_are_not_believed() -> None:
    """A node that invents a new one with every sample fills no table."""
    lab = made_up()
    for sequence in range(1, 700):
        lab.say([reading(user=f"user{sequence}")], sequence=sequence)
        lab.tick()
    await lab.write()
    named = [sample for sample in lab.history.samples if sample.holders is not None]
    assert 500 <= len(named) <= 530
    lab.say([reading(user="ana")], sequence=1, node="honest")
    lab.tick()
    await lab.write()
    assert lab.history.samples[-1].holders == ("ana",)


async def test_a_gpu_that_is_gone_was_there_until_its_last_sample() -> None:
    """Not until its node was forgotten: what nobody could see then was no fleet's."""
    lab = made_up()
    lab.say([reading()])
    lab.tick()
    lab.say([reading()], sequence=2)
    last = lab.clock.time
    lab.tick()
    lab.fleet.sink("push").expect(())
    lab.tick(10 * 3600.0)
    lab.fleet.forget("dgx")
    lab.tick()
    await lab.write()
    assert [place for batch in lab.history.batches for place in batch.places][-1].end == last
    assert lab.history.positions() == {}


async def test_a_gpu_that_was_told_of_afterwards_only_was_there_until_its_last_sample() -> None:
    """As any other that is gone, and not a minute longer."""
    lab = made_up()
    lab.say([reading(0)], sequence=1)
    lab.tick()
    for number, age in enumerate((300.0, 200.0, 100.0)):
        told = [reading(0), reading(1)]
        lab.say(told, sequence=2 + number, age=age, is_backfill=True)
    lab.say([reading(0)], sequence=5)
    now = lab.clock.time
    lab.tick()
    await lab.write()
    last = [place for batch in lab.history.batches for place in batch.places if place.gpu == "GPU-1"][-1]
    assert (last.start, last.end) == (now - 300.0, now - 100.0)


async def test_a_gpu_that_comes_back_after_it_was_forgotten_is_there_from_its_first_sample() -> None:
    """Its node is listed still, and goes on: what it says first is not of a GPU without a place."""
    lab = made_up()
    lab.say([reading()])
    lab.tick()
    lab.fleet.forget("dgx")
    lab.tick()
    first = lab.clock.time
    lab.say([reading()], sequence=2)
    lab.tick(5.0)
    await lab.write()
    assert [place for batch in lab.history.batches for place in batch.places][-1].start == first


async def test_at_the_end_all_that_was_taken_is_written() -> None:
    """Also what no tick has seen, and what came late."""
    lab = made_up()
    lab.say([reading()], sequence=1)
    lab.tick()
    lab.say([reading()], sequence=2, age=100.0, is_backfill=True)
    lab.say([reading()], sequence=3)
    await lab.recorder.finish()
    assert lab.recorder.taken("dgx", "boot") == 3
    assert len(lab.history.samples) == 3
    assert not lab.say([reading()], sequence=4)
