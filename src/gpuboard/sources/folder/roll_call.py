"""Who has stopped writing: one line in the log when a node is lost, one when it is back."""

import logging
from collections.abc import Collection
from typing import Final

from gpuboard.model.node import LOST_AFTER_INTERVALS

log = logging.getLogger(__name__)

# So many nodes are named at once: whoever makes thousands of files does not fill the log.
MAX_NAMED: Final = 20
_MAX_REMEMBERED: Final = 20_000


class RollCall:
    """The nodes of one folder, and from when on each is lost."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._due: dict[str, float] = {}
        self._lost: set[str] = set()

    def heard(self, node: str, *, sampled_at: float, interval: float) -> None:
        """Note a node's newest sample."""
        self._due[node] = sampled_at + LOST_AFTER_INTERVALS * interval

    def call(self, here: Collection[str], now: float) -> None:
        """Say who is lost and who is back, given the nodes whose files are here."""
        lost = {node for node, due in self._due.items() if now > due or node not in here}
        gone, back = sorted(lost - self._lost), sorted(self._lost - lost)
        for node in gone[:MAX_NAMED]:
            why = "no new file" if node in here else "its file is gone"
            log.warning("node lost: node=%s folder=%s reason=%s", node, self._folder, why)
        for node in back[:MAX_NAMED]:
            log.info("node back: node=%s folder=%s", node, self._folder)
        if more := max(0, len(gone) - MAX_NAMED) + max(0, len(back) - MAX_NAMED):
            log.warning("more nodes lost or back: count=%d folder=%s", more, self._folder)
        self._lost = lost
        for node in [node for node in self._due if node not in here][
            : max(0, len(self._due) - _MAX_REMEMBERED)
        ]:
            del self._due[node]
