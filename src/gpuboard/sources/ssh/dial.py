"""TCP connections to hosts by name: looked up once, each address tried in turn."""

import asyncio
import socket
from typing import Final

from gpuboard.outside.resolve import Resolver

_MAX_ADDRESSES: Final = 4
# An address that swallows packets must leave time for the next one.
_SHARE_SECONDS: Final = 2.5


async def dial(resolver: Resolver, host: str, port: int) -> socket.socket:
    """Connect to the first address of a host that answers.

    Raises:
        OutsideError: the name is unknown.
        OSError: no address answers; says why the last one did not.
    """
    addresses = (await resolver.addresses(host))[:_MAX_ADDRESSES]
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
