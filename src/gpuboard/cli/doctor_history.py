"""What `gpuboard doctor` says of the board's history: how its file is, and what can be saved."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from gpuboard.model.units import format_size

FILE_NAME: Final = "history.sqlite"
# To look through a larger one takes minutes.
LARGEST_CHECKED_BYTES: Final = 512 * 1024**2


class Looked(NamedTuple):
    """One thing that was found; no remedy: all is well, or nothing can be done."""

    is_well: bool
    text: str
    remedy: str | None = None


def look_at_history(directory: Path) -> Iterator[Looked]:
    """Look at the history of the board in this state directory; where there is none, say nothing."""
    path = directory / FILE_NAME
    for aside in sorted(directory.glob(f"{FILE_NAME}.damaged-*")):
        if not aside.name.endswith(("-wal", "-shm")):
            yield Looked(
                is_well=False,
                text=f"a damaged history was set aside: {aside} ({format_size(aside.stat().st_size)})",
                remedy=f"what can be saved: sqlite3 {aside} .recover | sqlite3 saved.sqlite; then delete it",
            )
    if not path.is_file():
        return
    size = path.stat().st_size
    wrong = _damage(path) if size <= LARGEST_CHECKED_BYTES else None
    if wrong is None:
        yield Looked(is_well=True, text=f"the history {path} can be read ({format_size(size)})")
    else:
        yield Looked(
            is_well=False,
            text=f"the history {path} cannot be read: {wrong}",
            remedy="the board sets a damaged file aside by itself and begins a new one; what can be saved: "
            f"sqlite3 {path} .recover | sqlite3 rescued.sqlite",
        )


def _damage(path: Path) -> str | None:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=5)) as connection:
            found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return str(error)
    return None if found == "ok" else found
