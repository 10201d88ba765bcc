"""The push source: agents connect to the board; how far each has come is kept over a restart."""

from gpuboard.sources.push.source import PushOptions, PushSource

__all__ = ["PushOptions", "PushSource"]
