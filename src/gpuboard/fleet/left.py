"""How many nodes that have left are remembered: whoever names ever new ones fills no memory. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from gpuboard.fleet.node import Node

# Nodes that were taken away or renamed within a day are far fewer, unless a whole fleet is listed anew.
MAX_LEFT_NODES: Final = 2_000
# Each GPU has its last hour beside its figures: some kilobytes.
MAX_LEFT_GPUS: Final = 16_384
# As long as their last reports are as text: mostly some kilobytes, never more than 256.
MAX_LEFT_BYTES: Final = 64 * 1024 * 1024


def too_many(left: Sequence[Node]) -> Iterator[str]:
    """The names of those to be forgotten before their time: whoever left first."""
    gpus, size = sum(len(node.shown) for node in left), sum(node.left_bytes for node in left)
    count = len(left)
    if count <= MAX_LEFT_NODES and gpus <= MAX_LEFT_GPUS and size <= MAX_LEFT_BYTES:
        return
    for node in sorted(left, key=lambda one: one.left_at or 0.0):
        if count <= MAX_LEFT_NODES and gpus <= MAX_LEFT_GPUS and size <= MAX_LEFT_BYTES:
            return
        count, gpus, size = count - 1, gpus - len(node.shown), size - node.left_bytes
        yield node.name
