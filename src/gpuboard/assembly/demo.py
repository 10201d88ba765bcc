"""What the demo shows besides simulated nodes."""

import os
import time
from datetime import datetime
from typing import Final

from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.probes.simulated import simulate

BOOKED: Final = 3
HOUR: Final = 3600.0


def demo_ahead(now: float) -> float:
    """How far the demo's day is ahead of the clock; `GPUBOARD_DEMO_TIME` says when it begins, for tests."""
    begins = os.environ.get("GPUBOARD_DEMO_TIME")
    return datetime.fromisoformat(begins).timestamp() - now if begins else 0.0


def demo_machine() -> NodeReport:
    """What one simulated machine says now."""
    return simulate("vision-01", time.time())


def demo_claims(nodes: tuple[str, ...], now: float, ahead: float = 0.0) -> dict[tuple[str, int], Claim]:
    """Bookings of a few GPUs that are free now, as a lab would have them."""
    free = [
        (node, gpu.index)
        for node in nodes
        for gpu in simulate(node, now + ahead).gpus or ()
        if gpu.processes == ()
    ]
    hours = (3, 20, 45)
    return {
        place: Claim(who=who, until=now + hours[number] * HOUR, comment="paper deadline")
        for number, (place, who) in enumerate(zip(free[-BOOKED:], ("wang", "dupont", "lin"), strict=False))
    }
