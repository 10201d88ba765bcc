"""What a route needs of whoever asks: each declares it, one place checks it, a test compares the table."""

from typing import Any, Final, Literal, cast

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException
from litestar.handlers.base import BaseRouteHandler

from gpuboard.accounts.tokens import KnownToken
from gpuboard.model.identity import Identity, Tier

AnyConnection = ASGIConnection[Any, Any, Any, Any]

# Where a request's state holds who asks.
IDENTITY: Final = "identity"
# Where it holds the node's token that came with it, if that was recognised.
TOKEN: Final = "token"  # noqa: S105 - where it is, not what it is
# Where a route declares what it needs.
NEEDS: Final = "needs"

# Nothing; to be somebody who may see counts; a node's token; an enrolment code.
Need = Literal["nothing", "counts", "token", "code"]


def needs(need: Need, **options: object) -> dict[str, object]:
    """The options of a route that needs this."""
    return {NEEDS: need, **options}


def identity_of(connection: AnyConnection) -> Identity:
    """Who asks."""
    return cast("Identity", connection.scope["state"][IDENTITY])


def token_of(connection: AnyConnection) -> KnownToken | None:
    """The node's token that came with it; None: it is not known yet whether that is good."""
    return cast("KnownToken | None", connection.scope["state"].get(TOKEN))


def tier_of(connection: AnyConnection) -> Tier:
    """What may be shown to whoever asks; for routes that need somebody who may see something."""
    tier = identity_of(connection).tier
    if tier is None:
        raise NotAuthorizedException("This board shows nothing to visitors.")
    return tier


def check_needs(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """Let nobody in who lacks what the route needs; those with a door of their own check it there.

    Raises:
        NotAuthorizedException: this viewer may see nothing.
    """
    # A WebSocket has no method and says it by a close code of its own, which pages understand; and which
    # methods there are is no secret.
    asks = connection.scope.get("method", "OPTIONS") != "OPTIONS"
    if asks and handler.opt.get(NEEDS) == "counts":
        tier_of(connection)
