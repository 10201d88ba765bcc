"""Who may come in, in memory: people are recognised without touching the disk."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from gpuboard.accounts.desk import AccountDesk, Known
from gpuboard.accounts.person_tokens import FEED, LOGIN
from gpuboard.accounts.records import Person, PersonToken, Session, has_admin
from gpuboard.accounts.sessions import IDLE_SECONDS, OVERLAP_SECONDS
from gpuboard.model.errors import StorageError
from gpuboard.model.identity import WayKind
from gpuboard.model.verdict import Reason
from gpuboard.storage.base import Run
from gpuboard.wire.enrolment import digest
from gpuboard.wire.people import is_feed_key

log = logging.getLogger(__name__)

# How soon what another process has changed counts here.
LOOK_SECONDS: Final = 1.0
NOTE_SECONDS: Final = 60.0


class AccountView:
    """Recognises people by cookie or token; follows what other processes do to them."""

    def __init__(
        self, desk: AccountDesk, *, clock: Callable[[], float] = time.time, run: Run | None = None
    ) -> None:
        """View what the desk has; `run` runs its calls, by default as the database does."""
        self._desk = desk
        self._run: Run = run or desk.database.run
        self._clock = clock
        self._generation: str | None = None
        self._people: dict[str, Person] = {}
        self._sessions: dict[str, Session] = {}
        self._session_ids: dict[str, Session] = {}
        self._tokens: dict[str, PersonToken] = {}
        self._token_ids: dict[str, PersonToken] = {}
        self._browsers: frozenset[tuple[str, str]] = frozenset()
        # What the provider has last said of everybody, by name in lower case; another object for each change.
        self.groups: Mapping[str, tuple[str, ...]] = {}
        # Who was shown out: when that was, and when it was heard of here, by a clock that nobody sets.
        self._removals: dict[str, tuple[float, float]] = {}
        self._sessions_used: dict[str, float] = {}
        self._tokens_used: dict[str, float] = {}
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")
        self._noted_at = time.monotonic()
        self._changed: list[Callable[[], None]] = []
        # Why accounts cannot be read or noted at the moment; None: all is well.
        self.trouble: Reason | None = None

    def on_change(self, changed: Callable[[], None]) -> None:
        """Let somebody hear of every change."""
        self._changed.append(changed)

    def session(self, secret: str) -> Session | None:
        """Whose cookie this is."""
        told, now = digest(secret), self._clock()
        found = self._sessions.get(told)
        if found is None or not self._is_good(found, now):
            return None
        # The one before is good for what was under way when it was exchanged.
        if told != found.digest and now > found.exchanged_at + OVERLAP_SECONDS:
            return None
        self._sessions_used[found.id] = now
        return found

    def token(self, token: str) -> PersonToken | None:
        """Whose personal token this is."""
        found = self._tokens.get(digest(token))
        if found is None or not self._is_token_good(found):
            return None
        self._tokens_used[found.id] = self._clock()
        return found

    async def find_token(self, token: str) -> PersonToken | None:
        """Whose personal token this is; one that another process made a moment ago is found too."""
        found = self.token(token)
        if found is not None:
            return found
        await self._look_since(time.monotonic())
        return self.token(token)

    async def find_feed(self, key: str) -> PersonToken | None:
        """Whose calendar feed this key is of."""
        found = await self.find_token(key) if is_feed_key(key) else None
        return found if found is not None and found.kind == FEED else None

    def feed_of(self, person: str, *, way: WayKind | None = None) -> PersonToken | None:
        """What is known of the key of somebody's calendar feed, if there is one of this way."""
        mine = (one for one in self.tokens_of(person, way=way) if one.kind == FEED)
        return next(mine, None)

    def is_good(self, credential: str) -> bool:
        """Whether a session or token is still good, by its id; whoever asks goes on using it."""
        session = self._session_ids.get(credential)
        if session is not None:
            return self._is_good(session, self._clock())
        token = self._token_ids.get(credential)
        return token is not None and self._is_token_good(token)

    def role_of(self, credential: str) -> str | None:
        """The role that a session or token gives now."""
        held = self._session_ids.get(credential) or self._token_ids.get(credential)
        return None if held is None else held.role

    def way_of(self, credential: str) -> WayKind | None:
        """The way by which it was found out whose session or token this is."""
        held = self._session_ids.get(credential) or self._token_ids.get(credential)
        return None if held is None else held.way

    def was_removed(self, person: str, since: float) -> bool:
        """Whether somebody was shown out since a moment of the monotonic clock, whatever lets them in."""
        return self._removals.get(person, (0.0, float("-inf")))[1] >= since

    def is_login(self, credential: str) -> bool:
        """Whether a token is that of somebody's command line."""
        token = self._token_ids.get(credential)
        return token is not None and token.kind == LOGIN

    def note_use(self, credential: str) -> None:
        """Remember that a session or token is in use, by its id."""
        used = self._sessions_used if credential in self._session_ids else self._tokens_used
        used[credential] = self._clock()

    def person(self, name: str) -> Person | None:
        """Somebody who has an account or a role here."""
        return self._people.get(name)

    def sessions_of(self, person: str, *, way: WayKind | None = None) -> list[Session]:
        """Somebody's sessions, of this way if one is named, the newest first."""
        mine = [one for one in self._session_ids.values() if one.person == person and way in (None, one.way)]
        return sorted(mine, key=lambda one: -one.created_at)

    def tokens_of(self, person: str | None, *, way: WayKind | None = None) -> list[PersonToken]:
        """Somebody's tokens, or everybody's; of this way if one is named."""
        return [
            one for one in self._token_ids.values() if person in (None, one.person) and way in (None, one.way)
        ]

    def last_used_at(self, session: Session) -> float:
        """When a session was last used; it may not be written down yet."""
        return self._sessions_used.get(session.id, session.last_used_at)

    def token_used_at(self, token: PersonToken) -> float | None:
        """The same for a token."""
        return self._tokens_used.get(token.id, token.last_used_at)

    def knows_browser(self, browser: str, person: str) -> bool:
        """Whether this person has signed in with this browser before."""
        return (browser, person) in self._browsers

    @property
    def has_passwords(self) -> bool:
        """Whether anybody here has a password."""
        return any(one.password for one in self._people.values())

    @property
    def accounts(self) -> frozenset[str]:
        """The names of all who have an account or a role here."""
        return frozenset(self._people)

    def has_admin(self, *, by_role: bool = False) -> bool:
        """Whether somebody can come in as admin: by a password, or `by_role` alone."""
        return has_admin(self._people.values(), by_role=by_role)

    async def look(self) -> None:
        """Read everything again if anything has changed.

        Raises:
            StorageError: it cannot be read.
        """
        async with self._looking:
            await self._look()

    async def _look_since(self, moment: float) -> None:
        """Have everything as it was at a moment, or later."""
        async with self._looking:
            # Who waited here has what another saw, but only if that one began to look late enough.
            if self._looked_at >= moment:
                return
            # Not at once: wrong tokens must not be able to keep the disk busy.
            await asyncio.sleep(max(0.0, self._looked_at + LOOK_SECONDS - time.monotonic()))
            await self._look()

    async def _look(self) -> None:
        began = time.monotonic()
        if await self._run(self._desk.generation) != self._generation:
            self.learn(await self._run(self._desk.known))
        self._looked_at = began

    def learn(self, known: Known) -> None:
        """Go on with what was read just now."""
        self._generation = known.generation
        self._people = {one.name: one for one in known.people}
        self._session_ids = {one.id: one for one in known.sessions}
        self._sessions = {one.earlier_digest: one for one in known.sessions if one.earlier_digest}
        self._sessions |= {one.digest: one for one in known.sessions}
        self._token_ids = {one.id: one for one in known.tokens}
        self._tokens = {one.digest: one for one in known.tokens}
        self._browsers = known.browsers
        self.groups = known.groups
        before, heard_at = self._removals, time.monotonic()
        self._removals = {
            who: before[who] if who in before and before[who][0] == at else (at, heard_at)
            for who, at in known.removals.items()
        }
        for changed in self._changed:
            changed()

    async def follow(self) -> None:
        """Keep up with all changes until cancelled."""
        while True:
            began = time.monotonic()
            try:
                await self.look()
                await self._write_down()
            except StorageError as error:
                # Those known so far stay good: a full disk must not sign everybody out.
                if self.trouble is None or self.trouble.text != str(error):
                    log.warning("accounts not read: reason=%s", error)
                self.trouble = error.reason
            else:
                self.trouble = None
            # From when it began: however long a look takes, the next is due a second after it.
            await asyncio.sleep(max(0.0, began + LOOK_SECONDS - time.monotonic()))

    async def _write_down(self) -> None:
        if time.monotonic() - self._noted_at < NOTE_SECONDS:
            return
        sessions, self._sessions_used = self._sessions_used, {}
        tokens, self._tokens_used = self._tokens_used, {}
        self._noted_at = time.monotonic()
        await self._run(partial(self._desk.note_use, sessions, tokens), is_write=True)
        # What was just written is not in what was read: a session in use must not look idle.
        self.learn(await self._run(self._desk.known))

    def _is_good(self, session: Session, now: float) -> bool:
        return session.expires_at > now and self.last_used_at(session) > now - IDLE_SECONDS

    def _is_token_good(self, token: PersonToken) -> bool:
        return token.expires_at is None or token.expires_at > self._clock()
