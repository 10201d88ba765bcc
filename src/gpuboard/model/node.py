"""Names of nodes, and the states in which the board can find one."""

import ipaddress
import re
from functools import lru_cache
from typing import Annotated, Final, Literal

from msgspec import Meta

NodeState = Literal["live", "late", "lost", "never", "refused", "error"]

# Three missed rounds, not one: a single lost reply must not turn a node grey.
LATE_AFTER_INTERVALS: Final = 3
LOST_AFTER_INTERVALS: Final = 10

# \Z and not $, which would let a trailing newline through.
_PATTERN: Final = r"^[a-z0-9][a-z0-9._-]{0,62}\Z"
_NODE_NAME: Final = re.compile(_PATTERN)
_HOST_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")

# As long as names of hosts can be.
MAX_HOST_LETTERS: Final = 253

NodeName = Annotated[str, Meta(pattern=_PATTERN)]


def is_node_name(name: str) -> bool:
    """Whether this text may name a node."""
    return _NODE_NAME.match(name) is not None


def node_name_of(hostname: str) -> str:
    """The node's name for a machine of this host name: its first part, made to fit the rules."""
    first = hostname.strip().lower().split(".", maxsplit=1)[0]
    fitting = re.sub(r"[^a-z0-9_-]+", "-", first).strip("-_")[:63]
    return fitting or "node"


def is_host_name(name: str) -> bool:
    """Whether this text, in lower case, may name a host, with its domain or without."""
    return len(name) <= MAX_HOST_LETTERS and _HOST_NAME.fullmatch(name) is not None


def spoken(name: str) -> str:
    """A name as it is compared with what people write: case, blanks around it and a last dot say nothing."""
    return name.strip().casefold().rstrip(".")


def short_name(node: str) -> str:
    """A node's name as people write it who leave out its domain; an address has none."""
    # Files of bookings may have any text there; only what can be a name is remembered.
    return _short_name(node) if len(node) <= MAX_HOST_LETTERS else node.partition(".")[0]


@lru_cache(maxsize=4096)
def _short_name(node: str) -> str:
    try:
        return str(ipaddress.IPv4Address(node))
    except ValueError:
        return node.partition(".")[0]
