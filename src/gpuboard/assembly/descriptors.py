"""Open files: when none is left, visitors and agents are turned away without a word; so it is said before."""

import asyncio
import os
import resource
from typing import Final

from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import off_loop

LOOK_SECONDS: Final = 5.0
MUCH: Final = 0.9


class Descriptors:
    """Looks how many files, connections among them, are open."""

    def __init__(self) -> None:
        # Why nobody may be let in soon; None: there is room.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.trouble = await off_loop(_look)
            await asyncio.sleep(LOOK_SECONDS)


def _look() -> Reason | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # Looking takes one itself.
        count = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names suffice, and thousands are many
    except FileNotFoundError:
        return None
    except OSError:
        count = limit
    if limit == resource.RLIM_INFINITY or count < MUCH * limit:
        return None
    return Reason(
        code="descriptors",
        text=f"{count} of {limit} open files are in use; when none is left, nobody else is let in: "
        "raise LimitNOFILE in the unit, or ulimit -n",
    )
