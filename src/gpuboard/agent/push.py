"""The agent's side of push: hands every sample to the board, whatever happens to the way there."""

import logging
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard import __version__
from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.buffer import HOUR_SECONDS, MAX_BYTES, Held, SampleBuffer
from gpuboard.agent.channel import Channel, open_post, open_websocket
from gpuboard.agent.conversation import Conversation
from gpuboard.agent.node_token import NodeToken, read_token
from gpuboard.agent.outlet import TimedReport
from gpuboard.agent.trouble import PushTrouble
from gpuboard.model.errors import SettingsError, WireError
from gpuboard.model.report import NodeReport
from gpuboard.outside.backoff import Backoff
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.wire.clean import clean_text
from gpuboard.wire.ingest import Hello, Welcome, decode_from_board, encode_sample
from gpuboard.wire.report import MAX_REPORT_BYTES

log = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 30.0
# How long plain requests are used before the WebSocket is tried again.
POST_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.1
_IDLE_SECONDS: Final = 0.5

Open = Callable[[BoardAddress, str], AbstractContextManager[Channel]]


class RetryPauses(Struct, frozen=True, kw_only=True):
    """How long to wait before trying again: longer each time, and never all agents at the same moment."""

    first_seconds: float = 0.5
    longest_seconds: float = 30.0
    # A board that has just started, or a proxy before it, may refuse what it takes a moment later.
    first_refused_seconds: float = 2.0
    longest_refused_seconds: float = 60.0


