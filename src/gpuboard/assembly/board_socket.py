"""The board's own socket: whoever is root here, or the board's user, signs in as admin."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpuboard.accounts.logins import Logins
from gpuboard.accounts.ways.base import SocketEvidence, Way
from gpuboard.client.local import BOARD_SOCKET
from gpuboard.model.errors import AccessRefused, OutsideError, StorageError, WireError
from gpuboard.outside.peer_socket import ANSWER_SECONDS, Peer, PeerSocket
from gpuboard.outside.state_directory import state_directory
from gpuboard.outside.threads import off_loop
from gpuboard.web.access import AccessPolicy
from gpuboard.wire.login import LoginAnswer, decode_question
from gpuboard.wire.people import person_name

log = logging.getLogger(__name__)

# Others on this machine may ask too where systemd gives a directory for that; else it is the board's own.
_OPEN: Final = 0o666
_OWN: Final = 0o600


class BoardSocket:
    """Answers `gpuboard login` on the board's machine."""

    def __init__(
        self, way: Way[SocketEvidence], logins: Logins, access: AccessPolicy, *, url: str, state_dir: str
    ) -> None:
        self._way = way
        self._logins = logins
        self._access = access
        self._url = url
        self.path, mode = socket_path(state_dir)
        self._socket = PeerSocket(self.path, self._answer, mode=mode)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Begin to listen; a board without it works all the same."""
        self._loop = asyncio.get_running_loop()
        try:
            await off_loop(self._socket.start)
        except OutsideError as error:
            log.warning("nobody can sign in from this machine: reason=%s", error)

    async def stop(self) -> None:
        """Stop listening."""
        await off_loop(self._socket.close)

    def _answer(self, peer: Peer, question: bytes) -> bytes:
        """Answer one question; called in a thread of its own."""
        assert self._loop is not None  # noqa: S101 - nobody asks before it is started
        asked = asyncio.run_coroutine_threadsafe(self._log_in(peer, question), self._loop)
        try:
            answer = asked.result(ANSWER_SECONDS)
        except TimeoutError:
            asked.cancel()
            answer = LoginAnswer(refused="the board is busy; try again")
        return msgspec.json.encode(answer)

    async def _log_in(self, peer: Peer, question: bytes) -> LoginAnswer:
        try:
            asked = decode_question(question)
            vouched = await self._way.recognise(SocketEvidence(uid=peer.uid, name=peer.name))
            granted = await self._logins.grant(
                vouched,
                asked,
                terminal=person_name(asked.terminal) or "this machine",
                address=None,
                plaintext_allowed=self._access.allow_plaintext,
            )
        except (AccessRefused, StorageError, WireError) as error:
            return LoginAnswer(refused=str(error))
        return LoginAnswer(granted=granted, board=self._url)


def socket_path(state_dir: str, environment: Mapping[str, str] = os.environ) -> tuple[Path, int]:
    """Where the board's socket is, and who may use it."""
    given = environment.get("RUNTIME_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given) / BOARD_SOCKET, _OPEN
    return state_directory(state_dir, environment) / BOARD_SOCKET, _OWN
