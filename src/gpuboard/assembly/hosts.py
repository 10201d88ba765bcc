"""One look at other machines over ssh, without a board."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.assembly.finding import find_nodes
from gpuboard.discovery.base import Discovery, Target
from gpuboard.discovery.hosts import meant, read_targets
from gpuboard.discovery.registry import make_for_source
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import UsageError
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

    A host that a table lists is reached as the table says, any other as the first table says. One that is
    asked for with a port is the listed one with that port, or itself.

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
    groups = [Group(table.options, await find_nodes(table.discovery)) for table in tables]
    groups = groups or [Group(SshOptions(), [])]
    if asked:
        _choose(groups, asked)
    sink = fleet.sink("ssh")
    targets = [target for group in groups for target in group.targets]
    sink.expect([one.node for one in targets], groups={one.node: one.groups for one in targets})
    for outcomes in await asyncio.gather(*(_read(group, user) for group in groups)):
        for node, outcome in outcomes.items():
            if isinstance(outcome, NodeReport):
                sink.report(node, outcome)
            else:
                sink.trouble(node, outcome, state="refused" if outcome.code in REFUSALS else "error")


async def _read(group: Group, user: str | None) -> dict[str, NodeReport | Reason]:
    targets = [replace(target, user=user) if user else target for target in group.targets]
    return await read_once(targets, group.options)


def _choose(groups: list[Group], asked: Sequence[Target]) -> None:
    """Keep of each group what was asked for; what no group lists goes to the first."""
    left = list(asked)
    for group in groups:
        wishes = {one: wish for wish in left for one in meant(wish, group.targets)}
        met = [wish for wish in left if meant(wish, group.targets)]
        group.targets = [
            replace(one, user=wishes[one].user or one.user, port=wishes[one].port or one.port)
            for one in group.targets
            if one in wishes
        ]
        left = [wish for wish in left if wish not in met]
    groups[0].targets += left
