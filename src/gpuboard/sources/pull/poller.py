"""Asking one node again and again, and handing over what it says or why it does not."""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.discovery.base import Target
from gpuboard.model.errors import OutsideError, SourceError, WireError
from gpuboard.model.report import NodeReport
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import Reason
from gpuboard.outside.answer import HttpAnswer
from gpuboard.outside.backoff import SECOND_TRY_SECONDS, Backoff
from gpuboard.outside.http import HttpServer, request_bytes
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.secrets import FileValue
from gpuboard.sources.base import Sink
from gpuboard.sources.pull.own_files import of_ca_file, own_reason, reason_of
from gpuboard.sources.pull.protocols import NodeProtocol, Question
from gpuboard.sources.pull.samples import Samples
from gpuboard.wire.clean import clean_text
from gpuboard.wire.report import MAX_REPORT_BYTES

log: Final = logging.getLogger(__name__)
_LONGEST_REASON: Final = 600
# For a question that comes when the time is already up, so that it says so by itself.
_SHORTEST_SECONDS: Final = 0.001


class Asking(Struct, frozen=True, kw_only=True):
    """How the nodes of one source are asked; shared by all of them."""

    # Made anew for each node, which may be asked several things in a row.
    protocol: Callable[[str], NodeProtocol]
    port: int
    interval: float
    deadline: float
    retry_limit: float
    # The secret that this one node is sent, and no other's.
    secret_for: Callable[[Target], FileValue[str]] | None
    tls: FileValue[ssl.SSLContext] | None
    allow_plaintext: bool
    resolver: Resolver


class Poller:
    """Looks after one node: one connection, one deadline, failures of its own."""

    def __init__(
        self,
        target: Target,
        way: Asking,
        sink: Sink,
        *,
        clock: Callable[[], float] = time.monotonic,
        speaks: bool = True,
    ) -> None:
        """Look after a node; whoever only looks once shows its trouble, and needs no log of it."""
        self._target = target
        self._speaks = speaks
        self._way = way
        self._sink = sink
        self._clock = clock
        self._secret = None if way.secret_for is None else way.secret_for(target)
        self._samples = Samples()
        self._server: HttpServer | None = None
        self._protocol = way.protocol(target.node)
        self._written: tuple[Question, bytes] | None = None
        self._backoff = Backoff(way.interval, limit=way.retry_limit, second_try=SECOND_TRY_SECONDS)
        # What was logged last, so that a lasting trouble is logged once.
        self._logged: str | None = None
        self._other_name: str | None = None

    async def run(self) -> None:
        """Ask every interval until cancelled; after failures more rarely."""
        try:
            while True:
                started = self._clock()
                well = await self._round()
                spent = self._clock() - started
                await asyncio.sleep(max(0.0, self._pause(well=well) - spent))
        finally:
            self._drop()

    async def ask_once(self) -> None:
        """Ask it this once."""
        try:
            await self._round()
        finally:
            self._drop()

    def _pause(self, *, well: bool) -> float:
        if not well:
            return self._backoff.failed()
        self._backoff.succeeded()
        # A little unevenness keeps hundreds of nodes from falling into step.
        return self._way.interval * (0.98 + 0.04 * random.random())  # noqa: S311 - spreads load, hides nothing

    async def _round(self) -> bool:
        """Ask once and hand over the outcome; whether the node answered well."""
        try:
            self._succeeded(await self._ask())
        except SourceError as error:
            self._failed(reason_of(error.code, error.reason, error.remedy), error.state)
        except OutsideError as error:
            self._failed(own_reason(error))
        except WireError as error:
            self._failed(Reason(code="bad-report", text=str(error)))
        except Exception:  # a bug of ours must stay this one node's trouble
            log.exception("pull broke: node=%s", self._target.node)
            self._failed(Reason(code="internal", text="gpuboard itself failed here; its log says how"))
        else:
            return True
        return False

    async def _ask(self) -> NodeReport | None:
        way = self._way
        secret = None if self._secret is None else await self._secret.value()
        ends = self._clock() + way.deadline

        async def ask(question: Question) -> HttpAnswer:
            self._server = self._server or await self._reach()
            request = self._request(self._server, question)
            # All questions of a round share one deadline.
            left = max(_SHORTEST_SECONDS, ends - self._clock())
            return await self._server.ask(request, deadline=left, limit=MAX_REPORT_BYTES)

        sample = await self._protocol.sample(ask, secret)
        self._note_name(sample.said_name)
        report = self._samples.judge(
            sample.report, mark=sample.mark, now=self._clock(), is_age_known=sample.is_age_known
        )
        if report is None and self._samples.is_frozen(self._clock(), way.interval):
            age = format_duration(self._samples.age(self._clock()))
            text = f"it answers, but always with the same data of {age} ago"
            remedy = "restart the agent there"
            raise SourceError(f"{text}: {remedy}", code="frozen", remedy=remedy)
        return report

    def _request(self, server: HttpServer, question: Question) -> bytes:
        """What to send; the same question is written once."""
        if self._written is None or self._written[0] is not question:
            written = request_bytes(
                question.method,
                question.path,
                host=server.address,
                headers=question.headers,
                body=question.body,
            )
            self._written = (question, written)
        return self._written[1]

    async def _reach(self) -> HttpServer:
        way = self._way
        return HttpServer(
            self._target.host,
            self._target.port or way.port,
            resolver=way.resolver,
            tls=None if way.tls is None else await _trust(way.tls),
            only_private=self._secret is not None and not way.allow_plaintext,
            only_elsewhere=not self._target.may_be_here,
        )

    def _succeeded(self, report: NodeReport | None) -> None:
        if self._logged is not None:
            log.info("pull works again: node=%s", self._target.node)
            self._logged = None
        if report is None:
            if self._backoff.is_failing:
                self._sink.trouble(self._target.node, None)
            return
        # An agent that samples more often than it is asked is not late between two questions.
        interval = max(report.interval_seconds or 0.0, self._way.interval)
        hand_over = self._sink.report if self._samples.is_new else self._sink.show
        hand_over(self._target.node, replace(report, interval_seconds=interval))

    def _failed(self, why: Reason, state: Literal["refused", "error"] = "error") -> None:
        if state == "refused" and self._secret is not None:
            self._secret.forget()
        self._drop()
        # Some of it is the node's own words.
        reason = replace(why, text=clean_text(why.text[:_LONGEST_REASON]))
        # It failed before, and that was not long ago: this is no single lost reply.
        is_lasting = self._backoff.is_failing
        self._sink.trouble(self._target.node, reason, state=state, is_lasting=is_lasting)
        if self._speaks and self._logged != why.code:
            self._logged = why.code
            log.warning("pull failed: node=%s state=%s reason=%s", self._target.node, state, reason.text)

    def _note_name(self, said: str | None) -> None:
        if said not in {None, self._other_name, self._target.node}:
            log.info("node calls itself otherwise: node=%s says=%s", self._target.node, said)
        self._other_name = said

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


async def _trust(tls: FileValue[ssl.SSLContext]) -> ssl.SSLContext:
    try:
        return await tls.value()
    except OutsideError as error:
        raise of_ca_file(error) from None
