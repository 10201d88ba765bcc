"""Host names to addresses, without letting one silent name server stop everybody."""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gpuboard.model.address import is_address, is_of_one_link, plain_address
from gpuboard.model.errors import OutsideError
from gpuboard.outside.threads import Workers

# More look-ups at once would only pile up threads when the name server is silent.
LOOKUPS_AT_ONCE: Final = 16
# When looking up takes longer than this, an address known from before is used.
PATIENCE_SECONDS: Final = 2.0

# Lists from outside may name ever new hosts: so many are remembered, and of each so many addresses.
MAX_KNOWN: Final = 16_384
MAX_ADDRESSES: Final = 16

LookUp = Callable[[str], list[str]]


def system_lookup(host: str) -> list[str]:
    """Ask the system for the addresses of a name, best first. Blocks."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Resolver:
    """Looks names up, and remembers the last good answer for times when the name server is away."""

    def __init__(self, look_up: LookUp = system_lookup) -> None:
        self._look_up = look_up
        # The last asked last.
        self._known: OrderedDict[str, list[str]] = OrderedDict()
        self._workers = Workers(LOOKUPS_AT_ONCE)

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host name; an address is its own.

        Raises:
            OutsideError: the name is unknown, or cannot be looked up and was never known before.
        """
        if is_address(host):
            return [host]
        known = self._known.get(host)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if known else None):
                known = await self._ask(host)
        except (TimeoutError, OSError, UnicodeError) as error:
            if known is None:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                text = f"the name {host} cannot be looked up: {why}"
                raise OutsideError(text, code="unknown-host") from None
        self._remember(host, known)
        return known

    async def _ask(self, host: str) -> list[str]:
        return (await self._workers.run(lambda _: self._look_up(host)))[:MAX_ADDRESSES]

    def _remember(self, host: str, addresses: list[str]) -> None:
        self._known[host] = addresses
        self._known.move_to_end(host)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def is_of_here(address: str) -> bool:
    """Whether an address means this machine or its own links: no list from outside may name it."""
    plain = address.partition("%")[0]
    known = plain_address(plain)
    return is_of_one_link(plain) or (known is not None and (known.is_unspecified or known.is_multicast))
