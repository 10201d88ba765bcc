"""The certificate that the board shows, watched: one that has expired keeps everybody out without a word."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gpuboard.model.verdict import Reason
from gpuboard.outside.certificate_dates import Validity, find_expiry, validity_of_file

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 60.0
REMEDY: Final = "then: systemctl reload gpuboard, or SIGHUP"


class CertificateWatch:
    """Knows until when the certificate is valid that was taken up last."""

    kind = "certificate"
    name = ""

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        """Watch what is in this file now; empty: the board speaks no TLS. Reads it."""
        self._path = path
        self._now = now
        self._validity: Validity | None = validity_of_file(path) if path else None
        # Why whoever verifies it is refused, or will be soon; None: all is well.
        self.trouble: Reason | None = None

    def take(self, path: str) -> None:
        """Hear that what this file holds now is shown from now on; reads it."""
        before, self._validity = self._validity, validity_of_file(path)
        self._path = path
        if self._validity != before:
            log.info("certificate taken up: path=%s valid=%s", path, self._validity or "unknown")
        self.look()

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Compare its dates with the clock."""
        found = find_expiry(self._validity, self._now())
        trouble = found and Reason(
            code="certificate-ends",
            text=f"[board] tls_certificate {self._path} {found.words}, {REMEDY}",
            values={"stage": found.stage},
        )
        if trouble is not None and (self.trouble is None or self.trouble.values != trouble.values):
            log.warning("%s", trouble.text)
        self.trouble = trouble
