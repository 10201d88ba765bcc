"""The board, put together and run."""

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Final

import uvicorn

from gpuboard import __version__
from gpuboard.assembly.agents import AgentSide
from gpuboard.assembly.bookings import bookings_of
from gpuboard.assembly.demo import demo_ahead, demo_claims
from gpuboard.assembly.descriptors import Descriptors
from gpuboard.assembly.judging import groups_of, names_of, thresholds_of
from gpuboard.assembly.keep import Keeper
from gpuboard.assembly.reload import Parts, Reload
from gpuboard.assembly.server import BoardServer, allow_connections, server_config
from gpuboard.assembly.sources import Sources
from gpuboard.assembly.storage import (
    open_storage,
    remember_claims,
    remember_owners,
    remember_places,
    storage_of,
)
from gpuboard.assembly.systemd import ServiceManager
from gpuboard.assembly.ticking import Ticker
from gpuboard.assembly.time_zone import time_zone
from gpuboard.assembly.tls import check_tls
from gpuboard.bookings.unknown_hosts import UnknownHosts
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import Clock, SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.address import split_address
from gpuboard.model.component import Troubled
from gpuboard.model.node import node_name_of
from gpuboard.outside.threads import off_loop
from gpuboard.probes.simulated import node_names
from gpuboard.settings.board import BoardTable, Settings
from gpuboard.sources.folder import no_keys
from gpuboard.web.access import AccessPolicy, own_names
from gpuboard.web.app import create_app
from gpuboard.web.components import Components
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo

CLOSE_SECONDS: Final = 5.0
# Of objects that may hold cycles, of collections of the young, and of the middle-aged. What strangers leave
# behind (a refused handshake: 300 objects) is gone in milliseconds; of 100,000 it was a tenth of a second.
GARBAGE_AFTER: Final = (10_000, 10, 50)

log = logging.getLogger(__name__)


class Board:
    """A board that can be run: its sources, its fleet, its web."""

    def __init__(
        self,
        settings: Settings,
        *,
        listen: str | None = None,
        reread: Callable[[], Settings] | None = None,
    ) -> None:
        """Put a board together; `listen` is where it really listens, `reread` reads its settings again.

        Raises:
            SettingsError: a setting is wrong.
            StorageError: the state directory that the settings name cannot be used.
        """
        self._settings = settings
        self._manager = ServiceManager()
        self._clock = SteadyClock()
        self.fleet = fleet_of(settings, self._clock)
        tracker = ChangeTracker(self.fleet)
        hostname = socket.gethostname()
        info = info_of(settings, hostname, self._clock.now())
        self._components = Components()
        self._broadcaster = Broadcaster(tracker, info, self._components)
        unknown_hosts = UnknownHosts(self.fleet.booked_elsewhere)
        self._components.add(unknown_hosts.kind, unknown_hosts.name, lambda: unknown_hosts.trouble)
        followers = [
            lambda _: self._manager.beat(),
            lambda _: unknown_hosts.look(),
            self._broadcaster.follow,
        ]
        self._ticker = Ticker(tracker, followers, period=float(settings.board.tick))
        access = policy_of(settings)
        check_tls(settings.board)
        self.url = board_url(settings.board, hostname, listen or settings.board.listen)
        # Whoever has to remember something says so before the database is opened.
        self._storage = storage_of(settings, self.url)
        self._owners = remember_owners(self._storage, self.fleet)
        remember_places(self._storage, self.fleet)
        agents = AgentSide(self._storage, forget=self._forget)
        self._bookings = bookings_of(
            settings.bookings, self.fleet, self._clock.now, keep=partial(remember_claims, self._storage)
        )
        has_storage = open_storage(self._storage, settings, self._components)
        self._agent_side = agents if has_storage else None
        self.fleet.taker = agents.ledger if has_storage else None
        services = Services(
            fleet=self.fleet,
            tracker=tracker,
            broadcaster=self._broadcaster,
            access=access,
            info=info,
            started_at=info.started_at,
            components=self._components,
            agents=self._agent_side.door if self._agent_side else None,
        )
        self.app = create_app(services, base_path=settings.board.base_path)
        self._sources = self._make_sources(node_name_of(hostname))
        self._sources.arrange(self._sources.plan(settings))
        if settings.demo_nodes:
            now = self._clock.now()
            claims = demo_claims(node_names(settings.demo_nodes), now, demo_ahead(now))
            self.fleet.set_claims("booking", claims)
        parts = Parts(
            fleet=self.fleet,
            access=access,
            sources=self._sources,
            broadcaster=self._broadcaster,
            policy_of=policy_of,
        )
        self._reload = Reload(settings, reread or (lambda: settings), parts)
        self._components.add("settings", "", lambda: self._reload.trouble)
        self._keepers = list(self._other_keepers())

    def _make_sources(self, node: str) -> Sources:
        side = self._agent_side
        return Sources(
            self.fleet,
            self._components,
            now=self._clock.now,
            node=node,
            pushed=side.source if side else None,
            keys=side.keys_of if side else no_keys,
            owners=self._owners,
            pause=self._settings.board.tick,
        )

    def _forget(self, node: str) -> None:
        self._owners.forget(node)
        self.fleet.forget(node)

    def _watch(self, part: Troubled, keeper: Keeper) -> None:
        """Show how a part is, by what it notes itself and by whether it keeps running."""
        self._components.add(part.kind, part.name, lambda: keeper.trouble() or part.trouble)

    def _other_keepers(self) -> Iterator[Keeper]:
        pause = self._settings.board.tick
        ticking = Keeper("tick", self._ticker.run, pause=pause)
        self._components.add("stream", "", ticking.trouble)
        yield ticking
        descriptors = Descriptors()
        counting = Keeper("descriptors", descriptors.follow, pause=pause)
        self._components.add("descriptors", "", lambda: counting.trouble() or descriptors.trouble)
        yield counting
        if self._bookings is not None:
            keeper = Keeper("comments", self._bookings.run, pause=pause)
            self._watch(self._bookings, keeper)
            yield keeper
        parts = (*self._agent_side.parts(), *self._storage.parts()) if self._agent_side else ()
        for name, start in parts:
            keeper = Keeper(name, start, pause=pause)
            self._components.add(name, "", keeper.trouble)
            yield keeper

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sources and ticks run inside; they are stopped at the end."""
        tasks = [asyncio.create_task(keeper.run(), name=keeper.name) for keeper in self._keepers]
        self._sources.start()
        try:
            yield
        finally:
            await self._sources.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._agent_side:
                # Last: until here there may be something to keep. A disk that hangs must not keep us here.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await off_loop(self._storage.close)

    def _ready(self, config: uvicorn.Config) -> None:
        self._reload.tls = config.ssl
        self._manager.ready(f"open {self.url}")

    async def _read_again(self) -> None:
        self._manager.reloading()
        try:
            await self._reload.run()
        finally:
            self._manager.ready(f"open {self.url}")

    def _stopping(self) -> None:
        self._manager.stopping()
        self._broadcaster.close()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer on these sockets until told to stop, on the fastest event loop there is."""
        config = server_config(self.app, self._settings.board)
        collect_garbage_seldom()
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(self._serve(config, sockets))

    async def _serve(self, config: uvicorn.Config, sockets: list[socket.socket] | None) -> None:
        allow_connections()
        async with self.running():
            await BoardServer(
                config, ready=lambda: self._ready(config), hung_up=self._read_again, stopping=self._stopping
            ).serve(sockets)


