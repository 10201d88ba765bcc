"""A recorder and the real history: what goes in comes out, over outages and restarts of the board."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpuboard.fleet.names import Names
from gpuboard.history import recorder as module
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.recorder import Recorder
from gpuboard.history.records import CurvesQuery, Member
from gpuboard.model.problems import problem
from gpuboard.model.verdict import is_just_freed
from tests.history.fleets import tidy
from tests.history.lab import Lab, made_up, reading

HOUR = 3600.0


@pytest.fixture
def history(tmp_path: Path) -> Iterator[EmbeddedHistory]:
    """An empty one."""
    made = EmbeddedHistory(tmp_path / "history.sqlite", Keep())
    made.open()
    yield made
    made.close()


async def lab_on(history: EmbeddedHistory, time: float) -> Lab[EmbeddedHistory]:
    """A board that begins at this moment, with what an earlier one left."""
    return await asyncio.to_thread(Lab, history, time)


async def test_an_hour_that_was_back_filled_has_no_gap(history: EmbeddedHistory) -> None:
    """The board was away; the agent kept its samples, and hands them over while it goes on."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    lab.say([reading(use=50.0)], sequence=0)
    lab.tick()
    lab.tick(HOUR)
    for number in range(1, 720):
        age = lab.clock.time - (start + 5.0 * number)
        lab.say([reading(use=50.0)], sequence=number, age=age, is_backfill=True)
    lab.say([reading(use=50.0)], sequence=720)
    lab.tick()
    await lab.write()
    query = CurvesQuery(
        kind="gpu",
        groups=((Member("GPU-0"),),),
        figures=("utilization_percent",),
        start=start,
        end=start + HOUR,
        points=360,
    )
    found = await history.run(lambda: history.curves(query))
    assert found.tier == "full"
    assert set(found.curves[0].mean) == {50.0}
    assert lab.recorder.taken("dgx", "boot") == 720


async def who_was_on_it(history: EmbeddedHistory, start: float, end: float) -> list[tuple[float, float, str]]:
    """The first GPU's people, from when to when, counted from the start."""
    found = await history.run(lambda: history.states("GPU-0", start, end))
    return [(one.start - start, one.end - start, " ".join(one.holders or ())) for one in found]


@pytest.mark.parametrize("is_backfill", [True, False])
@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("boot", ["boot", "another"])
async def test_what_the_board_observed_is_not_told_anew_by_its_node(
    history: EmbeddedHistory, boot: str, *, is_restarted: bool, is_backfill: bool
) -> None:
    """Ana was seen; afterwards the node says that it was Mallory, in this boot or in another."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for number in range(60):
        lab.say([reading(use=50.0, user="ana")], sequence=number)
        lab.tick(1.0)
    await lab.write()
    seen = await who_was_on_it(history, start, start + 59)
    assert {who for _, _, who in seen} == {"ana"}
    if is_restarted:
        await stop(lab)
        lab = await lab_on(history, lab.clock.time)
    for number in range(50):
        told = [reading(use=50.0, user="mallory")]
        assert lab.say(told, sequence=100 + number, age=55.0 - number, boot=boot, is_backfill=is_backfill)
    await lab.write()
    lab.tick()
    await lab.write()
    assert await who_was_on_it(history, start, start + 59) == seen
    assert lab.recorder.counts.refused == 50
    assert lab.recorder.taken("dgx", boot) == 149


async def test_an_hour_in_which_its_machine_was_booted_is_back_filled_too(history: EmbeddedHistory) -> None:
    """The agent has what it saw since; before, nobody knows."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for number in range(4):
        lab.say([reading(use=50.0, user="ana")], sequence=number)
        lab.tick(5.0)
    lab.tick(HOUR - 20.0)
    for number in range(360):
        age = 1800.0 - 5.0 * number
        lab.say([reading(use=50.0, user="ben")], sequence=number, age=age, boot="next", is_backfill=True)
    lab.say([reading(use=50.0, user="ben")], sequence=360, boot="next")
    lab.tick(5.0)
    await lab.write()
    assert await who_was_on_it(history, start, start + HOUR) == [(0.0, 30.0, "ana"), (1800.0, HOUR, "ben")]
    assert lab.recorder.counts.refused == 0


