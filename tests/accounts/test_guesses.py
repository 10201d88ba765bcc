"""Guessing passwords: how many are compared, and who gets in all the same."""

import asyncio
import random
import threading

import pytest

from gpuboard.accounts.desk import Known
from gpuboard.accounts.guesses import MAX_REMEMBERED, GuessLimit
from gpuboard.accounts.passwords import MOST_WAITING, THREADS, BusyError, Passwords, check_new_password
from gpuboard.accounts.records import Person
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.base import PasswordEvidence
from gpuboard.accounts.ways.password import PasswordWay
from gpuboard.model.errors import AccessRefused, GuessRefused, UsageError
from gpuboard.settings.access import AccessTable

HOUR = 3600.0
OWN_BROWSER = "b" * 64


class QuickPasswords(Passwords):
    """Compares plain texts: ten thousand hashes would take a quarter of an hour."""

    async def fits(self, password: str, hashed: str | None, *, is_known: bool = False) -> bool:
        """Whether both are the same."""
        del is_known
        return password == hashed


class Accounts(AccountView):
    """Two accounts, and one browser in which the first has signed in."""

    def __init__(self) -> None:
        known = Known(
            generation="1",
            people=[
                Person(name=name, role="user", display_name=None, password=f"secret of {name}", created_at=0)
                for name in ("ana", "ben")
            ],
            sessions=[],
            tokens=[],
            browsers=frozenset({(OWN_BROWSER, "ana")}),
        )
        self._people = {one.name: one for one in known.people}
        self._browsers = known.browsers


class Clock:
    """A clock that stands until somebody sets it."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def way_of(clock: Clock, access: AccessTable | None = None) -> PasswordWay:
    """The way in by password, with a clock of the test's."""
    table = access or AccessTable()
    return PasswordWay(lambda: table, Accounts(), QuickPasswords(), GuessLimit(clock=clock))


def guess(
    name: str = "ana", password: str = "wrong", address: str = "192.0.2.1", browser: str | None = None
) -> PasswordEvidence:
    """One try."""
    return PasswordEvidence(name=name, password=password, address=address, browser=browser)


def addresses(kind: str) -> list[str]:
    """Where ten thousand guesses come from."""
    rng = random.Random(1)
    if kind == "one":
        return ["192.0.2.1"] * 10_000
    if kind == "many":
        return [f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}" for _ in range(10_000)]
    return [f"2001:db8:{number:x}::1" for number in range(10_000)]


@pytest.mark.parametrize("kind", ["one", "many", "many networks"])
async def test_of_ten_thousand_guesses_in_an_hour_few_are_compared_and_the_owner_gets_in(kind: str) -> None:
    """At most sixty per account; the owner, in a browser of before, at once and at any moment."""
    clock = Clock()
    way = way_of(clock)
    for number, address in enumerate(addresses(kind)):
        clock.now = number * HOUR / 10_000
        with pytest.raises(GuessRefused):
            await way.recognise(guess(address=address))
        if number % 2500 == 2499:
            before = way.evaluated
            vouched = await way.recognise(guess(password="secret of ana", browser=OWN_BROWSER))
            assert (vouched.person, vouched.role) == ("ana", "user")
            way.evaluated = before
    assert 10 <= way.evaluated <= 60


async def test_guesses_at_one_account_cost_another_nothing() -> None:
    """Nor those of another address."""
    way = way_of(Clock())
    for number in range(100):
        with pytest.raises(GuessRefused):
            await way.recognise(guess(address=f"10.0.0.{number}"))
    assert (await way.recognise(guess("ben", "secret of ben", "192.0.2.9"))).person == "ben"


async def test_who_is_kept_waiting_hears_for_how_long_and_gets_in_afterwards() -> None:
    """Also without a browser of before."""
    clock = Clock()
    way = way_of(clock)
    for _ in range(10):
        with pytest.raises(GuessRefused) as wrong:
            await way.recognise(guess())
        assert wrong.value.wait_seconds is None
    with pytest.raises(GuessRefused) as refused:
        await way.recognise(guess(password="secret of ana"))
    assert refused.value.wait_seconds is not None
    clock.now += refused.value.wait_seconds
    assert (await way.recognise(guess(password="secret of ana"))).person == "ana"


