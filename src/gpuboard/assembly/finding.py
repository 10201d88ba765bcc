"""The nodes of a list, for whoever looks once and goes."""

import asyncio
from typing import Final

from gpuboard.discovery.base import Discovery, Target
from gpuboard.model.component import Troubled
from gpuboard.model.errors import SettingsError

# How long a list of nodes may take to be found.
FIND_SECONDS: Final = 10.0
# How often it is seen whether there is one.
_LOOK_SECONDS: Final = 0.02


async def find_nodes(discovery: Discovery) -> list[Target]:
    """The nodes that are named now; none of a list in trouble, which says so in the log.

    Raises:
        SettingsError: they were not found in time.
    """
    found: asyncio.Future[list[Target]] = asyncio.get_running_loop().create_future()
    finding = asyncio.create_task(
        discovery.run(lambda targets: None if found.done() else found.set_result(list(targets)))
    )
    try:
        async with asyncio.timeout(FIND_SECONDS):
            while not found.done() and not finding.done() and not _is_in_trouble(discovery):
                await asyncio.wait([finding], timeout=_LOOK_SECONDS)
    except TimeoutError:
        raise SettingsError(f"{discovery.kind}: the nodes were not found within {FIND_SECONDS:g}s") from None
    finally:
        finding.cancel()
    if finding.done():
        # It never ends by itself: a mistake of ours, to be seen.
        finding.result()
    return found.result() if found.done() else []


def _is_in_trouble(discovery: Discovery) -> bool:
    return isinstance(discovery, Troubled) and discovery.trouble is not None
