"""The board, put together and run."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import uvicorn

from gpuboard import __version__
from gpuboard.assembly.accounts import AccountSide
from gpuboard.assembly.agents import AgentSide
from gpuboard.assembly.booking_side import BookingSide
from gpuboard.assembly.bookings import bookings_of
from gpuboard.assembly.certificate import CertificateWatch
from gpuboard.assembly.clock_watch import ClockWatch
from gpuboard.assembly.demo import demo_ahead, demo_claims
from gpuboard.assembly.demo_bookings import demo_bookings
from gpuboard.assembly.descriptors import Descriptors
from gpuboard.assembly.history import history_of, worth_of
from gpuboard.assembly.judging import groups_of, names_of, thresholds_of
from gpuboard.assembly.keep import Keeper
from gpuboard.assembly.memory import collect_garbage_seldom, give_back_memory
from gpuboard.assembly.reload import Parts, Reload
from gpuboard.assembly.server import BoardServer, allow_connections, server_config
from gpuboard.assembly.sources import Sources
from gpuboard.assembly.storage import (
    Part,
    open_storage,
    remember_claims,
    remember_owners,
    remember_places,
    storage_of,
)
from gpuboard.assembly.systemd import ServiceManager
from gpuboard.assembly.ticking import Ticker
from gpuboard.assembly.time_zone import board_zone_name
from gpuboard.assembly.tls import check_tls
from gpuboard.assembly.unmatched import watch_names
from gpuboard.bookings.slips import GPUS, HOSTS, Slips
from gpuboard.fleet.changes import ChangeTracker, Subscriber
from gpuboard.fleet.clock import Clock, SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.address import is_loopback, place_of, split_address
from gpuboard.model.component import Troubled
from gpuboard.model.errors import StorageError
from gpuboard.model.node import node_name_of
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.outside.certificate_names import is_for
from gpuboard.outside.threads import off_loop
from gpuboard.probes.simulated import node_names
from gpuboard.settings.board import BoardTable, Settings
from gpuboard.sources.folder import no_keys
from gpuboard.sources.ledger import CountingLedger, Ledger
from gpuboard.web.access import AccessPolicy, own_names
from gpuboard.web.app import create_app
from gpuboard.web.components import Components
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.login import LINK_PATH
from gpuboard.wire.stream import BoardInfo, HistoryInfo

CLOSE_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class Board:
    """A board that can be run: its sources, its fleet, its web."""

    def __init__(
        self,
        settings: Settings,
        *,
        listen: str | None = None,
        reread: Callable[[], Settings] | None = None,
        clock: SteadyClock | None = None,
    ) -> None:
        """Put a board together; `listen` is where it really listens, `reread` reads its settings again.

        Raises:
            SettingsError: a setting is wrong.
            StorageError: another board uses the database that the settings name.
        """
        check_tls(settings.board)
        self._settings = settings
        self._manager = ServiceManager()
        self._clock = clock or SteadyClock()
        self.fleet = fleet_of(settings, self._clock)
        self._tracker = ChangeTracker(self.fleet)
        self._components = Components()
        hostname = socket.gethostname()
        self.url = board_url(settings.board, hostname, listen or settings.board.listen)
        self._history = history_of(settings, self.fleet)
        info = info_of(settings, hostname, self._clock.now())
        self._broadcaster = Broadcaster(self._tracker, info, self._components, history=self._past)
        watch = ClockWatch(self._clock, self._shift)
        self._ticker = Ticker(
            self._tracker, self._followers(), period=float(settings.board.tick), first=watch.look
        )
        # Whoever has to remember something says so before the database is opened.
        self._storage = storage_of(settings, self.url)
        self._owners = remember_owners(self._storage, self.fleet)
        remember_places(self._storage, self.fleet)
        self._bookings = bookings_of(
            settings.bookings, self.fleet, self._clock.now, keep=partial(remember_claims, self._storage)
        )
        self._booking_side = BookingSide(self._storage, settings, self.fleet, self._tracker)
        access = policy_of(settings)
        self._account_side = AccountSide(self._storage, settings, access, person_of=self._person_of)
        self._socket = self._account_side.make_socket(
            access, url=self.url, state_dir=settings.board.state_dir
        )
        self._agent_side = self._open()
        self.app = create_app(self._services(info, access), base_path=settings.board.base_path)
        self._sources = self._make_sources(node_name_of(hostname))
        self._sources.arrange(self._sources.plan(settings))
        self._claim_for_demo()
        self._certificate = CertificateWatch(settings.board.tls_certificate, self._clock.now)
        self._reload = self._make_reload(access, reread or (lambda: settings))
        self._keepers = list(self._other_keepers())

    def _person_of(self, account: str) -> str:
        """The person behind an account, as the settings say now."""
        return self.fleet.names.person(account)

    def _past(self) -> HistoryInfo | None:
        return None if self._history is None else self._history.desk.info()

    def _followers(self) -> list[Subscriber]:
        """Whoever hears of every tick; viewers last, so that they wait for nothing that they do not see."""
        hosts, gpus = Slips(HOSTS, self.fleet.booked_elsewhere), Slips(GPUS, self.fleet.booked_beyond)
        self._components.add(hosts.kind, hosts.name, lambda: hosts.trouble)
        self._components.add(gpus.kind, gpus.name, lambda: gpus.trouble)
        followers: list[Subscriber] = [
            lambda _: self._manager.beat(),
            hosts.look,
            gpus.look,
            watch_names(self.fleet).look,
            self._broadcaster.follow,
        ]
        if self._history is not None:
            followers.append(self._history.recorder.follow)
        return followers

    def _open(self) -> AgentSide | None:
        """Open the history and the database; the side for agents, if they can push."""
        history = self._history
        ledger: Ledger = CountingLedger() if history is None else history.recorder
        agents = AgentSide(self._storage, ledger, forget=self._forget)
        if history is not None:
            # Before the database: how far agents have come is what the history has of them.
            history.open()
        has_storage = open_storage(self._storage, self._settings, self._components)
        self._booking_side.begin(has_storage=has_storage)
        self.fleet.taker = ledger if has_storage or history is not None else None
        return agents if has_storage else None

    def _services(self, info: BoardInfo, access: AccessPolicy) -> Services:
        return Services(
            fleet=self.fleet,
            tracker=self._tracker,
            broadcaster=self._broadcaster,
            access=access,
            info=info,
            started_boot_seconds=boot_seconds(),
            components=self._components,
            agents=self._agent_side.door if self._agent_side else None,
            people=self._account_side.door if self._agent_side else None,
            bookings=self._booking_side.desk if self._agent_side else None,
            booking_watch=self._booking_side.watch if self._agent_side else None,
            history=None if self._history is None else self._history.desk,
            people_groups=self._account_side.members,
            usage_worth=lambda: worth_of(self._reload.settings.usage),
        )

    def _claim_for_demo(self) -> None:
        settings = self._settings
        if not settings.demo_nodes:
            return
        now, nodes = self._clock.now(), node_names(settings.demo_nodes)
        ahead = demo_ahead(now)
        if settings.demo_person is not None and self._agent_side and self._storage.trouble is None:
            after = float(settings.bookings.no_show_after)
            invented = demo_bookings(nodes, now, ahead, no_show_after=after, person=settings.demo_person)
            self._booking_side.invent(invented)
        else:
            # As if agreed elsewhere: a book that is kept is for those who try it.
            self.fleet.set_claims("lease", demo_claims(nodes, now, ahead))

    def _make_reload(self, access: AccessPolicy, reread: Callable[[], Settings]) -> Reload:
        parts = Parts(
            fleet=self.fleet,
            access=access,
            sources=self._sources,
            broadcaster=self._broadcaster,
            certificate=self._certificate,
            policy_of=policy_of,
            accounts=self._account_side,
        )
        reload = Reload(self._settings, reread, parts)
        self._components.add("settings", "", lambda: reload.trouble)
        return reload

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

    @property
    def socket_path(self) -> Path:
        """Where people of this machine sign in."""
        return self._socket.path

    def tell_set_up_link(self, tell: Callable[[str], None]) -> None:
        """Tell a link that makes the first admin, where others than this machine reach the board. Blocks.

        A database that is away now is waited for: it is told when that first answers.
        """
        board, access = self._settings.board, self._settings.access
        is_ours = is_loopback(split_address(board.listen)[0]) and not access.trusted_proxies
        if is_ours or not self._agent_side:
            return

        def look() -> Callable[[], None]:
            link = self._set_up_link()
            return lambda: None if link is None else tell(link)

        self._storage.when_open(look)

    def _set_up_link(self) -> str | None:
        try:
            code = self._account_side.set_up_code()
        except StorageError as error:
            log.warning("no link for an admin: reason=%s", error)
            return None
        return None if code is None else f"{self.url}{LINK_PATH}{code}"

    def _forget(self, node: str) -> bool:
        self._owners.forget(node)
        return self.fleet.forget(node)

    def _shift(self, seconds: float) -> None:
        """Move what is remembered along with the clock."""
        self.fleet.shift(seconds)
        self._components.shift(seconds)
        self._broadcaster.shift(seconds)
        if self._bookings is not None:
            self._bookings.shift(seconds)

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
        giving = Keeper("memory", give_back_memory, pause=pause)
        self._components.add("memory", "", giving.trouble)
        yield giving
        if self._settings.board.tls_certificate:
            keeper = Keeper("certificate", self._certificate.follow, pause=pause)
            self._watch(self._certificate, keeper)
            yield keeper
        if self._bookings is not None:
            keeper = Keeper("comments", self._bookings.run, pause=pause)
            self._watch(self._bookings, keeper)
            yield keeper
        if (history := self._history) is not None:
            writing = Keeper(history.kind, history.run, pause=pause)
            self._components.add(history.kind, history.name, lambda: writing.trouble() or history.trouble)
            yield writing
        parts = self._stored_parts() if self._agent_side else ()
        for name, start in parts:
            keeper = Keeper(name, start, pause=pause)
            self._components.add(name, "", keeper.trouble)
            yield keeper

    def _stored_parts(self) -> Iterator[Part]:
        """What runs only where there is a database."""
        if self._agent_side:
            yield from self._agent_side.parts()
        yield from self._account_side.parts(self._broadcaster)
        yield from self._booking_side.parts()
        yield from self._storage.parts()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sources and ticks run inside; they are stopped at the end."""
        tasks = [asyncio.create_task(keeper.run(), name=keeper.name) for keeper in self._keepers]
        self._sources.start()
        if self._agent_side:
            await self._socket.start()
        try:
            yield
        finally:
            await self._socket.stop()
            await self._sources.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._history is not None:
                await self._history.close()
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
        names=names_of(settings),
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
        time_zone=board_zone_name(settings.board),
    )


def policy_of(settings: Settings) -> AccessPolicy:
    """Who may see what, as the settings say."""
    return AccessPolicy(
        anonymous=settings.access.anonymous,
        trusted_proxies=frozenset(settings.access.trusted_proxies),
        hostnames=own_names(settings.board.hostnames, socket.gethostname()),
        proxy_header=settings.access.proxy_header.lower(),
        allow_plaintext=settings.access.allow_plaintext,
    )


def board_url(settings: BoardTable, hostname: str, listen: str) -> str:
    """Where people and agents reach this board, as far as it can know."""
    host, port = split_address(listen)
    names = [*settings.hostnames, hostname]
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - recognised, not bound
        names.insert(0, host)
    certificate = settings.tls_certificate
    # Where the certificate is for none of them, nobody gets in by any.
    host = next((name for name in names if is_for(certificate, name)), names[0]) if certificate else names[0]
    scheme = "https" if certificate else "http"
    return f"{scheme}://{place_of(scheme, host, port)}/"
