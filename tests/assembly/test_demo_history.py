"""The weeks behind a demo: they do not contradict what its nodes say, and leave nothing behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuboard.assembly.demo_history import (
    HOURS_SECONDS,
    MANY_NODES,
    MOST_NODES,
    TOLD_SECONDS,
    DemoHistory,
)
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import Keep
from gpuboard.history.records import CurvesQuery, Member
from gpuboard.history.remembering import read_memories
from gpuboard.model.errors import StorageError
from gpuboard.probes.simulated import lost_gpu, lost_since, node_names, past_jobs, simulate
from gpuboard.probes.simulated.jobs import current_job
from tests.clock import HandClock

pytestmark = pytest.mark.slow

NOW = 1_790_000_000.0
HOUR, DAY = 3600.0, 86400.0
NODES = 4


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoHistory]:
    """A small demo."""
    made = DemoHistory(Keep(), NODES, now=NOW, ahead=0.0)
    made.open()
    yield made
    made.close()


def test_the_weeks_behind_the_usual_demo_are_made_in_a_moment() -> None:
    """Whoever tries it out waits for them: at most five seconds of a processor for twelve nodes."""
    usual = DemoHistory(Keep(), 12, now=NOW, ahead=0.0)
    begun = time.process_time()
    usual.open()
    try:
        assert time.process_time() - begun <= 5.0
        assert usual.since() == pytest.approx(NOW - HOURS_SECONDS, abs=2 * HOUR)
    finally:
        usual.close()


def test_who_had_a_gpu_in_a_span_is_who_had_it_at_each_moment() -> None:
    """Two functions, one story."""
    for node in node_names(NODES):
        found = past_jobs(node, NOW - 3 * DAY, NOW)
        for index, jobs in enumerate(found.values()):
            for hours in range(1, 72, 5):
                at = NOW - hours * HOUR
                # A forgotten notebook is opened anew twice a day.
                if index == 6 or (node, index) == ("vision-01", 0):
                    continue
                report = simulate(node, at)
                told = [process.user for process in (report.gpus or ())[index].processes or ()]
                assert [job.user for job in jobs if job.started_at <= at < job.ends_at] == told
    assert current_job(1, "nlp-02", 3, 1.0, NOW) is None


@pytest.mark.parametrize("hours", [2, 30, 24 * 20])
def test_rewound_a_demo_shows_what_its_nodes_would_have_said(demo: DemoHistory, hours: int) -> None:
    """Who was on which GPU; a moment near a change may be on either side of it."""
    at = NOW - hours * HOUR + 1234
    moment = demo.moment(at)
    then = {gpu.uuid: gpu for node in node_names(NODES) for gpu in simulate(node, at).gpus or ()}
    assert {gpu.place.gpu for gpu in moment.gpus} == then.keys()
    agreeing = 0
    for gpu in moment.gpus:
        told = then[gpu.place.gpu]
        people = None if told.processes is None else tuple(one.user for one in told.processes)
        agreeing += gpu.holders == people
    # In hours only the last state is known.
    assert agreeing >= len(then) * (0.9 if moment.step_seconds <= 60 else 0.7)


def test_a_demo_goes_back_for_weeks_in_every_tier(demo: DemoHistory) -> None:
    """And there were outages."""
    gpu = next(iter(past_jobs("dgx-01", NOW - DAY, NOW)))
    tiers = []
    for days in (0.2, 5, 30):
        query = CurvesQuery(
            kind="gpu",
            groups=((Member(gpu),),),
            figures=("utilization_percent",),
            start=NOW - days * DAY,
            end=NOW - HOUR,
            points=300,
        )
        found = demo.curves(query)
        tiers.append(found.tier)
        known = [value for value in found.curves[0].mean if value is not None]
        assert len(known) > 0.7 * len(found.times)
    assert tiers == ["full", "minutes", "hours"]
    assert demo.since() == pytest.approx(NOW - HOURS_SECONDS, abs=2 * HOUR)
    assert demo.episodes(NOW - 7 * DAY, NOW)
    assert {event.kind for event in demo.events(0.0, NOW)} == {"lost", "gpu-lost"}


def test_whoever_is_drawn_on_a_gpu_of_a_demo_is_in_its_list(demo: DemoHistory) -> None:
    """Also weeks ago: the list of who used it reaches as far as the strip above it."""
    gpu = next(iter(past_jobs("dgx-01", NOW - DAY, NOW)))
    for days in (3, 20, 33):
        start, end = NOW - days * DAY, NOW - (days - 2) * DAY
        drawn = {name for span in demo.states(gpu, start, end) for name in span.holders or ()}
        listed = {episode.person for episode in demo.episodes(start, end, gpu=gpu)}
        assert drawn
        assert drawn <= listed


def test_what_goes_on_in_a_demo_began_when_its_nodes_say(demo: DemoHistory) -> None:
    """Its past does not leave it out, so that it seems to begin where they take over."""
    told = NOW // 60 * 60 - TOLD_SECONDS
    found = {one.gpu: one for one in demo.episodes(told, told)}
    lost = {lost_gpu(node) for node in node_names(NODES)}
    running = {}
    for node in node_names(NODES):
        for gpu in simulate(node, told).gpus or ():
            starts = [one.started_at for one in gpu.processes or () if one.started_at is not None]
            if starts and gpu.uuid not in lost:
                running[gpu.uuid] = min(starts)
    assert len(running) > NODES
    assert {gpu: found[gpu].start for gpu in running} == pytest.approx(running)
    assert not any(found[gpu].began_before for gpu in running)


def test_a_lost_gpu_of_a_demo_was_lost_when_its_node_says_so(demo: DemoHistory) -> None:
    """One answer: its problem, its event, and its states before and after."""
    report = simulate("a100-01", NOW, lost_at=lost_since(NOW))
    (problem,) = report.problems
    (event,) = [one for one in demo.events(0.0, NOW) if one.kind == "gpu-lost"]
    assert (event.gpu, event.start, event.end) == (problem.gpu_uuid, problem.since, None)
    spans = demo.states(event.gpu or "", NOW - 2 * DAY, NOW - HOUR)
    assert {span.verdict for span in spans if span.start >= event.start} == {"broken"}
    assert "broken" not in {span.verdict for span in spans if span.end <= event.start}
    assert "busy" in {span.verdict for span in spans}


def test_a_demo_knows_since_when_its_gpus_are_idle_and_free(demo: DemoHistory) -> None:
    """From the weeks behind it, as a board that was started again: not since the hour that its nodes tell."""
    fleet = Fleet(HandClock(NOW))
    fleet.restore_memories(read_memories(demo.memories()))
    sink = fleet.sink("simulated")
    compared = set()
    for node in node_names(NODES):
        for age in range(3600, -1, -60):
            report = replace(simulate(node, NOW - age), age_seconds=float(age), interval_seconds=60.0)
            sink.report(node, report)
            fleet.settle()
    for name, jobs in ((name, past_jobs(name, NOW - 9 * DAY, NOW)) for name in node_names(NODES)):
        found = fleet.get(name)
        assert found is not None
        for gpu, memory in found.gpus.items():
            verdict, mine = memory.verdict, [job for job in jobs[gpu] if job.started_at < NOW]
            if verdict is None or not mine or gpu == lost_gpu(name):
                continue
            last = mine[-1]
            if verdict.word == "idle":
                assert verdict.since == pytest.approx(last.started_at, abs=120)
            if verdict.word == "free":
                assert verdict.since == pytest.approx(last.ends_at, abs=120)
            compared.add(verdict.word)
    assert {"idle", "free"} <= compared


def test_the_states_of_a_demo_are_fine_where_its_minutes_are(demo: DemoHistory) -> None:
    """Over a month, too: who left within an hour was there until then."""
    gpu, jobs = next(
        (gpu, jobs) for gpu, jobs in past_jobs("dgx-01", NOW - 3 * DAY, NOW - HOUR).items() if jobs
    )
    last = next(job for job in jobs if NOW - 2 * DAY < job.ends_at < NOW - 2 * HOUR)
    spans = demo.states(gpu, NOW - 30 * DAY, NOW)
    ends = [span.end for span in spans if span.holders == (last.user,)]
    assert min(abs(end - last.ends_at) for end in ends) <= 60


def test_a_demo_leaves_nothing_behind() -> None:
    """Its file is gone with it."""
    made = DemoHistory(Keep(), 1, now=NOW, ahead=0.0)
    made.open()
    folder = Path(made._folder.name)
    assert (folder / "history.sqlite").exists()
    made.close()
    assert not folder.exists()


@pytest.mark.parametrize("hours", range(0, 24, 5))
def test_the_past_of_a_demo_is_tidied_at_any_hour(hours: int) -> None:
    """What was invented is joined as what was lived through, and begins when it did before."""
    now = NOW + hours * HOUR
    made = DemoHistory(Keep(), 1, now=now, ahead=0.0)
    made.open()
    since = made.since()
    while made.tidy(now=now):
        pass
    assert made.since() == since
    made.close()


def test_nothing_is_counted_of_a_large_demo_before_its_past_is_whole() -> None:
    """A sum of the part that is there already would be taken for all: "No GPU was counted"."""
    made = DemoHistory(Keep(), MANY_NODES + 1, now=NOW, ahead=0.0)
    made.open()
    try:
        for question in (made.usage, made.usage_of_programs):
            with pytest.raises(StorageError, match="still being made"):
                question(NOW - DAY, NOW)
        while made.tidy(now=NOW):
            pass
        assert made.usage(NOW - DAY, NOW).places
    finally:
        made.close()


def test_a_large_demo_is_there_before_its_past() -> None:
    """Nobody waits for it: it is invented step by step, a week of it."""
    made = DemoHistory(Keep(), MANY_NODES + 1, now=NOW, ahead=0.0)
    made.open()
    assert made.since() is None
    while made.tidy(now=NOW):
        pass
    assert made.since() == pytest.approx(NOW - 7 * DAY, abs=2 * HOUR)
    gpu = next(iter(past_jobs("dgx-01", NOW - DAY, NOW)))
    assert made.states(gpu, NOW - 3 * DAY, NOW - 2 * DAY)
    assert made.episodes(NOW - 3 * DAY, NOW - 2 * DAY, gpu=gpu)
    made.close()


def test_for_a_huge_demo_nothing_is_invented() -> None:
    """Nobody waits for that."""
    made = DemoHistory(Keep(), MOST_NODES + 1, now=NOW, ahead=0.0)
    made.open()
    assert made.since() is None
    made.close()


@pytest.mark.parametrize("minutes", [0, 1, 32, 59])
def test_all_of_a_demos_past_is_counted_up_to_when_its_nodes_tell(minutes: int) -> None:
    """Also the part of the hour that was under way then: the plots show it, and so do GPU-hours."""
    now = NOW // HOUR * HOUR + minutes * 60
    made = DemoHistory(Keep(), 1, now=now, ahead=0.0)
    made.open()
    try:
        end = now - HOUR
        counted = made.usage(end // HOUR * HOUR - 3 * HOUR, end)
        times = [one.times for one in counted.places]
        assert (len(times), {one.span for one in times}) == (8, {(3 * 60 + minutes) * 60_000})
        assert sum(one.unobserved for one in times) == 0
    finally:
        made.close()
