"""The board's address, taken before anybody is told of it."""

import contextlib
import errno
import socket
from typing import Final

from gpuboard.model.address import split_address
from gpuboard.model.errors import ListenError

_FIRST_OPEN_PORT: Final = 1024


def take_address(address: str) -> list[socket.socket]:
    """Bind to an address, or to all of a name's.

    Raises:
        ListenError: somebody else has it, or it is not ours to take; says what to do.
        UsageError: it is no address.
    """
    host, port = split_address(address)
    with contextlib.ExitStack() as taken:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = [taken.enter_context(_bound(*entry)) for entry in dict.fromkeys(found)]
        except socket.gaierror:
            raise ListenError(
                f"the name {host!r} in {address} cannot be looked up; listen on an address, like 127.0.0.1"
            ) from None
        except OSError as error:
            raise ListenError(_why(error, address, host, port)) from None
        taken.pop_all()
        return sockets


def bound_address(sockets: list[socket.socket], asked: str) -> str:
    """The address as it was asked for, with the port that was really taken."""
    host, _ = split_address(asked)
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{sockets[0].getsockname()[1]}"


def _bound(family: int, kind: int, protocol: int, _name: str, place: tuple[object, ...]) -> socket.socket:
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        taken.bind(place)
    except BaseException:
        taken.close()
        raise
    return taken


def _why(error: OSError, address: str, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is in use on {host}: another board, or another program "
            f"(ss -ltnp 'sport = {port}' names it); stop it, "
            "or choose another port with --listen or [board] listen"
        )
    if error.errno == errno.EACCES and port < _FIRST_OPEN_PORT:
        return (
            f"{address}: ports below {_FIRST_OPEN_PORT} are kept for root; "
            "use 8042 behind a proxy, or give AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{address}: this machine has no address {host}; 0.0.0.0 listens on all that it has"
    return f"{address} cannot be listened on: {error.strerror or error}"
