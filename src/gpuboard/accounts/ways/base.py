"""What every way to sign in promises: it turns what somebody shows into who that is."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from gpuboard.accounts.records import Vouched
from gpuboard.model.errors import AccessRefused
from gpuboard.model.identity import WayKind, is_nobodys_name
from gpuboard.wire.people import WayCard, person_name

Shown = TypeVar("Shown", contravariant=True)  # noqa: PLC0105 - a word, not a mark


class NodeEvidence(Struct, frozen=True, kw_only=True):
    """Who asks on a node, by that node's word."""

    node: str
    uid: int
    name: str


class SocketEvidence(Struct, frozen=True, kw_only=True):
    """Who asks on this machine, by the kernel's word."""

    uid: int
    name: str


class ProxyEvidence(Struct, frozen=True, kw_only=True):
    """What the header of a listed proxy says."""

    value: str


class PasswordEvidence(Struct, frozen=True, kw_only=True):
    """A name and a password, and where they come from."""

    name: str
    password: str
    address: str | None
    # The browser's cookie, as its digest.
    browser: str | None

    def __repr__(self) -> str:
        # A password must not end up in a log by accident.
        return f"PasswordEvidence({self.name!r})"


class OidcEvidence(Struct, frozen=True, kw_only=True):
    """What a browser brings back from the provider."""

    code: str
    state: str
    # Its cookie, as a digest.
    browser: str
    # Why the provider sends somebody back with nothing.
    error: str = ""


class Way(Protocol[Shown]):
    """One way in."""

    kind: WayKind

    def card(self) -> WayCard | None:
        """How the sign-in card shows it; None while it is off, or nothing for a card."""

    async def recognise(self, evidence: Shown) -> Vouched:
        """Who this is.

        Raises:
            AccessRefused: it is nobody who may come in this way; says why.
        """


class RedirectWay(Way[OidcEvidence], Protocol):
    """A way in that leads over somebody else's page."""

    async def begin(self, *, browser: str, redirect_uri: str, goes_to: str) -> str:
        """Where a browser has to go; it comes back to `redirect_uri`, and from there to `goes_to`.

        Raises:
            AccessRefused: this way is off.
            OutsideError: nobody answers there.
        """

    def goes_to(self, state: str) -> str:
        """Where somebody wanted to go who comes back with this."""


def somebodys_name(text: str) -> str | None:
    """The name of a person; None: it can be none, or is that of an account that is nobody's."""
    name = person_name(text)
    return None if name is None or is_nobodys_name(name) else name


def person_behind(person_of: Callable[[str], str], account: str) -> str:
    """The person whose account this is, as the settings join them.

    Raises:
        AccessRefused: they say that it is nobody's.
    """
    person = person_of(account)
    if is_nobodys_name(person):
        raise AccessRefused(f"{account} would be {person}, which is nobody's name ([names.people])")
    return person


def nobody_words(uid: int, first_person_uid: int) -> str:
    """Why an account that is no person's does not get in."""
    which = "root" if uid == 0 else f"uid {uid}, a system account,"
    return f"{which} is nobody here: sign in as yourself ([access] vouch_from_uid = {first_person_uid})"
