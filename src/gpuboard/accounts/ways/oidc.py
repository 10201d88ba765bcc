"""By an OpenID Connect provider: discovery, a code with PKCE, its signed word on who that is."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from gpuboard.accounts.records import Vouched
from gpuboard.accounts.ways.base import OidcEvidence, person_behind, somebodys_name
from gpuboard.accounts.ways.oidc_provider import OidcProvider
from gpuboard.model.errors import AccessRefused, NewcomerRefused
from gpuboard.model.identity import Role, WayKind
from gpuboard.settings.access import AccessTable, OidcTable
from gpuboard.wire.clean import clean_text
from gpuboard.wire.people import WayCard, person_name

# Signatures that only the provider can make; never "none", and no shared secret.
ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS: Final = 60
# How long somebody may take at the provider, and how many may be there.
PENDING_SECONDS: Final = 600.0
MAX_PENDING: Final = 1000
MAX_GROUPS: Final = 200
LONGEST_GROUP: Final = 200
BEGIN_PATH: Final = "sign-in/oidc"


class _Pending(Struct, frozen=True, kw_only=True):
    """Somebody who was sent to the provider."""

    begun_at: float
    browser: str
    nonce: str
    verifier: str
    redirect_uri: str
    goes_to: str


class OidcWay:
    """Believes what the provider signs."""

    kind: WayKind = "oidc"

    def __init__(
        self,
        access: Callable[[], AccessTable],
        person_of: Callable[[str], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access = access
        self._person_of = person_of
        self._clock = clock
        self._provider: OidcProvider | None = None
        self._pending: OrderedDict[str, _Pending] = OrderedDict()

    def card(self) -> WayCard | None:
        """A button that leads to the provider."""
        oidc = self._access().oidc
        return WayCard(kind="oidc", label=oidc.label, href=BEGIN_PATH) if _is_on(oidc) else None

    async def begin(self, *, browser: str, redirect_uri: str, goes_to: str) -> str:
        """Where a browser has to go; it comes back to `redirect_uri`, and from there to `goes_to`.

        Raises:
            AccessRefused: this way is off.
            OutsideError: the provider does not answer.
        """
        provider = self._provider_now()
        found = await provider.metadata()
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        pending = _Pending(
            begun_at=self._clock(),
            browser=browser,
            nonce=secrets.token_urlsafe(32),
            verifier=verifier,
            redirect_uri=redirect_uri,
            goes_to=goes_to,
        )
        self._pending[state] = pending
        while len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)
        address: str = prepare_grant_uri(
            found.authorization_endpoint,
            client_id=provider.options.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=" ".join(dict.fromkeys(["openid", *provider.options.scopes])),
            state=state,
            nonce=pending.nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return address

    def goes_to(self, state: str) -> str:
        """Where somebody wanted to go who comes back with this."""
        pending = self._pending.get(state)
        return "/" if pending is None else pending.goes_to

    async def recognise(self, evidence: OidcEvidence) -> Vouched:
        """Who this is.

        Raises:
            AccessRefused: it is nobody who was sent, or may come in.
            OutsideError: the provider does not answer.
        """
        pending = self._pending.pop(evidence.state, None)
        if pending is None or self._clock() - pending.begun_at > PENDING_SECONDS:
            raise AccessRefused("that took too long, or was done twice: begin again")
        # What another browser has begun must not sign this one in as somebody else.
        if not secrets.compare_digest(pending.browser, evidence.browser):
            raise AccessRefused("this was begun in another browser")
        if evidence.error or not evidence.code:
            raise AccessRefused(f"the provider says {evidence.error or 'nothing'}")
        provider = self._provider_now()
        tokens = await provider.exchange(
            evidence.code, verifier=pending.verifier, redirect_uri=pending.redirect_uri
        )
        claims = await _claims_of(provider, tokens.id_token, pending.nonce, tokens.access_token)
        missing = {provider.options.name_claim, provider.options.groups_claim} - claims.keys()
        if missing:
            told = await provider.person(tokens.access_token)
            # Another's would be a mix-up; what was signed counts before what was only said.
            if told.get("sub") == claims["sub"]:
                claims = {**told, **claims}
        return self._vouched(provider.options, claims)

    def _vouched(self, options: OidcTable, claims: dict[str, Any]) -> Vouched:
        name = claims.get(options.name_claim)
        person = somebodys_name(name) if isinstance(name, str) else None
        if person is None:
            text = f"the provider names no person in the claim {options.name_claim!r}"
            given = clean_text(name) if isinstance(name, str) else None
            raise NewcomerRefused(text, code="oidc-nobody", name=given or None)
        groups = _texts(claims.get(options.groups_claim))
        role = role_of(options, groups)
        if role is None:
            text = "you are in none of the groups that this board lets in"
            raise NewcomerRefused(text, code="oidc-groups", name=person)
        shown = claims.get("name")
        return Vouched(
            person=person_behind(self._person_of, person),
            way="oidc",
            role=role,
            display_name=person_name(shown) if isinstance(shown, str) else None,
            groups=groups,
            good_seconds=float(options.session),
        )

    def _provider_now(self) -> OidcProvider:
        """The provider that the settings name now."""
        options = self._access().oidc
        if not _is_on(options):
            raise AccessRefused("this board has no provider to sign in with ([access.oidc])")
        if self._provider is None or self._provider.options != options:
            self._provider = OidcProvider(options)
        return self._provider


def role_of(options: OidcTable, groups: Iterable[str]) -> Role | None:
    """The role that somebody's groups give; None: they give none."""
    mine = set(groups)
    if mine & set(options.admin_groups):
        return "admin"
    if options.user_groups is None or mine & set(options.user_groups):
        return "user"
    return "viewer" if mine & set(options.viewer_groups) else None


async def _claims_of(provider: OidcProvider, id_token: str, nonce: str, access_token: str) -> dict[str, Any]:
    """What the provider has signed, if it is for us, and for this very visit."""
    issuer, client = provider.options.issuer, provider.options.client_id
    try:
        try:
            signed = _decode(id_token, await provider.keys())
        except (JoseError, ValueError):
            # It may sign with a new key by now.
            signed = _decode(id_token, await provider.keys(anew=True))
        claims = CodeIDToken(
            signed.claims,
            signed.header,
            options={
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": client},
            },
            params={"nonce": nonce, "client_id": client, "access_token": access_token},
        )
        claims.validate(leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError) as error:
        raise AccessRefused(f"what the provider has signed is not good ({type(error).__name__})") from None
    return dict(claims)


def _decode(id_token: str, keys: dict[str, Any]) -> jwt.Token:
    return jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type] # as JSON has it


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return ()
    return tuple(text for text in value[:MAX_GROUPS] if isinstance(text, str) and _is_name(text))


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_GROUP and text.isprintable()


def _is_on(options: OidcTable) -> bool:
    return bool(options.issuer and options.client_id)
