"""The good tokens in memory, so that a node is recognised without touching the disk."""

import asyncio
import hmac
import logging
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from gpuboard.accounts.tokens import KnownToken, NodeTokens
from gpuboard.model.errors import StorageError, WireError
from gpuboard.model.verdict import Reason
from gpuboard.wire.enrolment import digest, node_of_token, read_code

log = logging.getLogger(__name__)

# How soon a token made or revoked by another process counts here.
LOOK_SECONDS: Final = 1.0
# How long an agent is let wait while the board starts, before it is sent away for a moment.
START_SECONDS: Final = 5.0
NOTE_SECONDS: Final = 60.0
# The same for a node without a line, of which nothing else says that it is there.
NOTE_REQUESTS_SECONDS: Final = 10.0


class Roster:
    """Recognises nodes by their tokens; follows what the command line does to them."""

    def __init__(
        self,
        tokens: NodeTokens,
        *,
        forget: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._run = tokens.database.run
        self._forget = forget
        self._clock = clock
        self._by_node: dict[str, list[KnownToken]] = {}
        self._codes: frozenset[str] = frozenset()
        self._generation: str | None = None
        self._next_expiry = float("inf")
        self._looked_at = float("-inf")
        self._noted_at = time.monotonic()
        self._used_at: dict[str, float] = {}
        # Tokens that came with a request of their own since that was last written down.
        self._requested: set[str] = set()
        self._requests_noted_at = time.monotonic()
        # Whether a node has left since: until then its line says more than the time.
        self._has_ended = False
        # Tokens whose use has been written down before: the first time is written at once.
        self._noted: set[str] = set()
        # Tokens whose older ones have still to be deleted.
        self._superseded: list[KnownToken] = []
        self._looking = asyncio.Lock()
        # Why tokens cannot be read or noted at the moment; None: all is well.
        self.trouble: Reason | None = None
        self._changed: Callable[[], None] = lambda: None
        # Before the tokens are read nobody can be told that theirs is wrong.
        self._is_read = asyncio.Event()

    def on_change(self, changed: Callable[[], None]) -> None:
        """Let somebody hear of every change, before anybody can use what is new."""
        self._changed = changed

    async def is_read(self) -> bool:
        """Whether the tokens have been read; waits a moment for a board that is just starting."""
        if self._is_read.is_set():
            return True
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._is_read.wait()
        except TimeoutError:
            return False
        return True

    @property
    def nodes(self) -> frozenset[str]:
        """All nodes that have a good token."""
        return frozenset(self._by_node)

    def keys_of(self, node: str) -> tuple[str, ...] | None:
        """What a node's good tokens sign with; None before the tokens have been read. Any thread may ask."""
        if not self._is_read.is_set():
            return None
        return tuple(known.digest for known in self._by_node.get(node, ()) if self.is_good(known))

    def recognise(self, token: str) -> KnownToken | None:
        """Whose token this is, as far as it is known here."""
        try:
            node = node_of_token(token)
        except WireError:
            return None
        told = digest(token)
        for known in self._by_node.get(node, ()):
            if hmac.compare_digest(known.digest, told) and self.is_good(known):
                return known
        return None

    async def knows_code(self, code: str) -> bool:
        """Whether an enrolment code is good; one that may have been made just now is waited for.

        Raises:
            StorageError: the codes cannot be read.
        """
        sought = digest(read_code(code))
        if sought not in self._codes:
            # Not at once: whoever tries many must not be able to keep the disk busy.
            await asyncio.sleep(LOOK_SECONDS)
            await self._look(not_within=LOOK_SECONDS)
        return sought in self._codes

    async def find(self, token: str) -> KnownToken | None:
        """Whose token this is; one that was made a moment ago by somebody else is found too."""
        known = self.recognise(token)
        if known is None:
            await self._look(not_within=LOOK_SECONDS)
            known = self.recognise(token)
        return known

    def is_good(self, known: KnownToken) -> bool:
        """Whether a token that was good before still is."""
        if known.expires_at is not None and known.expires_at <= self._clock():
            return False
        return any(known.digest == other.digest for other in self._by_node.get(known.node, ()))

    def note_use(self, known: KnownToken) -> None:
        """Remember that a token was used just now; written down now and then.

        With the first use of a new token the older ones end: two machines with one name are one too many.
        """
        self._used_at[known.digest] = self._clock()
        tokens = self._by_node.get(known.node, ())
        # As it is now: the one that was handed in may have been replaced since it was looked up.
        newest = [token for token in tokens if token.expires_at is None]
        if len(tokens) > 1 and [token.digest for token in newest] == [known.digest]:
            log.info("older tokens ended: node=%s", known.node)
            self._by_node[known.node] = newest
            self._superseded.append(newest[0])
            self._changed()

    def note_request(self, known: KnownToken) -> None:
        """Remember that somebody showed this token just now; written down sooner than what a line says."""
        self._requested.add(known.digest)
        self.note_use(known)

    def note_end(self, known: KnownToken, seconds_ago: float) -> None:
        """Remember when a node was last heard that has left; written down at the next look."""
        self._used_at[known.digest] = self._clock() - seconds_ago
        self._has_ended = True

    async def look(self) -> None:
        """Read the tokens again if any was made or revoked, or has reached its end."""
        await self._look(not_within=0.0)

    async def _look(self, *, not_within: float) -> None:
        async with self._looking:
            # Who waited here has what the other saw; wrong tokens must not be able to keep the disk busy.
            if time.monotonic() - self._looked_at < not_within:
                return
            generation = await self._run(self._tokens.generation)
            if generation != self._generation or self._clock() >= self._next_expiry:
                self._codes = await self._run(self._tokens.codes)
                before = self._by_node.keys()
                self._learn(await self._run(self._tokens.known))
                await self._forget_some(before)
                self._generation = generation
            self._looked_at = time.monotonic()
            self._is_read.set()

    async def _forget_some(self, before: Collection[str]) -> None:
        nodes = await self._run(self._tokens.forgotten)
        if nodes:
            # Of a name that nobody knew there was nothing to forget.
            known = [node for node in nodes if self._forget(node) or node in before]
            if known:
                log.info("nodes forgotten: nodes=%s", ",".join(known))
            await self._run(partial(self._tokens.note_forgotten, nodes), is_write=True)

    def _learn(self, known: list[KnownToken]) -> None:
        by_node: dict[str, list[KnownToken]] = {}
        for token in known:
            by_node.setdefault(token.node, []).append(token)
        self._by_node = by_node
        self._next_expiry = min(
            (t.expires_at for t in known if t.expires_at is not None), default=float("inf")
        )
        self._changed()

    async def follow(self) -> None:
        """Keep up with all changes until cancelled."""
        while True:
            try:
                await self.look()
                await self._write_down()
            except StorageError as error:
                # The tokens known so far stay good: a full disk must not cut off the nodes.
                if self.trouble is None or self.trouble.text != str(error):
                    log.warning("tokens not read: reason=%s", error)
                self.trouble = error.reason
            else:
                self.trouble = None
            await asyncio.sleep(LOOK_SECONDS)

    async def _write_down(self) -> None:
        while self._superseded:
            await self._run(partial(self._tokens.end_others, self._superseded[0]), is_write=True)
            self._superseded.pop(0)
        used = self._due()
        if used:
            self._noted = {*self._noted, *used} & self._digests()
            await self._run(partial(self._tokens.note_use, used), is_write=True)

    def _due(self) -> dict[str, float]:
        """Which uses have to be written down now: all, those without a line, or none."""
        now = time.monotonic()
        if self._has_ended or not self._used_at.keys() <= self._noted or now - self._noted_at >= NOTE_SECONDS:
            used, self._used_at, self._has_ended = self._used_at, {}, False
            self._noted_at = now
        elif now - self._requests_noted_at >= NOTE_REQUESTS_SECONDS:
            used = {key: self._used_at.pop(key) for key in self._requested if key in self._used_at}
        else:
            return {}
        self._requests_noted_at = now
        self._requested.clear()
        return used

    def _digests(self) -> set[str]:
        return {known.digest for tokens in self._by_node.values() for known in tokens}
