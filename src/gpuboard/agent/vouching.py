"""The agent's socket: the kernel says which user of this node asks, and the agent says it to its board."""

import http.client
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.channel import USER_AGENT, open_http
from gpuboard.agent.node_token import read_token
from gpuboard.agent.trouble import PushTrouble, answer_trouble, network_trouble
from gpuboard.client.local import AGENT_SOCKET
from gpuboard.model.errors import GpuboardError, OutsideError
from gpuboard.outside.peer_socket import Peer, PeerSocket
from gpuboard.wire.login import LoginAnswer, LoginGrant, VouchQuestion, decode_question

log = logging.getLogger(__name__)

MAX_ANSWER_BYTES: Final = 16 * 1024
_TOO_OLD: Final = frozenset({http.client.NOT_FOUND, http.client.METHOD_NOT_ALLOWED})


class VouchingSocket:
    """Answers `gpuboard login` on a node: it asks the board for whoever asks here."""

    def __init__(self, path: Path, address: BoardAddress, token_file: Path) -> None:
        self._address = address
        self._token_file = token_file
        self._socket = PeerSocket(path, self._answer)

    def start(self) -> None:
        """Begin to listen; an agent without it works all the same."""
        try:
            self._socket.start()
        except OutsideError as error:
            log.warning("nobody can sign in from this node: reason=%s", error)
        else:
            log.info("people of this node can sign in: socket=%s", self._socket.path)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _answer(self, peer: Peer, question: bytes) -> bytes:
        try:
            asked = decode_question(question)
            granted = self._vouch(
                VouchQuestion(
                    uid=peer.uid, name=peer.name, terminal=asked.terminal, is_link_only=asked.is_link_only
                )
            )
            answer = LoginAnswer(granted=granted, board=str(self._address))
        except (GpuboardError, PushTrouble) as error:
            answer = LoginAnswer(refused=str(error))
        return msgspec.json.encode(answer)

    def _vouch(self, question: VouchQuestion) -> LoginGrant:
        """Ask the board, by the node's own token; on a line of its own, so that reports wait for nothing."""
        headers = {
            "Authorization": f"Bearer {read_token(self._token_file).text}",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
        }
        place = str(self._address)
        connection = open_http(self._address)
        try:
            connection.request("POST", self._address.path("vouch"), msgspec.json.encode(question), headers)
            answer = connection.getresponse()
            data = answer.read(MAX_ANSWER_BYTES)
            if answer.status in _TOO_OLD:
                raise PushTrouble(f"{place} is too old a board to let anybody sign in from a node")
            if answer.status not in (http.client.OK, http.client.CREATED):
                kind = answer.headers.get("Content-Type", "")
                raise answer_trouble(answer.status, kind, data, place=place, whom=question.name)
            return msgspec.json.decode(data, type=LoginGrant)
        except (OSError, http.client.HTTPException) as error:
            raise network_trouble(error, self._address) from None
        except msgspec.MsgspecError:
            raise PushTrouble(f"{place} does not answer as a board does") from None
        finally:
            connection.close()


def socket_path(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the agent's socket is: systemd's directory, else that of the user's own session."""
    given = environment.get("RUNTIME_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given) / AGENT_SOCKET
    session = environment.get("XDG_RUNTIME_DIR")
    return Path(session) / "gpuboard" / AGENT_SOCKET if session else None
