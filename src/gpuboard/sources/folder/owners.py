"""Whose file stands for each node of a folder, remembered over a restart: who was read first, stays."""

from collections.abc import Container, Mapping
from typing import Final

from gpuboard.sources.folder.marks import FolderMarks

# So long a node's owner is remembered when all of its files are gone.
FORGET_AFTER_SECONDS: Final = 24 * 3600.0
# Of more, those without files are forgotten at once.
MAX_NODES: Final = 20_000

# The numbers of users by node.
Known = dict[str, int]


class Owners:
    """The owners in every folder; each folder has one reader, in a thread of its own."""

    def __init__(self, *, forget_after: float = FORGET_AFTER_SECONDS) -> None:
        self._forget_after = forget_after
        self._folders: dict[str, Known] = {}
        # How far their files have come, remembered as long as they.
        self.marks = FolderMarks()
        # Since when nodes have no files, by folder and node.
        self._gone: dict[tuple[str, str], float] = {}
        # Nodes of which every folder that is looked at has to tell once more what it knows.
        self._forgotten: dict[str, set[str]] = {}

    def restore(self, known: Mapping[str, Known]) -> None:
        """Go on with what an earlier run knew; what was learned since counts more."""
        for folder, owners in known.items():
            self._folders[folder] = {**owners, **self._folders.get(folder, {})}

    def known(self) -> dict[str, Known]:
        """What is to be written down. Any thread may ask."""
        return {folder: dict(owners) for folder, owners in list(self._folders.items())}

    def of(self, folder: str, node: str) -> int | None:
        """Whose file stands for a node; None: nobody's does yet."""
        return self._folders.get(folder, {}).get(node)

    def nodes(self, folder: str) -> Known:
        """The nodes that were read in a folder, also by an earlier run, and whose file that was."""
        return dict(self._folders.get(folder, {}))

    def note(self, folder: str, node: str, owner: int) -> None:
        """Remember whose file was read."""
        self._folders.setdefault(folder, {})[node] = owner

    def forget(self, node: str) -> None:
        """Forget a node in every folder: the next file that is read is the first."""
        for owners in list(self._folders.values()):
            owners.pop(node, None)
        self.marks.forget(node)
        for nodes in list(self._forgotten.values()):
            nodes.add(node)

    def take_forgotten(self, folder: str) -> frozenset[str]:
        """The nodes that were forgotten since the last time this folder was looked at."""
        nodes, self._forgotten[folder] = self._forgotten.get(folder, set()), set()
        return frozenset(nodes)

    def look(self, folder: str, here: Container[str], *, now: float) -> None:
        """Hear which nodes have files now; those that have had none for long are forgotten."""
        owners = self._folders.get(folder, {})
        is_full = len(owners) > MAX_NODES
        for node in list(owners):
            if node in here:
                self._gone.pop((folder, node), None)
            elif now - self._gone.setdefault((folder, node), now) >= self._forget_after or is_full:
                self._gone.pop((folder, node))
                owners.pop(node, None)
                self.marks.forget(node, folder)
