"""Consul's answers about a service, turned into named nodes. Pure."""

from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from gpuboard.discovery.base import Target
from gpuboard.discovery.hosts import name_nodes, node_name, read_host
from gpuboard.discovery.tags import groups_from
from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.ranges import MAX_HOSTS

ConnectBy = Literal["address", "name"]
Entry = TypeVar("Entry")


class _CatalogEntry(Struct, kw_only=True):
    """One entry of /v1/catalog/service/NAME."""

    Node: str
    Address: str = ""
    ServiceAddress: str = ""
    ServicePort: int = 0
    ServiceTags: list[str] | None = None
    ServiceMeta: dict[str, str] | None = None


class _Node(Struct, kw_only=True):
    Node: str
    Address: str = ""


class _Service(Struct, kw_only=True):
    Address: str = ""
    Port: int = 0
    Tags: list[str] | None = None
    Meta: dict[str, str] | None = None


class _Registered(Struct, frozen=True):
    """What either answer says of one node."""

    name: str
    address: str
    port: int
    groups: tuple[str, ...]


class _HealthEntry(Struct, kw_only=True):
    """One entry of /v1/health/service/NAME."""

    Node: _Node
    Service: _Service


_CATALOG: Final = msgspec.json.Decoder(list[_CatalogEntry])
_HEALTH: Final = msgspec.json.Decoder(list[_HealthEntry])


def read_health(data: bytes, *, connect: ConnectBy = "address", ports: bool = True) -> tuple[Target, ...]:
    """The nodes in an answer of the health endpoint.

    Raises:
        WireError: this is no such answer.
    """
    entries = _decode(_HEALTH, data)
    found = [
        _Registered(
            e.Node.Node,
            e.Service.Address or e.Node.Address,
            e.Service.Port,
            groups_from(e.Service.Tags or (), e.Service.Meta or {}),
        )
        for e in entries[:MAX_HOSTS]
    ]
    return _targets(found, connect=connect, ports=ports)


def read_catalog(data: bytes, *, connect: ConnectBy = "address", ports: bool = True) -> tuple[Target, ...]:
    """The nodes in an answer of the catalog endpoint.

    Raises:
        WireError: this is no such answer.
    """
    entries = _decode(_CATALOG, data)
    found = [
        _Registered(
            e.Node,
            e.ServiceAddress or e.Address,
            e.ServicePort,
            groups_from(e.ServiceTags or (), e.ServiceMeta or {}),
        )
        for e in entries[:MAX_HOSTS]
    ]
    return _targets(found, connect=connect, ports=ports)


def _targets(entries: list[_Registered], *, connect: ConnectBy, ports: bool) -> tuple[Target, ...]:
    """Name the nodes; an entry that names no node or no host is left out."""
    targets = []
    for entry in entries:
        by_name = connect == "name" or not entry.address
        try:
            host = read_host(entry.name if by_name else entry.address).host
            node = node_name(entry.name)
        except ValueError:
            continue
        # Port 0 is Consul's way to say that a service has none.
        port = entry.port if ports and 1 <= entry.port <= 65535 else None  # noqa: PLR2004 - the largest port
        targets.append(Target(node=node, host=host, port=port, may_be_here=False, groups=entry.groups))
    return name_nodes(sorted(targets, key=lambda target: (target.node, target.port or 0)))


def _decode(decoder: "msgspec.json.Decoder[list[Entry]]", data: bytes) -> list[Entry]:
    try:
        return decoder.decode(data)
    except NOT_DECODED as error:
        raise WireError(f"not an answer of Consul: {error}") from None
