"""TLS must be agreed on in time, by few of one address, not too often: before the protocols of uvicorn.

The event loops accept connections and agree on TLS by themselves, but then nobody hears of one before.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Callable
from typing import Final

from uvicorn import Config, Server

from gpuboard.outside.seldom import SeldomLog
from gpuboard.web.deadline import DeadlineProtocol, room_of
from gpuboard.web.limits import HANDSHAKE_SECONDS, TLS_BURST, TLS_PER_SECOND
from gpuboard.web.throttle import RateLimit

log = logging.getLogger(__name__)

# As the event loops wait themselves when no file can be opened.
_NO_FILES_SECONDS: Final = 1.0


class DeadlineServer(Server):
    """A server whose connections are counted, and have a deadline, before TLS is agreed on."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, with TLS on our own."""
        if self.config.ssl is None or sockets is None:
            await super().startup(sockets)
            return
        await self.lifespan.startup()
        self.servers = [TlsListener(each, self.config, self._make_protocol) for each in sockets]  # type: ignore[misc]
        self.started = True

    def _make_protocol(self) -> DeadlineProtocol:
        return DeadlineProtocol(self.config, self.server_state, self.lifespan.state)


class TlsListener:
    """Accepts connections on one socket, and hands on those that have agreed on TLS."""

    def __init__(
        self, listener: socket.socket, config: Config, make_protocol: Callable[[], DeadlineProtocol]
    ) -> None:
        assert config.ssl is not None  # noqa: S101 - tells the type checker
        self._listener = listener
        self._context = config.ssl
        self._room = room_of(config)
        self._make_protocol = make_protocol
        self._rate = RateLimit(per_second=TLS_PER_SECOND, burst=TLS_BURST)
        self._hasty = SeldomLog(log)
        self._arriving: dict[_Arrival, asyncio.Task[None]] = {}
        listener.setblocking(False)
        listener.listen(config.backlog)
        self._accepting = asyncio.create_task(self._accept(), name="accepting")

    def close(self) -> None:
        """Let nobody in any more; who has not agreed yet will not."""
        self._accepting.cancel()
        for agreeing in self._arriving.values():
            agreeing.cancel()

    async def wait_closed(self) -> None:
        """Wait until that is so."""
        await asyncio.wait([self._accepting, *self._arriving.values()])

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listener)
            except ConnectionError:
                # It went before it was let in.
                continue
            except OSError as error:
                log.warning("connection not accepted: reason=%s", error.strerror or error)
                await asyncio.sleep(_NO_FILES_SECONDS)
                continue
            self._receive(_Arrival(connection, str(address[0])))
            # Whoever comes in crowds must not keep the others from being served.
            await asyncio.sleep(0)

    def _receive(self, arrival: "_Arrival") -> None:
        address = arrival.address
        if self._room.is_limited(address) and not self._rate.admits(address, time.monotonic()):
            # Before anything is spoken: that is what costs.
            arrival.close()
            reason = "its address agrees on TLS too often"
            self._hasty.say(
                address, "connection cut: address=%s reason=%s", address, reason, level=logging.INFO
            )
            return
        if not self._room.enter(arrival, arrival.address):
            arrival.cut("there is no room for it")
            return

        def leave(_: object = None) -> None:
            self._room.leave(arrival)
            self._arriving.pop(arrival, None)

        def make() -> DeadlineProtocol:
            protocol = self._make_protocol()
            # Counted as itself from then on.
            protocol.before_it_is_made = leave
            return protocol

        arrival.agreeing = self._arriving[arrival] = asyncio.create_task(arrival.agree(self._context, make))
        arrival.agreeing.add_done_callback(leave)


class _Arrival:
    """A connection until its TLS is agreed on: one of those that are nobody's yet, like any other."""

    agreeing: asyncio.Task[None] | None = None

    def __init__(self, connection: socket.socket, address: str) -> None:
        self._connection = connection
        self.address = address

    async def agree(self, context: ssl.SSLContext, make_protocol: Callable[[], DeadlineProtocol]) -> None:
        """Speak TLS with it, and let it go on with a protocol."""
        loop = asyncio.get_running_loop()
        too_late = loop.call_later(HANDSHAKE_SECONDS, self.cut, "its TLS was not agreed on in time")
        try:
            await loop.connect_accepted_socket(make_protocol, self._connection, ssl=context)
        except OSError:
            # It went, was cut, or speaks something else.
            return
        finally:
            too_late.cancel()

    def close(self) -> None:
        """Let go of a connection with which nothing was spoken."""
        self._connection.close()

    def cut(self, reason: str) -> None:
        """End this connection now."""
        log.info("connection cut: address=%s reason=%s", self.address, reason)
        if self.agreeing is None:
            self.close()
        else:
            # Whoever speaks TLS with it hears that it is over, and lets go of it.
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
