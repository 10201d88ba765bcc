"""One look at other machines over ssh, without a board."""

import asyncio
from collections.abc import Sequence
from typing import Final

from gpuboard.discovery.hosts import read_targets
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import UsageError
from gpuboard.model.report import NodeReport
from gpuboard.sources.ssh import SshOptions, read_once

# Why a host, or we ourselves, do not allow it; what is merely out of reach may be there the next time.
REFUSALS: Final = frozenset(
    {"auth-failed", "host-key-changed", "host-key-refused", "host-key-unknown"}
    | {"file-unreadable", "key-unreadable"}
)


def look_at_hosts(hosts: Sequence[str], fleet: Fleet) -> None:
    """Read every host once into the fleet; one that cannot be read says why.

    Raises:
        UsageError: a host cannot be one.
    """
    asyncio.run(_look(hosts, fleet))


async def _look(hosts: Sequence[str], fleet: Fleet) -> None:
    try:
        targets = read_targets(hosts)
    except ValueError as error:
        raise UsageError(str(error)) from None
    sink = fleet.sink("ssh")
    sink.expect([target.node for target in targets])
    for node, outcome in (await read_once(targets, SshOptions())).items():
        if isinstance(outcome, NodeReport):
            sink.report(node, outcome)
        else:
            sink.trouble(node, outcome, state="refused" if outcome.code in REFUSALS else "error")
