"""Signing in and out, tokens and accounts, each one transaction. Every call blocks: always in a thread."""

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from gpuboard.accounts.audit import Deed, forget_old_deeds, read_deeds, write_deed
from gpuboard.accounts.generation import generation, note_change
from gpuboard.accounts.links import add_link, read_link, use_link
from gpuboard.accounts.people import (
    all_people,
    find_person,
    provider_groups,
    put_person,
    removals,
    set_password,
    take_word,
)
from gpuboard.accounts.person_tokens import (
    FEED,
    LOGIN,
    LOGIN_SECONDS,
    add_token,
    end_feed,
    end_logins_of,
    end_token,
    good_tokens,
    note_tokens_used,
    replace_login,
)
from gpuboard.accounts.records import Link, Person, PersonToken, Place, Session, Vouched, granted
from gpuboard.accounts.sessions import (
    begin_session,
    end_session,
    end_sessions_of,
    exchange_secret,
    good_sessions,
    known_browsers,
    note_sessions_used,
)
from gpuboard.model.errors import LinkRefused
from gpuboard.model.identity import Role, Scope, WayKind, at_most
from gpuboard.storage.base import Database
from gpuboard.wire.people import AuditEntry

SessionSecret = tuple[str, str]


class Known(Struct, frozen=True, kw_only=True):
    """All that lets somebody in, of one moment."""

    generation: str
    people: Sequence[Person]
    sessions: Sequence[Session]
    tokens: Sequence[PersonToken]
    browsers: frozenset[tuple[str, str]]
    # Who was lately shown out, and when.
    removals: Mapping[str, float] = {}
    # What the provider has last said of everybody, by name in lower case.
    groups: Mapping[str, tuple[str, ...]] = {}


class Login(Struct, frozen=True, kw_only=True):
    """What somebody gets who signs in from a command line."""

    person: str
    role: Role
    code: str
    code_expires_at: float
    token: str
    token_expires_at: float


