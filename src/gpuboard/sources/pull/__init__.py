"""The pull source: the board asks agents that listen, and nodes of an older board."""

from gpuboard.sources.pull.options import PullOptions
from gpuboard.sources.pull.source import PullSource

__all__ = ["PullOptions", "PullSource"]
