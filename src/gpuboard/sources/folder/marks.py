"""How far each node of a folder has come, remembered over a restart: what was read is never new again."""

from collections.abc import Mapping

from gpuboard.sources.folder.pace import Marks

# By node and folder, as one text: no node's name has a colon.
Kept = dict[str, Marks]


class FolderMarks:
    """The marks of every node in every folder; each folder has one reader, in a thread of its own."""

    def __init__(self) -> None:
        self._marks: Kept = {}

    def restore(self, known: Mapping[str, Marks]) -> None:
        """Go on with what an earlier run knew; what was learned since counts more."""
        self._marks = {**known, **self._marks}

    def known(self) -> Kept:
        """What is to be written down. Any thread may ask."""
        return dict(self._marks)

    def of(self, folder: str, node: str) -> Marks | None:
        """How far a node's files have come; None: none was read."""
        return self._marks.get(_key(folder, node))

    def note(self, folder: str, node: str, marks: Marks | None) -> None:
        """Remember how far a node's files have come."""
        if marks is not None:
            self._marks[_key(folder, node)] = marks

    def forget(self, node: str, folder: str | None = None) -> None:
        """Forget a node in one folder, or in every one."""
        if folder is not None:
            self._marks.pop(_key(folder, node), None)
            return
        for key in [key for key in list(self._marks) if key.startswith(f"{node}:")]:
            self._marks.pop(key, None)


def _key(folder: str, node: str) -> str:
    return f"{node}:{folder}"
