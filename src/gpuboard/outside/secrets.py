"""Secrets and certificates from files: read off the loop, kept for a while, read again after a change."""

import asyncio
import logging
import re
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from gpuboard.model.errors import OutsideError, SettingsError
from gpuboard.outside.files import is_open_to_all, read_file, user_path
from gpuboard.outside.seldom import SeldomLog
from gpuboard.outside.threads import Workers
from gpuboard.outside.tls import trusting

log: Final = logging.getLogger(__name__)

# A rotated secret is in use after this long.
KEEP_SECONDS: Final = 30.0
PATIENCE_SECONDS: Final = 5.0
MAX_SECRET_BYTES: Final = 4096
# For the secrets of one folder. Reading one takes no time, unless its mount hangs.
READERS_AT_ONCE: Final = 4
# More of them are not kept.
MAX_KEPT: Final = 4096
# That everybody can read a secret is said so often.
_OPEN_SECONDS: Final = 24 * 3600.0

_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")

Value = TypeVar("Value")

_open_files: Final = SeldomLog(log, seconds=_OPEN_SECONDS)


class _Reading:
    """How often all files were to be read again, whatever is kept of them."""

    count = 0


def read_all_again() -> None:
    """Let every secret and certificate be read anew when it is needed next."""
    _Reading.count += 1


class FileValue(Generic[Value]):
    """Something made of a file, for many users at once: one reads for all, and only every so often."""

    def __init__(
        self,
        read: Callable[[], Value],
        *,
        path: Path | None = None,
        keep: float = KEEP_SECONDS,
        workers: Workers | None = None,
    ) -> None:
        self._read = read
        self._path = path
        self._keep = keep
        self._workers = workers or Workers(1)
        self._reading: asyncio.Future[Value] | None = None
        self._read_at = 0.0
        self._read_in = _Reading.count

    async def value(self) -> Value:
        """What the file says now, or said a moment ago.

        Raises:
            OutsideError: the file cannot be read, holds nothing of use, or lies on a mount that hangs.
        """
        reading = self._reading
        if reading is None or (reading.done() and self._is_old(reading)):
            reading = self._reading = asyncio.ensure_future(self._workers.run(lambda _: self._read()))
            self._read_at, self._read_in = time.monotonic(), _Reading.count
        try:
            # Shielded: one user that gives up must not spoil it for the others, nor start another thread.
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await asyncio.shield(reading)
        except TimeoutError:
            what = self._path or "a file with secrets"
            raise OutsideError(f"{what} cannot be read: its mount hangs", code="file-hung") from None

    def forget(self) -> None:
        """Read the file anew next time: the other side has refused what was in it."""
        if self._reading is not None and self._reading.done():
            self._reading = None

    def _is_old(self, reading: "asyncio.Future[Value]") -> bool:
        failed = reading.cancelled() or reading.exception() is not None
        return failed or self._read_in != _Reading.count or time.monotonic() - self._read_at > self._keep


def secret_in(file: str, *, keep: float = KEEP_SECONDS) -> FileValue[str]:
    """A token or password in a file of its own; surrounding white space does not count."""
    path = user_path(file)
    return FileValue(lambda: read_shared_secret(path), path=path, keep=keep)


class SecretFolder:
    """The tokens of many, each in a file of its name, which must not be open to everybody.

    However many files hang, few threads wait for them; whoever asks again for one waits for the same.
    """

    def __init__(self, folder: str) -> None:
        self._folder = user_path(folder)
        self._workers = Workers(READERS_AT_ONCE)
        self._kept: OrderedDict[str, FileValue[str]] = OrderedDict()

    def secret_of(self, name: str) -> FileValue[str]:
        """The token of one of them."""
        found = self._kept.get(name)
        if found is None:
            path = self._folder / name
            found = FileValue(lambda: read_secret(path, private=True), path=path, workers=self._workers)
            self._kept[name] = found
        self._kept.move_to_end(name)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return found


def tls_by(ca_file: str | None) -> FileValue[ssl.SSLContext]:
    """The TLS settings for asking servers: certificates verified, by an own CA file where given."""
    path = None if ca_file is None else user_path(ca_file)
    return FileValue(lambda: _make_context(path), path=path)


def read_shared_secret(path: Path) -> str:
    """The secret of all; that everybody can read it is said, and it is used all the same. Blocks.

    Raises:
        OutsideError: the file cannot be read, or holds nothing of use.
    """
    secret = read_secret(path)
    if is_open_to_all(path):
        _open_files.say(path, "SECRET OPEN TO EVERYBODY HERE: path=%s remedy=run: chmod o= %s", path, path)
    return secret


def read_secret(path: Path, *, private: bool = False) -> str:
    """What stands in a file of its own. Blocks.

    Raises:
        OutsideError: the file cannot be read, or holds nothing of use.
    """
    text = read_file(path, limit=MAX_SECRET_BYTES, private=private).decode("utf-8", "replace").strip()
    if not _PRINTABLE.fullmatch(text):
        what = "is empty" if not text else "must hold one line of plain characters without spaces"
        raise OutsideError(f"{path} {what}", code="bad-secret")
    return text


def _make_context(path: Path | None) -> ssl.SSLContext:
    if path is not None:
        read_file(path)  # Says what is wrong with the file itself.
    try:
        return trusting(path)
    except SettingsError as error:
        raise OutsideError(str(error), code="bad-ca-file") from None
