"""Bookings under names that no node has: they hold no GPU, and whoever wrote them counts on one."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from gpuboard.model.verdict import Reason
from gpuboard.wire.clean import clean_text

log: Final = logging.getLogger(__name__)

# So many names are told, and so many letters of each.
MAX_NAMED: Final = 5
NAME_LENGTH: Final = 64


class UnknownHosts:
    """Says which they are, once; what is mended, or whose node has come, is said no longer."""

    kind = "booked_hosts"
    name = ""

    def __init__(self, ask: Callable[[], Sequence[str]]) -> None:
        """Take what knows the names under which something is booked and that no node has."""
        self._ask = ask
        self._told: tuple[str, ...] = ()
        # None: all that is booked is booked on nodes.
        self.trouble: Reason | None = None

    def look(self) -> None:
        """See which names there are now; the log hears of it when they have changed."""
        names = tuple(self._ask())
        if names == self._told:
            return
        new = sorted(set(names).difference(self._told))
        self._told = names
        self.trouble = Reason(code="booked-hosts", text=_text(names)) if names else None
        if new:
            log.warning("bookings of no node: %s; they hold nothing until a node has this name", listed(new))
        elif not names:
            log.info("all bookings are of known nodes again")


def listed(names: Sequence[str]) -> str:
    """The first of the names, as they may be shown, and how many more there are."""
    more = f", and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(clean_text(name)[:NAME_LENGTH] for name in names[:MAX_NAMED]) + more


def _text(names: Sequence[str]) -> str:
    return f"something is booked on what no source knows: {listed(names)}; correct the name, or add the node"
