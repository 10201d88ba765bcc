"""Addresses to listen on, and of whoever connects."""

import ipaddress
from typing import Final

from gpuboard.model.errors import UsageError

LAST_PORT: Final = 65535
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


def is_loopback(address: str | None) -> bool:
    """Whether this is an address or name of the machine's own loopback."""
    if address == "localhost":
        return True
    try:
        return address is not None and ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def customer(address: str) -> str:
    """What addresses are counted by: those that are one customer's are one."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((int(known), _HOME_NETWORK_BITS), strict=False))
