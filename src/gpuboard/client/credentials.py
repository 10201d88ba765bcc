"""The tokens that `gpuboard login` got, by board, in a file for nobody else's eyes."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.address import is_loopback
from gpuboard.model.errors import NOT_DECODED, OutsideError, SettingsError
from gpuboard.outside.files import read_file, write_whole

FILE_NAME: Final = "boards.json"
_PORTS: Final = {"http": 80, "https": 443}


class Credential(Struct, frozen=True, kw_only=True):
    """A token for one board."""

    person: str
    token: str
    # The board lets tokens travel in clear.
    plaintext_allowed: bool = False

    def __repr__(self) -> str:
        # A token must not end up in a log by accident.
        return f"Credential({self.person!r})"


class _Kept(Struct, frozen=True, kw_only=True):
    boards: dict[str, Credential] = {}
    # The board of the last login: the one that is meant where none is named.
    last: str | None = None


class Credentials:
    """What this user has for which board. Every call blocks."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        base = environment.get("XDG_CONFIG_HOME") or "~/.config"
        self.path = Path(os.path.expanduser(base)) / "gpuboard" / FILE_NAME  # noqa: PTH111 - never raises

    @property
    def last(self) -> str | None:
        """The board of the last login."""
        return self._read().last

    def find(self, url: str) -> Credential | None:
        """The token for a board, if there is one and it may be sent there.

        Raises:
            SettingsError: others can read the file.
        """
        found = self._read().boards.get(key_of(url))
        if found is None or not (found.plaintext_allowed or is_private(url)):
            return None
        return found

    def keep(self, url: str, credential: Credential) -> None:
        """Keep a token for a board.

        Raises:
            SettingsError: the file cannot be written.
        """
        kept = self._read()
        self._write(_Kept(boards={**kept.boards, key_of(url): credential}, last=url))

    def drop(self, url: str) -> None:
        """Forget the token for a board.

        Raises:
            SettingsError: the file cannot be written.
        """
        kept = self._read()
        boards = {key: one for key, one in kept.boards.items() if key != key_of(url)}
        is_last = kept.last is not None and key_of(kept.last) == key_of(url)
        self._write(replace(kept, boards=boards, last=None if is_last else kept.last))

    def _read(self) -> _Kept:
        try:
            return msgspec.json.decode(read_file(self.path, private=True), type=_Kept)
        except NOT_DECODED:
            return _Kept()
        except OutsideError as error:
            if error.code == "file-open":
                raise SettingsError(str(error)) from None
            return _Kept()

    def _write(self, kept: _Kept) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.path, msgspec.json.format(msgspec.json.encode(kept)), mode=0o600)
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be written: {error.strerror}") from None


def key_of(url: str) -> str:
    """One board is one board, however its address is written."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
        return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}/"
    return url


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what is sent there."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme == "https" or is_loopback(parts.hostname)
    return False