async def test_a_store_that_hangs_delays_no_tick_and_loses_nothing() -> None:
    """A disk that takes seconds for every write is slow for itself alone."""
    lab = made_up()
    lab.recorder = Recorder(lab.history, lab.fleet, step_seconds=0.01)
    lab.fleet.taker = lab.recorder
    await asyncio.to_thread(lab.recorder.start, {}, lab.legacy())
    lab.history.may_write.clear()
    writing = asyncio.create_task(lab.recorder.run())
    shown = []
    for number in range(1, 100):
        lab.say([reading(use=float(number))], sequence=number)
        lab.tick()
        shown.append(lab.tracker.gpus["GPU-0"].utilization_percent)
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await asyncio.to_thread(lab.history.is_writing.wait)
        # All of it was shown, though not one write has ended.
        assert shown == [float(number) for number in range(1, 100)]
        assert lab.recorder.taken("dgx", "boot") is None
        lab.history.may_write.set()
        while lab.recorder.taken("dgx", "boot") != 99:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    writing.cancel()
    assert len(lab.history.samples) == 99


async def hold(lab: Lab[EmbeddedHistory], *, writes: bool = False) -> None:
    """Let somebody hold a GPU for an hour, and do nothing with it."""
    for number in range(12):
        lab.say([reading(user="ana")], sequence=number)
        lab.tick()
        if writes:
            await lab.write()
        lab.clock.time += 299.0
    lab.say([reading(user="ana")], sequence=50)
    lab.tick()
    if writes:
        await lab.write()


async def stop(lab: Lab[EmbeddedHistory]) -> None:
    """End a board as people do."""
    await lab.recorder.finish()


async def test_idle_is_remembered_over_a_restart_of_the_board(history: EmbeddedHistory) -> None:
    """Whoever has not worked for half an hour has not begun to work because the board was restarted."""
    lab = await lab_on(history, 1_800_000_000.0)
    quiet = lab.clock.time
    await hold(lab)
    assert lab.tracker.gpus["GPU-0"].verdict == "idle"
    await stop(lab)
    again = await lab_on(history, lab.clock.time + 60)
    again.say([reading(user="ana")], sequence=100)
    again.tick()
    row = again.tracker.gpus["GPU-0"]
    assert (row.verdict, row.since) == ("idle", quiet)


async def test_after_a_long_gap_nothing_is_said_to_have_lasted(history: EmbeddedHistory) -> None:
    """Nobody looked for an hour: she may have worked meanwhile."""
    lab = await lab_on(history, 1_800_000_000.0)
    await hold(lab)
    await stop(lab)
    again = await lab_on(history, lab.clock.time + HOUR)
    again.say([reading(user="ana")], sequence=100)
    again.tick()
    assert again.tracker.gpus["GPU-0"].verdict == "busy"


async def test_a_free_gpu_is_free_since_before_the_restart(history: EmbeddedHistory) -> None:
    """And one that was left while the board was away was not just freed."""
    lab = await lab_on(history, 1_800_000_000.0)
    lab.say([reading(0, user="ana"), reading(1, user="ana")], sequence=1)
    lab.tick(5.0)
    freed = lab.clock.time
    lab.say([reading(0), reading(1, user="ana")], sequence=2)
    lab.tick(5.0)
    await stop(lab)
    again = await lab_on(history, lab.clock.time + 100)
    again.say([reading(0), reading(1)], sequence=3)
    again.tick()
    first, second = again.tracker.gpus["GPU-0"], again.tracker.gpus["GPU-1"]
    assert (first.verdict, first.since) == ("free", freed)
    assert (second.verdict, is_just_freed(second.since, again.clock.time)) == ("free", False)


