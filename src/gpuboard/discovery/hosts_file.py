"""A hosts file: one host a line, read again whenever it changes."""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gpuboard.discovery.base import Found, Target
from gpuboard.discovery.hosts import name_nodes, read_host
from gpuboard.discovery.list_file import unread
from gpuboard.model.errors import OutsideError
from gpuboard.model.ranges import MAX_HOSTS, expand
from gpuboard.model.verdict import Reason
from gpuboard.outside.files import POLL_SECONDS, follow, read_file, user_path
from gpuboard.wire.clean import clean_text

log: Final = logging.getLogger(__name__)

# Enough to see what is wrong.
_PROBLEMS_SHOWN: Final = 3
_PROBLEM_LENGTH: Final = 200


class HostsFileOptions(Struct, frozen=True, kw_only=True):
    """`discover = { hosts_file = "/etc/gpuboard/hosts.txt" }`."""

    hosts_file: str


class HostsFileDiscovery:
    """The hosts of a file; a file that is missing, emptied or unreadable changes nothing."""

    kind = "hosts_file"

    def __init__(self, options: HostsFileOptions, *, every: float = POLL_SECONDS) -> None:
        self.name = options.hosts_file
        self._path = user_path(options.hosts_file)
        self._every = every
        self.trouble: Reason | None = None

    async def run(self, found: Found) -> None:
        """Hand over the list at the start and after every change, until cancelled."""
        targets: Sequence[Target] | None = None
        async for outcome in follow(lambda: read_file(self._path), what=self._path, every=self._every):
            is_read = not isinstance(outcome, OutsideError)
            read, problems = (
                ((), [unread(outcome, key=self.kind)])
                if isinstance(outcome, OutsideError)
                else read_hosts(outcome)
            )
            if not read and not problems:
                problems = [f"{self._path} names no host"]
            self._say(problems, kept=len(targets or ()) if not read else None)
            # Of a file that was never read nobody knows that it names none.
            if (targets is None and is_read) or (read and read != targets):
                targets = read
                found(targets)

    def _say(self, problems: Sequence[str], *, kept: int | None) -> None:
        text = "; ".join(problems)
        self.trouble = Reason(code="hosts-file", text=text) if problems else None
        if problems and kept is None:
            log.warning("hosts file read in part: path=%s reason=%s", self._path, text)
        elif problems:
            log.warning("hosts file not used: path=%s reason=%s hosts_kept=%d", self._path, text, kept)
        else:
            log.info("hosts file read: path=%s", self._path)


def read_hosts(data: bytes) -> tuple[tuple[Target, ...], list[str]]:
    """The nodes of a hosts file, and what is wrong with the lines that were left out.

    One host or range a line; blank lines and everything after `#` are ignored.
    """
    targets: list[Target] = []
    problems: list[str] = []
    for number, line in _lines(data):
        if len(targets) >= MAX_HOSTS:
            problems.append(f"line {number}: the list is full, {MAX_HOSTS} hosts are allowed")
            break
        try:
            targets += [read_host(host) for host in expand(line, limit=MAX_HOSTS - len(targets))]
        except ValueError as error:
            problems.append(f"line {number}: {clean_text(str(error)[:_PROBLEM_LENGTH])}")
    more = len(problems) - _PROBLEMS_SHOWN
    if more > 0:
        problems[_PROBLEMS_SHOWN:] = [f"and {more} more lines"]
    return name_nodes(targets), problems


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    # Notepad writes a byte order mark, which is no part of the first host.
    text = data.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.partition("#")[0].strip()
        if plain:
            yield number, plain
