"""What is known of people who sign in, as values."""

from collections.abc import Iterable

from msgspec import Struct

from gpuboard.model.identity import Role, Scope, WayKind, at_most, is_at_least
from gpuboard.wire.people import LinkKind


class Vouched(Struct, frozen=True, kw_only=True):
    """Who somebody is, as one way in has found out."""

    person: str
    way: WayKind
    role: Role = "user"
    display_name: str | None = None
    # The node that says so.
    through: str | None = None
    groups: tuple[str, ...] = ()
    # How long this may be believed; None: as long as any session lasts.
    good_seconds: float | None = None


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who has an account here, or a role that was given here."""

    name: str
    role: Role
    display_name: str | None
    password: str | None
    created_at: float


class Session(Struct, frozen=True, kw_only=True):
    """A browser that is signed in."""

    id: str
    digest: str
    earlier_digest: str | None
    exchanged_at: float
    person: str
    role: Role
    display_name: str | None
    way: WayKind
    through: str | None
    address: str | None
    created_at: float
    last_used_at: float
    expires_at: float


class PersonToken(Struct, frozen=True, kw_only=True):
    """What a person's program shows."""

    id: str
    digest: str
    person: str
    role: Role
    name: str
    kind: str
    scopes: tuple[Scope, ...]
    way: WayKind
    through: str | None
    created_at: float
    last_used_at: float | None
    expires_at: float | None


class Link(Struct, frozen=True, kw_only=True):
    """A one-time link."""

    digest: str
    kind: LinkKind
    person: str
    role: Role
    way: WayKind
    through: str | None
    created_at: float
    expires_at: float
    used_at: float | None


class Place(Struct, frozen=True, kw_only=True):
    """Where something is done from: the address, and the browser by its cookie's digest."""

    address: str | None = None
    browser: str | None = None


def has_admin(people: Iterable[Person], *, by_role: bool) -> bool:
    """Whether any can come in as admin: by a password, or `by_role` alone where another way asks for that."""
    return any(one.role == "admin" and (by_role or one.password is not None) for one in people)


def granted(vouched: Vouched, given: Role | None) -> Role:
    """The role that somebody gets by this way; `given` is the one written down here for that name.

    A node is believed for users at most, whatever role that person has elsewhere. Whoever is root on the
    board's own machine needs nobody to give a role.
    """
    if vouched.way == "node":
        return at_most(given or "user", "user")
    if given is None or vouched.role == "admin":
        return at_most(vouched.role, "admin")
    if vouched.way == "oidc":
        return given if is_at_least(given, vouched.role) else vouched.role
    return given
