"""What one look at a folder says."""

from msgspec import Struct

from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason


class FolderReading(Struct, frozen=True):
    """What one node's files said, as of when its sample was taken."""

    report: NodeReport
    sampled_at: float
    # How often it writes, as far as was seen; 0: not known yet.
    pace_seconds: float
    # Whether this sample was not handed over before.
    is_new: bool = True


Outcome = FolderReading | Reason


class Scan(Struct):
    """One look at the folder."""

    # Every node whose files are here; outcomes only of those that have changed.
    nodes: set[str]
    outcomes: dict[str, Outcome]
    # Files that are no node's, with the reason.
    skipped: dict[str, str]
    # The path of each node's file, as it was read last.
    files: dict[str, str] = {}
    # Nodes that were read and whose token was taken away since, though their files are here.
    revoked: set[str] = set()
    # Why the files of some of these nodes cannot be read, also of those that have not changed.
    refusals: dict[str, Reason] = {}
    # Nodes whose file could not be read at this look and the one before, said once; and those that can again.
    broken: dict[str, str] = {}
    mended: list[str] = []
    overfull: str | None = None
    # Whether the tokens have not been read yet: nothing can be said of the files until then.
    is_early: bool = False
