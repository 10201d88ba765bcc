"""The agent, put together; nothing of the board's is loaded here."""

import time
from collections.abc import Callable
from typing import Final

from gpuboard.agent.sampler import Sampler
from gpuboard.model.report import NodeReport
from gpuboard.probes.processes import ProcessReader
from gpuboard.probes.registry import choose

SLOW_DRIVER_SECONDS: Final = 30.0


def make_sampler(*, node: str, interval_seconds: float, probe: str | None, with_arguments: bool) -> Sampler:
    """Make what samples this machine.

    Raises:
        UsageError: there is no probe of this name.
    """
    # Asked once here, so that a wrong name is an error at the start and not in every report.
    choose(probe).close()
    return Sampler(
        lambda: choose(probe),
        node=node,
        interval_seconds=interval_seconds,
        processes=ProcessReader(with_arguments=with_arguments),
    )


def this_machine(*, node: str, probe: str | None = None) -> Callable[[], NodeReport]:
    """Return what reads this machine once per call, and waits for a driver that is only slow."""
    sampler = make_sampler(node=node, interval_seconds=2.0, probe=probe, with_arguments=False)

    def look() -> NodeReport:
        ends = time.monotonic() + SLOW_DRIVER_SECONDS
        report = sampler.sample()
        while _is_still_waking(report) and time.monotonic() < ends:
            report = sampler.sample()
        return report

    return look


def _is_still_waking(report: NodeReport) -> bool:
    """Without persistence mode a driver may take many seconds for its first answer."""
    return report.gpus is None and any(problem.kind == "slow-driver" for problem in report.problems)
