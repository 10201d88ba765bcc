"""The demo shows what it is for at any hour, and at the hour that a test names."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from gpuboard.assembly.demo import demo_ahead, demo_claims
from gpuboard.fleet.state import Fleet
from gpuboard.probes.simulated import lost_gpu, moved, node_names, simulate
from tests.board import DEMO_TIME
from tests.clock import HandClock

NODES = node_names(12)
SILENT = "vision-02"
MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


def words_at(moment: float) -> Counter[str]:
    """How many GPUs of the demo have which verdict then."""
    fleet = Fleet(HandClock(moment))
    fleet.set_claims("booking", demo_claims(NODES, moment))
    sink = fleet.sink("simulated")
    # A notebook is idle only for somebody who has watched it; the past of the others changes no count below.
    for age in range(3600, 0, -120):
        sink.report("vision-01", replace(simulate("vision-01", moment - age), age_seconds=float(age)))
    for node in NODES:
        if node != SILENT:
            sink.report(node, simulate(node, moment))
    fleet.settle()
    return Counter(gpu.verdict.word for node in fleet for gpu in node.gpus.values() if gpu.verdict)


def missing_at(moment: float) -> set[str]:
    """What the tests of the page look for, and would not find then."""
    words = words_at(moment)
    holders = Counter(
        process.user
        for node in NODES
        for gpu in simulate(node, moment).gpus or ()
        for process in gpu.processes or ()
    )
    wanted = {"free": 2, "busy": 2, "idle": 1, "booked": 3, "broken": 1}
    lacking = {word for word, least in wanted.items() if words[word] < least}
    return lacking | ({"several people"} if len(holders) < 4 else set())


@pytest.mark.parametrize("hour", [DEMO_TIME, "2026-11-16T08:20:00Z"])
def test_the_demo_has_every_verdict_at_the_hours_of_the_tests(hour: str) -> None:
    """At 08:20 it once had none of some."""
    assert missing_at(datetime.fromisoformat(hour).timestamp()) == set()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_demo_has_every_verdict_at_every_hour_of_a_week() -> None:
    """Whoever starts it, and whenever: something free, idle, booked, broken, and several people."""
    hours = [MONDAY + timedelta(hours=number, minutes=20) for number in range(7 * 24)]
    lacking = {hour.isoformat(): missing_at(hour.timestamp()) for hour in hours}
    assert {hour: what for hour, what in lacking.items() if what} == {}


def contradictions_at(moment: float) -> list[str]:
    """What the demo would say then that cannot be true."""
    fleet = Fleet(HandClock(moment))
    sink = fleet.sink("simulated")
    found = []
    for node in NODES:
        # As its source does: an hour of the past, then now.
        for age in range(3600, -1, -300):
            sink.report(node, replace(simulate(node, moment - age), age_seconds=float(age)))
        report = simulate(node, moment)
        up = report.host.uptime_seconds if report.host else None
        starts = [p.started_at for gpu in report.gpus or () for p in gpu.processes or () if p.started_at]
        if up is not None and min(starts, default=moment) < moment - up:
            found.append(f"{node}: a process is older than its machine")
    fleet.settle()
    for known in fleet:
        for gpu in known.shown:
            verdict = known.gpus[gpu.uuid].verdict
            began = [p.started_at for p in gpu.processes or () if p.started_at]
            since = verdict.since if verdict and verdict.word == "idle" else None
            if since is not None and min(began, default=since) > since:
                found.append(f"{known.name} GPU {gpu.index}: idle for longer than its process runs")
    return found


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_the_demo_does_not_contradict_itself_at_any_hour_of_a_week(every: int) -> None:
    """Once somebody was idle for 73 minutes with a process that was 25 minutes old."""
    hours = [(MONDAY + timedelta(hours=number, minutes=13)).timestamp() for number in range(0, 7 * 24, every)]
    # Machines begin anew now and then; just after that they are youngest.
    reboot = hours[0] // (40 * 86400) * 40 * 86400
    assert {at: said for at in (*hours, reboot + 600) if (said := contradictions_at(at))} == {}


def test_a_test_chooses_the_hour_of_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same people whatever the clock says; without a wish the demo lives in the present."""
    assert demo_ahead(1_800_000_000.0) == 0.0
    monkeypatch.setenv("GPUBOARD_DEMO_TIME", "2027-01-15T08:00:00Z")
    assert demo_ahead(1_800_000_000.0) == 0.0
    assert demo_ahead(1_799_996_400.0) == 3600.0


def test_a_report_of_another_hour_keeps_its_ages() -> None:
    """What began ten minutes before the report began ten minutes before now."""
    then, now = 1_800_000_000.0, 1_700_000_000.0
    report = simulate("vision-01", then)
    shown = moved(report, now - then)
    assert shown.taken_at == now
    ages = [then - p.started_at for gpu in report.gpus or () for p in gpu.processes or () if p.started_at]
    assert ages
    assert [now - p.started_at for g in shown.gpus or () for p in g.processes or () if p.started_at] == ages


def test_of_a_lost_gpu_nobody_knows_the_processes_at_any_hour() -> None:
    """None is what a driver says that cannot tell; there may be some."""
    shown = moved(simulate("a100-01", 1_800_000_000.0), -3600.0)
    assert [gpu.processes for gpu in shown.gpus or () if gpu.uuid == lost_gpu("a100-01")] == [None]


def test_nobody_comes_or_goes_while_tests_look_at_the_demo() -> None:
    """What the API said a moment ago is still so on the page."""
    begins = datetime.fromisoformat(DEMO_TIME).timestamp()

    def processes(minute: int) -> list[list[int]]:
        reports = [simulate(node, begins + 60 * minute) for node in NODES]
        return [[one.pid for one in gpu.processes or ()] for report in reports for gpu in report.gpus or ()]

    assert [minute for minute in range(60) if processes(minute) != processes(0)] == []
