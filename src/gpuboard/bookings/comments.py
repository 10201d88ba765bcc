"""The bookings file of a PHP board (`comments.json`), followed while people go on booking there."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final

from gpuboard.bookings.comments_json import MAX_BYTES, Comments, parse_comments
from gpuboard.model.errors import GpuboardError, OutsideError
from gpuboard.model.verdict import Claim, GpuPlace, Reason
from gpuboard.outside.files import POLL_SECONDS, follow, read_file, user_path

log: Final = logging.getLogger(__name__)

# So many entries are named of those that cannot be read.
MAX_NAMED: Final = 5
# What the log says of a trouble, and what holds meanwhile.
_WORDS: Final = {
    "comments-json": (
        "bookings not read",
        "those read before stay, if any were; else no GPU is free",
    ),
    "comments-entries": ("bookings not wholly read", "GPUs that they name count as booked"),
}

Claims = Mapping[GpuPlace, Claim]


class CommentsFile:
    """Hands over the claims of the file whenever it changes; a missing or damaged file changes nothing."""

    kind = "comments_json"

    def __init__(
        self,
        path: str,
        set_claims: Callable[[Claims], None],
        *,
        zone: tzinfo | None = UTC,
        now: Callable[[], float] = time.time,
        every: float = POLL_SECONDS,
    ) -> None:
        self.name = path
        self._path = user_path(path)
        self._set_claims = set_claims
        self._zone = zone
        self._now = now
        self._every = every
        # Why the file is not read at the moment; None: all is well.
        self.trouble: Reason | None = None
        # The file as it was when it could be read last, and when that was written.
        self._good: tuple[bytes, float] | None = None

    async def run(self) -> None:
        """Follow the file until cancelled."""
        async for outcome in follow(lambda: _read(self._path), what=self._path, every=self._every):
            before = self.trouble
            self._take(outcome)
            self._log(before)

    def read_once(self) -> None:
        """Hand over the claims of now; `trouble` says afterwards what could not be read. Blocks."""
        try:
            self._take(_read(self._path))
        except OutsideError as error:
            self._take(error)

    def shift(self, _seconds: float) -> None:
        """Hear that the clock was set: by another time, other bookings have ended too long ago to be told."""
        if self._good is not None:
            content, written_at = self._good
            self._set_claims(self._parse(content, written_at).claims)

    def _parse(self, content: bytes, written_at: float) -> Comments:
        return parse_comments(content, self._now(), written_at=written_at, zone=self._zone)

    def _take(self, outcome: tuple[bytes, float] | OutsideError) -> None:
        try:
            if isinstance(outcome, OutsideError):
                raise outcome
            content, written_at = outcome
            comments = self._parse(content, written_at)
        except GpuboardError as error:
            self.trouble = Reason(code="comments-json", text=str(error))
        else:
            self._good = content, written_at
            self._set_claims(comments.claims)
            self.trouble = _unread(comments)

    def _log(self, before: Reason | None) -> None:
        """Log what is new about the file."""
        trouble = self.trouble
        # The other board truncates before it writes, so that a damaged file is usually whole a moment later.
        if trouble is not None and trouble != before:
            what, what_holds = _WORDS[trouble.code]
            log.warning("%s: path=%s reason=%s; %s", what, self._path, trouble.text, what_holds)
        elif trouble is None and before is not None:
            log.info("bookings read again: path=%s", self._path)


def _unread(comments: Comments) -> Reason | None:
    unread = comments.unread
    if not unread:
        return None
    more = f", and {len(unread) - MAX_NAMED} more" if len(unread) > MAX_NAMED else ""
    entries = "entry" if comments.entries == 1 else "entries"
    said = "; ".join(unread[:MAX_NAMED])
    text = f"{len(unread)} of {comments.entries} {entries} cannot be wholly read: {said}{more}"
    return Reason(code="comments-entries", text=text)


def _read(path: Path) -> tuple[bytes, float]:
    """The file's content and when it was written. Blocks.

    Raises:
        OutsideError: it cannot be read.
    """
    content = read_file(path, limit=MAX_BYTES)
    try:
        return content, path.stat().st_mtime
    except OSError as error:
        raise OutsideError(f"{path} cannot be read: {error.strerror}", code="file-unreadable") from None
