"""The history as one file on a local disk."""

from gpuboard.history.embedded.store import EmbeddedHistory

__all__ = ["EmbeddedHistory"]