def fleet_of(settings: Settings, clock: Clock) -> Fleet:
    """An empty fleet that judges and names as the settings say, and tells the log who comes and goes."""
    fleet = Fleet(
        clock,
        thresholds=thresholds_of(settings.verdict),
        names=names_of(settings.names),
        groups=groups_of(settings.groups),
        forget_after_seconds=settings.board.forget_after,
    )
    fleet.roll_call.speaks = True
    return fleet


def info_of(settings: Settings, hostname: str, started_at: float) -> BoardInfo:
    """What the board tells viewers of itself."""
    return BoardInfo(
        version=__version__,
        name=hostname,
        demo=settings.demo_nodes > 0,
        tick_seconds=float(settings.board.tick),
        started_at=started_at,
        title=settings.board.title or None,
        copy=settings.board.copy,
        host_lines=settings.board.host_lines,
        gpu_lines=settings.board.gpu_lines,
        contact=settings.names.contact or None,
        time_zone=time_zone(),
    )


def policy_of(settings: Settings) -> AccessPolicy:
    """Who may see what, as the settings say."""
    return AccessPolicy(
        anonymous=settings.access.anonymous,
        trusted_proxies=frozenset(settings.access.trusted_proxies),
        hostnames=own_names(settings.board.hostnames, socket.gethostname()),
    )


def board_url(settings: BoardTable, hostname: str, listen: str) -> str:
    """Where people and agents reach this board, as far as it can know."""
    host, port = split_address(listen)
    if host in ("0.0.0.0", "::"):  # noqa: S104 - recognised, not bound
        host = settings.hostnames[0] if settings.hostnames else hostname
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls_certificate else 'http'}://{shown}:{port}/"


def collect_garbage_seldom() -> None:
    """Let this process look for garbage rarely, and then never for long, for everybody waits meanwhile."""
    # Reports, rows and frames hold no cycles; looking for some after every 700 new objects is wasted.
    gc.freeze()
    gc.set_threshold(*GARBAGE_AFTER)
