"""One look at other machines over ssh, without a board."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.discovery.base import Discovery, Target
from gpuboard.discovery.hosts import read_targets
from gpuboard.discovery.registry import make_for_source
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import SettingsError, UsageError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.settings.base import read_options
from gpuboard.settings.board import Settings
from gpuboard.sources.ssh import SshOptions, forced_command, read_once

__all__ = ["forced_command", "look_at_hosts", "ssh_tables"]

# Why a host, or we ourselves, do not allow it; what is merely out of reach may be there the next time.
REFUSALS: Final = frozenset(
    {"auth-failed", "host-key-changed", "host-key-refused", "host-key-unknown"}
    | {"file-unreadable", "key-unreadable"}
)
# How long a list of nodes may take to be found.
FIND_SECONDS: Final = 10.0


class SshTable(Struct, frozen=True):
    """One `[[source]]` table of kind `ssh`: how its nodes are reached, and which they are."""

    options: SshOptions
    discovery: Discovery


class Group(Struct):
    """Hosts that are reached in the same way."""

    options: SshOptions
    targets: list[Target]


def ssh_tables(settings: Settings) -> list[SshTable]:
    """The tables of kind `ssh`.

    Raises:
        SettingsError: one of them is wrong.
    """
    chosen = [(where, table) for where, table in settings.sources if table.get("kind") == "ssh"]
    read = [(where, read_options(SshOptions, table, where=where)) for where, table in chosen]
    return [
        SshTable(options, make_for_source(options.hosts, options.discover, where=where))
        for where, options in read
    ]


def look_at_hosts(
    hosts: Sequence[str], fleet: Fleet, *, tables: Sequence[SshTable] = (), user: str | None = None
) -> None:
    """Read hosts once into the fleet, or all of the tables'; one that cannot be read says why.

    A host that a table lists is reached as the table says, any other as the first table says.

    Raises:
        UsageError: a host cannot be one.
        SettingsError: a list of nodes cannot be read.
    """
    asyncio.run(_look(hosts, fleet, tables, user))


async def _look(hosts: Sequence[str], fleet: Fleet, tables: Sequence[SshTable], user: str | None) -> None:
    try:
        asked = read_targets(hosts)
    except ValueError as error:
        raise UsageError(str(error)) from None
    groups = [Group(table.options, await _listed(table)) for table in tables] or [Group(SshOptions(), [])]
    if asked:
        _choose(groups, asked)
    sink = fleet.sink("ssh")
    sink.expect([target.node for group in groups for target in group.targets])
    for outcomes in await asyncio.gather(*(_read(group, user) for group in groups)):
        for node, outcome in outcomes.items():
            if isinstance(outcome, NodeReport):
                sink.report(node, outcome)
            else:
                sink.trouble(node, outcome, state="refused" if outcome.code in REFUSALS else "error")


async def _read(group: Group, user: str | None) -> dict[str, NodeReport | Reason]:
    targets = [replace(target, user=user) if user else target for target in group.targets]
    return await read_once(targets, group.options)


async def _listed(table: SshTable) -> list[Target]:
    """The nodes that a table names, as far as they can be found now."""
    found: asyncio.Future[list[Target]] = asyncio.get_running_loop().create_future()
    finding = asyncio.create_task(
        table.discovery.run(lambda targets: None if found.done() else found.set_result(list(targets)))
    )
    try:
        async with asyncio.timeout(FIND_SECONDS):
            return await found
    except TimeoutError:
        raise SettingsError(
            f"{table.discovery.kind}: the nodes were not found within {FIND_SECONDS:g}s"
        ) from None
    finally:
        finding.cancel()


def _choose(groups: list[Group], asked: Sequence[Target]) -> None:
    """Keep of each group what was asked for; what no group lists goes to the first."""
    left = {name: target for target in asked for name in (target.node, target.host)}
    for group in groups:
        listed, group.targets = group.targets, []
        for one in listed:
            wish = left.get(one.node) or left.get(one.host) or left.get(one.whole_name or one.node)
            if wish is not None:
                group.targets.append(replace(one, user=wish.user or one.user, port=wish.port or one.port))
                left = {name: target for name, target in left.items() if target is not wish}
    groups[0].targets += dict.fromkeys(left.values())
