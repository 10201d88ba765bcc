"""The door for people: who comes in by which way, and who has to leave."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from litestar.datastructures import Headers
from litestar.types import Scope
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.logins import Logins
from gpuboard.accounts.passwords import Passwords
from gpuboard.accounts.records import PersonToken, Place, Session, Vouched, granted
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.base import NodeEvidence, PasswordEvidence, ProxyEvidence, RedirectWay, Way
from gpuboard.model.errors import AccessRefused, GuessRefused, StorageError
from gpuboard.model.identity import Identity, is_at_least
from gpuboard.outside.seldom import SeldomLog
from gpuboard.storage.base import Run
from gpuboard.web.access import AccessPolicy
from gpuboard.web.limits import (
    REDIRECTS_BURST,
    REDIRECTS_PER_SECOND,
    VOUCHES_BURST,
    VOUCHES_PER_SECOND,
)
from gpuboard.web.needs import BAD_TOKEN, BROWSER
from gpuboard.web.stream import Broadcaster, Viewer
from gpuboard.web.throttle import RateLimit
from gpuboard.wire.clean import clean_text
from gpuboard.wire.enrolment import is_node_token
from gpuboard.wire.people import WayCard, is_person_token

log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 1.0
SIGNED_OUT: Final = 4001
_PROXY_IN_CLEAR: Final = (
    "the proxy at %s names people over a line that is in clear, so they are not signed in: let people come "
    "to it over https and let it send X-Forwarded-Proto: https, or write [access] allow_plaintext = true"
)


class Ways(Struct, frozen=True, kw_only=True):
    """The ways in that a board has."""

    node: Way[NodeEvidence]
    password: Way[PasswordEvidence]
    oidc: RedirectWay
    proxy: Way[ProxyEvidence]

    def cards(self) -> tuple[WayCard, ...]:
        """Those that are on, in the order of the sign-in card."""
        cards = (self.node.card(), self.password.card(), self.oidc.card(), self.proxy.card())
        return tuple(card for card in cards if card is not None)

    @property
    def take_roles(self) -> bool:
        """Whether a way is on that finds out who somebody is, and takes the role written down here."""
        return any(way.card() is not None for way in (self.oidc, self.proxy))


class PeopleDoor:
    """Makes the identity of everybody who asks, and shows out those who are no longer welcome."""

    def __init__(
        self,
        desk: AccountDesk,
        view: AccountView,
        ways: Ways,
        *,
        run: Run,
        access: AccessPolicy,
        passwords: Passwords,
        has_other_admins: Callable[[], bool] = lambda: False,
        groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
        everybody: str | None = None,
    ) -> None:
        """Make the door.

        `has_other_admins` says whether some are known elsewhere, like at the provider; `groups_of` which
        groups somebody is in; `everybody` who a visitor is in a demo that keeps nothing.
        """
        self._everybody = everybody
        self._groups_of = groups_of
        self._has_other_admins = has_other_admins
        self.desk = desk
        self.passwords = passwords
        self.view = view
        self.ways = ways
        self.run = run
        self.logins = Logins(desk, view, run)
        # How often somebody may sign in from one node.
        self.vouches = RateLimit(per_second=VOUCHES_PER_SECOND, burst=VOUCHES_BURST)
        # How often one address may begin to sign in by the provider.
        self.redirects = RateLimit(per_second=REDIRECTS_PER_SECOND, burst=REDIRECTS_BURST)
        self._access = access
        self._log = SeldomLog(log)

    async def identify(self, visitor: Identity, scope: Scope, headers: Headers) -> Identity:
        """Who this visitor is, by token, cookie or proxy; itself where nothing says more."""
        found = await self._identify(visitor, scope, headers)
        if found.person is None:
            return found
        groups = self._groups_of(found.person)
        return replace(found, groups=groups) if groups else found

    async def _identify(self, visitor: Identity, scope: Scope, headers: Headers) -> Identity:
        peer = scope["client"][0] if scope["client"] else None
        token = _bearer(headers)
        if token is not None and is_person_token(token):
            known = await self._find(token)
            scope["state"][BAD_TOKEN] = known is None
            return visitor if known is None else _by_token(visitor, known)
        # A node's is none of a person, and not for here; whatever else it is, it was meant to be one.
        scope["state"][BAD_TOKEN] = token is not None and not is_node_token(token)
        session = scope["state"][BROWSER].session
        found = None if session is None else self.view.session(session)
        if found is not None:
            return _by_session(visitor, found)
        told = self._access.proxy_person(peer, headers)
        if told is not None and scope["state"][BROWSER].needs_https:
            # By this way too: what is shown, and tokens that are made, would cross a network in clear.
            self._log.say(peer, _PROXY_IN_CLEAR, peer)
            return visitor
        return self._by_demo(visitor) if told is None else await self._by_proxy(visitor, told)

    def by_secret(self, visitor: Identity, secret: str) -> Identity:
        """Who this visitor is with the cookie that it gets just now."""
        session = self.view.session(secret)
        return visitor if session is None else _by_session(visitor, session)

    @property
    def has_admin(self) -> bool:
        """Whether somebody can sign in as admin over the web."""
        return self.view.has_admin(by_role=self.ways.take_roles) or self._has_other_admins()

    async def vouch(self, evidence: NodeEvidence, address: str | None) -> Vouched:
        """Whom a node vouches for; what is refused is written down.

        Raises:
            AccessRefused: this is nobody who may come in so.
        """
        try:
            return await self.ways.node.recognise(evidence)
        except AccessRefused as error:
            deed = Deed(
                what="refused", who=evidence.name, way="node", through=evidence.node, address=address,
                detail=str(error),
            )  # fmt: skip
            await self.note(deed)
            raise

    async def check_password(self, evidence: PasswordEvidence) -> Vouched:
        """Whose name and password these are; a wrong one is written down.

        Raises:
            AccessRefused: they are nobody's, or too many were.
        """
        try:
            return await self.ways.password.recognise(evidence)
        except GuessRefused as error:
            if error.wait_seconds is None:
                name = clean_text(evidence.name)
                await self.note(
                    Deed(what="wrong-password", who=name, way="password", address=evidence.address)
                )
            raise

    async def note(self, deed: Deed) -> None:
        """Write down what was done or tried; that the disk fails is said by those whose part it is."""
        try:
            await self.run(lambda: self.desk.note(deed), is_write=True)
        except StorageError as error:
            log.warning("deed not written: what=%s who=%s reason=%s", deed.what, deed.who, error)

    async def watch(self, broadcaster: Broadcaster) -> None:
        """Show out whose session or token has ended, until cancelled."""
        while True:
            self.show_out(broadcaster)
            await asyncio.sleep(WATCH_SECONDS)

    def show_out(self, broadcaster: Broadcaster) -> None:
        """Close the streams of those whose session or token has ended, or is worth less than before."""
        for viewer in broadcaster.people():
            if not self._may_stay(viewer):
                broadcaster.dismiss(viewer, SIGNED_OUT, "signed-out")
            elif viewer.credential:
                self.view.note_use(viewer.credential)

    def _may_stay(self, viewer: Viewer) -> bool:
        if viewer.credential:
            held = viewer.credential
            return self.view.is_good(held) and self.view.role_of(held) == viewer.role
        # By a proxy's word, which nobody takes back: the page comes again, and the proxy says whether it may.
        return viewer.person is None or not self.view.was_removed(viewer.person, viewer.since)

    async def _find(self, token: str) -> PersonToken | None:
        try:
            return await self.view.find_token(token)
        except StorageError:
            return None

    def _by_demo(self, visitor: Identity) -> Identity:
        name = self._everybody
        if name is None:
            return visitor
        shown = f"{name} (demo)"
        return replace(visitor, person=name, display_name=shown, role="user", way="demo", tier="names")

    async def _by_proxy(self, visitor: Identity, told: str) -> Identity:
        try:
            vouched = await self.ways.proxy.recognise(ProxyEvidence(value=told))
        except AccessRefused:
            return visitor
        given = self.view.person(vouched.person)
        role = granted(vouched, given.role if given else None)
        name = given.display_name if given else None
        return replace(
            visitor, person=vouched.person, display_name=name, role=role, way="proxy", tier="names"
        )


def place_of(identity: Identity, browser: str | None = None) -> Place:
    """Where somebody does something from."""
    return Place(address=identity.address, browser=browser)


def deed_of(identity: Identity, what: str, detail: str | None = None) -> Deed:
    """What somebody has done."""
    return Deed(
        what=what,
        who=identity.person,
        way=identity.way,
        through=identity.through,
        address=identity.address,
        detail=detail,
    )


def _by_session(visitor: Identity, session: Session) -> Identity:
    return replace(
        visitor,
        tier="names",
        role=session.role,
        person=session.person,
        display_name=session.display_name,
        way=session.way,
        through=session.through,
        credential=session.id,
        since=session.created_at,
        expires_at=session.expires_at,
    )


def _by_token(visitor: Identity, token: PersonToken) -> Identity:
    sees_names = "read" in token.scopes and is_at_least(token.role, "viewer")
    return replace(
        visitor,
        # Whoever shows a token sees no less than without.
        tier="names" if sees_names else visitor.tier,
        role=token.role,
        person=token.person,
        way="token",
        through=token.through,
        scopes=frozenset(token.scopes),
        credential=token.id,
        since=token.created_at,
        expires_at=token.expires_at,
    )


def _bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
