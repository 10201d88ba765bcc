"""Who somebody is, signing in and out."""

import math
import secrets
from functools import partial
from typing import Annotated, Any, Final

from litestar import MediaType, Request, Response, get, post
from litestar.exceptions import (
    NotFoundException,
    PermissionDeniedException,
    ServiceUnavailableException,
    TooManyRequestsException,
)
from litestar.params import HeaderParameter
from msgspec.structs import replace

from gpuboard.accounts.desk import SessionSecret
from gpuboard.accounts.passwords import BusyError, check_new_password
from gpuboard.accounts.sessions import EXCHANGE_SECONDS, LONGEST_SECONDS
from gpuboard.accounts.ways.base import PasswordEvidence
from gpuboard.model.errors import (
    AccessRefused,
    GuessRefused,
    LinkRefused,
    StorageError,
    UsageError,
)
from gpuboard.model.identity import Identity, WayKind
from gpuboard.web.bodies import check_keys
from gpuboard.web.cookies import Browser, browser_cookie, csrf_of, session_cookie
from gpuboard.web.limits import MAX_FORM_BYTES
from gpuboard.web.needs import browser_of, identity_of, needs
from gpuboard.web.people import PeopleDoor, deed_of, place_of
from gpuboard.web.problems import CodedException, problems, too_deep_problem
from gpuboard.web.services import Services
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.people import LinkUse, LinkView, PasswordSignIn, SessionView, SetUp, SignOut

AnyRequest = Request[Any, Any, Any]

NO_STORE: Final = {"cache-control": "no-store"}
FORM: Final[dict[str, Any]] = {
    "request_max_body_size": MAX_FORM_BYTES,
    "media_type": MediaType.JSON,
    "exception_handlers": {RecursionError: too_deep_problem},
}
_GONE: Final = frozenset({"link-used", "link-over"})


@get("/api/v1/session", summary="Who I am", opt=needs("nothing"), responses=problems())
async def get_session(request: AnyRequest, services: Services) -> Response[SessionView]:
    """Who asks, the ways to sign in, and what a page has to send with every change."""
    browser, identity = browser_of(request), identity_of(request)
    cookies = []
    if browser.secret is None:
        browser = replace(browser, secret=secrets.token_urlsafe(32))
        cookies.append(browser_cookie(browser, browser.secret or ""))
    exchanged = await _exchange(services, identity, browser)
    if exchanged is not None:
        cookies.append(session_cookie(browser, exchanged, seconds=LONGEST_SECONDS))
    return Response(view_of(services, identity, browser), headers=NO_STORE, cookies=cookies)


@get(
    "/api/v1/session/link",
    summary="What a one-time link is for",
    opt=needs("nothing"),
    responses=problems(400, 404, 410, 503),
)
async def get_link(
    services: Services,
    code: Annotated[str, HeaderParameter(name="x-link-code", max_length=128, description="The link's code.")],
) -> Response[LinkView]:
    """Whom a link would sign in; it is not used up, so a chat that looks at links harms nobody.

    The code is no part of the address: those stand in the logs of proxies.
    """
    door = people_door(services)
    try:
        link = await door.run(partial(door.desk.read_link, code))
    except (LinkRefused, StorageError) as error:
        raise refusal(error) from None
    view = LinkView(person=link.person, through=link.through, kind=link.kind, expires_at=link.expires_at)
    return Response(view, headers=NO_STORE)


@post(
    "/api/v1/session/link",
    summary="Sign in by a one-time link",
    opt=needs("browser"),
    status_code=200,
    responses=problems(400, 403, 404, 409, 410, 413, 503),
    **FORM,
)
async def post_link(request: AnyRequest, services: Services, data: LinkUse) -> Response[SessionView]:
    """Use a link up: this browser is signed in."""
    door = await opened(request, services)
    place = place_of(identity_of(request), browser_of(request).digest)
    try:
        made = await door.run(partial(door.desk.sign_in_by_link, data.code, place), is_write=True)
    except (LinkRefused, StorageError) as error:
        raise refusal(error) from None
    return await signed_in(request, services, made)