async def test_broken_is_broken_since_before_the_restart(history: EmbeddedHistory) -> None:
    """Whether the node says since when or only the board knows."""
    lab = await lab_on(history, 1_800_000_000.0)
    broken = (problem("gpu-lost", gpu_uuid="GPU-0"),)
    failing = reading(1, ecc_uncorrected_errors=3)
    lab.say([reading(0), reading(1)], sequence=0)
    lab.tick(5.0)
    began = lab.clock.time
    lab.say([reading(0), failing], sequence=1, problems=broken)
    lab.tick(5.0)
    await stop(lab)
    again = await lab_on(history, lab.clock.time + 60)
    again.say([reading(0), failing], sequence=2, problems=broken)
    again.tick()
    rows = again.tracker.gpus
    assert [(rows[gpu].verdict, rows[gpu].since) for gpu in ("GPU-0", "GPU-1")] == [("broken", began)] * 2


async def test_what_was_remembered_is_kept_by_a_killed_board_too(history: EmbeddedHistory) -> None:
    """It is written with the samples."""
    lab = await lab_on(history, 1_800_000_000.0)
    quiet = lab.clock.time
    await hold(lab, writes=True)
    again = await lab_on(history, lab.clock.time + 60)
    again.say([reading(user="ana")], sequence=100)
    again.tick()
    row = again.tracker.gpus["GPU-0"]
    assert (row.verdict, row.since) == ("idle", quiet)


@pytest.mark.parametrize("is_backfill", [False, True])
async def test_what_a_killed_board_had_not_written_is_taken_when_it_is_told_again(
    history: EmbeddedHistory, monkeypatch: pytest.MonkeyPatch, *, is_backfill: bool
) -> None:
    """It was ready, but did not go into the batch that was written: nothing of it is known."""
    monkeypatch.setattr(module, "BATCH_SAMPLES", 50)
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    lab.clock.time += 500.0

    def hand_over(board: Lab[EmbeddedHistory]) -> None:
        for number in range(100):
            age = board.clock.time - (start + 5.0 * number)
            board.say([reading(use=50.0)], sequence=number, age=age, is_backfill=is_backfill)
        board.tick()

    hand_over(lab)
    while lab.recorder._late:
        lab.recorder._judge_some()
    batch = lab.recorder._gather()
    assert batch is not None
    await history.run(lambda: history.write(batch, now=lab.clock.time), is_write=True)
    again = await lab_on(history, lab.clock.time + 10.0)
    assert again.recorder.taken("dgx", "boot") == 49
    hand_over(again)
    await again.write()
    assert (again.recorder.taken("dgx", "boot"), again.recorder.counts.refused) == (99, 0)
    seen = await history.run(lambda: history.states("GPU-0", start, start + 500.0))
    assert sum(one.end - one.start for one in seen) == 500.0


