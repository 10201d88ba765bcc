"""Who asks, as a value: found out once, at the guard, and taken as it is by rules and routes."""

from typing import Final, Literal, get_args

from msgspec import Struct

from gpuboard.model.verdict import MAINTENANCE

# What a viewer may see: everything, or verdicts and figures without names.
Tier = Literal["names", "counts"]
# What somebody may do; each may also do what stands before it.
Role = Literal["anonymous", "viewer", "user", "admin"]
# How it was found out who somebody is.
# `demo`: it is invented, like all that is shown there.
WayKind = Literal["node", "socket", "password", "oidc", "proxy", "token", "demo"]
# What a personal token is good for.
Scope = Literal["read", "book", "metrics", "admin"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
ALL_SCOPES: Final[frozenset[Scope]] = frozenset(SCOPES)
# Who may give a token of a scope, and make use of one.
ROLE_FOR: Final[dict[Scope, Role]] = {"read": "viewer", "metrics": "viewer", "book": "user", "admin": "admin"}


# Whoever is nobody: what files and processes of strangers are given to.
_NOBODY_UIDS: Final = frozenset({0xFFFE, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF})
# Names that no person has: what they do is counted as nobody's.
_NOBODYS: Final = frozenset({"root", "nobody", "unknown", MAINTENANCE})


def is_system_account(uid: int, first_person_uid: int) -> bool:
    """Whether an account of a machine is root's, the system's or nobody's, and so no person's."""
    return uid == 0 or uid < first_person_uid or uid in _NOBODY_UIDS


def is_nobodys_name(name: str) -> bool:
    """Whether a name is root's, the system's, or stands for nobody known: no person's."""
    return name.casefold() in _NOBODYS


def is_at_least(role: Role, wanted: Role) -> bool:
    """Whether a role includes another."""
    return ROLES.index(role) >= ROLES.index(wanted)


def at_most(role: Role, limit: Role) -> Role:
    """The lower of two roles."""
    return limit if is_at_least(role, limit) else role


class Identity(Struct, frozen=True, kw_only=True):
    """One who asks."""

    # Where it comes from, as far as that can be believed; for the log and for counting failures.
    address: str | None
    # The address whose visits and pages are counted; None: it is not limited.
    counted_as: str | None
    # What it may see; None: nothing.
    tier: Tier | None
    role: Role = "anonymous"
    # Who it is; None: nobody who has signed in.
    person: str | None = None
    display_name: str | None = None
    way: WayKind | None = None
    # The node that vouched for it.
    through: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[Scope] = ALL_SCOPES
    # What it showed: the session's or the token's public name; None: nothing that could be revoked.
    credential: str | None = None
    since: float | None = None
    expires_at: float | None = None

    def has(self, role: Role) -> bool:
        """Whether it is somebody of at least this role."""
        return self.person is not None and is_at_least(self.role, role)
