"""Processes on a card that is cut into instances, of which nobody can tell the instance."""

import pytest

from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import find_gpu
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.model.verdict import Claim
from gpuboard.wire.redact import hide_names_in_gpu
from gpuboard.wire.views import GpuView
from tests.clock import HandClock

ANA = GpuProcess(pid=7, user="asmith", kind="compute")


def card(index: int, *processes: GpuProcess) -> GpuReading:
    """A card with MIG on."""
    return GpuReading(
        uuid=f"GPU-{index}",
        index=index,
        mig_enabled=True,
        memory_used_bytes=0,
        memory_total_bytes=80 * GIB,
        processes=processes,
    )


def instance(card: int, index: int, *processes: GpuProcess) -> GpuReading:
    """A part of it that looks free, unless it has processes."""
    return GpuReading(
        uuid=f"MIG-{card}-{index}",
        index=index,
        mig_parent_uuid=f"GPU-{card}",
        memory_used_bytes=0,
        memory_total_bytes=10 * GIB,
        processes=processes,
    )


def judged(*gpus: GpuReading, claim: Claim | None = None) -> dict[str, GpuView]:
    """What is said of each."""
    fleet = Fleet(HandClock(), names=Names(people={"asmith": "ana"}))
    fleet.sink("push").report("a", NodeReport(node="a", gpus=gpus))
    if claim is not None:
        fleet.set_claims("booking", {("a", 0): claim})
    fleet.settle()
    views = {gpu.uuid: find_gpu(fleet, gpu.uuid) for gpu in gpus}
    return {uuid: view for uuid, view in views.items() if view is not None}


def test_an_instance_is_not_free_while_its_card_has_a_process_of_no_known_instance() -> None:
    """Somebody is there; the other instances may be his, but not those of other cards."""
    seen = judged(card(0, ANA), instance(0, 0), instance(0, 1, ANA), card(1), instance(1, 0))
    words = {uuid: view.verdict.word for uuid, view in seen.items() if uuid.startswith("MIG")}
    assert words == {"MIG-0-0": "unknown", "MIG-0-1": "busy", "MIG-1-0": "free"}
    reason = seen["MIG-0-0"].verdict.reason
    assert (reason.code, reason.values) == ("stray-process", {"users": ["ana"], "processes": 1})
    assert reason.text == "ana has a process on its card, of no known instance: it may be this one"
    assert "ana" not in repr(hide_names_in_gpu(seen["MIG-0-0"]))


def test_a_booked_instance_stays_booked() -> None:
    """That it may be in use besides makes it no less somebody's."""
    seen = judged(card(0, ANA), instance(0, 0), claim=Claim(who="ben"))
    assert seen["MIG-0-0"].verdict.word == "booked"


@pytest.mark.parametrize("facts", [{"state": "gone"}, {"state": "zombie"}, {"kind": "graphics"}])
def test_what_does_not_compute_takes_no_instance(facts: dict[str, str]) -> None:
    """A process that ended is nowhere, and a display needs no instance."""
    process = GpuProcess(**{"pid": 7, "kind": "compute", **facts})  # type: ignore[arg-type]
    assert judged(card(0, process), instance(0, 0))["MIG-0-0"].verdict.word == "free"