async def test_an_episode_goes_on_over_a_restart_or_ends_before_it(history: EmbeddedHistory) -> None:
    """The same program goes on; one that has ended did not end because the board came back."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for number in range(12):
        lab.say([reading(0, user="ana", began=start), reading(1, user="chen", began=start)], sequence=number)
        lab.tick(5.0)
    await stop(lab)
    again = await lab_on(history, lab.clock.time + 3000)
    for number in range(100, 130):
        again.say([reading(0, user="ana", began=start), reading(1)], sequence=number)
        again.tick(5.0)
    await stop(again)
    found = await history.run(lambda: history.episodes(start - 1, again.clock.time + 1))
    spans = {one.person: (one.start, one.end) for one in found}
    assert len(found) == 2
    assert spans["ana"] == (start, None)
    ended = spans["chen"][1]
    assert ended is not None
    assert ended <= lab.clock.time + 15


async def spans_of(lab: Lab[EmbeddedHistory]) -> dict[str, tuple[float, Any]]:
    """From when to when people ran something, as is written."""
    await lab.write()
    found = await lab.history.run(lambda: lab.history.episodes(0, lab.clock.time))
    assert len({one.person for one in found}) == len(found)
    return {one.person: (one.start, one.end) for one in found}


async def test_what_was_learnt_later_neither_goes_on_nor_ends_what_does(history: EmbeddedHistory) -> None:
    """Its GPU may not be mentioned any more; who is there now was not there then."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for number in range(1, 13):
        lab.say([reading(use=50.0, user="live")], sequence=number)
        lab.tick(5.0)
    for age in range(3000, 2700, -5):
        past = [reading(use=50.0, user="framed")]
        lab.say(past, boot="other", sequence=3000 - age, age=age, is_backfill=True)
    lab.tick(5.0)
    told = start + 60.0
    assert await spans_of(lab) == {"live": (start, None), "framed": (told - 3000, told - 3000)}
    for number in range(24):
        lab.say([reading(1)], boot="third", sequence=number)
        lab.tick(5.0)
    spans = await spans_of(lab)
    # A closer look is taken every ten seconds.
    assert spans["live"] == (start, pytest.approx(start + 55, abs=10))
    assert spans["framed"] == (told - 3000, pytest.approx(told - 2705, abs=10))


async def test_what_runs_on_a_lost_node_has_an_end_until_it_is_heard_again(history: EmbeddedHistory) -> None:
    """Nobody knows whether it still runs; then it is the same episode."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for number in range(1, 13):
        lab.say([reading(use=50.0, user="ana")], sequence=number)
        lab.tick(5.0)
    assert await spans_of(lab) == {"ana": (start, None)}
    for _ in range(120):
        lab.tick(5.0)
    assert await spans_of(lab) == {"ana": (start, pytest.approx(start + 55, abs=10))}
    lab.say([reading(use=50.0, user="ana", began=start)], sequence=13)
    lab.tick(5.0)
    assert await spans_of(lab) == {"ana": (start, None)}


async def test_an_episode_begins_no_earlier_than_a_sample_without_it(history: EmbeddedHistory) -> None:
    """Whatever its process says: of a GPU that is new no sample was taken before."""
    lab = await lab_on(history, 1_800_000_000.0)
    start, long_ago = lab.clock.time, lab.clock.time - 300 * 24 * HOUR
    lab.say([reading(0, user="ana", began=long_ago), reading(1)], sequence=1)
    lab.tick(5.0)
    for number in range(2, 5):
        lab.say([reading(0, user="ana", began=long_ago), reading(1)], sequence=number)
        lab.tick(5.0)
    lab.say([reading(0), reading(1, user="ben", began=long_ago)], sequence=5)
    lab.tick(5.0)
    await stop(lab)
    again = await lab_on(history, lab.clock.time + 600)
    again.say([reading(0, user="chen", began=long_ago), reading(1)], sequence=100)
    again.tick(5.0)
    await stop(again)
    found = await history.run(lambda: history.episodes(long_ago - 1, again.clock.time))
    begins = {one.person: one.start - start for one in found}
    assert begins == {"ana": 0, "ben": 15, "chen": 20}
    # Of what was there in the very first sample nobody knows when it began.
    assert [one.person for one in found if one.began_before] == ["ana"]


async def test_what_ran_before_its_gpu_was_first_looked_at_is_told_as_such(history: EmbeddedHistory) -> None:
    """What a node told afterwards is looked at, too; that a GPU has another number now changes nothing."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    for age in (50, 40, 30, 20, 10):
        who = "ana" if age > 20 else "ben"
        lab.say([reading(0, user=who)], sequence=50 - age, age=age, is_backfill=True)
    lab.tick(5.0)
    await lab.write()
    lab.say([reading(0, user="ben")], sequence=100)
    lab.tick(5.0)
    await stop(lab)
    found = await history.run(lambda: history.episodes(start - 100, lab.clock.time))
    assert [(one.person, one.start - start, one.began_before) for one in found] == [
        ("ben", -20, False),
        ("ana", -50, True),
    ]