async def test_a_browser_of_before_may_not_guess_without_end_either() -> None:
    """It may have been stolen; and it is known for its own person alone."""
    way = way_of(Clock())
    for _ in range(10):
        with pytest.raises(GuessRefused):
            await way.recognise(guess(browser=OWN_BROWSER))
    with pytest.raises(GuessRefused) as refused:
        await way.recognise(guess(password="secret of ana", browser=OWN_BROWSER))
    assert refused.value.wait_seconds
    assert not way._view.knows_browser(OWN_BROWSER, "ben")


async def test_names_that_are_nobody_sound_like_others_and_make_nothing_forgotten() -> None:
    """Whoever tries many names must not learn which are accounts, nor get new tries at one."""
    way = way_of(Clock())
    texts = set()
    for name in ("ana", "stranger"):
        for number in range(11):
            with pytest.raises(GuessRefused) as refused:
                await way.recognise(guess(name, address=f"10.1.{len(name)}.{number}"))
            texts.add((number, str(refused.value), refused.value.wait_seconds))
    assert len(texts) == 11
    for number in range(MAX_REMEMBERED + 10):
        with pytest.raises(GuessRefused):
            await way.recognise(guess(f"x{number}", address=f"10.2.{number // 250}.{number % 250}"))
    with pytest.raises(GuessRefused) as refused:
        await way.recognise(guess(address="10.3.0.1"))
    assert refused.value.wait_seconds


async def test_passwords_can_be_switched_off() -> None:
    """Then none is compared, and the card has no such form."""
    way = way_of(Clock(), AccessTable(passwords=False))
    with pytest.raises(AccessRefused, match="takes no passwords"):
        await way.recognise(guess(password="secret of ana"))
    assert (way.evaluated, way.card()) == (0, None)


class SlowPasswords(Passwords):
    """Compares plain texts, when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def _fits(self, password: str, hashed: str | None) -> bool:
        self.may_go_on.wait(20)
        return password == hashed


async def test_guesses_at_any_names_leave_room_for_a_browser_of_before() -> None:
    """Whoever fills the queue from many addresses keeps strangers out, and no owner."""
    passwords, table = SlowPasswords(), AccessTable()
    way = PasswordWay(lambda: table, Accounts(), passwords, GuessLimit(clock=Clock()))
    guesses = [
        asyncio.create_task(way.recognise(guess(f"x{number}", address=f"10.4.0.{number}")))
        for number in range(THREADS + MOST_WAITING)
    ]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await way.recognise(guess(password="secret of ana"))
    owner = asyncio.create_task(way.recognise(guess(password="secret of ana", browser=OWN_BROWSER)))
    await asyncio.sleep(0)
    assert not owner.done()
    passwords.may_go_on.set()
    assert (await owner).person == "ana"
    assert all(
        isinstance(one, GuessRefused) for one in await asyncio.gather(*guesses, return_exceptions=True)
    )


async def test_a_password_is_stored_as_argon2id_and_compared_so() -> None:
    """And nobody's fits nothing, though it takes its time."""
    passwords = Passwords()
    stored = await passwords.hash("correct horse")
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert await passwords.fits("correct horse", stored)
    assert not await passwords.fits("wrong horse", stored)
    assert not await passwords.fits("of nobody at all", None)
    assert not await passwords.fits("x", "no hash at all")


@pytest.mark.parametrize(
    ("password", "why"),
    [("short", "too short"), ("x" * 1025, "too long"), ("anaanaana1", "like the name"), ("a" * 20, "few")],
)
def test_a_password_that_is_guessed_at_once_is_refused(password: str, why: str) -> None:
    """In words that say what is wrong with it."""
    with pytest.raises(UsageError, match=why):
        check_new_password(password, "ana")
    check_new_password("correct horse battery", "ana")
