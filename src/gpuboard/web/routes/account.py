"""What somebody has here: open sessions and personal tokens; and for admins, who did what."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

from litestar import Response, delete, get, post
from litestar.exceptions import (
    ClientException,
    NotFoundException,
    PermissionDeniedException,
    ValidationException,
)
from litestar.params import Parameter

from gpuboard.accounts.audit import is_deed_id
from gpuboard.accounts.records import PersonToken, Vouched
from gpuboard.model.errors import StorageError, UsageError
from gpuboard.model.identity import ROLE_FOR, Identity
from gpuboard.web.bodies import check_keys
from gpuboard.web.needs import needs
from gpuboard.web.people import deed_of
from gpuboard.web.problems import problems
from gpuboard.web.routes.session import (
    FORM,
    NO_STORE,
    AnyRequest,
    manager,
    origin_of,
    people_door,
    reach_of,
    refusal,
)
from gpuboard.web.services import Services
from gpuboard.wire.people import AuditEntry, OpenSession, TokenView, TokenWish, person_name

MAX_ENTRIES: Final = 500
# What a token's scope asks of its owner.


@get(
    "/api/v1/sessions", summary="Where I am signed in", opt=needs("person"), responses=problems(401, 403, 503)
)
async def get_sessions(request: AnyRequest, services: Services) -> Response[Sequence[OpenSession]]:
    """All browsers in which I am signed in, the newest first."""
    view, identity = people_door(services).view, manager(services, request)
    found = [
        OpenSession(
            id=one.id,
            way=one.way,
            through=one.through,
            created_at=one.created_at,
            last_used_at=view.last_used_at(one),
            address=one.address,
            is_this=one.id == identity.credential,
        )
        for one in view.sessions_of(identity.person or "", way=reach_of(people_door(services), identity))
    ]
    return Response(found, headers=NO_STORE)


@delete(
    "/api/v1/sessions/{ident:str}",
    summary="Sign out elsewhere",
    opt=needs("person"),
    responses=problems(401, 403, 404, 503),
)
async def delete_session(request: AnyRequest, services: Services, ident: str) -> None:
    """End one of my sessions."""
    door, identity = people_door(services), manager(services, request)
    deed = deed_of(identity, "sign-out", "from another browser")
    try:
        is_gone = await door.run(
            partial(door.desk.end_session, ident, deed, way=reach_of(door, identity)), is_write=True
        )
        await door.view.look()
    except StorageError as error:
        raise refusal(error) from None
    if not is_gone:
        raise NotFoundException("You have no such session.")
    door.show_out(services.broadcaster)


@get(
    "/api/v1/tokens",
    summary="My tokens",
    opt=needs("person"),
    responses=problems(400, 401, 403, 503),
)
async def get_tokens(
    request: AnyRequest,
    services: Services,
    *,
    all: Annotated[bool, Parameter(description="Everybody's, for admins.")] = False,  # noqa: A002 - the parameter's name
) -> Response[Sequence[TokenView]]:
    """My personal tokens; never the tokens themselves."""
    view, identity = people_door(services).view, manager(services, request)
    if all and not _is_admin(identity):
        raise PermissionDeniedException("Other people's tokens are for admins.")
    whose = None if all else identity.person
    tokens = view.tokens_of(whose, way=reach_of(people_door(services), identity))
    found = [_shown(one, view.token_used_at(one)) for one in tokens]
    return Response(found, headers=NO_STORE)


@post(
    "/api/v1/tokens",
    summary="Make a token",
    opt=needs("person"),
    responses=problems(400, 401, 403, 413, 503),
    **FORM,
)
async def post_token(request: AnyRequest, services: Services, data: TokenWish) -> Response[TokenView]:
    """Make a personal token; it is shown this once."""
    await check_keys(request)
    door, identity = people_door(services), manager(services, request)
    _check_wish(identity, data)
    name = person_name(data.name)
    if name is None:
        raise ClientException("name: write what the token is for.")
    # Whoever has it may do no more than the session it comes from, however that came about.
    vouched = Vouched(person=identity.person or "", way=origin_of(door, identity), through=identity.through)
    make = partial(
        door.desk.add_token,
        vouched,
        identity.role,
        name=name,
        scopes=data.scopes,
        seconds=data.expires_in_seconds,
        deed=deed_of(identity, "token-made"),
    )
    try:
        made, token = await door.run(make, is_write=True)
        await door.view.look()
    except UsageError as error:
        raise ClientException(str(error)) from None
    except StorageError as error:
        raise refusal(error) from None
    return Response(_shown(made, None, token), status_code=201, headers=NO_STORE)


@delete(
    "/api/v1/tokens/{ident:str}",
    summary="Revoke a token",
    opt=needs("person"),
    responses=problems(401, 403, 404, 503),
)
async def delete_token(request: AnyRequest, services: Services, ident: str) -> None:
    """Revoke one of my tokens; admins revoke anybody's."""
    door, identity = people_door(services), manager(services, request)
    whose = None if _is_admin(identity) else identity.person
    deed = deed_of(identity, "token-revoked")
    try:
        end = partial(door.desk.end_token, ident, deed, person=whose, way=reach_of(door, identity))
        gone = await door.run(end, is_write=True)
        await door.view.look()
    except StorageError as error:
        raise refusal(error) from None
    if gone is None:
        raise NotFoundException("There is no such token.")
    door.show_out(services.broadcaster)


@get("/api/v1/audit", summary="Who did what", opt=needs("admin"), responses=problems(400, 401, 403, 503))
async def get_audit(
    services: Services,
    limit: Annotated[int, Parameter(ge=1, le=MAX_ENTRIES, description="How many.")] = 100,
    before: Annotated[
        str | None, Parameter(max_length=64, description="The id of an entry: those before it.")
    ] = None,
) -> Response[Sequence[AuditEntry]]:
    """The newest first: who did what, by which way, from where."""
    if before is not None and not is_deed_id(before):
        raise ValidationException("before: write the id of an entry, as this tells it")
    door = people_door(services)
    try:
        found = await door.run(partial(door.desk.deeds, limit=limit, before=before))
    except StorageError as error:
        raise refusal(error) from None
    return Response(found, headers=NO_STORE)


def _check_wish(identity: Identity, wish: TokenWish) -> None:
    for scope in wish.scopes:
        if not identity.has(ROLE_FOR[scope]) or scope not in identity.scopes | {"metrics"}:
            raise PermissionDeniedException(f"You may not give the scope {scope}.")


def _is_admin(identity: Identity) -> bool:
    return identity.has("admin") and "admin" in identity.scopes


def _shown(one: PersonToken, used_at: float | None, token: str | None = None) -> TokenView:
    return TokenView(
        id=one.id,
        person=one.person,
        name=one.name,
        scopes=one.scopes,
        created_at=one.created_at,
        last_used_at=used_at,
        expires_at=one.expires_at,
        token=token,
    )


ROUTES: Final = (
    get_sessions,
    delete_session,
    get_tokens,
    post_token,
    delete_token,
    get_audit,
)
