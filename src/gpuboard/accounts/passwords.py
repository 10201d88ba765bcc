"""Passwords: hashed with argon2id, in few threads beside the event loop."""

import functools
from collections.abc import Callable
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gpuboard.model.errors import OutsideError, UsageError
from gpuboard.outside.threads import Workers
from gpuboard.wire.people import LONGEST_PASSWORD, SHORTEST_PASSWORD

Value = TypeVar("Value")

# Each takes 64 MiB and a part of a second: so many at once, and so many that wait.
THREADS: Final = 2
MOST_WAITING: Final = 16
# So many more may wait who are no strangers: who guesses at any names keeps no owner out.
RESERVE: Final = 8
PATIENCE_SECONDS: Final = 20.0


class BusyError(UsageError):
    """Too many sign in at once."""


class Passwords:
    """Hashes and checks passwords."""

    def __init__(self) -> None:
        # The second recommendation of RFC 9106, for machines that do other things too.
        self._hasher = PasswordHasher(time_cost=3, memory_cost=65536, parallelism=1)
        self._workers = Workers(THREADS, patience=PATIENCE_SECONDS)
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """What is stored of a password; who sets one has a good link, and is no stranger.

        Raises:
            BusyError: too many want that at once.
        """
        return await self._run(functools.partial(self._hasher.hash, password), is_known=True)

    async def fits(self, password: str, hashed: str | None, *, is_known: bool = False) -> bool:
        """Whether a password is the one that was stored; takes as long where none is.

        `is_known`: it comes from a browser in which its owner has signed in before.

        Raises:
            BusyError: too many want that at once.
        """
        return await self._run(lambda: self._fits(password, hashed), is_known=is_known)

    def _fits(self, password: str, hashed: str | None) -> bool:
        try:
            self._hasher.verify(hashed or self._nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    @functools.cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("of nobody at all")

    async def _run(self, call: Callable[[], Value], *, is_known: bool) -> Value:
        if self._waiting >= THREADS + MOST_WAITING + (RESERVE if is_known else 0):
            raise BusyError("Too many sign in at once; try again in a moment.")
        self._waiting += 1
        try:
            return await self._workers.run(lambda _: call())
        except OutsideError:
            raise BusyError("Too many sign in at once; try again in a moment.") from None
        finally:
            self._waiting -= 1


def check_new_password(password: str, name: str) -> None:
    """Refuse a password that is guessed at once.

    Raises:
        UsageError: says what is wrong with it.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise UsageError(f"The password is too short: {SHORTEST_PASSWORD} characters are the least.")
    if len(password) > LONGEST_PASSWORD:
        raise UsageError(f"The password is too long: {LONGEST_PASSWORD} characters are the most.")
    if name.casefold() in password.casefold() and len(password) < 2 * len(name) + SHORTEST_PASSWORD:
        raise UsageError("The password is too much like the name.")
    if len(set(password)) < SHORTEST_PASSWORD // 2:
        raise UsageError("The password has too few different characters.")
