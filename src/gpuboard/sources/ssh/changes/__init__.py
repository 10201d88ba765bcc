"""A guest: samples of a node of which mostly only the changed lines come, and are read.

Nothing outside knows how: a frame goes in, devices come out, and whatever is not sure is read whole
(docs/decisions/0006-changes-over-ssh.md).
"""

from gpuboard.sources.ssh.changes.body import Body
from gpuboard.sources.ssh.changes.reader import DocumentReader

__all__ = ["Body", "DocumentReader"]