class Pusher:
    """Keeps an hour of samples and hands them to the board; `offer` and `run` are for two threads."""

    def __init__(
        self,
        address: BoardAddress,
        token_file: Path,
        *,
        interval_seconds: float,
        max_bytes: int = MAX_BYTES,
        pauses: RetryPauses | None = None,
        open_websocket: Open = open_websocket,
        open_post: Open = open_post,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        """Read the token, which says what this node is called.

        Raises:
            SettingsError: the token file cannot be used.
        """
        self.node = read_token(token_file).node
        # Why the board cannot be reached just now; None while it can.
        self.trouble: str | None = None
        self._address = address
        self._token_file = token_file
        pauses = pauses or RetryPauses()
        self._failed = Backoff(pauses.first_seconds, limit=pauses.longest_seconds)
        self._refused = Backoff(pauses.first_refused_seconds, limit=pauses.longest_refused_seconds)
        self._open_websocket = open_websocket
        self._open_post = open_post
        self._clock = clock
        self._buffer = SampleBuffer(max_samples=round(HOUR_SECONDS / interval_seconds), max_bytes=max_bytes)
        self._conversation: Conversation | None = None
        self._lock = threading.Lock()
        self._offered = threading.Event()
        self._boot_id = ""
        self._sequence = -1
        self._post_until = 0.0
        self._lost_told = 0
        # Why there is no WebSocket: worth saying only if plain requests get through, and then once.
        self._no_websocket: str | None = None
        self._no_websocket_told: str | None = None

    @property
    def waiting(self) -> int:
        """How many samples the board has not taken yet."""
        with self._lock:
            return len(self._buffer)

    @property
    def lost(self) -> int:
        """How many samples were given up because the board was away for too long."""
        with self._lock:
            return self._buffer.lost

    def offer(self, report: NodeReport) -> None:
        """Hand over a fresh report; returns at once."""
        now = self._clock()
        with self._lock:
            if self._conversation is None:
                # Without the kernel's boot id each run of the agent counts as a boot of its own.
                self._boot_id = report.boot_id or f"agent-{secrets.token_hex(8)}"
                hello = Hello(node=self.node, boot_id=self._boot_id, agent_version=__version__)
                self._conversation = Conversation(hello, self._buffer)
            sequence = max(report.sequence or 0, self._sequence + 1)
            data = encode_sample(replace(report, node=self.node, boot_id=self._boot_id, sequence=sequence))
            if len(data) > MAX_REPORT_BYTES:
                log.warning("report too large, left out: bytes=%d allowed=%d", len(data), MAX_REPORT_BYTES)
                return
            self._sequence = sequence
            self._buffer.add(Held(sequence, data, now))
        self._offered.set()

    def run(self, stop: threading.Event) -> None:
        """Talk to the board until told to stop; comes back after every failure."""
        while not stop.is_set():
            if self._conversation is None:
                self._wait_for_sample()
                continue
            is_post = self._clock() < self._post_until
            try:
                self._talk(self._conversation, stop, is_post=is_post)
            except PushTrouble as trouble:
                if trouble.try_post and not is_post:
                    self._no_websocket = str(trouble)
                    self._post_until = self._clock() + POST_SECONDS
                    continue
                self._complain(str(trouble))
                self._post_until = 0.0
                stop.wait(self._pause(is_refusal=trouble.is_refusal))
            except Exception:
                # A mistake of ours must not end the thread, and with it all reports.
                log.exception("push broke: board=%s", self._address)
                stop.wait(self._pause(is_refusal=True))

    def _pause(self, *, is_refusal: bool) -> float:
        """How long to stay away now; a board that is back from somewhere is new."""
        if is_refusal:
            self._failed.succeeded()
            return self._refused.failed()
        self._refused.succeeded()
        return self._failed.failed()

    def _talk(self, conversation: Conversation, stop: threading.Event, *, is_post: bool) -> None:
        """One connection, from hello to its end."""
        opening = self._open_post if is_post else self._open_websocket
        with opening(self._address, self._token().text) as channel:
            with self._lock:
                hello = conversation.begin()
            channel.send(hello)
            heard_at = self._clock()
            while not stop.is_set() and is_post == (self._clock() < self._post_until):
                with self._lock:
                    messages = conversation.due(self._clock())
                for message in messages:
                    channel.send(message)
                if not conversation.is_waiting:
                    self._wait_for_sample()
                    heard_at = self._clock()
                elif self._listen(channel, conversation):
                    heard_at = self._clock()
                elif self._clock() - heard_at > ANSWER_SECONDS:
                    raise PushTrouble(
                        f"{self._address.place} does not acknowledge", try_post=not conversation.is_welcome
                    )

    def _listen(self, channel: Channel, conversation: Conversation) -> bool:
        """Take in one answer, if there is any by now."""
        data = channel.receive(_LOOK_SECONDS)
        if data is None:
            return False
        try:
            answer = decode_from_board(data)
        except WireError as error:
            raise PushTrouble(f"{self._address.place} answers nonsense: {error}", is_refusal=True) from None
        with self._lock:
            refused = conversation.hear(answer, self._clock())
        if isinstance(answer, Welcome):
            self._be_welcome()
        elif refused:
            self._complain(f"{self._address.place} refuses samples: {clean_text(refused[0].reason)}")
        else:
            self._failed.succeeded()
            self._refused.succeeded()
            self.trouble = None
        return True

    def _be_welcome(self) -> None:
        log.info("board reached: board=%s node=%s waiting=%d", self._address, self.node, self.waiting)
        is_post = self._clock() < self._post_until
        if is_post and self._no_websocket != self._no_websocket_told:
            log.warning("no WebSocket: board=%s reason=%s", self._address, self._no_websocket)
        self._no_websocket_told = self._no_websocket if is_post else None
        lost = self.lost
        if lost > self._lost_told:
            log.warning("samples lost, the board was away too long: count=%d", lost - self._lost_told)
            self._lost_told = lost

    def _wait_for_sample(self) -> None:
        self._offered.wait(_IDLE_SECONDS)
        self._offered.clear()

    def _token(self) -> NodeToken:
        """The token as the file has it now: it may have been replaced while we ran."""
        try:
            token = read_token(self._token_file)
        except SettingsError as error:
            raise PushTrouble(str(error), is_refusal=True) from None
        if token.node != self.node:
            raise PushTrouble(
                f"the token file is now of {token.node}, this agent began as {self.node}; start it again",
                is_refusal=True,
            )
        return token

    def _complain(self, text: str) -> None:
        """Say what is wrong, once until it changes."""
        if text != self.trouble:
            log.warning("push failed: board=%s reason=%s", self._address, text)
        self.trouble = text


class PushOutlet:
    """Hands reports to a board, in a thread of its own."""

    def __init__(self, pusher: Pusher) -> None:
        self._pusher = pusher
        self.node = pusher.node
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._pusher.run, args=(self._stop,), name="gpuboard-push", daemon=True
        )

    def start(self) -> None:
        """Begin to talk."""
        self._thread.start()

    def offer(self, sample: TimedReport) -> None:
        """Hand over the newest sample; what the board does not take now it gets later."""
        self._pusher.offer(sample.report)

    def stop(self) -> None:
        """Stop talking."""
        self._stop.set()
        self._thread.join(timeout=2)
