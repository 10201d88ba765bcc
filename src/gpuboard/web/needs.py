"""What a route needs of whoever asks: each declares it, one place checks it, a test compares the table."""

from typing import Any, Final, Literal, cast

from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException
from litestar.handlers.base import BaseRouteHandler

from gpuboard.accounts.tokens import KnownToken
from gpuboard.model.identity import Identity, Tier
from gpuboard.web.cookies import Browser, is_csrf
from gpuboard.web.problems import CodedException
from gpuboard.wire.people import CSRF_HEADER, NEEDS_ROLE

AnyConnection = ASGIConnection[Any, Any, Any, Any]

# Where a request's state holds who asks.
IDENTITY: Final = "identity"
# Where it holds the node's token that came with it, if that was recognised.
TOKEN: Final = "token"  # noqa: S105 - where it is, not what it is
# Where a route declares what it needs.
NEEDS: Final = "needs"

# Where it holds what is known of the browser.
BROWSER: Final = "browser"
# Where it holds that a personal token came with it which is not good.
BAD_TOKEN: Final = "bad_token"  # noqa: S105 - where it is, not what it is

# Nothing; to be somebody who may see counts, the metrics, or what is booked; a page of ours in a browser; to
# be somebody who has signed in, who may book, or an admin; a node's token; an enrolment code; the key of a
# calendar feed.
Need = Literal[
    "nothing", "counts", "metrics", "bookings", "browser", "person", "book", "admin", "token", "code", "key"
]
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# With a door of their own.
_ELSEWHERE: Final = frozenset({"token", "code", "key"})

NAMES_HINT: Final = (
    "Names are hidden from visitors: sign in, on a node with gpuboard login. Who runs this board shows them "
    "to everybody with "
    '[access] anonymous = "names", or: gpuboard serve --anonymous names'
)


_BAD_TOKEN_WORDS: Final = "This personal token is not good here: it was revoked, is over, or is none."  # noqa: S105 - about one


class CsrfException(PermissionDeniedException):
    """A change that no page of ours in this browser has asked for."""

    code = "csrf"

    def __init__(self) -> None:
        super().__init__(
            "This change did not come from a page of this board: send the token that GET /api/v1/session "
            "gives as X-CSRF-Token, with its cookies; or use a personal token."
        )


def needs(need: Need, **options: object) -> dict[str, object]:
    """The options of a route that needs this."""
    return {NEEDS: need, **options}


def identity_of(connection: AnyConnection) -> Identity:
    """Who asks."""
    return cast("Identity", connection.scope["state"][IDENTITY])


def token_of(connection: AnyConnection) -> KnownToken | None:
    """The node's token that came with it; None: it is not known yet whether that is good."""
    return cast("KnownToken | None", connection.scope["state"].get(TOKEN))


def browser_of(connection: AnyConnection) -> Browser:
    """The browser that asks, as its cookies say."""
    return cast("Browser", connection.scope["state"][BROWSER])


def tier_of(connection: AnyConnection) -> Tier:
    """What may be shown to whoever asks; for routes that need somebody who may see something."""
    identity = identity_of(connection)
    if identity.tier is None:
        raise _nothing_for(identity)
    return identity.tier


def why_nothing_is_shown(connection: AnyConnection) -> str | None:
    """Why whoever asks sees nothing, for a stream, which says it itself; None: something is shown."""
    if is_bad_token(connection):
        return _BAD_TOKEN_WORDS
    identity = identity_of(connection)
    return _nothing_for(identity).detail if identity.tier is None else None


def bookings_tier(connection: AnyConnection) -> Tier:
    """What may be shown of bookings: whoever may book sees that something is, whatever else is hidden."""
    return "counts" if identity_of(connection).tier is None else tier_of(connection)


def check_names(connection: AnyConnection) -> None:
    """Let nobody ask about a person who does not see names.

    Raises:
        HTTPException: this viewer does not.
    """
    if tier_of(connection) == "names":
        return
    if identity_of(connection).person is not None:
        raise PermissionDeniedException("This token does not see names: it lacks the scope read.")
    raise NotAuthorizedException(NAMES_HINT)


def check_needs(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """Let nobody in who lacks what the route needs; those with a door of their own check it there.

    Raises:
        HTTPException: this viewer may not do that.
    """
    # A WebSocket has no method and says it by a close code of its own, which pages understand; and which
    # methods there are is no secret.
    method = connection.scope.get("method", "OPTIONS")
    need = handler.opt.get(NEEDS)
    if method == "OPTIONS" or need in _ELSEWHERE:
        return
    if need != "nothing" and is_bad_token(connection):
        raise NotAuthorizedException(
            _BAD_TOKEN_WORDS,
            headers={"www-authenticate": 'Bearer realm="gpuboard"'},
        )
    _check_presence(connection, need)
    if method not in _READS:
        _check_csrf(connection)
    _check_role(connection, need)


def may_book(identity: Identity) -> bool:
    """Whether somebody may book with what they have shown."""
    return identity.has("user") and "book" in identity.scopes


def is_bad_token(connection: AnyConnection) -> bool:
    """Whether a personal token came along that is not good."""
    return bool(connection.scope["state"].get(BAD_TOKEN))


def _nothing_for(identity: Identity) -> HTTPException:
    if identity.person is not None:
        return PermissionDeniedException("This token is not for reading: it lacks the scope read.")
    return NotAuthorizedException("This board shows nothing to visitors; sign in.")


def _check_presence(connection: AnyConnection, need: object) -> None:
    identity = identity_of(connection)
    has_metrics = identity.person is not None and "metrics" in identity.scopes
    is_let_in = (need == "metrics" and has_metrics) or (need == "bookings" and may_book(identity))
    if need in ("counts", "metrics", "bookings") and not is_let_in:
        tier_of(connection)
    if need in ("person", "book", "admin") and identity.person is None:
        raise NotAuthorizedException("Sign in first.")


def _check_role(connection: AnyConnection, need: object) -> None:
    identity = identity_of(connection)
    if need == "person" and identity.scopes <= {"metrics"}:
        raise PermissionDeniedException("This token is for /metrics alone.")
    if need == "book" and not identity.has("user"):
        told = "Viewers look and do not book; an admin of the board gives the role: gpuboard person role."
        raise CodedException(403, told, code=NEEDS_ROLE)
    if need == "book" and not may_book(identity):
        raise PermissionDeniedException("This is for people who may book; a token needs the scope book.")
    if need == "admin" and not (identity.has("admin") and "admin" in identity.scopes):
        raise PermissionDeniedException("This is for admins.")


def _check_csrf(connection: AnyConnection) -> None:
    # Whoever shows a token means it; cookies, and what a proxy adds, come along by themselves.
    if identity_of(connection).way == "token":
        return
    if not is_csrf(connection.headers.get(CSRF_HEADER), browser_of(connection).secret):
        raise CsrfException
