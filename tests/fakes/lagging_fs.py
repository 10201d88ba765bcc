"""A folder that behaves like a tired network mount: what changed is seen later, and some reads never end."""

import contextlib
import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.parts import ROOT, missing, require

# Reads of files whose names begin like this hang, until the other file is there behind the mount.
HUNG = "hung"
RELEASE = ".release"


class Lagging(NamedTuple):
    """A mounted folder, and the one behind it."""

    mount: Path
    behind: Path

    def release(self) -> None:
        """Let all hung reads end."""
        (self.behind / RELEASE).touch()


@contextlib.contextmanager
def lagging(folder: Path, *, lag_seconds: float) -> Iterator[Lagging]:
    """Mount it until the block ends; no read outlives that."""
    require("fusermount")
    if not os.access("/dev/fuse", os.W_OK):
        missing("/dev/fuse")
    here = Lagging(folder / "mount", folder / "behind")
    here.mount.mkdir()
    here.behind.mkdir()
    command = [sys.executable, "-m", __name__, str(here.behind), str(here.mount), str(lag_seconds)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        deadline = time.monotonic() + 60
        while not os.path.ismount(here.mount):
            assert process.poll() is None, "it could not be mounted"
            assert time.monotonic() < deadline, "it was not mounted in time"
            time.sleep(0.05)
        yield here
    finally:
        here.release()
        subprocess.run(["fusermount", "-uz", str(here.mount)], check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        process.kill()
        process.wait()


def serve(behind: Path, mount: str, lag_seconds: float) -> None:
    """Be that folder, until unmounted."""
    from fuse import FUSE, FuseOSError, Operations  # noqa: PLC0415 - needs libfuse where it is imported

    class Files(Operations):  # type: ignore[misc]
        """Reads only; each file is remembered as it was for a while."""

        def __init__(self) -> None:
            self._seen: dict[str, tuple[float, os.stat_result, bytes]] = {}

        def _file(self, path: str) -> tuple[os.stat_result, bytes]:
            known = self._seen.get(path)
            if known is None or known[0] < time.monotonic():
                place = behind / path.lstrip("/")
                try:
                    known = (time.monotonic() + lag_seconds, place.stat(), place.read_bytes())
                except FileNotFoundError:
                    raise FuseOSError(errno.ENOENT) from None
                self._seen[path] = known
            return known[1], known[2]

        def getattr(self, path: str, _handle: int | None = None) -> dict[str, Any]:
            state = behind.stat() if path == "/" else self._file(path)[0]
            names = ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_mtime", "st_ctime", "st_atime")
            return {name: getattr(state, name) for name in names}

        def readdir(self, _path: str, _handle: int) -> list[str]:
            return [".", "..", *(place.name for place in behind.iterdir() if place.name[0] != ".")]

        def read(self, path: str, size: int, offset: int, _handle: int) -> bytes:
            while path.strip("/").startswith(HUNG) and not (behind / RELEASE).exists():
                time.sleep(0.05)
            return self._file(path)[1][offset : offset + size]

    FUSE(Files(), mount, foreground=True, attr_timeout=0, entry_timeout=0, direct_io=True, ro=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
