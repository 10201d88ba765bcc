"""One run of the command on a node: bytes come in by callback, whole frames go out in order."""

import asyncio
from typing import Final, Self

import asyncssh

from gpuboard.model.errors import WireError
from gpuboard.sources.ssh.command import SCRIPT
from gpuboard.sources.ssh.frames import Frame, Framer
from gpuboard.sources.ssh.words import SshError, SshHost, explain, flooded

# Two frames per interval are asked for; a node that sends twice as many does not keep to the pace.
_SPARE_FRAMES: Final = 20
_FRAMES_PER_INTERVAL: Final = 4
_QUOTED: Final = 200
_NOT_FOUND: Final = 127


class Session(asyncssh.SSHClientSession[bytes]):
    """One run of the command; its stdout and its stderr both carry frames."""

    def __init__(self, place: SshHost, *, interval: float) -> None:
        self._place = place
        self._interval = interval
        self._started = asyncio.get_running_loop().time()
        self._count = 0
        self._node = place.name
        self._framers = {None: Framer(), asyncssh.EXTENDED_DATA_STDERR: Framer()}
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._failure: SshError | None = None
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._status: int | None = None
        self._signal: str | None = None

    @classmethod
    async def start(
        cls, connection: asyncssh.SSHClientConnection, command: str, place: SshHost, *, interval: float
    ) -> Self:
        """Start the command.

        Raises:
            asyncssh.Error: the connection is gone, or the node opens no session.
        """
        channel, session = await connection.create_session(
            lambda: cls(place, interval=interval),
            command,
            encoding=None,
            request_pty=False,
            env=None,
            send_env=None,
        )
        assert isinstance(session, cls)  # noqa: S101 - tells the type checker
        # A node with a command of its own does not listen; then this is lost, and does no harm.
        channel.write(SCRIPT.encode())
        channel.write_eof()
        session._channel = channel  # noqa: SLF001 - our own
        return session

    @property
    def doing(self) -> str | None:
        """What the node was about to do when it last said so."""
        return self._framers[None].doing

    async def next(self) -> Frame | None:
        """Return the next frame; None when the command has ended.

        Raises:
            SshError: what came was not from our command.
        """
        frame = await self._frames.get()
        if frame is None and self._failure is not None:
            raise self._failure
        return frame

    def close(self) -> None:
        """End it, without waiting for anybody."""
        if self._channel is not None:
            self._channel.abort()

    def ended(self) -> SshError:
        """Say in words why the command ended, as far as it can be told."""
        said = " ".join(f"{framer.noise}" for framer in self._framers.values()).strip()
        quoted = f" and said {said[-_QUOTED:]!r}" if said else ""
        how = f"by {self._signal}" if self._signal else f"with code {self._status}"
        if self._status == _NOT_FOUND:
            remedy = "it needs sh, awk and grep there"
        else:
            remedy = "the account needs a working shell (not nologin), or the forced command of the guide"
        return SshError(f"the command on {self._node} ended {how}{quoted}", remedy, code="no-samples")

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take in what the node sends."""
        framer = self._framers.get(datatype)
        if framer is None or self._failure is not None:
            return
        try:
            for frame in framer.feed(data):
                self._count += 1
                self._frames.put_nowait(frame)
            rounds = (asyncio.get_running_loop().time() - self._started) / self._interval
            if self._count > _SPARE_FRAMES + _FRAMES_PER_INTERVAL * rounds:
                self._give_up("samples come far more often than they were asked for")
        except WireError as error:
            self._give_up(str(error))

    def exit_status_received(self, status: int) -> None:
        """Note how the command ended."""
        self._status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002, FBT001 - asyncssh's own
        """Note what ended the command."""
        self._signal = signal

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the reader that there is no more."""
        if self._failure is None and self._status is None and self._signal is None:
            # The command did not end: the way to it did.
            lost = exc if isinstance(exc, asyncssh.Error) else asyncssh.ConnectionLost("without a word")
            self._failure = explain(lost, self._place)
        self._frames.put_nowait(None)

    def _give_up(self, why: str) -> None:
        self._failure = flooded(self._place, why)
        while not self._frames.empty():
            self._frames.get_nowait()
        self._frames.put_nowait(None)
        self.close()
