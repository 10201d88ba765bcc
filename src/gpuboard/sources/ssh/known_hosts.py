"""The known_hosts files: read off the event loop, kept until one of them changes."""

from typing import Any, Final

import asyncssh

from gpuboard.outside.files import user_path
from gpuboard.outside.threads import Note, Workers

_USER_FILES: Final = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_SYSTEM_FILES: Final = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_Stamp = tuple[tuple[str, int, int], ...]


class KnownHosts:
    """All keys that we trust; many nodes share one reading of the files."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._read: dict[tuple[str, ...], tuple[_Stamp, asyncssh.SSHKnownHosts]] = {}

    @staticmethod
    def files(chosen: str | None, configured: Any) -> tuple[str, ...]:  # noqa: ANN401 - asyncssh's own type
        """Which files count: the option's, else those of the ssh config, else OpenSSH's usual ones."""
        if chosen is not None:
            return (chosen,)
        # "none" in an ssh config arrives as None. There it means "trust everybody"; here nobody.
        if isinstance(configured, list) and configured:
            return tuple(str(file) for file in configured)
        return (*_USER_FILES, *_SYSTEM_FILES)

    async def load(self, files: tuple[str, ...]) -> asyncssh.SSHKnownHosts:
        """Return the keys in these files; one that does not exist holds none.

        Raises:
            OutsideError: a file lies on a mount that hangs.
            OSError: a file may not be read.
            ValueError: a file is no known_hosts.
        """
        return await self._workers.run(lambda note: self._load(files, note))

    def _load(self, files: tuple[str, ...], note: Note) -> asyncssh.SSHKnownHosts:
        note(", ".join(files))
        paths = [path for file in files if (path := user_path(file)).is_file()]
        stamp = tuple((str(path), (found := path.stat()).st_mtime_ns, found.st_size) for path in paths)
        before = self._read.get(files)
        if before is not None and before[0] == stamp:
            return before[1]
        keys = asyncssh.SSHKnownHosts()
        for path in paths:
            note(str(path))
            keys.load(path.read_text(encoding="utf-8", errors="replace"))
        self._read[files] = (stamp, keys)
        return keys
