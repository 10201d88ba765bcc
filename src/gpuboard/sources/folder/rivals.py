"""Several files of one user about one node: which of them is written, and whether they say the same. Pure."""

from collections.abc import Sequence
from typing import Final

from gpuboard.model.report import NodeReport
from gpuboard.sources.folder.listing import Bundle, Stamp
from gpuboard.verdict import judge

# A file that has come or changed so often while the one that is read stood still, is the newer.
_LIVELY: Final = 2
# One that cannot be read has to change so often before it is tried again: it may be no node's at all.
_PATIENCE: Final = 20
# Both are fresh if they were written within so long of each other: a crontab's minute, three times.
_FRESH_SECONDS: Final = 180.0


class Rivals:
    """The files beside the one that is read, and how often each has changed since that one did."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp] = {}
        self._changes: dict[str, int] = {}

    def look(self, files: Sequence[Bundle], read: str | None) -> str | None:
        """See all files of the user whose file is read; the name of another that is livelier, if one is."""
        before, self._stamps = self._stamps, {one.name: one.stamp for one in files}
        if len(files) == 1 or read not in self._stamps:
            self._changes = {}
            return None
        changed = {name for name, stamp in self._stamps.items() if before.get(name) != stamp}
        if not before:
            # Until now it was alone; the others have come.
            changed.discard(read)
        if read in changed:
            self._changes = {name: count for name, count in self._changes.items() if count < 0}
        # What is no longer there is forgotten: names are cheap.
        self._changes = {name: count for name, count in self._changes.items() if name in self._stamps}
        for name in changed - {read}:
            self._changes[name] = self._changes.get(name, 0) + 1
        lively = (one for one in files if self._changes.get(one.name, 0) >= _LIVELY)
        newest = max(lively, key=lambda one: one.modified_at, default=None)
        return None if newest is None else newest.name

    def refuse(self, name: str) -> None:
        """Hear that a livelier file cannot be read."""
        self._changes[name] = -_PATIENCE


def are_fresh(one: Bundle, other: Bundle) -> bool:
    """Whether two files may both be written still."""
    return abs(one.modified_at - other.modified_at) <= _FRESH_SECONDS


def disagree(one: NodeReport, other: NodeReport) -> bool:
    """Whether one calls a GPU free that another knows to be in use, or has not."""
    ours, theirs = _words(one), _words(other)
    return ours.keys() != theirs.keys() or any(
        {ours[number], theirs[number]} == {"free", "busy"} for number in ours
    )


def _words(report: NodeReport) -> dict[int, str]:
    whole = [gpu for gpu in report.gpus or () if gpu.mig_parent_uuid is None]
    return {gpu.index: judge(gpu, now=0.0).word for gpu in whole}
