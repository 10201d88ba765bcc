"""When a file of a node was written, and which of its samples it is."""

import hashlib
import time
from typing import Final

from gpuboard.model.report import NodeReport
from gpuboard.sources.folder.pace import Mark
from gpuboard.sources.formats.local_time import WEST_SECONDS, local_time

# As long as a SHA-256; a kernel's boot has 36.
_BOOT_LETTERS: Final = 64


def written_at_by(modified_at: float, *, last_look: float | None) -> float:
    """When a file was written, by our own clock.

    The file server has a clock of its own. But a file that changed since our last look was written
    since then, whatever that clock says; only at the first look it must be believed.
    """
    return min(max(modified_at, last_look or 0.0), time.time())


def mark_of(report: NodeReport) -> Mark | None:
    """Which of its node's samples a report is, as far as it says so."""
    if report.sequence is not None and report.boot_id is not None:
        return Mark(_boot(report.boot_id), report.sequence, report.taken_at)
    return None if report.taken_at is None else Mark("", report.taken_at, report.taken_at)


def _boot(said: str) -> str:
    """Which boot it is, in few letters: it is written down, and the node chooses how many it has."""
    return said if len(said) <= _BOOT_LETTERS else hashlib.sha256(said.encode()).hexdigest()


def local_mark_of(content: bytes) -> Mark | None:
    """The same of a file that says it by a clock of unknown zone."""
    moment = local_time(content)
    return None if moment is None else Mark("", moment, moment + WEST_SECONDS)
