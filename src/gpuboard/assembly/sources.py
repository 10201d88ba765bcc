"""The sources of a running board: one per table; tables may come, go and change while the others go on."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from gpuboard.assembly.demo import demo_ahead
from gpuboard.assembly.keep import Keeper
from gpuboard.fleet.sink import FleetSink
from gpuboard.fleet.state import Fleet
from gpuboard.model.component import Troubled
from gpuboard.model.source import identify
from gpuboard.model.verdict import Reason
from gpuboard.settings.board import Settings
from gpuboard.sources.base import Source
from gpuboard.sources.folder import Keys, Owners
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.web.components import Components

Table = dict[str, Any]


class SourceOfTable:
    """One table and the source that was made of it."""

    def __init__(self, table: Table, source: Source, parts: Sequence[Troubled] = ()) -> None:
        self.table = table
        self.source = source
        # What can be in trouble by itself besides the source: the way in which it finds its nodes.
        self.parts = parts
        self.sink: FleetSink | None = None
        self.keeper: Keeper | None = None
        self.task: asyncio.Task[None] | None = None
        self.forget: list[Callable[[], None]] = []


class Sources:
    """Makes sources, keeps them running, and exchanges them."""

    def __init__(
        self,
        fleet: Fleet,
        components: Components,
        *,
        now: Callable[[], float],
        node: str,
        pushed: Source | None,
        keys: Keys,
        owners: Owners | None,
        pause: float,
    ) -> None:
        self._fleet = fleet
        self._components = components
        self._now = now
        self._node = node
        self._pushed = pushed
        self._keys = keys
        self._owners = owners
        self._pause = pause
        self._entries: list[SourceOfTable] = []
        self._is_running = False
        # Asked once: read again, the demo's table is the same.
        self._demo_ahead = demo_ahead(now())

    def plan(self, settings: Settings) -> list[SourceOfTable]:
        """Make a source of every table that is new; those that are as before stay.

        Raises:
            SettingsError: a table is wrong; nothing has changed then.
        """
        left = list(self._entries)
        planned = []
        for where, table in self._tables(settings):
            same = next((entry for entry in left if entry.table == table), None)
            if same is not None:
                left.remove(same)
            planned.append(same or self._make(table, where))
        return planned

    async def adopt(self, planned: list[SourceOfTable]) -> None:
        """Run these: stop what is no longer among them, leave alone what still is, start the rest."""
        went = [entry for entry in self._entries if entry not in planned]
        came = [entry for entry in planned if entry not in self._entries]
        await self._stop(went)
        self.arrange(planned, went=went, came=came)
        if self._is_running:
            self._start(came)

    def arrange(
        self,
        planned: list[SourceOfTable],
        *,
        went: Sequence[SourceOfTable] = (),
        came: Sequence[SourceOfTable] | None = None,
    ) -> None:
        """Give every source its place in the fleet and among the components."""
        came = planned if came is None else came
        free = list(went)
        for entry in came:
            # A table that was changed keeps its nodes.
            before = next((old for old in free if old.source.kind == entry.source.kind), None)
            if before is not None:
                free.remove(before)
                entry.sink = before.sink
        for old in free:
            if old.sink is not None:
                self._fleet.withdraw(old.sink)
        identities = list(zip(planned, identify(entry.source.kind for entry in planned), strict=True))
        self._fleet.arrange(
            {entry.sink: identity for entry, identity in identities if entry.sink is not None}
        )
        for entry, identity in identities:
            entry.sink = entry.sink or self._fleet.sink(identity)
            if entry.keeper is not None:
                entry.keeper.name = identity.name
        self._entries = planned
        for entry in came:
            self._show(entry)

    def start(self) -> None:
        """Run all sources, in tasks of their own."""
        self._is_running = True
        self._start(self._entries)

    async def stop(self) -> None:
        """Stop all sources."""
        self._is_running = False
        await self._stop(self._entries)

    def _tables(self, settings: Settings) -> list[tuple[str, Table]]:
        tables = list(settings.sources)
        if settings.demo_nodes:
            table = {"kind": "simulated", "nodes": settings.demo_nodes, "ahead_seconds": self._demo_ahead}
            tables.append(("--demo", table))
        # With nothing to watch it watches this machine, if there is something to see.
        tables = tables or [("the default", {"kind": "local", "only_with_gpus": True})]
        if self._pushed is None:
            # Without a state directory agents cannot push, and a component says so.
            return [(where, table) for where, table in tables if table.get("kind") != "push"]
        # Agents may always push, if they have a token; a table only says in which place.
        if not any(table.get("kind") == "push" for _, table in tables):
            tables.append(("the default", {"kind": "push"}))
        return tables

    def _make(self, table: Table, where: str) -> SourceOfTable:
        parts: list[Troubled] = []
        around = Surroundings(
            now=self._now,
            node=self._node,
            pushed=self._pushed,
            keys=self._keys,
            owners=self._owners,
            watch=parts.append,
        )
        return SourceOfTable(table, make_source(table, around, where=where), parts)

    def _show(self, entry: SourceOfTable) -> None:
        """Make the source's keeper, and let people see how it and its parts are."""
        source, sink = entry.source, entry.sink
        if sink is None:
            raise AssertionError("a source has its sink before it runs")
        keeper = entry.keeper = Keeper(sink.identity.name, lambda: source.run(sink), pause=self._pause)
        add = self._components.add

        def nodes_of() -> int | None:
            return sink.nodes

        entry.forget = [add(part.kind, part.name, _asking(part)) for part in entry.parts]
        if isinstance(source, Troubled):
            entry.forget.append(
                add(source.kind, source.name, lambda: keeper.trouble() or source.trouble, nodes=nodes_of)
            )
        else:
            entry.forget.append(add(source.kind, "", keeper.trouble, nodes=nodes_of))

    def _start(self, entries: Sequence[SourceOfTable]) -> None:
        for entry in entries:
            if entry.keeper is not None:
                entry.task = asyncio.create_task(entry.keeper.run(), name=entry.keeper.name)

    async def _stop(self, entries: Sequence[SourceOfTable]) -> None:
        tasks = [entry.task for entry in entries if entry.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for entry in entries:
            entry.task = None
            for forget in entry.forget:
                forget()


def _asking(part: Troubled) -> Callable[[], Reason | None]:
    return lambda: part.trouble