@post(
    "/api/v1/session/password",
    summary="Sign in by name and password",
    opt=needs("browser"),
    status_code=200,
    responses=problems(400, 401, 403, 413, 429, 503),
    **FORM,
)
async def post_password(
    request: AnyRequest, services: Services, data: PasswordSignIn
) -> Response[SessionView]:
    """Sign in to an account of the board's own."""
    door = await opened(request, services)
    place = place_of(identity_of(request), browser_of(request).digest)
    evidence = PasswordEvidence(
        name=data.name.strip(), password=data.password, address=place.address, browser=place.browser
    )
    try:
        vouched = await door.check_password(evidence)
        made = await door.run(partial(door.desk.sign_in, vouched, place), is_write=True)
    except GuessRefused as error:
        raise _wrong(error) from None
    except AccessRefused as error:
        raise PermissionDeniedException(str(error)) from None
    except BusyError as error:
        raise TooManyRequestsException(str(error), headers={"retry-after": "2"}) from None
    except StorageError as error:
        raise refusal(error) from None
    return await signed_in(request, services, made)


@post(
    "/api/v1/session/setup",
    summary="Set up an account",
    opt=needs("browser"),
    status_code=200,
    responses=problems(400, 403, 404, 410, 413, 429, 503),
    **FORM,
)
async def post_set_up(request: AnyRequest, services: Services, data: SetUp) -> Response[SessionView]:
    """Use a set-up link up: its account gets this password, and this browser is signed in."""
    door = await opened(request, services)
    place = place_of(identity_of(request), browser_of(request).digest)
    try:
        # Looked at first: a stranger's code costs no hash.
        link = await door.run(partial(door.desk.read_link, data.code))
        check_new_password(data.password, link.person)
        hashed = await door.passwords.hash(data.password)
        made = await door.run(partial(door.desk.set_up, data.code, hashed, place), is_write=True)
    except (LinkRefused, StorageError) as error:
        raise refusal(error) from None
    except BusyError as error:
        raise TooManyRequestsException(str(error), headers={"retry-after": "2"}) from None
    except UsageError as error:
        raise CodedException(400, str(error), code="bad-password") from None
    return await signed_in(request, services, made)


@post(
    "/api/v1/session/sign-out",
    summary="Sign out",
    opt=needs("person"),
    status_code=204,
    responses=problems(400, 401, 403, 413, 503),
    request_max_body_size=MAX_FORM_BYTES,
    exception_handlers={RecursionError: too_deep_problem},
)
async def sign_out(request: AnyRequest, services: Services, data: SignOut) -> Response[None]:
    """End this session or token; or all sessions, and the tokens of all command lines."""
    door = people_door(services)
    identity = manager(services, request) if data.everywhere else identity_of(request)
    deed = deed_of(identity, "sign-out", "everywhere" if data.everywhere else None)
    try:
        if data.everywhere:
            end_all = partial(door.desk.end_everything, deed, way=reach_of(door, identity))
            await door.run(end_all, is_write=True)
        elif identity.way == "token" and identity.credential:
            end = partial(door.desk.end_token, identity.credential, deed, person=identity.person)
            await door.run(end, is_write=True)
        elif identity.credential:
            await door.run(partial(door.desk.end_session, identity.credential, deed), is_write=True)
        await door.view.look()
    except StorageError as error:
        raise refusal(error) from None
    door.show_out(services.broadcaster)
    gone = session_cookie(browser_of(request), "", seconds=0)
    return Response(None, status_code=204, cookies=[gone] if identity.way != "token" else [])


def people_door(services: Services) -> PeopleDoor:
    """The door for people, where there is one."""
    if services.people is None:
        raise ServiceUnavailableException("This board has no usable database, so nobody can sign in.")
    return services.people


def manager(services: Services, request: AnyRequest) -> Identity:
    """Who asks, if they may manage what somebody has here: sessions and tokens.

    Raises:
        PermissionDeniedException: it is a token of neither its owner's terminal nor an admin.
    """
    identity = identity_of(request)
    is_login = people_door(services).view.is_login(identity.credential or "")
    if identity.way == "token" and not is_login and "admin" not in identity.scopes:
        raise PermissionDeniedException("This token may not manage sessions and tokens: sign in.")
    return identity


