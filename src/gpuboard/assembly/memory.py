"""The board's own memory: garbage is looked for seldom, and what is no longer needed is given back."""

import asyncio
import ctypes
import gc
from typing import Final

from gpuboard.outside.threads import off_loop

# Of objects that may hold cycles, of collections of the young, and of the middle-aged. What strangers leave
# behind (a refused handshake: 300 objects) is gone in milliseconds; of 100,000 it was a tenth of a second.
GARBAGE_AFTER: Final = (10_000, 10, 50)
# What an hour of crowds took is nobody's any more; whoever looks at the machine shall see that.
GIVE_BACK_SECONDS: Final = 20.0


def collect_garbage_seldom() -> None:
    """Let this process look for garbage rarely, and then never for long, for everybody waits meanwhile."""
    # Reports, rows and frames hold no cycles; looking for some after every 700 new objects is wasted.
    gc.freeze()
    gc.set_threshold(*GARBAGE_AFTER)


async def give_back_memory() -> None:
    """Hand memory that was freed back to the system now and then, until cancelled."""
    # Only glibc keeps what was freed until somebody asks; elsewhere there is nothing to do.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await off_loop(lambda: trim(0))
        await asyncio.sleep(GIVE_BACK_SECONDS)
    await asyncio.Event().wait()
