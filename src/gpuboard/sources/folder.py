"""Files that nodes leave in one shared folder: our own drops, and what people's crontabs already write."""

import asyncio
import fnmatch
import logging
import os
import stat
import time
from errno import ELOOP
from typing import Annotated, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import UsageError, WireError
from gpuboard.model.node import is_node_name
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.files import user_path
from gpuboard.outside.threads import off_loop
from gpuboard.settings.base import Duration, between
from gpuboard.sources.base import Sink
from gpuboard.sources.formats import read_file
from gpuboard.sources.formats.base import MAX_FILE_BYTES
from gpuboard.sources.formats.gpu_monitor import MEMBERS, read_family

log = logging.getLogger(__name__)

MAX_FILES: Final = 10_000
# Endings that are no part of a node's name.
ENDINGS: Final = (".json", ".xml", ".csv", ".txt", ".log")
# How long a scan may take before the folder counts as hung.
HUNG_SECONDS: Final = 30.0


class FolderOptions(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table of kind `folder`."""

    path: str
    kind: Literal["folder"] = "folder"
    # Which names to read, like cml*.
    pattern: str = "*"
    interval: Annotated[Duration, between("1s", "1d")] = Duration(10)
    # How often the nodes write, where their files do not say: a crontab's minute.
    write_interval: Annotated[Duration, between("1s", "1d")] = Duration(60)


class Read(Struct, frozen=True):
    """What one node's files said, as of their time of writing."""

    report: NodeReport
    written_at: float


Outcome = Read | Reason
# A file's identity and state; equal means that nothing has changed.
Stamp = tuple[int, ...]


class Scan(Struct):
    """One look at the folder."""

    began: float
    nodes: set[str]
    outcomes: dict[str, Outcome]


class FolderSource:
    """Reads the reports that nodes leave as files in one folder."""

    kind = "folder"

    def __init__(self, options: FolderOptions) -> None:
        self._options = options
        self.name = options.path
        # Why the folder as a whole cannot be read; None: all is well.
        self.trouble: Reason | None = None
        self._path = user_path(options.path)
        self._stamps: dict[str, Stamp] = {}
        self._known: set[str] = set()
        self._foreign: set[str] = set()
        self._last_look: float | None = None

    async def run(self, sink: Sink) -> None:
        """Look at the folder again and again, until cancelled."""
        look: asyncio.Task[Scan] | None = None
        while True:
            # A dead network mount blocks for minutes: one look at a time, in a thread of its own.
            look = look or asyncio.create_task(off_loop(self._scan))
            await asyncio.wait({look}, timeout=HUNG_SECONDS)
            if look.done():
                self._hand_over(look, sink)
                look = None
                await asyncio.sleep(self._options.interval)
            else:
                self._trouble_for_all(sink, "folder-hung", f"{self._path} does not answer: its mount hangs")

    def read_once(self, sink: Sink) -> None:
        """Look at the folder once, without a loop. Blocks.

        Raises:
            UsageError: the folder cannot be read.
        """
        try:
            self._take(self._scan(), sink)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror or error}") from None

    def _hand_over(self, look: "asyncio.Task[Scan]", sink: Sink) -> None:
        try:
            scan = look.result()
        except OSError as error:
            self._trouble_for_all(sink, "folder-unreadable", f"{self._path}: {error.strerror or error}")
            return
        if self.trouble is not None:
            log.info("folder read again: %s", self._path)
        self.trouble = None
        self._take(scan, sink)

    def _take(self, scan: Scan, sink: Sink) -> None:
        self._known |= {node for node, outcome in scan.outcomes.items() if isinstance(outcome, Read)}
        sink.expect(self._known & scan.nodes)
        for node, outcome in scan.outcomes.items():
            if isinstance(outcome, Read):
                sink.report(node, self._aged(outcome))
            elif node in self._known:
                sink.trouble(node, outcome)

    def _trouble_for_all(self, sink: Sink, code: str, text: str) -> None:
        before, self.trouble = self.trouble, Reason(code=code, text=text)
        if self.trouble != before:
            log.warning("folder failed: %s", text)
        for node in self._known:
            sink.trouble(node, self.trouble)

    def _aged(self, read: Read) -> NodeReport:
        report = read.report
        age = report.age_seconds + max(0.0, time.time() - read.written_at)
        usual = max(self._options.write_interval, self._options.interval)
        # A file is never newer than our last look, so a look's length is part of every node's interval.
        interval = max(report.interval_seconds or usual, self._options.interval)
        return replace(report, age_seconds=age, interval_seconds=float(interval))

    def _scan(self) -> Scan:
        """Look at every file whose state has changed. Blocks."""
        scan = Scan(began=time.time(), nodes=set(), outcomes={})
        # Listed and opened afresh each time: network mounts remember a missing name for half a minute.
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for node, members in self._members(folder).items():
                scan.nodes.add(node)
                outcome = self._read_node(folder, node, members)
                if outcome is not None:
                    scan.outcomes[node] = outcome
        finally:
            os.close(folder)
        self._last_look = scan.began
        return scan

    def _members(self, folder: int) -> dict[str, dict[str, str]]:
        """The files here: node → member → file name; a file that stands alone is member ''."""
        found: dict[str, dict[str, str]] = {}
        for name in sorted(os.listdir(folder))[:MAX_FILES]:
            if name.startswith(".") or not fnmatch.fnmatchcase(name, self._options.pattern):
                continue
            node, member = split_name(name)
            if is_node_name(node):
                found.setdefault(node, {})[member] = name
            else:
                self._skip(name, "its name cannot name a node")
        # Members without the one about GPUs belong to nobody.
        return {node: members for node, members in found.items() if "gpus" in members or "" in members}

    def _read_node(self, folder: int, node: str, members: dict[str, str]) -> Outcome | None:
        wanted = members if "gpus" in members else {"": members[""]}
        main = wanted.get("gpus") or wanted[""]
        try:
            files = {member: read_below(folder, name) for member, name in wanted.items()}
        except OSError as error:
            return self._refuse(node, main, "it is a link" if error.errno == ELOOP else str(error.strerror))
        except WireError as error:
            return self._refuse(node, main, str(error))
        stamp = tuple(number for file in files.values() for number in file.stamp)
        if self._stamps.get(node) == stamp:
            return None
        self._stamps[node] = stamp
        written_at = self._written_at(files["gpus" if "gpus" in files else ""].modified_at)
        contents = {member: file.content for member, file in files.items()}
        try:
            if "gpus" in contents:
                return Read(read_family(contents, node, written_at=written_at), written_at)
            return Read(read_file(contents[""], node), written_at)
        except WireError as error:
            return self._refuse(node, main, str(error))

    def _written_at(self, modified_at: float) -> float:
        """When a file was written, by our own clock.

        The file server has a clock of its own. But a file that changed since our last look was written
        since then, whatever that clock says; only at the first look it must be believed.
        """
        return min(max(modified_at, self._last_look or 0.0), time.time())

    def _refuse(self, node: str, name: str, why: str) -> Reason:
        if node not in self._known:
            self._skip(name, why)
        return Reason(code="file-refused", text=f"{name}: {why}")

    def _skip(self, name: str, why: str) -> None:
        """Say once that a file is not read, and why."""
        if name not in self._foreign and len(self._foreign) < MAX_FILES:
            self._foreign.add(name)
            log.warning("file skipped: folder=%s name=%r reason=%s", self._path, name, why)