def origin_of(door: PeopleDoor, identity: Identity) -> WayKind:
    """The way by which it was found out who somebody is, also behind a token."""
    if identity.way == "token":
        return door.view.way_of(identity.credential or "") or "token"
    return identity.way or "token"


def reach_of(door: PeopleDoor, identity: Identity) -> WayKind | None:
    """The only way whose sessions and tokens somebody may see and end; None: all of that person's."""
    # Root of a node is any of its users there: what a person has by another way is out of its reach.
    return "node" if origin_of(door, identity) == "node" else None


async def opened(request: AnyRequest, services: Services) -> PeopleDoor:
    """The door for people, for one who may sign in over this line."""
    await check_keys(request)
    if browser_of(request).needs_https:
        raise CodedException(
            403,
            "Signing in needs https: this line is in clear. Whoever runs this board can give it a "
            "certificate, list its proxy in [access] trusted_proxies, or write [access] "
            "allow_plaintext = true.",
            code="needs-https",
        )
    return people_door(services)


async def signed_in(request: AnyRequest, services: Services, made: SessionSecret) -> Response[SessionView]:
    """The answer to somebody who has just signed in; who was signed in here before no longer is."""
    door, browser = people_door(services), browser_of(request)
    _, secret = made
    before = identity_of(request)
    try:
        if before.credential is not None and before.way != "token":
            deed = deed_of(before, "sign-out", "another signs in here")
            await door.run(partial(door.desk.end_session, before.credential, deed), is_write=True)
        await door.view.look()
    except StorageError as error:
        raise refusal(error) from None
    door.show_out(services.broadcaster)
    identity = door.by_secret(before, secret)
    cookies = [session_cookie(browser, secret, seconds=LONGEST_SECONDS)]
    return Response(view_of(services, identity, browser), headers=NO_STORE, cookies=cookies)


def view_of(services: Services, identity: Identity, browser: Browser) -> SessionView:
    """What a page hears of whoever looks at it."""
    door = services.people
    return SessionView(
        person=identity.person,
        display_name=identity.display_name,
        role=identity.role,
        tier=identity.tier,
        way=identity.way,
        through=identity.through,
        since=identity.since,
        expires_at=identity.expires_at,
        csrf=csrf_of(browser.secret or ""),
        ways=() if door is None else door.ways.cards(),
        needs_https=browser.needs_https,
        plaintext_allowed=services.access.allow_plaintext and not browser.is_secure,
        has_admin=door is not None and door.has_admin,
    )


def refusal(error: LinkRefused | StorageError) -> Exception:
    """Why something was not done, as an answer."""
    if isinstance(error, StorageError):
        return StorageUnavailable(error)
    if error.code in _GONE:
        return CodedException(410, str(error), code=error.code)
    if error.code == "needs-password":
        return CodedException(409, str(error), code=error.code)
    return NotFoundException(str(error))


def _wrong(error: GuessRefused) -> Exception:
    if error.wait_seconds is None:
        return CodedException(401, str(error), code="wrong-password")
    after = {"retry-after": str(math.ceil(error.wait_seconds))}
    return CodedException(429, str(error), code="too-many-guesses", headers=after)


async def _exchange(services: Services, identity: Identity, browser: Browser) -> str | None:
    """Another secret for a session whose one is old; None: it keeps it."""
    door = services.people
    session = None if door is None or browser.session is None else door.view.session(browser.session)
    if door is None or session is None or session.id != identity.credential:
        return None
    if services.fleet.clock.now() - session.exchanged_at < EXCHANGE_SECONDS:
        return None
    try:
        secret = await door.run(partial(door.desk.exchange, session), is_write=True)
        await door.view.look()
    except StorageError:
        # The old one is still good.
        return None
    return secret


ROUTES: Final = (get_session, get_link, post_link, post_password, post_set_up, sign_out)
