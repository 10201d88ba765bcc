"""The agent, put together; nothing of the board's is loaded here."""

from collections.abc import Callable

from gpuboard.agent.sampler import Sampler
from gpuboard.model.report import NodeReport
from gpuboard.probes.processes import ProcessReader
from gpuboard.probes.registry import choose


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


def this_machine(
    *, node: str, probe: str | None = None, interval_seconds: float = 5.0
) -> Callable[[], NodeReport]:
    """Return what reads this machine once per call."""
    return make_sampler(
        node=node, interval_seconds=interval_seconds, probe=probe, with_arguments=False
    ).sample