class AccountDesk:
    """Does what people ask for, and writes down that they did; several processes may do so at once."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._clock = clock

    def generation(self) -> str:
        """Changes with everything that lets somebody in or out."""
        return generation(self.database)

    def known(self) -> Known:
        """All that lets somebody in now."""
        # Asked first: whatever changes after that is seen with the next look.
        told, now = self.generation(), self._clock()
        with self.database.read() as connection:
            return Known(
                generation=told,
                people=all_people(connection),
                sessions=good_sessions(connection, now),
                tokens=good_tokens(connection, now),
                browsers=known_browsers(connection),
                removals=removals(connection),
                groups=provider_groups(connection),
            )

    def sign_in(self, vouched: Vouched, place: Place) -> SessionSecret:
        """Sign a browser in: the session's id and the secret for its cookie."""
        now = self._clock()
        with self.database.write() as connection:
            given = find_person(connection, vouched.person)
            role = granted(vouched, given.role if given else None)
            if given is not None and vouched.display_name is None:
                vouched = replace(vouched, display_name=given.display_name)
            if vouched.way == "oidc":
                take_word(connection, vouched, role, now)
            made = begin_session(connection, vouched, role, place, now)
            write_deed(connection, _deed("sign-in", vouched, place, detail=f"as {role}"), now)
            note_change(connection)
        return made

    def read_link(self, code: str) -> Link:
        """What a one-time link is for; does not use it up.

        Raises:
            LinkRefused: it is unknown, used or over.
        """
        with self.database.read() as connection:
            return read_link(connection, code, self._clock())

    def sign_in_by_link(self, code: str, place: Place) -> SessionSecret:
        """Use a one-time link up, and sign the browser in.

        Raises:
            LinkRefused: it is unknown, used or over, or asks for a password first.
        """
        now = self._clock()
        with self.database.write() as connection:
            link = use_link(connection, code, now)
            if link.kind != "sign-in":
                raise LinkRefused("This link sets up an account: choose a password.", code="needs-password")
            return self._begin(connection, link, place, now)

    def set_up(self, code: str, hashed: str, place: Place) -> SessionSecret:
        """Use a set-up link up: its account gets this password, and the browser is signed in.

        Whoever was signed in to the account by its old password no longer is.

        Raises:
            LinkRefused: it is unknown, used or over, or is for no account.
        """
        now = self._clock()
        with self.database.write() as connection:
            link = use_link(connection, code, now)
            if link.kind != "set-up":
                raise LinkRefused("This link signs in, and sets up no account.", code="link-unknown")
            put_person(connection, link.person, link.role, now)
            set_password(connection, link.person, hashed)
            end_sessions_of(connection, link.person)
            write_deed(connection, _deed("password-set", _of_link(link), place), now)
            return self._begin(connection, link, place, now)

    def log_in(self, vouched: Vouched, *, terminal: str, address: str | None) -> Login:
        """A one-time link for the browser, and a token for the command line, which replaces an older one."""
        now = self._clock()
        with self.database.write() as connection:
            given = find_person(connection, vouched.person)
            role = granted(vouched, given.role if given else None)
            code, over_at = add_link(connection, vouched, role, kind="sign-in", now=now)
            replace_login(connection, vouched, terminal)
            scopes: list[Scope] = ["read", "book", *(["admin"] if role == "admin" else [])]  # type: ignore[list-item] # a scope
            made, token = add_token(
                connection,
                vouched,
                role,
                name=terminal,
                kind=LOGIN,
                scopes=scopes,
                now=now,
                expires_at=now + LOGIN_SECONDS,
            )
            write_deed(connection, _deed("log-in", vouched, Place(address=address), detail=terminal), now)
            note_change(connection)
        return Login(
            person=vouched.person,
            role=role,
            code=code,
            code_expires_at=over_at,
            token=token,
            token_expires_at=made.expires_at or now,
        )

    def give_link(self, vouched: Vouched, *, terminal: str, address: str | None) -> tuple[Role, str, float]:
        """A one-time link for the browser alone, with the role it gives and its end."""
        now = self._clock()
        with self.database.write() as connection:
            given = find_person(connection, vouched.person)
            role = granted(vouched, given.role if given else None)
            code, over_at = add_link(connection, vouched, role, kind="sign-in", now=now)
            write_deed(connection, _deed("link-made", vouched, Place(address=address), detail=terminal), now)
            note_change(connection)
        return role, code, over_at

    def exchange(self, session: Session) -> str | None:
        """Another secret for a session; None if it has got one just now."""
        with self.database.write() as connection:
            secret = exchange_secret(connection, session, self._clock())
            note_change(connection)
        return secret

    def end_session(self, ident: str, deed: Deed, *, way: WayKind | None = None) -> bool:
        """End one session of whoever asks, of this way if one is named; False when there is none."""
        with self.database.write() as connection:
            is_gone = end_session(connection, ident, deed.who or "", way=way)
            if is_gone:
                write_deed(connection, deed, self._clock())
                note_change(connection)
        return is_gone

    def end_everything(self, deed: Deed, *, way: WayKind | None = None) -> None:
        """End all sessions of whoever asks and its command lines' tokens, of this way if one is named."""
        with self.database.write() as connection:
            end_sessions_of(connection, deed.who or "", way=way)
            end_logins_of(connection, deed.who or "", way=way)
            write_deed(connection, deed, self._clock())
            note_change(connection)

    def add_token(
        self,
        vouched: Vouched,
        role: Role,
        *,
        name: str,
        scopes: Sequence[Scope],
        seconds: float | None,
        deed: Deed,
    ) -> tuple[PersonToken, str]:
        """Make a personal token: what is known of it, and the token itself.

        Raises:
            UsageError: this person has too many.
        """
        now = self._clock()
        with self.database.write() as connection:
            made, token = add_token(
                connection,
                vouched,
                at_most(role, "admin"),
                name=name,
                kind="personal",
                scopes=scopes,
                now=now,
                expires_at=None if seconds is None else now + seconds,
            )
            write_deed(
                connection,
                replace(deed, detail=f"{made.id} of {made.person}, {name}: {', '.join(made.scopes)}"),
                now,
            )
            note_change(connection)
        return made, token

    def make_feed(
        self, vouched: Vouched, role: Role, deed: Deed, *, way: WayKind | None = None
    ) -> tuple[PersonToken, str]:
        """Make the key of somebody's calendar feed; it replaces the one before, of this way if one is named.

        Raises:
            UsageError: this person has too many tokens.
        """
        now = self._clock()
        with self.database.write() as connection:
            end_feed(connection, vouched.person, way=way)
            made, key = add_token(
                connection,
                vouched,
                role,
                name="calendar feed",
                kind=FEED,
                scopes=(),
                now=now,
                expires_at=None,
            )
            write_deed(connection, replace(deed, detail=made.id), now)
            note_change(connection)
        return made, key

    def end_feed(self, deed: Deed, *, way: WayKind | None = None) -> bool:
        """Revoke the key of the calendar feed of whoever asks; False when there was none of this way."""
        with self.database.write() as connection:
            is_gone = end_feed(connection, deed.who or "", way=way)
            if is_gone:
                write_deed(connection, deed, self._clock())
                note_change(connection)
        return is_gone

    def end_token(
        self, ident: str, deed: Deed, *, person: str | None = None, way: WayKind | None = None
    ) -> PersonToken | None:
        """Revoke a token, of this person and way if they are named; None when there is none."""
        with self.database.write() as connection:
            gone = end_token(connection, ident, person, way=way)
            if gone is not None:
                detail = f"{gone.id} {gone.name} of {gone.person}"
                write_deed(connection, replace(deed, detail=detail), self._clock())
                note_change(connection)
        return gone

    def note_use(self, sessions: Mapping[str, float], tokens: Mapping[str, float]) -> None:
        """Note when sessions and tokens were last used, by id; what is over is dropped."""
        now = self._clock()
        with self.database.write() as connection:
            note_sessions_used(connection, sessions, now)
            note_tokens_used(connection, tokens, now)
            forget_old_deeds(connection, now)

    def deeds(self, *, limit: int, before: str | None = None) -> list[AuditEntry]:
        """The newest deeds first."""
        with self.database.read() as connection:
            return read_deeds(connection, limit=limit, before=before)

    def note(self, deed: Deed) -> None:
        """Write down what was done, or tried."""
        with self.database.write() as connection:
            write_deed(connection, deed, self._clock())

    @staticmethod
    def _begin(connection: Connection, link: Link, place: Place, now: float) -> SessionSecret:
        vouched = _of_link(link)
        made = begin_session(connection, vouched, link.role, place, now)
        write_deed(connection, _deed("sign-in", vouched, place, detail=f"as {link.role}, by link"), now)
        note_change(connection)
        return made


def _of_link(link: Link) -> Vouched:
    return Vouched(person=link.person, way=link.way, role=link.role, through=link.through)


def _deed(what: str, vouched: Vouched, place: Place, *, detail: str | None = None) -> Deed:
    return Deed(
        what=what,
        who=vouched.person,
        way=vouched.way,
        through=vouched.through,
        address=place.address,
        detail=detail,
    )
