"""What every way to sign in promises, whatever it is shown."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuboard.accounts.guesses import GuessLimit
from gpuboard.accounts.passwords import Passwords
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.base import (
    NodeEvidence,
    OidcEvidence,
    PasswordEvidence,
    ProxyEvidence,
    SocketEvidence,
    Way,
)
from gpuboard.accounts.ways.node import NodeWay
from gpuboard.accounts.ways.oidc import OidcWay
from gpuboard.accounts.ways.password import PasswordWay
from gpuboard.accounts.ways.proxy import ProxyWay
from gpuboard.accounts.ways.socket import SocketWay
from gpuboard.model.errors import AccessRefused
from gpuboard.settings.access import AccessTable, OidcTable

OFF = AccessTable(vouching=(), passwords=False)
ON = AccessTable(
    proxy_header="X-User",
    trusted_proxies=("127.0.0.1",),
    oidc=OidcTable(issuer="https://x.example", client_id="b"),
)


class Nobody(AccountView):
    """A view of no accounts at all."""

    def __init__(self) -> None:
        self._people, self._browsers = {}, frozenset()


def ways(access: AccessTable, person_of: Callable[[str], str] = str) -> dict[str, Way[Any]]:
    """Every way, as these settings have it."""

    def table() -> AccessTable:
        return access

    guesses = GuessLimit(clock=lambda: 0.0)
    return {
        "node": NodeWay(table, person_of),
        "socket": SocketWay(table, person_of, own_uid=1000),
        "password": PasswordWay(table, Nobody(), Passwords(), guesses),
        "oidc": OidcWay(table, person_of),
        "proxy": ProxyWay(table, person_of),
    }


# What somebody may show who is nobody, for each way; the name goes in.
SHOWN: dict[str, Callable[[str], Any]] = {
    "node": lambda name: NodeEvidence(node="gpu01", uid=1000, name=name),
    "socket": lambda name: SocketEvidence(uid=1001, name=name),
    "password": lambda name: PasswordEvidence(name=name, password="x", address=None, browser=None),
    "oidc": lambda name: OidcEvidence(code=name, state=name, browser=name),
    "proxy": lambda name: ProxyEvidence(value=name),
}


def test_every_way_is_tried_here() -> None:
    """One more file is one more line."""
    assert ways(ON).keys() == SHOWN.keys()
    assert {name: way.kind for name, way in ways(ON).items()} == {name: name for name in SHOWN}


@pytest.mark.parametrize("name", list(SHOWN))
def test_a_way_that_is_off_has_no_place_on_the_card(name: str) -> None:
    """And one that is on is shown as what it is, if it is for the card at all."""
    assert ways(OFF)[name].card() is None
    card = ways(ON)[name].card()
    assert card is None if name in ("socket", "password") else card is not None and card.kind == name


@pytest.mark.parametrize("name", list(SHOWN))
@pytest.mark.parametrize("who", ["", " ", "\u3164", "x" * 1000, "root", "Root", "unknown"])
async def test_what_names_nobody_is_refused_in_words(name: str, who: str) -> None:
    """Never somebody, and never a mistake of ours."""
    with pytest.raises(AccessRefused) as refused:
        await ways(ON)[name].recognise(SHOWN[name](who))
    assert str(refused.value)


@pytest.mark.parametrize("name", ["node", "socket", "proxy"])
async def test_an_account_that_is_joined_to_nobody_is_refused(name: str) -> None:
    """Somebody under the name of root would be all who have no name."""
    with pytest.raises(AccessRefused, match=r"ana would be root, .*\[names\.people\]"):
        await ways(ON, lambda _: "root")[name].recognise(SHOWN[name]("ana"))


@pytest.mark.parametrize("name", ["node", "socket"])
async def test_a_number_without_a_name_is_nobody_on_a_machine(name: str) -> None:
    """An account that was removed, or that its container alone knows."""
    with pytest.raises(AccessRefused, match="has no name"):
        await ways(ON)[name].recognise(SHOWN[name]("2000"))


async def test_a_proxy_may_call_people_by_numbers() -> None:
    """Students are, in many places."""
    vouched = await ways(ON)["proxy"].recognise(ProxyEvidence(value="20261118"))
    assert vouched.person == "20261118"


@pytest.mark.parametrize("name", ["node", "socket"])
async def test_a_name_is_made_harmless(name: str) -> None:
    """It is hostile text until it is somebody's, and goes to terminals and logs."""
    vouched = await ways(ON)[name].recognise(SHOWN[name]("a\x1b[31mb"))
    assert (vouched.person, vouched.way) == ("a\\x1b[31mb", name)


@pytest.mark.parametrize("who", ["an\u200ba", "a\x1b[31mb", "ana\ufe0f", "an\u3164a", "ana\u00a0b"])
async def test_a_proxys_name_with_something_that_nobody_sees_is_refused(who: str) -> None:
    """It would be one more person who looks like the first."""
    with pytest.raises(AccessRefused):
        await ways(ON)["proxy"].recognise(ProxyEvidence(value=who))


async def test_a_proxys_header_with_two_values_is_refused() -> None:
    """Joined by a comma on the way: one of them may be the visitor's own."""
    with pytest.raises(AccessRefused):
        await ways(ON)["proxy"].recognise(ProxyEvidence(value="eve, adm"))
