"""The board's cookies: one that says which browser it is, one that says who is signed in."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from litestar.datastructures import Cookie, Headers
from msgspec import Struct

from gpuboard.wire.enrolment import digest

SESSION: Final = "gpuboard-session"
BROWSER: Final = "gpuboard-browser"
# As long as browsers keep any.
BROWSER_SECONDS: Final = 400 * 86400
_SECRET_LENGTH: Final = 43
_MAX_BYTES: Final = 16 * 1024


class Browser(Struct, frozen=True, kw_only=True):
    """A browser as its cookies say, and how its line is."""

    host: str
    is_secure: bool
    # Nobody may sign in over this line.
    needs_https: bool
    # The cookie that says which browser it is; None: it has none yet.
    secret: str | None = None
    # The one that says who is signed in.
    session: str | None = None

    @property
    def digest(self) -> str | None:
        """What is stored of which browser it is."""
        return None if self.secret is None else digest(self.secret)


def read_browser(headers: Headers, *, is_secure: bool, needs_https: bool) -> Browser:
    """The browser that a request comes from."""
    host: str = headers.get("host", "")
    return Browser(
        host=host,
        is_secure=is_secure,
        needs_https=needs_https,
        secret=read_cookie(headers, cookie_name(BROWSER, host, is_secure=is_secure)),
        session=read_cookie(headers, cookie_name(SESSION, host, is_secure=is_secure)),
    )


def browser_cookie(browser: Browser, secret: str) -> Cookie:
    """The cookie by which a browser is known again."""
    name = cookie_name(BROWSER, browser.host, is_secure=browser.is_secure)
    return make_cookie(name, secret, seconds=BROWSER_SECONDS, is_secure=browser.is_secure)


def session_cookie(browser: Browser, secret: str, *, seconds: float) -> Cookie:
    """The cookie by which a browser is signed in; with no secret, no longer."""
    name = cookie_name(SESSION, browser.host, is_secure=browser.is_secure)
    return make_cookie(name, secret, seconds=seconds, is_secure=browser.is_secure)


def cookie_name(name: str, host: str | None, *, is_secure: bool) -> str:
    """What a cookie is called here.

    Cookies are shared by all ports of a host, so a port is part of the name. Over TLS a name with this prefix
    can come from this very host alone.
    """
    _, separator, port = (host or "").rpartition(":")
    suffix = f"-{port}" if separator and port.isdigit() else ""
    return f"{'__Host-' if is_secure else ''}{name}{suffix}"


def read_cookie(headers: Mapping[str, str], name: str) -> str | None:
    """A secret in a cookie; None where there is none of that form."""
    text = headers.get("cookie", "")
    if len(text) > _MAX_BYTES or name not in text:
        return None
    for part in text.split(";"):
        found, _, value = part.strip().partition("=")
        if found == name and len(value) == _SECRET_LENGTH and value.isascii():
            return value
    return None


def make_cookie(name: str, value: str, *, seconds: float, is_secure: bool) -> Cookie:
    """A cookie that scripts cannot read; with no value, one that is gone."""
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=int(seconds) if value else 0,
        secure=is_secure,
        httponly=True,
        samesite="lax",
    )


def csrf_of(browser: str) -> str:
    """What a page has to send with every change: only who reads our answers to this browser can know it."""
    told = hashlib.sha256(f"gpuboard csrf {browser}".encode()).digest()
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def is_csrf(given: str | None, browser: str | None) -> bool:
    """Whether a change comes from a page of ours in this browser."""
    if not given or browser is None:
        return False
    return hmac.compare_digest(given.encode("utf-8", "replace"), csrf_of(browser).encode())
