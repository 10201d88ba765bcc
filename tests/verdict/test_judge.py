"""The verdict's table of cases: first match wins."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.model.report import GpuProcess, GpuReading, Problem
from gpuboard.model.units import GIB, MIB
from gpuboard.model.verdict import Claim, Reason
from gpuboard.verdict import Activity, Freshness, holders, judge
from gpuboard.verdict.holders import people_on

NOW = 1_800_000_000.0
GPU = GpuReading(
    uuid="GPU-1",
    index=0,
    memory_used_bytes=4 * MIB,
    memory_total_bytes=24 * GIB,
    utilization_percent=0.0,
    temperature_celsius=40,
    throttle_reasons=(),
    processes=(),
)
ANA = GpuProcess(pid=7, user="ana", kind="compute", memory_used_bytes=GIB, state="running")
QUIET = Activity(recent_percent=(0.0, 0.0, 0.0), quiet_since=NOW - 3 * 3600, quiet_until=NOW)
CLAIM = Claim(who="bob", until=NOW + 3600)


def word(gpu: GpuReading = GPU, **context: Any) -> str:  # noqa: ANN401 - any argument of judge
    """The verdict's word."""
    return judge(gpu, now=NOW, **context).word


CASES = [
    # stale, whatever else is true
    ("late node", GPU, {"freshness": Freshness(state="late")}, "stale"),
    ("lost node", GPU, {"freshness": Freshness(state="lost")}, "stale"),
    ("never heard", GPU, {"freshness": Freshness(state="never")}, "stale"),
    ("refused", GPU, {"freshness": Freshness(state="refused")}, "stale"),
    ("error", GPU, {"freshness": Freshness(state="error")}, "stale"),
    ("MIG on, cut into instances", replace(GPU, mig_enabled=True), {}, "busy"),
    ("MIG on, and no instance", replace(GPU, mig_enabled=True), {"is_cut": False}, "unknown"),
    # broken
    (
        "lost GPU",
        GPU,
        {"problems": [Problem(kind="gpu-lost", gpu_uuid="GPU-1", text="", remedy="")]},
        "broken",
    ),
    (
        "another GPU lost",
        GPU,
        {"problems": [Problem(kind="gpu-lost", gpu_uuid="GPU-2", text="", remedy="")]},
        "free",
    ),
    ("driver hung", GPU, {"problems": [Problem(kind="driver-hung", text="", remedy="")]}, "broken"),
    ("driver mismatch", GPU, {"problems": [Problem(kind="driver-mismatch", text="", remedy="")]}, "broken"),
    (
        "ECC",
        GPU,
        {"problems": [Problem(kind="ecc-uncorrected", gpu_uuid="GPU-1", text="", remedy="")]},
        "broken",
    ),
    ("slow driver", GPU, {"problems": [Problem(kind="slow-driver", text="", remedy="")]}, "free"),
    # idle needs a past
    ("held and quiet", replace(GPU, processes=(ANA,)), {"activity": QUIET}, "idle"),
    ("memory only, quiet", replace(GPU, memory_used_bytes=2 * GIB), {"activity": QUIET}, "idle"),
    ("held, no past", replace(GPU, processes=(ANA,)), {}, "busy"),
    (
        "quiet too short",
        replace(GPU, processes=(ANA,)),
        {"activity": Activity(quiet_since=NOW - 60, quiet_until=NOW)},
        "busy",
    ),
    (
        "one old sample",
        replace(GPU, processes=(ANA,)),
        {"activity": Activity(quiet_since=NOW - 7200, quiet_until=NOW - 7200)},
        "busy",
    ),
    ("quiet and empty", GPU, {"activity": QUIET}, "free"),
    # busy
    ("process", replace(GPU, processes=(ANA,)), {}, "busy"),
    ("process of unknown kind", replace(GPU, processes=(replace(ANA, kind=None),)), {}, "busy"),
    ("process of unknown state", replace(GPU, processes=(replace(ANA, state=None),)), {}, "busy"),
    ("utilisation", replace(GPU, utilization_percent=5.0), {}, "busy"),
    ("a little utilisation", replace(GPU, utilization_percent=4.9), {}, "free"),
    ("busy a moment ago", GPU, {"activity": Activity(recent_percent=(90.0, 0.0, 0.0))}, "busy"),
    ("memory", replace(GPU, memory_used_bytes=2 * GIB), {}, "busy"),
    (
        "memory on a small card",
        replace(GPU, memory_used_bytes=500 * MIB, memory_total_bytes=4 * GIB),
        {},
        "busy",
    ),
    ("display server", replace(GPU, processes=(replace(ANA, kind="graphics"),)), {}, "free"),
    (
        "graphics that holds more than the card says",
        replace(GPU, processes=(replace(ANA, kind="graphics", memory_used_bytes=9 * GIB),)),
        {},
        "busy",
    ),
    (
        "graphics on a card that does not say",
        replace(
            GPU,
            memory_used_bytes=None,
            processes=(replace(ANA, kind="graphics", memory_used_bytes=9 * GIB),),
        ),
        {},
        "busy",
    ),
    (
        "zombie with memory",
        replace(GPU, memory_used_bytes=9 * GIB, processes=(replace(ANA, state="zombie"),)),
        {},
        "busy",
    ),
    ("divided", replace(GPU, mig_enabled=True), {}, "busy"),
    # booked
    ("claimed", GPU, {"claim": CLAIM}, "booked"),
    ("claim over", GPU, {"claim": replace(CLAIM, until=NOW - 1)}, "free"),
    ("claimed and busy", replace(GPU, processes=(ANA,)), {"claim": CLAIM}, "busy"),
    # free
    ("nobody", GPU, {}, "free"),
    ("a device that cannot tell utilisation", replace(GPU, utilization_percent=None), {}, "free"),
    ("unified memory", replace(GPU, memory_unified=True, memory_used_bytes=99 * GIB), {}, "free"),
    # unknown
    ("processes unreadable", replace(GPU, processes=None), {}, "unknown"),
    ("memory unreadable", replace(GPU, memory_used_bytes=None), {}, "unknown"),
    ("nothing readable", GpuReading(uuid="GPU-1", index=0), {}, "unknown"),
    ("nothing readable, booked", GpuReading(uuid="GPU-1", index=0), {"claim": CLAIM}, "unknown"),
]


