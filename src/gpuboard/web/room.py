"""The connections that are nobody's yet, and the room that they have: one address never takes all of it."""

import logging
from collections.abc import Callable
from typing import Protocol

from gpuboard.model.address import customer, is_loopback
from gpuboard.web.limits import (
    MAX_UNTAKEN_BYTES,
    MAX_UNTAKEN_BYTES_OF_ONE,
    MAX_VISITORS,
    MAX_VISITORS_OF_ONE,
)

log = logging.getLogger(__name__)


class Visitor(Protocol):
    """One connection."""

    def cut(self, reason: str) -> None:
        """End it at once."""


class Room:
    """Who is here, who of them waits, and whose answers wait.

    When it is full, whoever has waited longest without asking anything goes: that costs an honest one a new
    connection, and somebody who holds a thousand of them one of those.
    """

    def __init__(
        self,
        *,
        most: int = MAX_VISITORS,
        most_of_one: int = MAX_VISITORS_OF_ONE,
        is_limited: Callable[[str], bool] = lambda address: not is_loopback(address),
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        # A proxy brings the connections of many; so does one on this machine.
        self._is_limited = is_limited
        self._here: dict[Visitor, str] = {}
        self._waiting: dict[Visitor, None] = {}
        self._of_one: dict[str, dict[Visitor, None]] = {}
        self._untaken: dict[Visitor, int] = {}

    def enter(self, visitor: Visitor, address: str) -> bool:
        """Let a connection in, which waits at first; False if there is no room for it."""
        who = customer(address)
        own = self._of_one.get(who, {})
        if len(own) >= self._most_of_one and self._is_limited(address):
            return self._make_room([each for each in own if each in self._waiting]) and self._add(
                visitor, who
            )
        if len(self._here) >= self._most:
            return self._make_room(self._waiting) and self._add(visitor, who)
        return self._add(visitor, who)

    def leave(self, visitor: Visitor) -> None:
        """Forget a connection: it has ended, or belongs to somebody from now on."""
        who = self._here.pop(visitor, None)
        self._waiting.pop(visitor, None)
        self._untaken.pop(visitor, None)
        if who is not None:
            self._of_one[who].pop(visitor, None)
            if not self._of_one[who]:
                del self._of_one[who]

    def wait(self, visitor: Visitor) -> None:
        """Note that nothing is to be done for it at the moment."""
        if visitor in self._here:
            self._waiting.pop(visitor, None)
            self._waiting[visitor] = None

    def work(self, visitor: Visitor) -> None:
        """Note that it is being answered."""
        self._waiting.pop(visitor, None)

    def hold(self, visitor: Visitor, size: int) -> bool:
        """Note how much of its answer it has not taken; False if that is too much."""
        self._untaken[visitor] = size
        if size == 0:
            del self._untaken[visitor]
            return True
        who = self._here.get(visitor)
        own = sum(size for each, size in self._untaken.items() if self._here.get(each) == who)
        return own <= MAX_UNTAKEN_BYTES_OF_ONE and sum(self._untaken.values()) <= MAX_UNTAKEN_BYTES

    def _add(self, visitor: Visitor, who: str) -> bool:
        self._here[visitor] = who
        self._waiting[visitor] = None
        self._of_one.setdefault(who, {})[visitor] = None
        return True

    def _make_room(self, waiting: "dict[Visitor, None] | list[Visitor]") -> bool:
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.cut("others need the room")
        return True
