"""The door for agents: who comes in, on which line, and how fast they may talk."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from litestar import WebSocket
from litestar.exceptions import (
    HTTPException,
    NotAuthorizedException,
    ServiceUnavailableException,
    TooManyRequestsException,
    WebSocketDisconnect,
)

from gpuboard.accounts.connected import Connection
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import KnownToken
from gpuboard.model.errors import AccessRefused, StorageError
from gpuboard.outside.seldom import SeldomLog
from gpuboard.outside.stopwatch import Stopwatch
from gpuboard.web.limits import (
    CODE_FAILURES,
    CODE_FAILURES_SECONDS,
    HELLO_SECONDS,
    REPLACEMENTS,
    REPLACEMENTS_SECONDS,
    SILENT_SECONDS,
    TOKEN_FAILURES,
    TOKEN_FAILURES_SECONDS,
)
from gpuboard.web.throttle import FailureLimit, NodeAllowance
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.ingest import CLOSE_REPLACED, CLOSE_SILENT, CLOSE_TOKEN_GONE

log = logging.getLogger(__name__)

AnySocket = WebSocket[Any, Any, Any]

RETRY_SECONDS: Final = 2
MAX_TOKEN_LENGTH: Final = 256
REASON_BYTES: Final = 120
TOKEN_GONE: Final = "This node's token has been revoked or replaced."  # noqa: S105 - words for people


class Push(Protocol):
    """What takes in the messages of agents."""

    def accept(self, node: str, data: bytes) -> bytes:
        """Take in one message of a node and return the answer.

        Raises:
            WireError: the bytes are no message that makes sense now.
            AccessRefused: this node may not say that.
            SourceError: the board is not ready to listen.
        """

    def set_nodes(self, nodes: Iterable[str]) -> None:
        """Name the nodes that may push now."""

    def start_anew(self, node: str) -> None:
        """Forget how far a node has come: it was enrolled anew."""

    def note_rival(self, node: str) -> None:
        """Hear that two agents with the token of a node cut each other off."""


class Line:
    """One open connection of a node."""

    def __init__(
        self, socket: AnySocket, known: KnownToken, pace: NodeAllowance, address: str | None
    ) -> None:
        self.known = known
        self.connection = Connection(since=time.time(), address=address or "?")
        self._pace = pace
        self.heard_at: float | None = None
        self._opened_at = time.monotonic()
        self._socket = socket
        # Cut off: what it has sent, or sends until it hears of it, does not count.
        self.is_cut = False

    def note(self) -> float:
        """Note that it has said something; how long it should wait before it goes on."""
        self.heard_at = now = time.monotonic()
        return self._pace.delay(now)

    def was_heard_since(self, moment: float) -> bool:
        """Whether it has said something since then."""
        return self.heard_at is not None and self.heard_at >= moment

    def is_silent(self, now: float) -> bool:
        """Whether an honest agent would have said something by now."""
        if self.heard_at is None:
            return now - self._opened_at > HELLO_SECONDS
        return now - self.heard_at > SILENT_SECONDS

    async def close(self, code: int, reason: str) -> None:
        """Hang up, and say why."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
            await self._socket.close(code=code, reason=short_reason(reason))


def short_reason(reason: str) -> str:
    """As much of a reason as a close frame holds: whole clauses, or at least whole words."""
    start = reason.encode()[:REASON_BYTES].decode(errors="ignore")
    if start == reason:
        return reason
    clause, _, _ = start.rpartition("; ")
    return clause or f"{start[:-3].rpartition(' ')[0] or start[:-3]}…"


