"""The bookings file of a PHP board (`comments.json`), followed while people go on booking there."""

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gpuboard.bookings.comments_json import MAX_BYTES, parse_comments
from gpuboard.model.errors import GpuboardError, OutsideError
from gpuboard.model.verdict import Claim, Reason
from gpuboard.outside.files import POLL_SECONDS, follow, read_file, user_path

log: Final = logging.getLogger(__name__)

Claims = Mapping[tuple[str, int], Claim]


class CommentsFile:
    """Hands over the claims of the file whenever it changes; a missing or damaged file changes nothing."""

    kind = "comments_json"

    def __init__(
        self,
        path: str,
        set_claims: Callable[[Claims], None],
        *,
        now: Callable[[], float] = time.time,
        every: float = POLL_SECONDS,
    ) -> None:
        self.name = path
        self._path = user_path(path)
        self._set_claims = set_claims
        self._now = now
        self._every = every
        # Why the file is not read at the moment; None: all is well.
        self.trouble: Reason | None = None

    async def run(self) -> None:
        """Follow the file until cancelled."""
        async for outcome in follow(lambda: _read(self._path), every=self._every):
            try:
                if isinstance(outcome, OutsideError):
                    raise outcome
                content, written_at = outcome
                claims = parse_comments(content, self._now(), written_at=written_at)
            except GpuboardError as error:
                self._failed(str(error))
            else:
                self._read_well(claims)

    def _failed(self, why: str) -> None:
        # The other board truncates before it writes, so that a damaged file is usually whole a moment later.
        if self.trouble is None or self.trouble.text != why:
            log.warning("bookings not read: path=%s reason=%s; those read before stay", self._path, why)
        self.trouble = Reason(code="comments-json", text=why)

    def _read_well(self, claims: Claims) -> None:
        if self.trouble is not None:
            log.info("bookings read again: path=%s", self._path)
        self.trouble = None
        self._set_claims(claims)


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
