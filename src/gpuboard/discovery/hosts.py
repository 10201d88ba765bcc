"""Hosts as people write them, turned into named nodes. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from gpuboard.discovery.base import Target
from gpuboard.model.address import is_address
from gpuboard.model.node import is_node_name, short_name
from gpuboard.model.ranges import expand_all

_FORM: Final = re.compile(
    r"(?:(?P<user>[A-Za-z0-9._\\-]{1,64})@)?"
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<host>[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?))"
    r"(?::(?P<port>\d{1,5}))?"
)


def read_targets(patterns: Iterable[str]) -> tuple[Target, ...]:
    """Turn `host`, `user@host:port`, `[::1]:8043` and ranges of them into named nodes, each once.

    Raises:
        ValueError: an entry is no host; the text says which and what is allowed.
    """
    return name_nodes([read_host(host) for host in expand_all(patterns)])


def read_host(text: str) -> Target:
    """Take one host apart; its node is the whole host name for now.

    Raises:
        ValueError: this is no host.
    """
    plain = text.strip()
    if _is_bare_six(plain):
        plain = f"[{plain}]"
    match = _FORM.fullmatch(plain)
    port = None if match is None or match["port"] is None else int(match["port"])
    if match is None or (port is not None and not 1 <= port <= 65535):  # noqa: PLR2004 - the largest port
        raise ValueError(f"{text!r} is no host; write name, address, name:port, user@name or [IPv6]:port")
    host = (match["six"] or match["host"]).rstrip(".")
    return Target(node=node_name(host), host=host, port=port, user=match["user"])


def node_name(host: str) -> str:
    """The longest name that a host can have as a node: all of it, in lower case.

    Raises:
        ValueError: no node can be called like this.
    """
    # A node name has no colon: fe80::1 becomes fe80--1, and ::1 becomes 0--1.
    name = re.sub(r"[:%]", "-", host.lower())
    name = f"0{name}" if name.startswith("-") else name
    if not is_node_name(name):
        raise ValueError(
            f"{host!r} cannot name a node: 1 to 63 letters, digits, dots, dashes; a letter first"
        )
    return name


def name_nodes(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Give every target the shortest node name that stays unique in the list; drop repetitions.

    Up to the first dot; else the whole name; else that and the port. Addresses are never shortened.
    """
    unique = list({(target.node, target.host.lower(), target.port): target for target in targets}.values())
    names: dict[int, str] = {}
    for rule in (_short, _whole, _with_port):
        tried = {at: rule(target) for at, target in enumerate(unique) if at not in names}
        count = Counter([*names.values(), *tried.values()])
        names |= {at: name for at, name in tried.items() if count[name] == 1}
    # What has no name of its own even now is the same node once more.
    return tuple(_named(unique[at], name) for at, name in sorted(names.items()))


def meant(wish: Target, listed: Sequence[Target]) -> list[Target]:
    """Those of a list that somebody means who names a host so.

    With a port it is the one that is listed with just that, or one that stands there without any: a host that
    is listed with other ports alone is several nodes, and this is none of them.
    """
    names = {wish.node, wish.host.lower()}
    same = [one for one in listed if names.intersection((one.node, one.host.lower(), one.whole_name))]
    if wish.port is not None:
        return [one for one in same if one.port == wish.port] or [one for one in same if one.port is None]
    return [one for one in same if one.node in names] or same


def _named(target: Target, name: str) -> Target:
    whole = target.node if target.node.startswith(f"{name}.") else None
    return replace(target, node=name, whole_name=whole)


def _short(target: Target) -> str:
    if is_address(target.host) and target.node == node_name(target.host):
        return target.node
    return short_name(target.node)


def _whole(target: Target) -> str:
    return target.node


def _with_port(target: Target) -> str:
    return target.node if target.port is None else f"{target.node[:57]}-{target.port}"


def _is_bare_six(text: str) -> bool:
    return text.count(":") > 1 and is_address(text)
