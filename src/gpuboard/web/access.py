"""Who may see what: the viewer's address, the Host and Origin of the request, the tier that follows."""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

from litestar.datastructures import Headers
from msgspec import Struct

from gpuboard.model.address import LAST_PORT, is_address, is_loopback, plain_address
from gpuboard.model.identity import Identity, Tier

Anonymous = Literal["nothing", "counts", "names"]

_SECURE: Final = ("https", "wss")
_HOST: Final = re.compile(
    r"(?:(?P<name>[A-Za-z0-9._-]+)|\[(?P<address>[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[\w.~-]+)?)\])"
    r"(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
FORWARDED: Final = ("x-forwarded-for", "forwarded", "x-real-ip")


class AccessPolicy(Struct, kw_only=True):
    """What visitors may see."""

    # None: names on loopback, counts beyond.
    anonymous: Anonymous | None = None
    # Addresses and networks.
    trusted_proxies: frozenset[str] = frozenset()
    hostnames: frozenset[str] = frozenset({"localhost"})
    # The header in which a listed proxy says who asks, in lower case; empty: none is believed.
    proxy_header: str = ""
    # People may sign in though the line is in clear.
    allow_plaintext: bool = False

    def adopt(self, other: "AccessPolicy") -> None:
        """Judge by another policy from now on; whoever holds this one need not hear of it."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))

    def identify(self, peer: str | None, headers: Headers) -> Identity:
        """Who asks, as far as one can tell."""
        return Identity(
            address=self.viewer_address(peer, headers) or peer,
            counted_as=self.counted_address(peer, headers),
            tier=self.tier(peer, headers),
        )

    def tier(self, peer: str | None, headers: Headers) -> Tier | None:
        """The tier of a viewer; None when it may see nothing."""
        choice = self.anonymous
        if choice is None:
            choice = "names" if is_loopback(self.viewer_address(peer, headers)) else "counts"
        return None if choice == "nothing" else choice

    def viewer_address(self, peer: str | None, headers: Headers) -> str | None:
        """The address a request really comes from, as far as it can be believed.

        Forwarding headers count only from a listed proxy. From anybody else their mere presence means
        that the request came from elsewhere, so it is not treated as local.
        """
        if not any(name in headers for name in FORWARDED):
            return peer
        if not self.is_proxy(peer):
            return None
        # Some proxies add to the line that came in, others add a second line: the last hop is in the last.
        lines: list[str] = headers.getall("x-forwarded-for", [])
        hops = [hop.strip() for hop in ",".join(lines).split(",")]
        return next((hop for hop in reversed(hops) if not self.is_proxy(hop)), None)

    def counted_address(self, peer: str | None, headers: Headers) -> str | None:
        """The address whose viewers are counted; None for those that are not limited.

        That is this machine, a proxy on it that is not listed (nobody can tell then who asks), and a listed
        one that does not say for whom it asks.
        """
        address = self.viewer_address(peer, headers)
        if not address:
            address = None if self.is_proxy(peer) else peer
        return None if is_loopback(address) else address

    def is_secure(self, scheme: str, peer: str | None, headers: Headers) -> bool:
        """Whether the viewer's line is encrypted: by the board itself, or as a listed proxy says."""
        return scheme in _SECURE or self.spoken_scheme(scheme, peer, headers) == "https"

    def spoken_scheme(self, scheme: str, peer: str | None, headers: Headers) -> str | None:
        """What the viewer's browser speaks, http or https; None: there is a proxy, and no word to believe."""
        told: str = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        if self.is_proxy(peer):
            return told if told in ("http", "https") else None
        if told or any(name in headers for name in FORWARDED):
            return None
        return "https" if scheme in _SECURE else "http"

    def needs_https(self, scheme: str, peer: str | None, headers: Headers) -> bool:
        """Whether nobody may sign in here, because secrets would cross a network in clear."""
        is_local = is_loopback(self.viewer_address(peer, headers))
        return not (is_local or self.allow_plaintext or self.is_secure(scheme, peer, headers))

    def proxy_person(self, peer: str | None, headers: Headers) -> str | None:
        """Whom a listed proxy says that it has signed in; from anybody else the header counts for nothing."""
        if not self.proxy_header or not self.is_proxy(peer):
            return None
        told: list[str] = headers.getall(self.proxy_header, [])
        # Twice: one of them may be the visitor's own.
        return _utf8(told[0]) if len(told) == 1 and told[0].strip() else None

    def is_proxy(self, address: str | None) -> bool:
        """Whether this is one of the listed proxies, by its address or its network."""
        if address is None or not self.trusted_proxies:
            return False
        return address in self.trusted_proxies or _is_within(address, self.trusted_proxies)

    def is_limited(self, peer: str) -> bool:
        """Whether connections of this peer are counted: not those of this machine and of listed proxies."""
        return not is_loopback(peer) and not self.is_proxy(peer)

    def accepts_host(self, host: str | None) -> bool:
        """Whether a Host header names this board; keeps pages of others from reaching it by rebinding.

        A bare address is always fine: no foreign page can be served from under it.
        """
        name = _host_name(host)
        return name is not None and (name in self.hostnames or is_address(name))

    def accepts_origin(self, origin: str | None, host: str | None, spoken: str | None) -> bool:
        """Whether a page of this origin may talk to the board; programs send none.

        `spoken` is what the board speaks on this line; None: nobody can tell. Where that is https, a page
        that came in clear is not its own: whoever is on the way can write one. A page that came by https
        is, whatever is spoken here: a proxy that says nothing of it may stand between.
        """
        if origin is None or host is None:
            return origin is None
        schemes = ("https",) if spoken == "https" else ("http", "https")
        return origin.lower() in [f"{scheme}://{host.lower()}" for scheme in schemes]


def own_names(extra: Iterable[str], hostname: str) -> frozenset[str]:
    """The names under which this board may be asked for."""
    name = hostname.lower()
    return frozenset({"localhost", name, name.split(".", maxsplit=1)[0], *(e.lower() for e in extra)})


@lru_cache(maxsize=1024)
def _is_within(address: str, networks: frozenset[str]) -> bool:
    known = plain_address(address)
    return known is not None and any(known in ipaddress.ip_network(each, strict=False) for each in networks)


def _utf8(header: str) -> str | None:
    """A header as whoever sent it meant it; None: in another encoding, so that nobody can tell."""
    try:
        # A server hands each byte on as one letter.
        return header.encode("latin-1").decode()
    except UnicodeError:
        return None


def _host_name(host: str | None) -> str | None:
    """The name in a Host header; None: it is no host alone or with a port, whatever a browser makes of it."""
    found = _HOST.fullmatch(host or "")
    if found is None or not 1 <= int(found["port"] or 1) <= LAST_PORT:
        return None
    return (found["name"] or found["address"]).lower()
