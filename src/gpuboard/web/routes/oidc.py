"""Signing in by the provider: away to it, and back."""

import logging
import secrets
import time
from functools import partial
from typing import Final

from litestar import Response, get
from litestar.exceptions import TooManyRequestsException
from msgspec.structs import replace

from gpuboard.accounts.audit import Deed
from gpuboard.accounts.sessions import LONGEST_SECONDS
from gpuboard.accounts.ways.base import OidcEvidence
from gpuboard.model.errors import AccessRefused, NewcomerRefused, OutsideError, StorageError
from gpuboard.web.cookies import browser_cookie, session_cookie
from gpuboard.web.needs import browser_of, identity_of, needs
from gpuboard.web.people import deed_of, place_of
from gpuboard.web.public_url import public_url
from gpuboard.web.routes.session import NO_STORE, AnyRequest, people_door
from gpuboard.web.services import Services
from gpuboard.wire.clean import clean_text

log = logging.getLogger(__name__)

CALLBACK_PATH: Final = "sign-in/oidc/callback"
MAX_LENGTH: Final = 4096
# Relative, so that a proxy may put the board wherever it likes.
_TOP: Final = "../"


@get("/sign-in/oidc", include_in_schema=False, opt=needs("nothing"))
async def begin(request: AnyRequest, services: Services, base_path: str) -> Response[None]:
    """Send a browser to the provider."""
    door, browser = people_door(services), browser_of(request)
    cookies = []
    if browser.secret is None:
        browser = replace(browser, secret=secrets.token_urlsafe(32))
        cookies.append(browser_cookie(browser, browser.secret or ""))
    here = public_url(request, services.access, base_path)
    if browser.needs_https:
        return _back(_TOP, "needs-https")
    if not door.redirects.admits(identity_of(request).address or "?", time.monotonic()):
        raise TooManyRequestsException("Too many sign in from your address at once; wait a moment.")
    try:
        address = await door.ways.oidc.begin(
            browser=browser.digest or "",
            redirect_uri=f"{here}{CALLBACK_PATH}",
            goes_to=_inside(_said(request, "next")),
        )
    except AccessRefused:
        return _back(_TOP, "oidc-off")
    except OutsideError as error:
        log.warning("provider not reached: reason=%s", error)
        return _back(_TOP, "oidc-away")
    return Response(None, status_code=302, headers={**NO_STORE, "location": address}, cookies=cookies)


@get("/sign-in/oidc/callback", include_in_schema=False, opt=needs("nothing"))
async def come_back(request: AnyRequest, services: Services) -> Response[None]:
    """Take somebody in whom the provider sends back."""
    door, browser, identity = people_door(services), browser_of(request), identity_of(request)
    place, state = place_of(identity, browser.digest), _said(request, "state")
    goes_to = door.ways.oidc.goes_to(state)
    evidence = OidcEvidence(
        code=_said(request, "code"),
        state=state,
        browser=browser.digest or "",
        error=clean_text(_said(request, "error")),
    )
    try:
        vouched = await door.ways.oidc.recognise(evidence)
        _, secret = await door.run(partial(door.desk.sign_in, vouched, place), is_write=True)
        if identity.credential is not None and identity.way != "token":
            deed = deed_of(identity, "sign-out", "another signs in here")
            await door.run(partial(door.desk.end_session, identity.credential, deed), is_write=True)
        await door.view.look()
    except AccessRefused as refused:
        # Whom the provider knows and this board refuses is told why: to try again does not help.
        who, code = None, "oidc-refused"
        if isinstance(refused, NewcomerRefused):
            who, code = refused.name, refused.code
        deed = Deed(what="refused", who=who, way="oidc", address=identity.address, detail=str(refused))
        await door.note(deed)
        return _back("../../", code)
    except (OutsideError, StorageError) as failed:
        log.warning("provider not asked: reason=%s", failed)
        return _back("../../", "oidc-away")
    cookie = session_cookie(browser, secret, seconds=LONGEST_SECONDS)
    headers = {**NO_STORE, "location": f"../../{goes_to.lstrip('/')}"}
    return Response(None, status_code=302, headers=headers, cookies=[cookie])


def _said(request: AnyRequest, name: str) -> str:
    """What stands in the address; read here, for the framework's ways to name it differ by version."""
    return str(request.query_params.get(name, ""))[:MAX_LENGTH]


def _inside(path: str) -> str:
    """A place on this board, and nowhere else."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours and ".." not in path else "/"


def _back(top: str, problem: str) -> Response[None]:
    """To the sign-in card, which says what went wrong."""
    headers = {**NO_STORE, "location": f"{top}sign-in?problem={problem}"}
    return Response(None, status_code=302, headers=headers)


ROUTES: Final = (begin, come_back)
