"""The hosts of an ssh config: every concrete alias in it is a node."""

import glob
import logging
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct

from gpuboard.discovery.base import Found, Target
from gpuboard.discovery.hosts import name_nodes, read_host
from gpuboard.discovery.list_file import unread
from gpuboard.model.errors import OutsideError
from gpuboard.model.ranges import MAX_HOSTS
from gpuboard.model.verdict import Reason
from gpuboard.outside.files import POLL_SECONDS, follow, read_file, user_path

log: Final = logging.getLogger(__name__)

# As deep as OpenSSH itself follows.
_MAX_DEPTH: Final = 16
_MAX_FILES: Final = 256


class SshConfigOptions(Struct, frozen=True, kw_only=True):
    """`discover = { ssh_config = "~/.ssh/config", only = ["gpu*"] }`."""

    ssh_config: str
    # Most configs also name hosts that have no GPU: these patterns pick.
    only: tuple[str, ...] = ("*",)


class SshConfigDiscovery:
    """The concrete `Host` aliases of an ssh config and of the files that it includes."""

    kind = "ssh_config"

    def __init__(self, options: SshConfigOptions, *, every: float = POLL_SECONDS) -> None:
        self.name = options.ssh_config
        self._path = user_path(options.ssh_config)
        self._only = options.only
        self._every = every
        self.trouble: Reason | None = None

    async def run(self, found: Found) -> None:
        """Hand over the aliases at the start and after every change, until cancelled."""
        targets: Sequence[Target] | None = None
        async for outcome in follow(lambda: read_aliases(self._path), what=self._path, every=self._every):
            is_read = not isinstance(outcome, OutsideError)
            read = () if isinstance(outcome, OutsideError) else self._pick(outcome)
            self.trouble = None
            if not read:
                text = (
                    unread(outcome, key=self.kind)
                    if isinstance(outcome, OutsideError)
                    else f"{self._path} names no fitting host"
                )
                self.trouble = Reason(code="ssh-config", text=text)
                log.warning("ssh config not used: reason=%s hosts_kept=%d", text, len(targets or ()))
            # Of a file that was never read nobody knows that it names none.
            if (targets is None and is_read) or (read and read != targets):
                targets = read
                found(targets)

    def _pick(self, aliases: Sequence[str]) -> tuple[Target, ...]:
        fitting = [alias for alias in aliases if any(fnmatchcase(alias, pattern) for pattern in self._only)]
        return name_nodes([target for target in map(_target, fitting[:MAX_HOSTS]) if target is not None])


def _target(alias: str) -> Target | None:
    try:
        target = read_host(alias)
    except ValueError:
        return None
    # An alias is no address: `user@host:port` here would be a name that only ssh understands.
    return target if target.port is None and target.user is None else None


def read_aliases(path: Path) -> tuple[str, ...]:
    """All concrete aliases in an ssh config and the files it includes, in order, each once. Blocks.

    Raises:
        OutsideError: the file itself cannot be read; included files that cannot are left out, as ssh does.
    """
    seen: set[Path] = set()
    return tuple(dict.fromkeys(_aliases(path, base=path.parent, seen=seen, depth=0)))


def _aliases(path: Path, *, base: Path, seen: set[Path], depth: int) -> Iterator[str]:
    seen.add(path)
    for line in read_file(path).decode("utf-8", "replace").splitlines():
        keyword, values = _words(line)
        if keyword == "host":
            yield from (value for value in values if not set(value) & set("*?!"))
        elif keyword == "include" and depth < _MAX_DEPTH:
            for inner in _included(values, base):
                if inner not in seen and len(seen) < _MAX_FILES:
                    yield from _quietly(inner, base=base, seen=seen, depth=depth + 1)


def _quietly(path: Path, *, base: Path, seen: set[Path], depth: int) -> Iterator[str]:
    try:
        yield from _aliases(path, base=base, seen=seen, depth=depth)
    except OutsideError:
        return


def _words(line: str) -> tuple[str, list[str]]:
    """A line's keyword in lower case and its values; `Host=a` and `Host a` mean the same."""
    try:
        words = shlex.split(line.replace("=", " ", 1), comments=True)
    except ValueError:
        return "", []
    return (words[0].lower(), words[1:]) if words else ("", [])


def _included(patterns: Sequence[str], base: Path) -> Iterator[Path]:
    for pattern in patterns:
        # A relative name starts at the config's own folder: ~/.ssh for a person's config.
        for name in sorted(glob.glob(str(base / user_path(pattern)))):  # noqa: PTH207 - absolute too
            yield Path(name)
