"""Open files: when none is left, visitors and agents are turned away without a word; so it is said before."""

import asyncio
import logging
import os
import resource
from typing import Final

from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import off_loop

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
MUCH: Final = 0.9
REMEDY: Final = "raise LimitNOFILE in the unit, or ulimit -n"


class Descriptors:
    """Looks how many files, connections among them, are open."""

    def __init__(self) -> None:
        # Why nobody may be let in soon, or is let in now; None: there is room.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self._note(await off_loop(_look))
            await asyncio.sleep(LOOK_SECONDS)

    def _note(self, trouble: Reason | None) -> None:
        if trouble is None and self.trouble is not None:
            log.info("open files: there is room again")
        elif trouble is not None and (self.trouble is None or self.trouble.values != trouble.values):
            log.warning("open files: %s", trouble.text)
        self.trouble = trouble


def _look() -> Reason | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # Looking takes one itself.
        count = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names suffice, and thousands are many
    except FileNotFoundError:
        return None
    except OSError:
        text = f"all {limit} open files are in use, and nobody else is let in: {REMEDY}"
        return Reason(code="descriptors", text=text, values={"is_none_left": True})
    if limit == resource.RLIM_INFINITY or count < MUCH * limit:
        return None
    return Reason(
        code="descriptors",
        text=f"{count} of {limit} open files are in use; when none is left, nobody else is let in: {REMEDY}",
        values={"is_none_left": False},
    )
