"""`[access]`: who may see what, and how people sign in."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields

from gpuboard.settings.base import Duration, Rule, between
from gpuboard.settings.rules import check_header, check_issuer, check_patterns, check_proxies

_EXAMPLES: Final = {"issuer": "https://login.lab.example/realms/lab", "client_id": "gpuboard"}


class OidcTable(Struct, frozen=True, kw_only=True):
    """`[access.oidc]`: signing in by an OpenID Connect provider."""

    # Empty: it is off.
    issuer: Annotated[str, Meta(max_length=500, examples=[_EXAMPLES["issuer"]]), Rule(check_issuer)] = ""
    client_id: Annotated[str, Meta(max_length=200)] = ""
    # The client's secret, in a file of its own; absent: a public client, with PKCE alone.
    client_secret_file: str | None = None
    # What the button says.
    label: Annotated[str, Meta(min_length=1, max_length=100)] = "Single sign-on"
    scopes: Annotated[tuple[str, ...], Meta(max_length=20)] = ("openid", "profile")
    # Which claim is the person's name, and which lists the groups.
    name_claim: Annotated[str, Meta(min_length=1, max_length=100)] = "preferred_username"
    groups_claim: Annotated[str, Meta(min_length=1, max_length=100)] = "groups"
    # Members of these are admins, users, viewers; absent: everybody is a user.
    admin_groups: tuple[str, ...] = ()
    user_groups: tuple[str, ...] | None = None
    viewer_groups: tuple[str, ...] = ()
    # After so long the provider is asked anew: who has left a group has its role no longer.
    session: Annotated[Duration, between("1min", "30d")] = Duration(12 * 3600)
    # PEM, for a provider whose authority this machine does not know.
    ca_file: str | None = None

    def __post_init__(self) -> None:
        """Refuse half a provider: this way would stay off, and nobody would hear why."""
        missing = [key for key in ("issuer", "client_id") if not getattr(self, key)]
        usual = {field.name: field.default for field in fields(type(self))}
        given = next((key for key, value in usual.items() if getattr(self, key) != value), None)
        if missing and given is not None:
            example = _EXAMPLES[missing[0]]
            raise ValueError(f'{given} has no effect without {missing[0]}; write {missing[0]} = "{example}"')


class AccessTable(Struct, frozen=True, kw_only=True):
    """`[access]`: who may see what."""

    # Absent: names on this machine, counts beyond.
    anonymous: Literal["nothing", "counts", "names"] | None = None
    # Only these may say for whom they ask.
    trusted_proxies: Annotated[tuple[str, ...], Rule(check_proxies)] = ()
    # Whether one name is one person on all nodes, or one on each.
    realm: Literal["all", "node"] = "all"
    # Which nodes may say who their users are.
    vouching: Annotated[tuple[str, ...], Meta(examples=[["login*"]]), Rule(check_patterns)] = ("*",)
    # Accounts below are the system's, and nobody.
    vouch_from_uid: Annotated[int, Meta(ge=1, le=2**32)] = 1000
    # The header in which a listed proxy says who asks; empty: none is believed.
    proxy_header: Annotated[str, Meta(examples=["X-Remote-User"]), Rule(check_header)] = ""
    # Let people sign in though the line is in clear.
    allow_plaintext: bool = False
    # Whether accounts of the board's own may sign in by password.
    passwords: bool = True
    oidc: OidcTable = OidcTable()

    def __post_init__(self) -> None:
        """Refuse a header that would count from nobody."""
        if self.proxy_header and not self.trusted_proxies:
            raise ValueError(
                "proxy_header has no effect without trusted_proxies, for it counts from those alone; write "
                'trusted_proxies = ["127.0.0.1"], or from where else the proxy asks'
            )
