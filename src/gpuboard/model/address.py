"""Addresses to listen on, and of whoever connects."""

import ipaddress
from typing import Final

from gpuboard.model.errors import UsageError

LAST_PORT: Final = 65535
# Of URLs that name no port.
USUAL_PORTS: Final = {"http": 80, "https": 443}
# Whoever has IPv6 has this much of it.
_HOME_NETWORK_BITS: Final = 64


def split_address(text: str) -> tuple[str, int]:
    """Split `host:port`, with IPv6 in brackets.

    Raises:
        UsageError: the text is no address with a port.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise UsageError(f"{text!r} is no address to listen on; write it like 127.0.0.1:8042 or [::1]:8042")
    return host.removeprefix("[").removesuffix("]"), int(port)


def place_of(scheme: str, host: str, port: int | None) -> str:
    """Host and port as a URL has them, IPv6 in brackets; a port that goes without saying is left out."""
    name = f"[{host}]" if ":" in host else host
    return name if port in (None, USUAL_PORTS.get(scheme)) else f"{name}:{port}"


def plain_address(address: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address itself, IPv4 as such where it comes as IPv6 (`::ffff:127.0.0.1`); None if it is none."""
    try:
        known = ipaddress.ip_address(address or "")
    except ValueError:
        return None
    return (known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None) or known


def is_address(host: str) -> bool:
    """Whether this is an IP address rather than a name."""
    return plain_address(host) is not None


def is_loopback(address: str | None) -> bool:
    """Whether this is an address or name of the machine's own loopback."""
    known = plain_address(address)
    return known.is_loopback if known is not None else address == "localhost"


def is_of_one_link(address: str) -> bool:
    """Whether it means something to this machine alone, or to its neighbours on one link."""
    known = plain_address(address)
    return known is not None and (known.is_loopback or known.is_link_local)


def customer(address: str) -> str:
    """What addresses are counted by: those that are one customer's are one."""
    known = plain_address(address)
    if known is None:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    return str(ipaddress.ip_network((int(known), _HOME_NETWORK_BITS), strict=False))
