"""One log for every command that runs on: no line can be forged, and nobody can fill the disk with it."""

import logging
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, TextIO

from gpuboard.wire.clean import clean_text

# Of each kind of line, that is each place in the program that writes one.
LINES_PER_MINUTE: Final = 30
_MINUTE: Final = 60.0
_MAX_KINDS: Final = 1000
_LONGEST_LINE: Final = 2000


def set_up_logging() -> None:
    """Write the log to stderr, with times unless the journal, which has its own, reads it."""
    handler = logging.StreamHandler(sys.stderr)
    line = "%(levelname)s %(name)s %(message)s"
    handler.setFormatter(OneLineFormatter(line if is_journal(sys.stderr) else f"%(asctime)s {line}"))
    handler.addFilter(SameKindLimit())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def say_warnings() -> None:
    """Write what a command that ends by itself has to warn of to stderr, cleaned as in a log."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter("gpuboard: %(message)s"))
    handler.addFilter(SameKindLimit())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def is_journal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether what is written there goes to systemd's journal."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    # Those who are started by a service inherit the word, and may write elsewhere.
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


class OneLineFormatter(logging.Formatter):
    """An event is a line: text from outside is cleaned, and a traceback is indented and begins none."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own
        """The time as RFC 3339 has it, by the clock on the wall here."""
        return datetime.fromtimestamp(record.created, UTC).astimezone().isoformat(timespec="milliseconds")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line itself, in which nothing is left that a terminal would obey."""
        line = clean_text(super().formatMessage(record))
        return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's own name
        """What failed where, below the line."""
        text: str = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join(f"  {clean_text(line)}" for line in text.splitlines())


class SameKindLimit(logging.Filter):
    """Lets through so many lines of a kind in a minute; the first of the next says how many there were."""

    def __init__(self, *, most: int = LINES_PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._clock = clock
        # Kind → when its minute began, and how many there were since.
        self._kinds: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this line is written."""
        kind = (record.name, str(record.msg))
        now = self._clock()
        since, count = self._kinds.pop(kind, (now, 0))
        unsaid = 0
        if now - since >= _MINUTE:
            unsaid, since, count = max(0, count - self._most), now, 0
        self._kinds[kind] = (since, count + 1)
        while len(self._kinds) > _MAX_KINDS:
            self._kinds.popitem(last=False)
        if unsaid:
            record.msg, record.args = f"{record.getMessage()} ({unsaid} more like it before, not written)", ()
        elif count + 1 == self._most:
            record.msg, record.args = (
                f"{record.getMessage()} (more like it in this minute are not written)",
                (),
            )
        return count < self._most
