"""TCP connections to hosts by name: looked up once, each address tried in turn."""

import asyncio
import socket
from typing import Final

from gpuboard.model.errors import OutsideError
from gpuboard.outside.resolve import Resolver, is_of_here

_MAX_ADDRESSES: Final = 4
# An address that swallows packets must leave time for the next one.
_SHARE_SECONDS: Final = 2.5


async def dial(resolver: Resolver, host: str, port: int, *, only_elsewhere: bool = False) -> socket.socket:
    """Connect to the first address of a host that answers.

    `only_elsewhere` refuses addresses of this machine or of its links.

    Raises:
        OutsideError: the name is unknown, or means this machine where it must not.
        OSError: no address answers; says why the last one did not.
    """
    addresses = (await resolver.addresses(host))[:_MAX_ADDRESSES]
    for address in addresses if only_elsewhere else ():
        if is_of_here(address):
            text = f"its list says that it is at {address}, which is this machine itself or its own link"
            raise OutsideError(text, code="address-here")
    for address in addresses[:-1]:
        try:
            async with asyncio.timeout(_SHARE_SECONDS):
                return await _connect(address, port)
        except (TimeoutError, OSError):
            continue
    return await _connect(addresses[-1], port)


async def _connect(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        # An address of one link (fe80::1%eth0) needs its link's number, which this look-up only takes apart.
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        ((*_, place), *_) = socket.getaddrinfo(address, port, family, socket.SOCK_STREAM, flags=flags)
        await asyncio.get_running_loop().sock_connect(connection, place)
    except BaseException:
        connection.close()
        raise
    return connection
