"""The folder as a source: looks again and again, hands over what is new, says what is wrong."""

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import OutsideError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.files import user_path
from gpuboard.outside.threads import off_loop
from gpuboard.settings.base import Duration, between
from gpuboard.sources.base import Sink
from gpuboard.sources.folder.owners import Owners
from gpuboard.sources.folder.reader import FolderReader
from gpuboard.sources.folder.scan import FolderReading, Scan
from gpuboard.sources.folder.signatures import NO_TOKEN, Keys, Signatures, no_keys
from gpuboard.wire.clean import clean_text

log = logging.getLogger(__name__)

# How long a look may take before the folder counts as hung.
HUNG_SECONDS: Final = 30.0
# How soon to look again when a board has just started and has not read its tokens yet.
EARLY_SECONDS: Final = 0.5
# After so many such looks in a row it is said: the board's database is away.
EARLY_LOOKS: Final = 4
# So many foreign files are named in the log, each once; and of one look so many that cannot be read.
MAX_NAMED: Final = 100
_REASON_LENGTH: Final = 500
# Why a node leaves whose file is still here.
REVOKED: Final = Reason(code="revoked", text="its token was revoked, and its files count no more")


class FolderOptions(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table of kind `folder`."""

    path: str
    kind: Literal["folder"] = "folder"
    # Which names to read, like cml*.
    pattern: str = "*"
    interval: Annotated[Duration, between("100ms", "1d")] = Duration(10)
    # How often the nodes write, where their files do not say and it was not seen yet: a crontab's minute.
    write_interval: Annotated[Duration, between("1s", "1d")] = Duration(60)
    # Whether to read only drops that are signed with the node's token.
    signed: bool = False


class FolderSource:
    """Reads the reports that nodes leave as files in one folder."""

    kind = "folder"

    def __init__(
        self,
        options: FolderOptions,
        *,
        keys: Keys = no_keys,
        without_key: str = NO_TOKEN,
        owners: Owners | None = None,
        names_skipped: bool = True,
    ) -> None:
        self._options = options
        self.name = options.path
        # Why the folder as a whole cannot be read, or not wholly; None: all is well.
        self.trouble: Reason | None = None
        self._path = user_path(options.path)
        signatures = Signatures(keys, must_sign=options.signed, without_key=without_key)
        self._reader = FolderReader(
            self._path, options.pattern, signatures=signatures, owners=owners or Owners()
        )
        self._nodes: set[str] = set()
        # How often in a row nothing could be read, because the board has not read its tokens.
        self._early_looks = 0
        # Whether all nodes were last said to be in trouble, because the folder was.
        self._is_away = False
        self._names_skipped = names_skipped
        self._skipped: set[str] = set()

    async def run(self, sink: Sink) -> None:
        """Look at the folder again and again, until cancelled."""
        look: asyncio.Task[Scan] | None = None
        while True:
            # A dead network mount blocks for minutes: one look at a time, in a thread of its own.
            look = look or asyncio.create_task(off_loop(self._reader.scan))
            await asyncio.wait({look}, timeout=HUNG_SECONDS)
            if look.done():
                is_early = await self._hand_over(look, sink)
                look = None
                interval = self._options.interval
                await asyncio.sleep(min(interval, EARLY_SECONDS) if is_early else interval)
            else:
                self._trouble_for_all(sink, "folder-hung", f"{self._path} does not answer: its mount hangs")

    def read_once(self, sink: Sink) -> None:
        """Look at the folder once, without a loop. Blocks.

        Raises:
            OutsideError: the folder cannot be read.
        """
        try:
            for _ in self._take(self._reader.scan(), sink):
                pass
        except OSError as error:
            why = f"{self._path} cannot be read: {error.strerror or error}"
            raise OutsideError(why, code="folder-unreadable") from None

    async def _hand_over(self, look: "asyncio.Task[Scan]", sink: Sink) -> bool:
        """Pass on what was seen; True: the board has not read its tokens yet, and nothing was."""
        try:
            scan = look.result()
        except OSError as error:
            self._trouble_for_all(sink, "folder-unreadable", f"{self._path}: {error.strerror or error}")
            return False
        if scan.is_early:
            self._wait()
            return True
        self._early_looks = 0
        for _ in self._take(scan, sink):
            # Thousands may have changed at once: others have their turn between any two.
            await asyncio.sleep(0)
        return False

    def _wait(self) -> None:
        """Say that files are here and cannot be judged, unless the board has only just started."""
        self._early_looks += 1
        if self._early_looks >= EARLY_LOOKS:
            text = f"{self._path} is not read yet: the board's database, which knows the tokens, is away"
            before, self.trouble = self.trouble, Reason(code="folder-waits", text=text)
            self._say(before)

    def _take(self, scan: Scan, sink: Sink) -> Iterator[None]:
        """Pass on what was seen, node after node."""
        before, self.trouble = self.trouble, None
        if scan.overfull is not None:
            self.trouble = Reason(code="folder-overfull", text=f"{self._path}: {scan.overfull}")
        self._say(before)
        for name, why in scan.skipped.items():
            self._skip(name, why)
        self._say_broken(scan)
        for node in scan.revoked & self._nodes:
            sink.trouble(node, REVOKED)
        self._nodes = scan.nodes
        sink.expect(scan.nodes, files=scan.files)
        for node, outcome in scan.outcomes.items():
            if isinstance(outcome, FolderReading):
                # What stands there still, or again, was taken before.
                hand_over = sink.report if outcome.is_new else sink.show
                hand_over(node, self._aged(outcome))
            else:
                sink.trouble(node, outcome)
            yield
        if self._is_away:
            self._is_away = False
            for node in scan.nodes - scan.outcomes.keys():
                sink.trouble(node, scan.refusals.get(node))

    def _trouble_for_all(self, sink: Sink, code: str, text: str) -> None:
        before, self.trouble = self.trouble, Reason(code=code, text=text)
        self._is_away = True
        self._say(before)
        for node in self._nodes:
            sink.trouble(node, self.trouble)

    def _say(self, before: Reason | None) -> None:
        if self.trouble is not None and self.trouble != before:
            log.warning("folder failed: %s", self.trouble.text)
        elif self.trouble is None and before is not None:
            log.info("folder read again: %s", self._path)

    def _aged(self, read: FolderReading) -> NodeReport:
        options = self._options
        said = read.report.interval_seconds or max(options.write_interval, options.interval)
        # A file is never newer than our last look, so a look's length is part of every node's interval.
        interval = max(said, options.interval, read.pace_seconds)
        age = max(0.0, time.time() - read.sampled_at)
        return replace(read.report, age_seconds=age, interval_seconds=float(interval))

    def _say_broken(self, scan: Scan) -> None:
        """Name the nodes whose file stays unreadable, and those whose file can be read again."""
        for node in sorted(scan.broken)[:MAX_NAMED]:
            why = clean_text(scan.broken[node])[:_REASON_LENGTH]
            log.warning("file unreadable: folder=%s node=%s reason=%s", self._path, node, why)
        for node in sorted(scan.mended)[:MAX_NAMED]:
            log.info("file read again: folder=%s node=%s", self._path, node)
        left_out = max(0, len(scan.broken) - MAX_NAMED) + max(0, len(scan.mended) - MAX_NAMED)
        if left_out:
            log.warning("files unreadable or read again: folder=%s more=%d", self._path, left_out)

    def _skip(self, name: str, why: str) -> None:
        """Say once that a file is not read, and why."""
        if not self._names_skipped or name in self._skipped or len(self._skipped) >= MAX_NAMED:
            return
        self._skipped.add(name)
        more = "; no more are named" if len(self._skipped) == MAX_NAMED else ""
        log.warning("file skipped: folder=%s name=%r reason=%s%s", self._path, name, why, more)