async def test_an_event_that_lasts_is_one_over_a_restart(history: EmbeddedHistory) -> None:
    """And ends when its node is well again."""
    lab = await lab_on(history, 1_800_000_000.0)
    start, wrong = lab.clock.time, (problem("slow-driver"),)
    lab.say([reading()], sequence=1, problems=wrong)
    lab.tick()
    await stop(lab)
    again = await lab_on(history, start + 60)
    again.say([reading()], sequence=2, problems=wrong)
    again.tick()
    again.say([reading()], sequence=3)
    again.tick()
    await stop(again)
    (event,) = await history.run(lambda: history.events(start - 1, start + 600))
    assert (event.kind, event.start, event.end) == ("slow-driver", start + 1, again.clock.time)


async def test_a_history_that_was_deleted_is_told_everything_again(history: EmbeddedHistory) -> None:
    """GPUs that were known long before: what is said to be taken is there."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time
    lab.say([reading(use=50.0, user="ana")], sequence=1)
    lab.tick()
    await lab.write()
    for file in Path(history.name).parent.glob("history.sqlite*"):
        file.unlink()
    lab.say([reading(use=50.0, user="ana")], sequence=2)
    lab.tick(5.0)
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 1
    lab.say([reading(use=50.0, user="ana")], sequence=3)
    lab.tick(5.0)
    await lab.write()
    assert lab.recorder.taken("dgx", "boot") == 3
    found = await history.run(lambda: history.states("GPU-0", start, lab.clock.time))
    assert {(one.verdict, one.holders) for one in found} == {("busy", ("ana",))}
    (place,) = await history.run(lambda: history.places(start, lab.clock.time))
    assert place.gpu == "GPU-0"
    assert [one.person for one in await history.run(history.open_episodes)] == ["ana"]


async def test_whoever_is_called_otherwise_from_some_day_on_has_the_time_from_then(
    history: EmbeddedHistory,
) -> None:
    """An hour is of the name of that day, sealed or not; together they have all of it."""
    lab = await lab_on(history, 1_800_000_000.0)
    start = lab.clock.time + 1
    for number in range(1440):
        if number == 500:
            lab.fleet.judge_by(lab.fleet.thresholds, Names(people={"ana": "Ana Silva"}))
        lab.say([reading(use=50.0, user="ana")], sequence=number)
        lab.tick(5.0)
        if not number % 100:
            await lab.write()
    await lab.write()
    end = lab.clock.time
    for now in (end, end + 10 * HOUR):
        await history.run(partial(tidy, history, now), is_write=True)
        (found,) = (await history.run(lambda: history.usage(start, end + HOUR))).places
        used = {name: part.used / 1000 for name, part in found.people.items()}
        assert sum(used.values()) == found.times.used / 1000
        # To the next closer look, and the next cell.
        assert used == {"ana": pytest.approx(2500, abs=30), "Ana Silva": pytest.approx(4700, abs=30)}


async def test_a_clock_that_was_set_forward_and_back_leaves_nothing_open(history: EmbeddedHistory) -> None:
    """What was seen in that future ends as if it had been seen now; what befell nodes, too."""
    lab = await lab_on(history, 1_800_000_000.0)
    start, sequence = lab.clock.time, 0

    def say_for(seconds: int, user: str | None) -> None:
        nonlocal sequence
        for _ in range(0, seconds, 5):
            sequence += 1
            lab.say([reading(use=50.0 if user else 0.0, user=user)], sequence=sequence)
            lab.tick(5.0)

    say_for(60, "ana")
    lab.tick(40.0)
    await lab.write()
    lab.clock.time += 20 * HOUR
    say_for(30, "ben")
    await lab.write()
    lab.clock.time -= 20 * HOUR
    say_for(30, "chen")
    await lab.write()
    say_for(120, None)
    await lab.write()
    now = lab.clock.time
    assert await history.run(history.open_episodes) == []
    found = await history.run(lambda: history.episodes(start - 1, now))
    assert [one.person for one in found] == ["chen", "ana"]
    assert all(one.end is not None and one.end <= now for one in found)
    events = await history.run(lambda: history.events(start - 1, now))
    assert events
    assert all(one.end is not None and one.end <= now for one in events)


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_gpu_that_came_while_the_clock_was_ahead_is_there_once(
    history: EmbeddedHistory, *, is_restarted: bool
) -> None:
    """Since the clock is right; when it is taken out, nothing of it is left in the future."""
    lab = await lab_on(history, 1_800_000_000.0)
    start, ahead = lab.clock.time, 20 * HOUR
    lab.say([reading(0)], sequence=1)
    lab.tick()
    await lab.write()
    lab.clock.time += ahead
    lab.say([reading(0), reading(1)], sequence=2)
    lab.tick()
    await lab.write()
    if is_restarted:
        await stop(lab)
        lab = await lab_on(history, lab.clock.time - ahead)
    else:
        lab.clock.time -= ahead
    back = lab.clock.time
    lab.say([reading(0), reading(1)], sequence=3)
    lab.tick()
    await lab.write()
    places = await history.run(lambda: history.places(start, start + 100 * HOUR))
    assert [(one.gpu, one.end) for one in places] == [("GPU-0", None), ("GPU-1", None)]
    assert [one.start for one in places] == [start, pytest.approx(back, abs=1.0)]
    lab.tick(60.0)
    lab.fleet.sink("push").expect(())
    lab.fleet.forget("dgx")
    lab.tick()
    await lab.write()
    ever = start + 100 * HOUR
    assert await history.run(lambda: history.places(lab.clock.time, ever)) == []


@pytest.mark.parametrize("missing_hours", [0, 5])
@pytest.mark.parametrize("restarts", [0, 1, 2])
async def test_a_gpu_that_is_taken_out_counts_until_its_last_sample(
    history: EmbeddedHistory, restarts: int, missing_hours: int
) -> None:
    """However long it is remembered afterwards, by whichever run of the board, and where others stay."""
    lab = await lab_on(history, 1_800_000_000.0)
    start, both = lab.clock.time, [reading(0, use=50.0), reading(1, use=50.0)]
    for number in range(60):
        lab.say(both, sequence=number)
        lab.tick(60.0)
    last = lab.clock.time - 60.0
    for number in range(missing_hours):
        lab.say(both[:1], sequence=100 + number)
        lab.tick(HOUR)
    for number in range(restarts):
        await lab.write()
        await stop(lab)
        lab = await lab_on(history, lab.clock.time + 60.0)
        lab.say(both[:1], sequence=200 + number)
        lab.tick()
    await lab.write()
    lab.fleet.sink("push").expect(())
    lab.tick(HOUR)
    lab.fleet.forget("dgx")
    lab.tick()
    lab.tick(24 * HOUR)
    await lab.write()
    places = await history.run(lambda: history.places(start, lab.clock.time, gpu="GPU-1"))
    assert [(one.start, one.end) for one in places] == [(start, last)]
    assert await history.run(lambda: history.places(lab.clock.time, lab.clock.time)) == []


async def test_a_clock_that_is_set_back_before_the_first_tick_of_a_board_was_set_back(
    history: EmbeddedHistory,
) -> None:
    """What an earlier run had told in a time that is to come is there since now."""
    lab = await lab_on(history, 1_800_000_000.0)
    lab.say([reading()], sequence=1)
    lab.tick()
    await stop(lab)
    again = await lab_on(history, lab.clock.time)
    again.tick(-10 * HOUR)
    await again.write()
    (place,) = await history.run(lambda: history.places(again.clock.time, lab.clock.time))
    assert (place.start, place.end) == (again.clock.time, None)
