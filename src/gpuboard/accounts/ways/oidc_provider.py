"""An OpenID Connect provider, asked over HTTPS: what it says of itself, its keys, codes for tokens."""

import base64
import time
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from gpuboard.model.errors import NOT_DECODED, OutsideError
from gpuboard.outside.http import HttpServer, request_bytes
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.secrets import secret_in, tls_by
from gpuboard.settings.access import OidcTable

Kind = TypeVar("Kind")

DEADLINE_SECONDS: Final = 10.0
MAX_BYTES: Final = 512 * 1024
# How long what it says of itself is believed; and how soon keys are asked for again, if one is not known.
KEEP_SECONDS: Final = 3600.0
KEYS_AGAIN_SECONDS: Final = 30.0
# One that was away is asked again so soon.
AGAIN_SECONDS: Final = 5.0
_PORTS: Final = {"http": 80, "https": 443}


class Metadata(Struct, frozen=True, kw_only=True):
    """What a provider says of itself, as far as we need it."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Tokens(Struct, frozen=True, kw_only=True):
    """What it gives for a code."""

    id_token: str
    access_token: str = ""


class OidcProvider:
    """One provider, as the settings name it."""

    def __init__(self, options: OidcTable) -> None:
        self.options = options
        self._resolver = Resolver()
        self._tls = tls_by(options.ca_file)
        self._secret = secret_in(options.client_secret_file) if options.client_secret_file else None
        self._metadata: tuple[float, Metadata] | None = None
        # Why it could not be asked, and when: visitors must not make us ask without end.
        self._failed: tuple[float, OutsideError] | None = None
        self._keys: tuple[float, dict[str, Any]] | None = None

    async def metadata(self) -> Metadata:
        """What it says of itself.

        Raises:
            OutsideError: it does not answer, or is another than the settings name.
        """
        if self._metadata is not None and time.monotonic() - self._metadata[0] < KEEP_SECONDS:
            return self._metadata[1]
        if self._failed is not None and time.monotonic() - self._failed[0] < AGAIN_SECONDS:
            raise self._failed[1]
        try:
            found = await self._ask_metadata()
        except OutsideError as error:
            self._failed = (time.monotonic(), error)
            raise
        self._metadata, self._failed = (time.monotonic(), found), None
        return found

    async def _ask_metadata(self) -> Metadata:
        issuer = self.options.issuer
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        found = self._decode(await self._ask("GET", url), Metadata, url)
        if found.issuer != issuer:
            text = f"the provider at {url} calls itself {found.issuer!r}; write that as [access.oidc] issuer"
            raise OutsideError(text, code="oidc-issuer")
        return found

    async def keys(self, *, anew: bool = False) -> dict[str, Any]:
        """The keys with which it signs.

        Raises:
            OutsideError: it does not answer.
        """
        patience = KEYS_AGAIN_SECONDS if anew else KEEP_SECONDS
        if self._keys is not None and time.monotonic() - self._keys[0] < patience:
            return self._keys[1]
        url = (await self.metadata()).jwks_uri
        found = self._decode(await self._ask("GET", url), dict[str, Any], url)
        self._keys = (time.monotonic(), found)
        return found

    async def exchange(self, code: str, *, verifier: str, redirect_uri: str) -> Tokens:
        """The tokens for a code.

        Raises:
            OutsideError: it does not answer, or says no.
        """
        found = await self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.options.client_id,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self._secret is not None:
            secret = await self._secret.value()
            if "client_secret_basic" in found.token_endpoint_auth_methods_supported:
                told = base64.b64encode(f"{self.options.client_id}:{secret}".encode()).decode()
                headers["Authorization"] = f"Basic {told}"
            else:
                form["client_secret"] = secret
        body = urlencode(form).encode()
        answer = await self._ask("POST", found.token_endpoint, headers=headers, body=body)
        return self._decode(answer, Tokens, found.token_endpoint)

    async def person(self, access_token: str) -> dict[str, Any]:
        """What it says of whom this token is for; nothing, if it has no such page.

        Raises:
            OutsideError: it does not answer.
        """
        url = (await self.metadata()).userinfo_endpoint
        if url is None or not access_token:
            return {}
        answer = await self._ask("GET", url, headers={"Authorization": f"Bearer {access_token}"})
        return self._decode(answer, dict[str, Any], url)

    async def _ask(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> bytes:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise OutsideError(f"the provider names {url!r}, which is no address", code="oidc-address")
        is_secure = parts.scheme == "https"
        server = HttpServer(
            parts.hostname,
            parts.port or _PORTS[parts.scheme],
            resolver=self._resolver,
            tls=await self._tls.value() if is_secure else None,
            only_private=True,
        )
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        # As browsers write it: a provider may compare it with its own name.
        host = server.address if parts.port else parts.hostname
        try:
            asked = request_bytes(
                method,
                path,
                host=host,
                headers={"Accept": "application/json", "Connection": "close", **(headers or {})},
                body=body,
            )
            answer = await server.ask(asked, deadline=DEADLINE_SECONDS, limit=MAX_BYTES)
        except ValueError:
            raise OutsideError(f"{url!r} cannot be asked for", code="oidc-address") from None
        finally:
            server.close()
        if answer.status != 200:  # noqa: PLR2004 - anything else is no answer
            raise OutsideError(f"the provider answers {answer.status} at {url}", code="oidc-refused")
        return answer.body

    @staticmethod
    def _decode(body: bytes, kind: type[Kind], url: str) -> Kind:
        try:
            return msgspec.json.decode(body, type=kind)
        except NOT_DECODED as error:
            text = f"what the provider says at {url} cannot be read ({error})"
            raise OutsideError(text, code="oidc-nonsense") from None
