"""The agent's loop: sample on time, hand on, until told to stop."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from gpuboard.agent.outlet import Outlet, TimedReport
from gpuboard.model.report import NodeReport

log = logging.getLogger(__name__)


def run_agent(
    sample: Callable[[], NodeReport],
    outlets: Sequence[Outlet],
    *,
    interval_seconds: float,
    stop: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Hand a fresh sample to every outlet each interval, until `stop` is set."""
    for outlet in outlets:
        outlet.start()
    try:
        due = clock()
        while not stop.is_set():
            fresh = TimedReport(sample(), clock())
            for outlet in outlets:
                outlet.offer(fresh)
            # On the beat; after a slow sample the next beat counts, not a burst of missed ones.
            due = max(due + interval_seconds, clock())
            stop.wait(max(0.0, due - clock()))
    finally:
        for outlet in outlets:
            outlet.stop()
