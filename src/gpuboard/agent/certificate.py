"""The certificate that a listening agent shows."""

import logging
import ssl
import time
from pathlib import Path
from typing import Final

from gpuboard.model.errors import SettingsError, UsageError
from gpuboard.outside.certificate_dates import Validity, find_expiry, validity_of_file
from gpuboard.outside.tls import own_certificate

log = logging.getLogger(__name__)

# So often it is looked at again, if somebody connects.
RENEWAL_SECONDS: Final = 10.0


class ShownCertificate:
    """What the agent shows; one that was renewed is taken up without a word from anybody."""

    def __init__(self, certificate: str, key: str | None) -> None:
        """Read it.

        Raises:
            UsageError: it cannot be used.
        """
        self._files = (certificate, key or certificate)
        self._seen = self._look_of_files()
        self._look_at = time.monotonic() + RENEWAL_SECONDS
        self._validity: Validity | None = None
        # What was said last of its dates.
        self._said: str | None = None
        try:
            self.context = self._read()
        except SettingsError as error:
            raise UsageError(str(error)) from None
        self._say_expiry()

    def look(self) -> None:
        """Take up what has changed; what cannot be used is named, and the old one is shown on."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + RENEWAL_SECONDS
        seen = self._look_of_files()
        if seen != self._seen:
            self._seen = seen
            self._renew()
        self._say_expiry()

    def _renew(self) -> None:
        try:
            self.context = self._read()
        except SettingsError as error:
            log.warning("certificate not renewed: reason=%s", error)
        else:
            log.info("certificate renewed: path=%s", self._files[0])

    def _say_expiry(self) -> None:
        """Say once that the board cannot believe it any more, or soon; the agent goes on all the same."""
        found = find_expiry(self._validity, time.time())
        if found is not None and found.stage != self._said:
            log.warning("certificate: %s %s", self._files[0], found.words)
        self._said = None if found is None else found.stage

    def _read(self) -> ssl.SSLContext:
        context = own_certificate(*self._files, names=("--tls-certificate", "--tls-key"))
        self._validity = validity_of_file(self._files[0])
        return context

    def _look_of_files(self) -> list[tuple[int, int, int] | None]:
        return [_look_of(file) for file in self._files]


def _look_of(file: str) -> tuple[int, int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
