"""The web server: how it listens, when it says that it does, how it stops."""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import uvicorn
from litestar.types import ASGIApp

from gpuboard.model.address import split_address
from gpuboard.settings.board import BoardTable
from gpuboard.web.deadline import DeadlineProtocol
from gpuboard.web.deadline_tls import DeadlineServer
from gpuboard.web.direct import DirectSocket

GOODBYE_SECONDS: Final = 0.2
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# Room for visitors, viewers, the agents of a large site, and the connections that the sources make.
OPEN_FILES: Final = 16384


def server_config(app: ASGIApp, settings: BoardTable) -> uvicorn.Config:
    """How the web is served."""
    host, port = split_address(settings.listen)
    return uvicorn.Config(
        app,
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
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
        ws=DirectSocket,
        ws_max_size=1024 * 1024,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        ws_per_message_deflate=False,
    )


def allow_connections() -> None:
    """Let as many connections be open as we serve: shells and systemd usually start with far fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _is_news(record: logging.LogRecord) -> bool:
    # A handshake that we refuse with an answer of our own is complete, whatever uvicorn thinks.
    return "without completing handshake" not in record.getMessage()


class HangUp:
    """What SIGHUP means: do something again, once at a time; or the end, when the terminal is gone."""

    def __init__(self, do: Callable[[], Awaitable[None]], *, stop: Callable[[], None]) -> None:
        self._do = do
        self._stop = stop
        self._had_terminal = os.isatty(0)
        self._doing: asyncio.Task[None] | None = None
        self._is_due = False

    def __call__(self) -> None:
        """Hear the signal."""
        if self._had_terminal and not os.isatty(0):
            self._stop()
            return
        self._is_due = True
        if self._doing is None or self._doing.done():
            self._doing = asyncio.create_task(self._do_all(), name="hang-up")

    async def _do_all(self) -> None:
        while self._is_due:
            self._is_due = False
            await self._do()


class BoardServer(DeadlineServer):
    """A server that says when it is ready, and lets viewers go politely before it stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        ready: Callable[[], None],
        hung_up: Callable[[], Awaitable[None]],
        stopping: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._hang_up = HangUp(hung_up, stop=self._stop)
        self._stopping = stopping
        logging.getLogger("uvicorn.error").addFilter(_is_news)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when told to; uvicorn would raise the signal again, and end us before all is tidy."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        try:
            yield
        finally:
            for number in (*STOP_SIGNALS, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say good-bye, then close everything."""
        self._stopping()
        await asyncio.sleep(GOODBYE_SECONDS)
        await super().shutdown(sockets)
