"""The samples of one node, for as long as its connection lasts."""

import asyncio
from collections.abc import Callable
from typing import Final

import asyncssh

from gpuboard.model.report import NodeReport
from gpuboard.sources.ssh.command import loop_command, once_command
from gpuboard.sources.ssh.frames import Frame
from gpuboard.sources.ssh.meter import Meter
from gpuboard.sources.ssh.options import Timing
from gpuboard.sources.ssh.report import NodeReader
from gpuboard.sources.ssh.session import Session
from gpuboard.sources.ssh.words import SshError, SshHost

Deliver = Callable[[NodeReport], None]

_SLOW_TURNS: Final = 3


class HostFollower:
    """Reads one node over one connection and hands its reports on."""

    def __init__(
        self, connection: asyncssh.SSHClientConnection, reader: NodeReader, *, place: SshHost, pace: Timing
    ) -> None:
        self._connection = connection
        self._meter = Meter.of(connection)
        self._reader = reader
        self._place = place
        self._pace = pace

    async def follow(self, deliver: Deliver) -> None:
        """Hand on every report, until something goes wrong.

        Raises:
            SshError: the node fell silent, sent what we cannot read, or ended its command.
            asyncssh.Error: the connection is gone.
        """
        while await self._stream(deliver):
            pass
        # The node has a command of its own that says everything once: then we ask again and again.
        while True:
            await asyncio.sleep(self._pace.interval)
            deliver(await self.take_one(within=self._pace.timeout))

    async def _stream(self, deliver: Deliver) -> bool:
        """Follow one endless run of the command; False when it was one that ends after one sample."""
        loop = asyncio.get_running_loop()
        heard = loop.time()
        patience = self._pace.patience
        once = False
        session = await self._start(loop_command(self._pace.interval))
        try:
            while True:
                frame = await self._next(session, max(self._pace.silence, self._pace.timeout))
                now = loop.time()
                if frame is None and once:
                    return False
                if frame is None:
                    raise session.ended()
                if frame.kind != "host":
                    heard = now
                    report = self._read(frame)
                    once = self._reader.once
                    patience = max(self._pace.patience, _SLOW_TURNS * report.age_seconds)
                    deliver(report)
                elif now - heard > patience:
                    deliver(self._reader.read_hung(frame, seconds=now - heard, doing=session.doing))
                    if now - heard > self._pace.restart_hung_after:
                        # A new run asks the old nvidia-smi to end; while it is there, it starts no other.
                        return True
        finally:
            session.close()

    async def take_one(self, *, within: float) -> NodeReport:
        """Run the command for one sample; within so many seconds, whatever happens.

        Raises:
            SshError: no sample came.
            asyncssh.Error: the connection is gone.
        """
        host: Frame | None = None
        session: Session | None = None
        try:
            async with asyncio.timeout(within):
                session = await self._run(once_command())
                while (frame := await session.next()) is not None:
                    if frame.kind != "host":
                        return self._read(frame)
                    host = frame
                raise session.ended()
        except TimeoutError:
            if host is None or session is None:
                raise self._silent(within) from None
            return self._reader.read_hung(host, seconds=within, doing=session.doing)
        finally:
            if session is not None:
                session.close()

    def _read(self, frame: Frame) -> NodeReport:
        """Read a sample, on the node's account: no node may keep the others waiting by what it says."""
        return self._meter.charge(lambda: self._reader.read_sample(frame))

    async def _start(self, command: str) -> Session:
        try:
            async with asyncio.timeout(self._pace.timeout):
                return await self._run(command)
        except TimeoutError:
            raise self._silent(self._pace.timeout) from None

    async def _run(self, command: str) -> Session:
        return await Session.start(self._connection, command, self._place, interval=self._pace.interval)

    async def _next(self, session: Session, seconds: float) -> Frame | None:
        try:
            async with asyncio.timeout(seconds):
                return await session.next()
        except TimeoutError:
            raise self._silent(seconds) from None

    def _silent(self, seconds: float) -> SshError:
        return SshError(
            f"{self._place.name} has said nothing for {seconds:g} s",
            "it may be frozen, overloaded or cut off; we log in again",
            code="silent",
        )
