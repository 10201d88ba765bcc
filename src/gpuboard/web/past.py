"""Questions about the past: each costs a look at the disk, so nobody asks too many at once."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException, ServiceUnavailableException, TooManyRequestsException
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.history.base import History
from gpuboard.history.desk import HistoryDesk
from gpuboard.history.questions import Question, go_on
from gpuboard.model.address import customer
from gpuboard.model.errors import StorageError
from gpuboard.model.identity import Identity
from gpuboard.web.answers import COMPRESS_FROM_BYTES, AnyRequest, SharedBody, may_compress, respond
from gpuboard.web.limits import (
    HISTORY_BURST,
    HISTORY_CPU_SECONDS_BURST,
    HISTORY_CPU_SECONDS_PER_SECOND,
    HISTORY_PER_SECOND,
    MAX_HISTORY,
    MAX_HISTORY_OF_ONE,
    MAX_HISTORY_READ_FOR_ONE,
)
from gpuboard.web.needs import identity_of
from gpuboard.web.problems import NoHistoryException
from gpuboard.web.throttle import AddressCount, RateLimit
from gpuboard.wire.redact import hide_names_in_reason

Value = TypeVar("Value")


class PastPace:
    """How often each address asks, what that costs, and how many of its questions are under way."""

    def __init__(self) -> None:
        self._pace = RateLimit(per_second=HISTORY_PER_SECOND, burst=HISTORY_BURST)
        self._time = RateLimit(per_second=HISTORY_CPU_SECONDS_PER_SECOND, burst=HISTORY_CPU_SECONDS_BURST)
        self._here = AddressCount(most=MAX_HISTORY_OF_ONE)
        # By who it is counted as: who may be read for, and how many questions are under way.
        self._reading: defaultdict[str | None, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MAX_HISTORY_READ_FOR_ONE)
        )
        self._under_way: defaultdict[str | None, int] = defaultdict(int)

    @asynccontextmanager
    async def turn(self, identity: Identity, question: Question) -> AsyncIterator[None]:
        """Let one question in, and have it paid for; those of an address leave room for others'.

        Raises:
            TooManyRequestsException: this address asks too much.
            ServiceUnavailableException: all together do.
        """
        address = identity.counted_as
        who = None if address is None else customer(address)
        self._admit(address)
        if sum(self._under_way.values()) >= MAX_HISTORY:
            raise ServiceUnavailableException("Too many people ask about the past just now; try again soon.")
        if not self._here.enter(address):
            raise _too_many(1.0)
        self._under_way[who] += 1
        try:
            async with self._reading[who]:
                yield
        finally:
            self._here.leave(address)
            self._time.delay(address, time.monotonic(), question.cpu_seconds)
            self._under_way[who] -= 1
            if not self._under_way[who]:
                del self._under_way[who], self._reading[who]

    def _admit(self, address: str | None) -> None:
        if address is None:
            return
        now = time.monotonic()
        wait = self._time.delay(address, now, 0.0)
        if not wait and not self._pace.admits(address, now):
            wait = 1 / HISTORY_PER_SECOND
        if wait:
            raise _too_many(wait)


async def ask(
    request: AnyRequest, desk: HistoryDesk | None, pace: PastPace, question: Callable[[History], Value]
) -> Value:
    """What the history answers to one question; it ends when whoever asks has gone.

    Raises:
        NoHistoryException: there is none.
        TooManyRequestsException: this address asks too much.
        ServiceUnavailableException: it cannot be asked now.
    """
    if desk is None:
        raise NoHistoryException
    identity, asked = identity_of(request), Question()
    async with pace.turn(identity, asked):
        answer = asyncio.ensure_future(desk.ask(question, asked))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ServiceUnavailableException("Nobody waits for the answer any more.")
            return answer.result()
        except StorageError as error:
            told = error.reason if identity.tier == "names" else hide_names_in_reason(error.reason)
            raise ServiceUnavailableException(told.text) from None
        finally:
            answer.cancel()
            gone.cancel()


async def tell(
    request: AnyRequest, desk: HistoryDesk | None, pace: PastPace, question: Callable[[History], bytes]
) -> Response[bytes]:
    """Send what the history answers, written and compressed in its thread.

    Raises:
        HTTPException: as `ask` does.
    """
    is_compressed = may_compress(request)

    def read(history: History) -> SharedBody:
        body = SharedBody(question(history))
        if is_compressed and len(body.body) >= COMPRESS_FROM_BYTES:
            # Kept there for when it is sent.
            _ = body.compressed
        return body

    return respond(request, await ask(request, desk, pace, read))


def encode_by_parts(whole: Struct, name: str) -> bytes:
    """A struct as JSON, part by part of its longest list: others have their turn in between."""
    parts = []
    for part in getattr(whole, name):
        go_on()
        parts.append(msgspec.Raw(msgspec.json.encode(part)))
    return msgspec.json.encode(replace(whole, **{name: parts}))


async def _gone(request: AnyRequest) -> None:
    """Return when whoever asked has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_many(wait: float) -> HTTPException:
    return TooManyRequestsException(
        "Too many questions about the past from your address; wait a moment.",
        headers={"retry-after": str(math.ceil(wait))},
    )
