"""Two ways of talking to a board: one WebSocket, or plain requests where a proxy refuses that."""

import contextlib
import http.client
import logging
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from typing import Final, Protocol

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from gpuboard import __version__
from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.trouble import PushTrouble, answer_trouble, handshake_trouble, network_trouble
from gpuboard.wire.clean import clean_text
from gpuboard.wire.ingest import CLOSE_BAD_MESSAGE, CLOSE_REFUSED, CLOSE_REPLACED, CLOSE_TOKEN_GONE

CONNECT_SECONDS: Final = 10.0
SEND_SECONDS: Final = 20
CLOSE_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 10.0
MAX_ANSWER_BYTES: Final = 256 * 1024
USER_AGENT: Final = f"gpuboard/{__version__}"

# What goes wrong we say ourselves, in one line; the library would add a traceback for some broken lines.
_UNHEARD: Final = logging.getLogger(f"{__name__}.websockets")
_UNHEARD.setLevel(logging.CRITICAL + 1)

_REFUSALS: Final = frozenset({CLOSE_BAD_MESSAGE, CLOSE_REFUSED, CLOSE_REPLACED, CLOSE_TOKEN_GONE})


class Channel(Protocol):
    """One connection to the board; every failure is a PushTrouble."""

    def send(self, message: bytes) -> None:
        """Send one message; returns when the system has taken it."""

    def receive(self, seconds: float) -> bytes | None:
        """The next answer; None when none came in time."""


class WebSocketChannel:
    """Messages over one WebSocket."""

    def __init__(self, connection: ClientConnection, place: str) -> None:
        self._connection = connection
        self._place = place

    def send(self, message: bytes) -> None:
        """Send one message."""
        try:
            self._connection.send(message)
        except ConnectionClosed as closed:
            raise self._trouble(closed) from None

    def receive(self, seconds: float) -> bytes | None:
        """The next answer; None when none came in time."""
        try:
            data = self._connection.recv(timeout=seconds)
        except TimeoutError:
            return None
        except ConnectionClosed as closed:
            raise self._trouble(closed) from None
        return data if isinstance(data, bytes) else data.encode()

    def _trouble(self, closed: ConnectionClosed) -> PushTrouble:
        code = closed.rcvd.code if closed.rcvd is not None else None
        reason = clean_text(closed.rcvd.reason) if closed.rcvd is not None else ""
        if code in _REFUSALS:
            return PushTrouble(f"{self._place} has closed the connection: {reason}", is_refusal=True)
        return PushTrouble(f"the connection to {self._place} has ended{f': {reason}' if reason else ''}")


@contextlib.contextmanager
def open_websocket(address: BoardAddress, token: str) -> Iterator[Channel]:
    """Connect; proxies of the environment are not used, since the board is on the nodes' own network."""
    place = address.place
    try:
        # Our own socket, so that no redirect is followed with the token, and sending has a time limit.
        line = socket.create_connection((address.host, address.port), timeout=CONNECT_SECONDS)
    except OSError as error:
        raise network_trouble(error, address) from None
    with contextlib.ExitStack() as stack:
        stack.callback(line.close)
        _limit_sending(line)
        try:
            connection = stack.enter_context(
                connect(
                    address.websocket("ingest"),
                    sock=line,
                    ssl=address.tls,
                    additional_headers={"Authorization": f"Bearer {token}"},
                    user_agent_header=USER_AGENT,
                    compression=None,
                    open_timeout=CONNECT_SECONDS,
                    # The board pings us, and what we send is acknowledged: no thread for pings of our own.
                    ping_interval=None,
                    close_timeout=CLOSE_SECONDS,
                    max_size=MAX_ANSWER_BYTES,
                    logger=_UNHEARD,
                )
            )
        except InvalidStatus as refused:
            answer = refused.response
            kind = answer.headers.get("Content-Type", "")
            raise handshake_trouble(
                answer.status_code, kind, bytes(answer.body or b""), place=str(address)
            ) from None
        except InvalidMessage:
            # No HTTP: a plain request will fail for the same reason, or get through.
            trouble = network_trouble(http.client.BadStatusLine("no HTTP"), address)
            raise PushTrouble(str(trouble), try_post=True) from None
        except ConnectionClosed:
            raise PushTrouble(f"the connection to {place} has ended") from None
        except InvalidHandshake as refused:
            raise PushTrouble(f"{place} does not speak WebSocket: {refused}", try_post=True) from None
        except OSError as error:
            raise network_trouble(error, address) from None
        except ValueError:
            raise PushTrouble(
                f"{place} sends agents elsewhere; name that other address", is_refusal=True
            ) from None
        yield WebSocketChannel(connection, place)


def _limit_sending(line: socket.socket) -> None:
    # A board that has stopped reading must not hold us for the kernel's quarter of an hour.
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SEND_SECONDS * 1000)


class PostChannel:
    """Messages as requests, one after the other, on one connection that is kept open."""

    def __init__(self, connection: http.client.HTTPConnection, address: BoardAddress, token: str) -> None:
        self._connection = connection
        self._address = address
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/msgpack",
            "User-Agent": USER_AGENT,
        }
        self._answers: deque[bytes] = deque()
        self._used_at = time.monotonic()

    def send(self, message: bytes) -> None:
        """Send one message and keep its answer."""
        place = str(self._address)
        if time.monotonic() - self._used_at > KEPT_SECONDS:
            # The board or a proxy has closed it by now; the next request opens another.
            self._connection.close()
        self._used_at = time.monotonic()
        try:
            self._connection.request("POST", self._address.path("reports"), message, self._headers)
            answer = self._connection.getresponse()
            body = answer.read(MAX_ANSWER_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise network_trouble(error, self._address) from None
        if answer.status != http.client.OK:
            raise answer_trouble(answer.status, answer.headers.get("Content-Type", ""), body, place=place)
        self._answers.append(body)

    def receive(self, seconds: float) -> bytes | None:
        """The next answer; None when there is none."""
        if self._answers:
            return self._answers.popleft()
        time.sleep(seconds)
        return None


@contextlib.contextmanager
def open_post(address: BoardAddress, token: str) -> Iterator[Channel]:
    """Talk in plain requests."""
    connection = open_http(address)
    try:
        yield PostChannel(connection, address, token)
    finally:
        connection.close()


def open_http(address: BoardAddress) -> http.client.HTTPConnection:
    """A connection for plain requests, made when the first is sent."""
    if address.tls is not None:
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=SEND_SECONDS, context=address.tls
        )
    return http.client.HTTPConnection(address.host, address.port, timeout=SEND_SECONDS)
