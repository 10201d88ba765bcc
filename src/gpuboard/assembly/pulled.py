"""One look at agents that listen, without a board."""

import asyncio
from collections.abc import Sequence

from gpuboard.assembly.finding import find_nodes
from gpuboard.discovery.base import Target
from gpuboard.discovery.hosts import meant, read_host
from gpuboard.discovery.registry import make_for_source
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import UsageError
from gpuboard.model.ranges import expand_all
from gpuboard.model.source import identify
from gpuboard.settings.base import read_options
from gpuboard.settings.board import Settings
from gpuboard.sources.pull import PullOptions, PullSource


def look_at_pulled(fleet: Fleet, *, settings: Settings) -> None:
    """Ask all nodes of the tables of kind `pull` once into the fleet; one that does not answer says why.

    Raises:
        SettingsError: a table is wrong, or a list of nodes was not found in time.
    """
    asyncio.run(_look(fleet, settings, None))


def look_at_those_pulled(hosts: Sequence[str], fleet: Fleet, *, settings: Settings) -> list[str]:
    """The same for those of the hosts that a table lists; the others are returned.

    Raises:
        UsageError: a host cannot be one.
        SettingsError: a table is wrong, or a list of nodes was not found in time.
    """
    try:
        wishes = {text: read_host(text) for text in expand_all(hosts)}
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = asyncio.run(_look(fleet, settings, tuple(wishes.values())))
    return [text for text, wish in wishes.items() if not meant(wish, found)]


async def _look(fleet: Fleet, settings: Settings, wishes: Sequence[Target] | None) -> list[Target]:
    """Ask the nodes that are wished for, or all; those that were asked."""
    asked: list[Target] = []
    tables = [(where, table) for where, table in settings.sources if table.get("kind") == "pull"]
    for (where, table), identity in zip(tables, identify("pull" for _ in tables), strict=True):
        options = read_options(PullOptions, table, where=where)
        discovery = make_for_source(options.hosts, options.discover, where=where)
        source, listed = PullSource(options, discovery), await find_nodes(discovery)
        if wishes is not None:
            wanted = {one for wish in wishes for one in meant(wish, listed)}
            listed = [one for one in listed if one in wanted]
        await source.read_once(listed, fleet.sink(identity.name))
        asked += listed
    return asked
