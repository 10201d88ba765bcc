"""The discovery contract: one place that knows which nodes there are."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct


class Target(Struct, frozen=True, kw_only=True):
    """One node to read and where it answers."""

    # The node's name, valid and lower-cased.
    node: str
    # What the list itself calls it, where `node` is a shortening that depends on who else is listed.
    whole_name: str | None = None
    # Host name, address or ssh alias.
    host: str
    port: int | None = None
    # The account to use, where the way to the node has accounts (ssh).
    user: str | None = None
    # Whether it may be reached at an address that is this machine's own, or one that every link has. Whoever
    # names nodes from outside could else send us, and what we show them, to anything that listens here.
    may_be_here: bool = True
    # What the list says it belongs to: a site, a rack. No part of the way to it.
    groups: tuple[str, ...] = ()


Found = Callable[[Sequence[Target]], None]


class Discovery(Protocol):
    """One place that knows which nodes there are.

    One whose list may go out of date notes why (`gpuboard.model.component.Troubled`): the board shows it.
    """

    kind: str

    async def run(self, found: Found) -> None:
        """Call `found` with the whole list at the start and whenever it changes, until cancelled.

        An outage, or an empty answer where there were nodes before, does not wipe the list at once. Before
        the first list could be had nothing is told: that there are none, nobody knows.
        """
