"""The board, put together and run."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Final

import uvicorn

from gpuboard import __version__
from gpuboard.assembly.agents import open_agent_side
from gpuboard.assembly.demo import demo_ahead, demo_claims
from gpuboard.assembly.judging import names_of, thresholds_of
from gpuboard.assembly.keep import Keeper
from gpuboard.assembly.tls import check_tls
from gpuboard.bookings.comments import CommentsFile
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.address import split_address
from gpuboard.model.component import Troubled
from gpuboard.model.node import node_name_of
from gpuboard.model.source import SourceIdentity, identify
from gpuboard.outside.threads import off_loop
from gpuboard.probes.simulated import node_names
from gpuboard.settings.board import BoardTable, Settings
from gpuboard.sources.base import Source
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.web.access import AccessPolicy, own_names
from gpuboard.web.app import create_app
from gpuboard.web.components import Components
from gpuboard.web.deadline import DeadlineProtocol
from gpuboard.web.direct import DirectSocket
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo

GOODBYE_SECONDS: Final = 0.2
CLOSE_SECONDS: Final = 5.0
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
GARBAGE_AFTER_OBJECTS: Final = 100_000
# Room for visitors, viewers, the agents of a large site, and the connections that the sources make.
OPEN_FILES: Final = 16384

log = logging.getLogger(__name__)


class Board:
    """A board that can be run: its sources, its fleet, its web."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clock = SteadyClock()
        self.fleet = Fleet(
            self._clock,
            thresholds=thresholds_of(settings.verdict),
            names=names_of(settings.names),
            forget_after_seconds=settings.board.forget_after,
        )
        tracker = ChangeTracker(self.fleet)
        hostname = socket.gethostname()
        info = BoardInfo(
            version=__version__,
            name=hostname,
            demo=settings.demo_nodes > 0,
            tick_seconds=float(settings.board.tick),
            title=settings.board.title or None,
            copy=settings.board.copy,
        )
        self._components = Components()
        self._broadcaster = Broadcaster(tracker, info, self._components)
        access = AccessPolicy(
            anonymous=settings.access.anonymous,
            trusted_proxies=frozenset(settings.access.trusted_proxies),
            hostnames=own_names(settings.board.hostnames, hostname),
        )
        check_tls(settings.board)
        self.url = board_url(settings.board, hostname)
        self._agent_side = open_agent_side(settings.board, self.url, self._components, self.fleet)
        services = Services(
            fleet=self.fleet,
            tracker=tracker,
            broadcaster=self._broadcaster,
            access=access,
            info=info,
            started_at=self._clock.now(),
            components=self._components,
            agents=self._agent_side.door if self._agent_side else None,
        )
        self.app = create_app(services, base_path=settings.board.base_path)
        sources = self._make_sources(node_name_of(hostname))
        identities = identify(source.kind for source in sources)
        self._keepers = [self._keeper_of(*each) for each in zip(sources, identities, strict=True)]
        self._keepers += self._other_keepers()

    def _make_sources(self, node: str) -> Sequence[Source]:
        pushed = self._agent_side.source if self._agent_side is not None else None
        around = Surroundings(now=self._clock.now, node=node, pushed=pushed, watch=self._watch)
        settings = self._settings
        tables = [*settings.sources, *self._demo_tables()]
        # With nothing to watch it watches this machine.
        tables = tables or [("the default", {"kind": "local"})]
        # Without a state directory agents cannot push, and a component says so.
        usable = [named for named in tables if pushed is not None or named[1].get("kind") != "push"]
        sources = [make_source(table, around, where=where) for where, table in usable]
        # Agents may always push, if they have a token; a table only says in which place.
        return sources if pushed is None or pushed in sources else [*sources, pushed]

    def _demo_tables(self) -> Iterator[tuple[str, dict[str, object]]]:
        nodes, now = self._settings.demo_nodes, self._clock.now()
        if nodes:
            ahead = demo_ahead(now)
            self.fleet.set_claims("booking", demo_claims(node_names(nodes), now, ahead))
            yield "--demo", {"kind": "simulated", "nodes": nodes, "ahead_seconds": ahead}

    def _watch(self, part: Troubled, keeper: Keeper | None = None) -> None:
        """Show how a part is, by what it notes itself and by whether it keeps running."""
        self._components.add(part.kind, part.name, lambda: (keeper and keeper.trouble()) or part.trouble)

    def _keeper_of(self, source: Source, identity: SourceIdentity) -> Keeper:
        sink = self.fleet.sink(identity)
        keeper = Keeper(identity.name, lambda: source.run(sink), pause=self._settings.board.tick)
        if isinstance(source, Troubled):
            self._watch(source, keeper)
        else:
            self._components.add(source.kind, "", keeper.trouble)
        return keeper

    def _other_keepers(self) -> Iterator[Keeper]:
        pause = self._settings.board.tick
        ticking = Keeper("tick", self._tick, pause=pause)
        self._components.add("stream", "", ticking.trouble)
        yield ticking
        comments = self._settings.bookings.comments_json
        if comments is not None:
            follower = CommentsFile(
                comments, partial(self.fleet.set_claims, "comments-json"), now=self._clock.now
            )
            keeper = Keeper("comments", follower.run, pause=pause)
            self._watch(follower, keeper)
            yield keeper
        for name, start in self._agent_side.parts() if self._agent_side else ():
            keeper = Keeper(name, start, pause=pause)
            self._components.add(name, "", keeper.trouble)
            yield keeper

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sources and ticks run inside; they are stopped at the end."""
        tasks = [asyncio.create_task(keeper.run(), name=keeper.name) for keeper in self._keepers]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._agent_side:
                # A disk that hangs must not keep the board from stopping.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await off_loop(self._agent_side.close)

    async def _tick(self) -> None:
        loop, period = asyncio.get_running_loop(), float(self._settings.board.tick)
        due = loop.time()
        while True:
            self._broadcaster.tick()
            # By the clock, not so long after the last: what a tick itself takes would make viewers wait more.
            due = max(due + period, loop.time())
            await asyncio.sleep(due - loop.time())

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer on these sockets until told to stop, on the fastest event loop there is."""
        config = self._server_config()
        # Reports, rows and frames hold no cycles; looking for some after every 700 new objects is wasted.
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER_OBJECTS)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(self._serve(config, sockets))

    async def _serve(self, config: uvicorn.Config, sockets: list[socket.socket] | None) -> None:
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        _allow_connections()
        async with self.running():
            await _Server(config, self._broadcaster).serve(sockets)

    def _server_config(self) -> uvicorn.Config:
        host, port = split_address(self._settings.board.listen)
        return uvicorn.Config(
            self.app,
            host=host,
            port=port,
            lifespan="off",
            # Through the same log as everything else.
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            # Open pages must not keep a stopping board alive.
            timeout_graceful_shutdown=5,
            timeout_keep_alive=30,
            http=DeadlineProtocol,
            ssl_certfile=self._settings.board.tls_certificate or None,
            ssl_keyfile=self._settings.board.tls_key or None,
            ws=DirectSocket,
            ws_max_size=1024 * 1024,
            ws_ping_interval=20,
            ws_ping_timeout=20,
            ws_per_message_deflate=False,
        )


def _allow_connections() -> None:
    """Let as many connections be open as we serve: shells and systemd usually start with far fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _is_news(record: logging.LogRecord) -> bool:
    # A handshake that we refuse with an answer of our own is complete, whatever uvicorn thinks.
    return "without completing handshake" not in record.getMessage()


class _Server(uvicorn.Server):
    """A server that lets viewers go politely before it stops."""

    def __init__(self, config: uvicorn.Config, broadcaster: Broadcaster) -> None:
        super().__init__(config)
        self._broadcaster = broadcaster

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when told to; uvicorn would raise the signal again, and end us before all is tidy."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say good-bye, then close everything."""
        self._broadcaster.close()
        await asyncio.sleep(GOODBYE_SECONDS)
        await super().shutdown(sockets)


def board_url(settings: BoardTable, hostname: str) -> str:
    """Where people and agents reach this board, as far as it can know."""
    host, port = split_address(settings.listen)
    if host in ("0.0.0.0", "::"):  # noqa: S104 - recognised, not bound
        host = settings.hostnames[0] if settings.hostnames else hostname
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls_certificate else 'http'}://{shown}:{port}/"
