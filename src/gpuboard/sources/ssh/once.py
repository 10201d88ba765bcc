"""One look at some hosts over ssh, without a board."""

import asyncio
from collections.abc import Iterable
from typing import Final

import asyncssh

from gpuboard.discovery.base import Target
from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.ssh.connect import SshConnector
from gpuboard.sources.ssh.follow import HostFollower
from gpuboard.sources.ssh.options import SshOptions, Timing
from gpuboard.sources.ssh.report import NodeReader
from gpuboard.sources.ssh.words import SshError, SshHost, explain, unreadable

# A host that took nearly all its time to let us in still gets this much to answer.
_SHORTEST_SECONDS: Final = 1.0


async def read_once(targets: Iterable[Target], options: SshOptions) -> dict[str, NodeReport | Reason]:
    """Read every host once, all at the same time; each has its report, or the reason why there is none.

    A host has the time-out to let us in and to answer, whatever the others do.
    """
    pace = Timing.of(options)
    connector = SshConnector(options)
    wanted = {target.node: target for target in targets}
    outcomes = await asyncio.gather(*(_read(one, connector, pace) for one in wanted.values()))
    return dict(zip(wanted, outcomes, strict=True))


async def _read(target: Target, connector: SshConnector, pace: Timing) -> NodeReport | Reason:
    connection: asyncssh.SSHClientConnection | None = None
    place = SshHost(name=target.node, host=target.host)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        connection = await connector.open(target, within=pace.timeout, keepalive=pace.keepalive)
        place = connector.place_of(target, connection)
        reader = NodeReader(target.node, interval=pace.interval)
        follower = HostFollower(connection, reader, place=place, pace=pace)
        left = pace.timeout - (loop.time() - started)
        return await follower.take_one(within=max(_SHORTEST_SECONDS, left))
    except SshError as error:
        return error.as_reason
    except WireError as error:
        return unreadable(target.node, error).as_reason
    except asyncssh.Error as error:
        return explain(error, place).as_reason
    finally:
        if connection is not None:
            connection.abort()
