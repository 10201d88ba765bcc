"""What `gpuboard login` and a socket on this machine say to each other, and an agent and its board."""

from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.identity import Role
from gpuboard.model.report import UnixTime

Kind = TypeVar("Kind", bound=Struct)

# What stands behind the board's address in a one-time link; the code follows a #, so it reaches no log.
LINK_PATH: Final = "sign-in/link#"


class LoginQuestion(Struct, frozen=True, kw_only=True):
    """Somebody wants to sign in."""

    # What the token is for, as its owner will read it: this machine's name.
    terminal: Annotated[str, Meta(max_length=64)] = ""
    # For the browser alone: no token is made, and none replaced.
    is_link_only: bool = False


class VouchQuestion(Struct, frozen=True, kw_only=True):
    """A node says which of its users wants to sign in."""

    uid: Annotated[int, Meta(ge=0, le=2**32)]
    name: Annotated[str, Meta(max_length=256)]
    terminal: Annotated[str, Meta(max_length=64)] = ""
    is_link_only: bool = False


class LoginGrant(Struct, frozen=True, kw_only=True):
    """A one-time link for the browser, a token for the command line."""

    person: str
    role: Role
    through: str | None
    code: str
    code_expires_at: UnixTime
    # Null where only a link was asked for.
    token: str | None = None
    token_expires_at: UnixTime | None = None
    # The board lets people sign in over lines in clear.
    plaintext_allowed: bool = False


class LoginAnswer(Struct, frozen=True, kw_only=True):
    """What comes back over the socket: what was granted, or why not."""

    granted: LoginGrant | None = None
    # Where the board is, as whoever answers knows it.
    board: str | None = None
    refused: str | None = None


def decode_question(data: bytes) -> LoginQuestion:
    """Read what somebody asks over a socket.

    Raises:
        WireError: it is no question.
    """
    return _decode(data, LoginQuestion)


def decode_answer(data: bytes) -> LoginAnswer:
    """Read what a socket answers.

    Raises:
        WireError: it is no answer.
    """
    return _decode(data, LoginAnswer)


def _decode(data: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except NOT_DECODED:
        raise WireError("not a valid message") from None
