"""Agents that connect to the board: passive, the web hands over what they send."""

import asyncio
import hashlib
import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import AccessRefused, SampleRefused, SourceError, WireError
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.seldom import SeldomLog
from gpuboard.sources.base import Sink
from gpuboard.sources.ledger import Ledger, Position
from gpuboard.wire.ingest import (
    Acknowledgement,
    Backfill,
    Hello,
    Live,
    ReadLive,
    ReadSample,
    Refusal,
    Sample,
    Welcome,
    decode_from_agent,
    decode_live,
    encode,
)
from gpuboard.wire.report import check_report, decode_report

log = logging.getLogger(__name__)

# A node that is started every day comes back to none of them within two months.
REMEMBERED_BOOTS: Final = 64
MARK_LETTERS: Final = 12
# A refused agent comes again every minute.
RIVAL_SECONDS: Final = 600.0


class PushOptions(Struct, frozen=True, kw_only=True):
    """Nothing to choose: whoever has a token may push."""

    kind: Literal["push"] = "push"


class _Voice:
    """What has been heard from one node."""

    __slots__ = ("boot_id", "earlier_boots", "received", "rival_until", "shown")

    def __init__(self) -> None:
        self.boot_id: str | None = None
        self.earlier_boots: deque[str] = deque(maxlen=REMEMBERED_BOOTS)
        # The last sample that was shown, and the last that the ledger got; all before it are there too.
        self.shown: int | None = None
        self.received = -1
        # Until when it is said that another agent comes with its token.
        self.rival_until: float | None = None


