"""How far each node has come: of what was taken, and of what is safe. Pure."""

from collections.abc import Iterable, Mapping

from gpuboard.history.records import Taken
from gpuboard.model.report import NodeReport
from gpuboard.model.source import PUSH, SourceIdentity

# One sample: under which name it is known how far its node has come, and how far that is.
Mark = tuple[str, Taken]


def mark_of(node: str, report: NodeReport, source: SourceIdentity, at: float) -> Mark:
    """What tells a sample from all others of its node.

    The numbers of one kind of source say nothing of those of another. What has no number is known by the
    second in which it was taken.
    """
    key = node if source.kind == PUSH else f"{node} {source.kind}"
    if report.sequence is None:
        return key, Taken("", round(at))
    return key, Taken(report.boot_id or "", report.sequence)


class Positions:
    """Tells what was taken already, also by an earlier run of the board."""

    def __init__(self) -> None:
        self._newest: dict[str, Taken] = {}
        self._safe: dict[str, Taken] = {}
        self._gone: set[str] = set()

    def restore(self, safe: Mapping[str, Taken]) -> None:
        """Go on where an earlier run of the board ended."""
        self._safe = dict(safe)
        self._newest = {**safe, **self._newest}

    def is_new(self, mark: Mark) -> bool:
        """Whether a sample was not taken before; from now on it was."""
        key, position = mark
        known = self._newest.get(key)
        if known is not None and known.boot_id == position.boot_id:
            # Within a boot numbers rise; a file without a boot may be of a clock that was set back.
            is_old = position.sequence <= known.sequence if position.boot_id else position == known
            if is_old:
                return False
        self._newest[key] = position
        return True

    def note_safe(self, positions: Mapping[str, Taken]) -> None:
        """Hear how far all is written."""
        self._safe.update(positions)

    def safe(self, node: str, boot_id: str) -> int | None:
        """How far this boot of a pushing node is safe."""
        known = self._safe.get(node)
        return known.sequence if known is not None and known.boot_id == boot_id else None

    def forget(self, nodes: Iterable[str]) -> None:
        """Forget nodes that are gone."""
        names = set(nodes)
        if not names:
            return
        keys = {key for key in self._newest if key.partition(" ")[0] in names}
        self._gone |= keys
        for key in keys:
            self._newest.pop(key, None)
            self._safe.pop(key, None)

    def take_gone(self) -> frozenset[str]:
        """The names that were forgotten since the last time and have not come back."""
        gone, self._gone = self._gone, set()
        return frozenset(gone - self._newest.keys())
