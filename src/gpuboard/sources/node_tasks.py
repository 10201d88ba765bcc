"""One task for each node of a list that changes."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from msgspec.structs import replace

from gpuboard.discovery.base import Target
from gpuboard.sources.base import Sink

# New nodes are asked one after the other in steps of this, so that 500 handshakes do not fall together.
_STEP_SECONDS: Final = 0.01

Look = Callable[[Target], Coroutine[Any, Any, None]]


class NodeTasks:
    """Begins to look after a node when it is listed, ends when it no longer is, begins anew when it moves."""

    def __init__(self, kind: str, *, interval: float) -> None:
        """Spread the first looks, but never over more than one interval."""
        self._kind = kind
        self._interval = interval
        self._tasks: dict[str, tuple[Target, asyncio.Task[None]]] = {}

    def follow(self, targets: Sequence[Target], sink: Sink, look_after: Look) -> None:
        """Take this list; of a node that stands on it twice the first place counts."""
        wanted: dict[str, Target] = {}
        for target in targets:
            wanted.setdefault(target.node, target)
        sink.expect(
            wanted,
            {node: target.host for node, target in wanted.items()},
            groups={node: target.groups for node, target in wanted.items()},
        )
        # A rack is no part of the way to a node: whoever is put into another one is not asked anew.
        wanted = {node: replace(target, groups=()) for node, target in wanted.items()}
        for node in [node for node, (target, _) in self._tasks.items() if wanted.get(node) != target]:
            self._tasks.pop(node)[1].cancel()
        new = [target for node, target in wanted.items() if node not in self._tasks]
        step = min(_STEP_SECONDS, self._interval / max(1, len(new)))
        for place, target in enumerate(new):
            after = step * (place + random.random())  # noqa: S311 - spreads load, hides nothing
            task = asyncio.create_task(_begin(target, look_after, after), name=f"{self._kind} {target.node}")
            self._tasks[target.node] = (target, task)

    async def stop(self) -> None:
        """End all of them."""
        tasks = [task for _, task in self._tasks.values()]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _begin(target: Target, look_after: Look, after: float) -> None:
    await asyncio.sleep(after)
    await look_after(target)
