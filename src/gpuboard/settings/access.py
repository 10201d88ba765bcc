"""`[access]`: who may see what, and how people sign in."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gpuboard.settings.base import Duration, Rule, between
from gpuboard.settings.rules import check_header, check_issuer, check_patterns, check_proxies


class OidcTable(Struct, frozen=True, kw_only=True):
    """`[access.oidc]`: signing in by an OpenID Connect provider."""

    # Empty: it is off.
    issuer: Annotated[
        str, Meta(max_length=500, examples=["https://login.lab.example/realms/lab"]), Rule(check_issuer)
    ] = ""
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
