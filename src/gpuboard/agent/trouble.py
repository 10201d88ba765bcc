"""Why the board cannot be reached, in words with a remedy."""

import http.client
import socket
import ssl
from typing import Final

import msgspec
from msgspec import Struct

from gpuboard.agent.board_address import BoardAddress
from gpuboard.outside.board_words import NO_BOARD_HERE, remedy_for
from gpuboard.wire.clean import clean_text

# What a handshake hears where a proxy knows no WebSockets, or leaves Upgrade out on the way to the board.
_NO_WEBSOCKET: Final = frozenset({400, 404, 405, 426, 501})


class PushTrouble(Exception):  # noqa: N818 - it never leaves the agent's pusher
    """One attempt has failed; a refusal is tried again slowly, everything else soon."""

    def __init__(self, text: str, *, is_refusal: bool = False, try_post: bool = False) -> None:
        super().__init__(text)
        self.is_refusal = is_refusal
        # A proxy may be in the way that lets plain requests through.
        self.try_post = try_post


class _Problem(Struct):
    detail: str = ""


def answer_trouble(
    status: int, content_type: str, body: bytes, *, place: str, whom: str | None = None
) -> PushTrouble:
    """What an answer other than success means; the board's own words if it is the board that answers.

    `whom` is a user of this node for whom it was asked; None: it was the node's own question.
    """
    is_board = content_type.partition(";")[0].strip() == "application/problem+json"
    detail = _detail(body) if is_board else ""
    if status in (401, 403, 421) and is_board:
        is_about_them = whom is not None and status == http.client.FORBIDDEN
        said = f"does not let {whom} in" if is_about_them else "refuses this node"
        return PushTrouble(f"{place} {said}: {detail}", is_refusal=True)
    if status == 429 or status >= 500:  # noqa: PLR2004 - later it may work
        return PushTrouble(f"{place} cannot take reports now ({status}): {detail or 'try later'}")
    if is_board and status not in (404, 405):
        return PushTrouble(f"{place} refuses this agent ({status}): {detail}", is_refusal=True)
    if b"HTTPS" in body:
        # As nginx and Caddy answer where TLS is due.
        return PushTrouble(f"{place} speaks TLS; write https:// instead of http://")
    if status == http.client.NOT_FOUND:
        return PushTrouble(f"{place} answers 404: {NO_BOARD_HERE}", try_post=True)
    return PushTrouble(
        f"{place} answers {status}; that is no board, or a proxy before it refuses agents", try_post=True
    )


def handshake_trouble(status: int, content_type: str, body: bytes, *, place: str) -> PushTrouble:
    """What an answer to a WebSocket's handshake means."""
    if status in _NO_WEBSOCKET:
        return PushTrouble(
            f"{place} takes no WebSocket ({status}), so plain requests are used; "
            "a proxy before the board must pass on Upgrade and Connection",
            try_post=True,
        )
    return answer_trouble(status, content_type, body, place=place)


def network_trouble(error: OSError | http.client.HTTPException, address: BoardAddress) -> PushTrouble:
    """What a failure below the board's own answers means."""
    place = address.place
    remedy = remedy_for(error, address.server)
    if remedy is not None:
        is_refusal = isinstance(error, ssl.SSLCertVerificationError)
        return PushTrouble(f"{place} cannot be used: {remedy}", is_refusal=is_refusal)
    if isinstance(error, http.client.HTTPException):
        return PushTrouble(f"{place} does not speak HTTP as expected: {error!r}")
    if isinstance(error, socket.gaierror):
        return PushTrouble(f"the name of {place} cannot be resolved: {error.strerror}")
    if isinstance(error, TimeoutError):
        return PushTrouble(f"{place} does not answer in time")
    return PushTrouble(f"{place} cannot be reached: {error.strerror or error}")


def _detail(body: bytes) -> str:
    try:
        return clean_text(msgspec.json.decode(body, type=_Problem).detail)[:1000]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