class AgentDoor:
    """Lets in agents whose token is good; a node has one line, and a newer one replaces the older."""

    def __init__(
        self, push: Push, roster: Roster, redeem: Callable[[str], Awaitable[tuple[str, str]]]
    ) -> None:
        self.push = push
        self._roster = roster
        self._redeem = redeem
        self._lines: dict[str, Line] = {}
        self._paces: dict[str, NodeAllowance] = {}
        self._replaced_at: dict[str, deque[float]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._token_failures = FailureLimit(failures=TOKEN_FAILURES, seconds=TOKEN_FAILURES_SECONDS)
        self._code_failures = FailureLimit(failures=CODE_FAILURES, seconds=CODE_FAILURES_SECONDS)
        self._log = SeldomLog(log)
        self._stopwatch = Stopwatch()
        roster.on_change(self.tokens_changed)

    def recognise(self, headers: Mapping[str, str]) -> KnownToken | None:
        """Whose token this request carries, as far as that is known without a look at the disk."""
        token = _token_of(headers)
        return None if token is None else self._roster.recognise(token)

    async def admit(
        self, headers: Mapping[str, str], address: str | None, recognised: KnownToken | None = None
    ) -> KnownToken:
        """Whose token this request carries; nothing else than the token counts, no cookie, no address.

        It may have been `recognised` just now.

        Raises:
            HTTPException: the token is missing or wrong, or the address has failed too often.
        """
        if recognised is not None:
            self._roster.note_request(recognised)
            return recognised
        token = _token_of(headers)
        now = time.monotonic()
        who = address or "?"
        if token is None:
            raise _unauthorised("Send the node's token as: Authorization: Bearer TOKEN.")
        if not await self._roster.is_read():
            raise _not_yet("The board has just started and has not read its tokens yet.")
        known = self._roster.recognise(token)
        # A good token is let in even from an address where another one fails: many nodes share a router.
        if known is None and not self._token_failures.is_blocked(who, now):
            known = await self._look_up(token)
            if known is None:
                self._token_failures.note_failure(who, now)
                # Each of many nodes that are refused looks like its own fault, where it is the board's.
                lost = "" if self._roster.nodes else " (the board has no tokens at all: was its state lost?)"
                self._log.say("token", "token refused: address=%s%s", who, lost)
        elif known is None:
            raise TooManyRequestsException(
                "Too many wrong tokens from this address; wait a minute.", headers={"connection": "close"}
            )
        if known is None:
            raise _unauthorised(
                "This token is not known here, or has been revoked or replaced. On the board make a code: "
                "gpuboard node enroll NAME. Then run on the node: gpuboard agent enroll URL."
            )
        self._roster.note_request(known)
        return known

    def check_again(self, known: KnownToken) -> None:
        """Check a token once more: whoever had to wait may have lost it meanwhile.

        Raises:
            HTTPException: the token is no longer good.
        """
        if not self._roster.is_good(known):
            raise _unauthorised(TOKEN_GONE)

    async def enrol(self, code: str, address: str | None) -> tuple[str, str]:
        """Exchange an enrolment code for a node's name and token.

        Raises:
            HTTPException: the code is not good, or the address has failed too often.
        """
        now = time.monotonic()
        who = address or "?"
        try:
            # A right code is taken whatever others of this address have tried.
            if self._code_failures.is_blocked(who, now) and not await self._roster.knows_code(code):
                raise TooManyRequestsException("Too many wrong codes from this address; wait a few minutes.")
            node, token = await self._redeem(code)
        except AccessRefused as error:
            self._code_failures.note_failure(who, now)
            self._log.say("code", "enrolment refused: address=%s", who)
            raise HTTPException(status_code=403, detail=str(error)) from None
        except StorageError as error:
            raise StorageUnavailable(error) from None
        # The node comes back with its token; its code is spent, so a disk that fails now is no "no".
        with contextlib.suppress(StorageError):
            await self._roster.look()
        # Whatever kept it out before, other machines with its token included, is over.
        self.push.start_anew(node)
        self._replaced_at.pop(node, None)
        if node in self._lines:
            self._hang_up(
                self._lines[node], CLOSE_REPLACED, "this node was enrolled anew; come with its new token"
            )
        log.info("node enrolled: node=%s address=%s", node, who)
        return node, token

    def open(self, socket: AnySocket, known: KnownToken, address: str | None) -> Line:
        """Put a line in use; an older one of the same node is closed."""
        line = Line(socket, known, self.pace(known.node), address)
        older = self._lines.pop(known.node, None)
        self._lines[known.node] = line
        if older is not None:
            self._hang_up(older, CLOSE_REPLACED, "another connection of this node has replaced this one")
            self._count_replacement(known.node)
        if not self._roster.is_good(known):
            # Revoked while the line was made, when nobody could cut it.
            self._hang_up(line, CLOSE_TOKEN_GONE, TOKEN_GONE)
        return line

    def _count_replacement(self, node: str) -> None:
        """An agent that comes back replaces its own line once; two agents replace each other for ever."""
        replaced_at = self._replaced_at.setdefault(node, deque(maxlen=REPLACEMENTS))
        replaced_at.append(time.monotonic())
        if len(replaced_at) == REPLACEMENTS and replaced_at[-1] - replaced_at[0] < REPLACEMENTS_SECONDS:
            self.push.note_rival(node)

    def connected(self) -> dict[str, Connection]:
        """The nodes that are connected and have said something, since when and from where."""
        return {node: line.connection for node, line in self._lines.items() if line.heard_at is not None}

    def close(self, line: Line) -> None:
        """Forget a line."""
        if self._lines.get(line.known.node) is line:
            del self._lines[line.known.node]
            if line.heard_at is not None:
                self._roster.note_end(line.known, time.monotonic() - line.heard_at)

    def take(self, node: str, message: bytes) -> bytes:
        """Take in a message and answer it; the time that this takes is the node's.

        Raises:
            WireError: it is no message.
            AccessRefused: the node may not say this.
            SourceError: it cannot be taken now.
        """
        started = self._stopwatch.start()
        try:
            return self.push.accept(node, message)
        finally:
            self.pace(node).charge(self._stopwatch.stop(started))

    def pace(self, node: str) -> NodeAllowance:
        """How fast a node may talk; the same over all its lines."""
        pace = self._paces.get(node)
        if pace is None:
            pace = self._paces[node] = NodeAllowance(time.monotonic())
        return pace

    def tokens_changed(self) -> None:
        """Hear that tokens were made or revoked: who lost its token is cut off at once."""
        nodes = self._roster.nodes
        self.push.set_nodes(nodes)
        self._paces = {node: pace for node, pace in self._paces.items() if node in nodes}
        self._replaced_at = {node: times for node, times in self._replaced_at.items() if node in nodes}
        for line in list(self._lines.values()):
            if not self._roster.is_good(line.known):
                self._hang_up(line, CLOSE_TOKEN_GONE, TOKEN_GONE)

    async def watch(self) -> None:
        """Note which tokens are in use, and cut lines on which nothing whole arrives, until cancelled."""
        before = time.monotonic()
        while True:
            await asyncio.sleep(HELLO_SECONDS / 5)
            before, since = time.monotonic(), before
            for line in list(self._lines.values()):
                if line.was_heard_since(since):
                    self._roster.note_use(line.known)
                if line.is_silent(before):
                    self._hang_up(line, CLOSE_SILENT, "nothing whole has arrived for too long")

    async def _look_up(self, token: str) -> KnownToken | None:
        try:
            return await self._roster.find(token)
        except StorageError as error:
            raise StorageUnavailable(error) from None

    def _hang_up(self, line: Line, code: int, reason: str) -> None:
        node = line.known.node
        self._log.say(
            (node, code), "agent cut off: node=%s code=%d reason=%s", node, code, reason, level=logging.INFO
        )
        line.is_cut = True
        self.close(line)
        task = asyncio.create_task(line.close(code, reason))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _token_of(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" and 0 < len(token) <= MAX_TOKEN_LENGTH else None


def _not_yet(detail: str) -> HTTPException:
    return ServiceUnavailableException(detail, headers={"retry-after": str(RETRY_SECONDS)})


def _unauthorised(detail: str) -> HTTPException:
    return NotAuthorizedException(detail, headers={"www-authenticate": 'Bearer realm="gpuboard nodes"'})
