"""What somebody has: one table of cases, which the page's tests read too."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import people_of
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.wire.views import ClaimView, GpuRow, HolderView
from tests.clock import HandClock

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "people.json").read_text(encoding="utf-8"))


def any_row() -> GpuRow:
    """A GPU as viewers see it."""
    fleet = Fleet(HandClock())
    fleet.sink("push").report("a", NodeReport(node="a", gpus=(GpuReading(uuid="GPU-0", index=0),)))
    tracker = ChangeTracker(fleet)
    tracker.tick()
    return tracker.gpus["GPU-0"]


def booking(who: str | None, behind: str | None = None, *, is_unverified: bool = False) -> ClaimView | None:
    """A booking of somebody, and who waits behind it."""
    if who is None:
        return None
    waiting = () if behind is None else (ClaimView(who=behind, until=None, comment=None),)
    return ClaimView(who=who, until=None, comment=None, is_unverified=is_unverified, behind=waiting)


def using(name: str) -> HolderView:
    """Somebody with one process."""
    return HolderView(
        name=name, user=name, uid=1000, memory_used_bytes=1, since=None, processes=1, measured=1
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_somebody_has_what_they_use_and_what_is_booked_for_them(case: dict[str, Any]) -> None:
    """The page, its filter and its suggestions count by the same table."""
    row = any_row()
    rows = [
        replace(
            row,
            uuid=f"GPU-{number}",
            index=number,
            label=str(number),
            counted=gpu.get("counted", True),
            verdict=gpu["verdict"],
            users=None if gpu["users"] is None else tuple(map(using, gpu["users"])),
            claim=booking(gpu["claim"], gpu.get("behind"), is_unverified=gpu.get("unverified", False)),
            ended_claim=booking(gpu.get("ended")),
        )
        for number, gpu in enumerate(case["gpus"])
    ]
    found = {
        person.user: {
            "gpus": person.gpus,
            "idle": person.idle_gpus,
            "booked": person.booked_gpus,
            "held": person.held_gpus,
            "total": person.total_gpus,
        }
        for person in people_of(rows, at=0).people or ()
    }
    assert found == case["people"]
