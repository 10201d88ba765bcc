"""What the API says about people: who somebody is, by which way, with which tokens."""

import re
import secrets
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gpuboard.model.identity import Role, Scope, Tier, WayKind
from gpuboard.model.report import UnixTime
from gpuboard.wire.clean import clean_text, is_blank

# What a browser sends with every change, besides its cookies.
CSRF_HEADER: Final = "x-csrf-token"
# The code of a refusal that no other token helps against: an admin gives the role.
NEEDS_ROLE: Final = "needs-role"
LONGEST_NAME: Final = 64
LONGEST_PASSWORD: Final = 1024
SHORTEST_PASSWORD: Final = 10
# The mark lets people and scanners recognise a token where none should be.
_TOKEN: Final = re.compile(r"gpb_[A-Za-z0-9_-]{43}")
_FEED_KEY: Final = re.compile(r"gpf_[A-Za-z0-9_-]{43}")
_LINK: Final = re.compile(r"[A-Za-z0-9_-]{43}")

LinkKind = Literal["sign-in", "set-up"]
CardKind = Literal["node", "password", "oidc", "proxy"]
Code = Annotated[str, Meta(max_length=128)]
GivenPassword = Annotated[str, Meta(max_length=LONGEST_PASSWORD)]


class WayCard(Struct, frozen=True, kw_only=True):
    """One way in, as the sign-in card shows it."""

    kind: CardKind
    label: str
    # Where a browser goes for it, below the board's address; null: the card itself says what to do.
    href: str | None = None


class SessionView(Struct, frozen=True, kw_only=True):
    """Who somebody is, and how others can sign in."""

    person: str | None
    display_name: str | None
    role: Role
    tier: Tier | None
    way: WayKind | None
    through: str | None
    since: UnixTime | None
    expires_at: UnixTime | None
    # To be sent with every change, as X-CSRF-Token.
    csrf: str
    # The ways that are on, in the order of the card.
    ways: tuple[WayCard, ...]
    # Signing in is refused here: the line is in clear beyond this machine.
    needs_https: bool
    # The admin allows it all the same.
    plaintext_allowed: bool
    has_admin: bool


class LinkView(Struct, frozen=True, kw_only=True):
    """What a one-time link is for; to look does not use it up."""

    person: str
    through: str | None
    kind: LinkKind
    expires_at: float


class LinkUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A one-time link's code, to be used up."""

    code: Code


class PasswordSignIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name and its password."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME)]
    password: GivenPassword


class SetUp(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set-up link's code, and the password that its account gets."""

    code: Code
    password: GivenPassword


class SignOut(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to sign out: here, or wherever this person is signed in."""

    everywhere: bool = False


class OpenSession(Struct, frozen=True, kw_only=True):
    """One browser in which somebody is signed in."""

    id: str
    way: WayKind
    through: str | None
    created_at: float
    last_used_at: float
    address: str | None
    is_this: bool


class TokenWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A personal token that somebody wants."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    # Null: it has no end.
    expires_in_seconds: Annotated[float, Meta(gt=0, le=3660 * 86400)] | None = None


class TokenView(Struct, frozen=True, kw_only=True):
    """One personal token; the token itself is shown once, when it is made."""

    id: str
    person: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: float
    last_used_at: float | None
    expires_at: float | None
    token: str | None = None


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Who did what, by which way, from where."""

    id: str
    at: float
    who: str | None
    what: str
    way: str | None
    through: str | None
    address: str | None
    detail: str | None


def make_person_token() -> str:
    """A new personal token."""
    return f"gpb_{secrets.token_urlsafe(32)}"


def is_person_token(text: str) -> bool:
    """Whether this has the form of a personal token."""
    return _TOKEN.fullmatch(text) is not None


def make_feed_key() -> str:
    """The key of a new calendar feed: no personal token, so that it opens nothing else."""
    return f"gpf_{secrets.token_urlsafe(32)}"


def is_feed_key(text: str) -> bool:
    """Whether this has the form of a calendar feed's key."""
    return _FEED_KEY.fullmatch(text) is not None


def make_link_code() -> str:
    """The secret of a new one-time link."""
    return secrets.token_urlsafe(32)


def is_link_code(text: str) -> bool:
    """Whether this has the form of a one-time link's code."""
    return _LINK.fullmatch(text) is not None


def person_name(text: str) -> str | None:
    """A person's name as the board writes it; None if it cannot be one."""
    name = clean_text(text.strip())
    return None if is_blank(name) or len(name) > LONGEST_NAME else name