class File(Struct, frozen=True):
    """A file's content, with its state when it was read."""

    content: bytes
    modified_at: float
    stamp: Stamp


def split_name(name: str) -> tuple[str, str]:
    """The node and the member that a file name says: `gpu1_gpus.csv` is member `gpus` of gpu1."""
    stem = name.lower()
    for member in MEMBERS:
        if stem.endswith(f"_{member}.csv"):
            return stem.removesuffix(f"_{member}.csv"), member
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    return stem, ""


def read_below(folder: int, name: str) -> File:
    """Read a regular file below a folder, without following links or waiting for pipes.

    Raises:
        OSError: it cannot be opened or read.
        WireError: it is no regular file, or too large.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(name, flags, dir_fd=folder)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise WireError("it is no regular file")
        content = b""
        if state.st_size > MAX_FILE_BYTES:
            raise WireError(f"it is larger than {MAX_FILE_BYTES} bytes")
        while len(content) <= MAX_FILE_BYTES and (part := os.read(handle, 1 << 20)):
            content += part
    finally:
        os.close(handle)
    if len(content) > MAX_FILE_BYTES:
        raise WireError(f"it is larger than {MAX_FILE_BYTES} bytes")
    return File(content, state.st_mtime, (state.st_ino, state.st_size, state.st_mtime_ns))
