"""How a node becomes known: a code for a token, and what both look like."""

import hashlib
import re
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from gpuboard.model.errors import WireError
from gpuboard.model.node import is_node_name

# The mark lets people and scanners recognise a token where none should be; `~` is in no node's name.
_MARK: Final = "gpuboard"
# Where the agent's unit has its token, and the command that enrols a node puts it.
UNIT_TOKEN_FILE: Final = Path("/var/lib/gpuboard-agent/node.token")
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")
# Letters and digits that cannot be taken for one another; 100 bits in all.
CODE_ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LETTERS: Final = 20
_GROUP: Final = 5


class EnrolmentRequest(Struct, frozen=True, kw_only=True):
    """What a node sends once, with the code that the administrator was given."""

    code: Annotated[str, Meta(max_length=64)]


class EnrolmentAnswer(Struct, frozen=True, kw_only=True):
    """What it gets for it; the board itself keeps only a digest."""

    node: str
    token: str


def make_token(node: str, secret: str) -> str:
    """The token of a node: it says whose it is, so that an agent needs nothing else."""
    return f"{_MARK}~{node}~{secret}"


def digest(secret: str) -> str:
    """What is stored of a token or code; both are random, so a plain hash gives nothing away."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_node_token(text: str) -> bool:
    """Whether this has the form of a node's token."""
    try:
        node_of_token(text)
    except WireError:
        return False
    return True


def node_of_token(token: str) -> str:
    """The node that a token speaks for.

    Raises:
        WireError: the text does not have the form of a token.
    """
    mark, _, rest = token.partition("~")
    node, _, secret = rest.partition("~")
    if mark != _MARK or not is_node_name(node) or _SECRET.fullmatch(secret) is None:
        # Whatever it is, it may be somebody's secret: it is not repeated.
        raise WireError("this is not a node's token; make one with: gpuboard node enroll NAME")
    return node


def show_code(code: str) -> str:
    """An enrolment code in groups, for people to read and type."""
    return "-".join(code[start : start + _GROUP] for start in range(0, len(code), _GROUP))


def read_code(text: str) -> str:
    """An enrolment code as it was made, however it was typed."""
    return re.sub(r"[\s-]", "", text).upper()