class PushSource:
    """Takes in what agents send; a node is whoever its token says, never whoever it claims to be."""

    kind = "push"

    def __init__(self, ledger: Ledger) -> None:
        # Samples go to it through the sink; here it is only asked how far it has come.
        self._ledger = ledger
        self._sink: Sink | None = None
        self._nodes: frozenset[str] = frozenset()
        # Before the tokens are read nobody knows who may push.
        self._knows_nodes = False
        self._voices: dict[str, _Voice] = {}
        self._log = SeldomLog(log)

    async def run(self, sink: Sink) -> None:
        """Let agents in until cancelled."""
        self._sink = sink
        if self._knows_nodes:
            self._name_nodes(sink)
        try:
            await asyncio.Event().wait()
        finally:
            self._sink = None

    def set_nodes(self, nodes: Iterable[str]) -> None:
        """Name the nodes that may push now; one that is no longer named is gone from the board."""
        self._nodes, self._knows_nodes = frozenset(nodes), True
        self._voices = {node: voice for node, voice in self._voices.items() if node in self._nodes}
        if self._sink is not None:
            self._name_nodes(self._sink)

    def _name_nodes(self, sink: Sink) -> None:
        """Name the nodes; whoever has pushed before is not replaced by what somebody else says of it."""
        sink.expect(self._nodes)
        sink.recall(node for node, voice in self._voices.items() if voice.shown is not None)

    def start_anew(self, node: str) -> None:
        """Forget how far a node has come, and in which boots: it was enrolled anew."""
        self._voices.pop(node, None)

    def note_rival(self, node: str) -> None:
        """Hear that two agents of one machine cut each other off: the page says so for a while."""
        voice = self._voices.get(node)
        if voice is not None:
            voice.rival_until = time.monotonic() + RIVAL_SECONDS
            self._log.say(("token", node), "token shared: node=%s reason=two agents use it, stop one", node)

    def positions(self) -> dict[str, Position]:
        """How far every node that said hello has come; never further than what is really taken."""
        return {
            node: Position(
                boot_id=voice.boot_id,
                earlier_boots=tuple(voice.earlier_boots),
                shown=voice.shown,
                taken=self._ledger.taken(node, voice.boot_id),
            )
            for node, voice in self._voices.items()
            if voice.boot_id is not None
        }

    def restore(self, positions: Mapping[str, Position]) -> None:
        """Go on where an earlier run of the board ended; how much is taken, the ledger knows best."""
        for node, position in positions.items():
            voice = self._voices[node] = _Voice()
            voice.boot_id, voice.shown = position.boot_id, position.shown
            voice.earlier_boots.extend(position.earlier_boots)
            taken = self._ledger.taken(node, position.boot_id)
            voice.received = -1 if taken is None else taken
        if self._sink is not None and self._knows_nodes:
            self._name_nodes(self._sink)

    def accept(self, node: str, data: bytes) -> bytes:
        """Take in one message of a node and return the answer.

        Raises:
            WireError: the bytes are no message that makes sense now.
            AccessRefused: this node may not say that.
            SourceError: the board is not ready to listen.
        """
        if self._sink is None:
            raise SourceError("the board is not ready for reports yet")
        if node not in self._nodes:
            # Whatever way it came, and however long it took: nobody comes back by what was sent before.
            raise AccessRefused(f"{node} may no longer push to this board")
        message = decode_live(data) or decode_from_agent(data)
        if isinstance(message, Hello):
            return encode(self._greet(node, message))
        voice = self._voices.get(node)
        if voice is None or voice.boot_id is None:
            raise WireError("the first message must be a hello")
        if isinstance(message, (ReadLive, Live)):
            return encode(self._show(self._sink, node, voice, message))
        return encode(self._catch_up(self._sink, node, voice, message))

    def _greet(self, node: str, hello: Hello) -> Welcome:
        if hello.node != node:
            raise AccessRefused(f"this token belongs to {node}; an agent of {hello.node} needs its own")
        voice = self._voices.setdefault(node, _Voice())
        boot_id = hello.boot_id
        if _mark(boot_id) in voice.earlier_boots:
            raise self._turned_away(node, voice)
        if boot_id != voice.boot_id:
            if voice.boot_id is not None:
                voice.earlier_boots.append(_mark(voice.boot_id))
            taken = self._ledger.taken(node, boot_id)
            voice.boot_id, voice.shown, voice.received = boot_id, None, -1 if taken is None else taken
        return Welcome(node=node, shown=voice.shown, taken=self._ledger.taken(node, boot_id))

    def _turned_away(self, node: str, voice: _Voice) -> AccessRefused:
        """Show and log that two machines use one token: whoever wonders looks at the page first."""
        text = (
            f"another machine has used the token of {node} since; "
            f"enroll {node} anew (gpuboard node enroll {node}), and give the other machine a name of its own"
        )
        voice.rival_until = time.monotonic() + RIVAL_SECONDS
        if self._sink is not None:
            self._sink.trouble(node, Reason(code="token-shared", text=text), state="refused")
        self._log.say(("token", node), "token shared: node=%s reason=%s", node, text)
        # Short enough for the frame that closes a WebSocket.
        return AccessRefused(
            f"another machine has used the token of {node} since; run gpuboard node enroll {node}"
        )

    def _show(self, sink: Sink, node: str, voice: _Voice, message: ReadLive | Live) -> Acknowledgement:
        sequence = message.sample.sequence
        if voice.shown is not None and sequence <= voice.shown:
            return self._refuse(node, voice, (_replayed(sequence),), live=sequence)
        try:
            report = _read(node, voice, message.sample)
        except WireError as error:
            sink.trouble(node, Reason(code="bad-report", text=str(error)), state="refused")
            if message.follows is not None and message.follows <= voice.received:
                voice.received = max(voice.received, sequence)
            return self._refuse(node, voice, (_bad(sequence, error),), live=sequence)
        voice.shown = sequence
        if voice.rival_until is not None and time.monotonic() < voice.rival_until:
            report = replace(report, problems=(problem("token-shared"), *report.problems))
        if message.follows is None or message.follows > voice.received or sequence <= voice.received:
            sink.show(node, report)
            is_missed = message.follows is not None and sequence > voice.received
            return self._acknowledge(node, voice, live=sequence, again=is_missed)
        is_taken = sink.report(node, report)
        if is_taken:
            voice.received = sequence
        return self._acknowledge(node, voice, live=sequence, again=not is_taken)

    def _catch_up(self, sink: Sink, node: str, voice: _Voice, message: Backfill) -> Acknowledgement:
        refused, again = [], False
        last = message.samples[-1].sequence
        if message.follows > voice.received:
            # Sent before the agent heard that something before it has to come again.
            return self._acknowledge(node, voice, batch=last, again=True)
        for sample in message.samples:
            # The last answer may have been lost: what is here already is not taken twice.
            if sample.sequence <= voice.received:
                continue
            try:
                again = not sink.take(node, _read(node, voice, sample), is_backfill=True)
            except (WireError, SampleRefused) as error:
                refused.append(_bad(sample.sequence, error))
                voice.received = sample.sequence
                continue
            if again:
                break
            voice.received = sample.sequence
        if refused:
            return self._refuse(node, voice, tuple(refused), batch=last, again=again)
        return self._acknowledge(node, voice, batch=last, again=again)

    def _refuse(
        self,
        node: str,
        voice: _Voice,
        refused: tuple[Refusal, ...],
        *,
        live: int | None = None,
        batch: int | None = None,
        again: bool = False,
    ) -> Acknowledgement:
        self._log.say(("sample", node), "sample refused: node=%s reason=%s", node, refused[0].reason)
        return replace(self._acknowledge(node, voice, live=live, batch=batch, again=again), refused=refused)

    def _acknowledge(
        self,
        node: str,
        voice: _Voice,
        *,
        live: int | None = None,
        batch: int | None = None,
        again: bool = False,
    ) -> Acknowledgement:
        taken = self._ledger.taken(node, voice.boot_id or "")
        return Acknowledgement(live=live, batch=batch, taken=taken, again=again)


def _read(node: str, voice: _Voice, sample: ReadSample | Sample) -> NodeReport:
    if isinstance(sample, ReadSample):
        report = check_report(sample.report)
    else:
        report = decode_report(bytes(sample.report), "msgpack")
    if report.node != node:
        raise WireError(f"the report is about {report.node}, but its token belongs to {node}")
    if report.boot_id != voice.boot_id or report.sequence != sample.sequence:
        raise WireError("the report is of another boot or sequence than it was announced with")
    if not sample.waited_seconds:
        return report
    return replace(report, age_seconds=report.age_seconds + sample.waited_seconds)


def _mark(boot_id: str) -> str:
    """What is remembered of a boot: enough to know it again."""
    return hashlib.sha256(boot_id.encode(errors="replace")).hexdigest()[:MARK_LETTERS]


def _replayed(sequence: int) -> Refusal:
    return Refusal(sequence=sequence, reason="this sample or a later one has been shown already")


def _bad(sequence: int, error: WireError | SampleRefused) -> Refusal:
    return Refusal(sequence=sequence, reason=str(error)[:1000])