@pytest.mark.parametrize(("gpu", "context", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_each_case_has_its_one_word(gpu: GpuReading, context: dict[str, Any], expected: str) -> None:
    """The table of the design, case by case."""
    assert word(gpu, **context) == expected


def test_nothing_unknown_is_ever_free() -> None:
    """Whichever field is missing, the word is not free unless nobody can be on it."""
    for field in ("processes", "memory_used_bytes"):
        assert word(replace(GPU, **{field: None})) == "unknown"


def test_idle_says_who_holds_what_since_when() -> None:
    """The evidence is what makes a person ask another to let go."""
    verdict = judge(replace(GPU, memory_used_bytes=22 * GIB, processes=(ANA,)), now=NOW, activity=QUIET)
    assert verdict.reason.text == "22.0 GiB held by ana, no work for 3h 0m"
    assert verdict.since == QUIET.quiet_since


def test_busy_lasts_since_the_oldest_process_began() -> None:
    """Not since the board happened to look."""
    two = (replace(ANA, started_at=NOW - 500), replace(ANA, pid=8, started_at=NOW - 9000))
    assert judge(replace(GPU, processes=two), now=NOW).since == NOW - 9000


def test_the_reason_of_a_stale_node_is_passed_on() -> None:
    """Why the data is old matters more than that it is."""
    reason = Reason(code="host-key-changed", text="its host key has changed")
    verdict = judge(GPU, now=NOW, freshness=Freshness(state="refused", reason=reason))
    assert verdict.reason == reason


def test_somebody_else_on_a_claimed_gpu_is_a_trespasser() -> None:
    """The claimant's own process is none."""
    other = judge(replace(GPU, processes=(ANA,)), now=NOW, claim=CLAIM)
    own = judge(replace(GPU, processes=(replace(ANA, user="bob"),)), now=NOW, claim=CLAIM)
    assert ("trespass" in other.flags, "trespass" in own.flags) == (True, False)


@pytest.mark.parametrize(
    ("process", "is_on"),
    [
        (ANA, True),
        (replace(ANA, kind=None, state=None), True),
        (replace(ANA, state="zombie"), False),
        (replace(ANA, state="gone"), False),
        (replace(ANA, kind="graphics", memory_used_bytes=GIB), False),
        (replace(ANA, kind="graphics", memory_used_bytes=None), False),
        (replace(ANA, kind="graphics", memory_used_bytes=2 * GIB), True),
        (replace(ANA, user="root", uid=0), False),
        (replace(ANA, user="gdm", uid=120), False),
        (replace(ANA, user=None, uid=2000), False),
    ],
)
def test_a_person_is_on_a_gpu_by_a_living_process_that_is_more_than_a_display(
    process: GpuProcess, *, is_on: bool
) -> None:
    """Alone and beside others; who is not on it is no trespasser."""
    bob = replace(ANA, pid=8, user="bob")
    for processes in ((process,), (process, bob), (bob, process)):
        gpu = replace(GPU, processes=processes)
        assert ("ana" in people_on(holders(gpu))) == is_on
        assert ("trespass" in judge(gpu, now=NOW, claim=CLAIM).flags) == is_on


def test_memory_without_a_process_is_flagged_as_orphaned() -> None:
    """A dead job's memory is not free, and somebody should know."""
    gone = replace(GPU, memory_used_bytes=9 * GIB, processes=(replace(ANA, state="gone"),))
    verdict = judge(gone, now=NOW)
    assert (verdict.word, verdict.reason.code, verdict.flags) == (
        "busy",
        "orphaned-memory",
        ("orphaned_memory",),
    )


def test_hot_and_slowed_down_gpus_are_flagged() -> None:
    """Power capping alone is normal at full load."""
    hot = judge(replace(GPU, temperature_celsius=90, throttle_reasons=("thermal",)), now=NOW)
    capped = judge(replace(GPU, throttle_reasons=("power-cap",)), now=NOW)
    assert (hot.flags, capped.flags) == (("hot", "throttled"), ())


def test_nobody_idles_longer_than_he_is_there() -> None:
    """The GPU was quiet for hours before somebody came."""
    came = replace(ANA, started_at=NOW - 2400)
    verdict = judge(replace(GPU, processes=(came,)), now=NOW, activity=QUIET)
    assert (verdict.word, verdict.since, verdict.reason.values["seconds"]) == ("idle", NOW - 2400, 2400)
    just = replace(ANA, started_at=NOW - 60)
    assert word(replace(GPU, processes=(just,)), activity=QUIET) == "busy"


def test_a_free_gpu_that_nobody_was_seen_to_leave_says_since_when_it_was_seen() -> None:
    """After a start of the board nobody knows more."""
    seen = judge(GPU, now=NOW, activity=Activity(seen_empty_since=NOW - 600))
    assert (seen.since, seen.reason.values) == (None, {"seen_since": NOW - 600})
    left = judge(GPU, now=NOW, activity=Activity(empty_since=NOW - 60, seen_empty_since=NOW - 600))
    assert (left.since, left.reason.values) == (NOW - 60, {})
