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

from gpuboard.model.address import is_loopback, place_of
from gpuboard.model.errors import NOT_DECODED, OutsideError, SettingsError
from gpuboard.outside.files import read_file, write_whole
from gpuboard.wire.people import is_person_token

FILE_NAME: Final = "boards.json"
# A token that was made for a program, for whichever board is asked.
VARIABLE: Final = "GPUBOARD_TOKEN"


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
        self._told = environment.get(VARIABLE, "").strip()

    @property
    def last(self) -> str | None:
        """The board of the last login."""
        return self._read().last

    @property
    def is_told(self) -> bool:
        """Whether the environment says which token is shown: then signing in or out changes nothing."""
        return bool(self._told)

    @property
    def no_names(self) -> str:
        """Why a board that answers tells no names, and what to do about it."""
        if self.is_told:
            return f"the token in {VARIABLE} sees no names: it lacks the scope read"
        return "names are hidden from visitors: run gpuboard login"

    def token(self, url: str) -> str | None:
        """The token to show to a board: that of the environment, else the one that is kept for it.

        Raises:
            SettingsError: others can read the file, or the environment's may not be sent there.
        """
        if not self._told:
            found = self.find(url)
            return None if found is None else found.token
        if not is_person_token(self._told):
            raise SettingsError(f"{VARIABLE} holds no personal token; gpuboard token add makes one")
        if not is_private(url):
            raise SettingsError(f"{VARIABLE} is not sent to {url}: it would travel in clear; use https")
        return self._told

    def find(self, url: str) -> Credential | None:
        """What is kept for a board, if there is anything and it may be sent there.

        Raises:
            SettingsError: others can read the file.
        """
        boards = self._read().boards
        found = boards.get(_kept_as(url, boards))
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
        gone = _kept_as(url, kept.boards)
        boards = {key: one for key, one in kept.boards.items() if key != gone}
        is_last = kept.last is not None and key_of(kept.last) == gone
        self._write(replace(kept, boards=boards, last=None if is_last else kept.last))

    def _read(self) -> _Kept:
        try:
            kept = msgspec.json.decode(read_file(self.path, private=True), type=_Kept)
        except NOT_DECODED:
            return _Kept()
        except OutsideError as error:
            if error.code == "file-open":
                raise SettingsError(str(error)) from None
            return _Kept()
        # Addresses were written in other ways once.
        return replace(kept, boards={key_of(url): one for url, one in kept.boards.items()})

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
        place = place_of(parts.scheme, parts.hostname or "", parts.port)
        return f"{parts.scheme}://{place}{parts.path.rstrip('/')}/"
    return url


def _kept_as(url: str, boards: Mapping[str, Credential]) -> str:
    """The key of a board, or of the nearest path above it: a server may name no more than itself."""
    key = key_of(url)
    server, _, path = key.partition("://")[2].partition("/")
    scheme, parts = key.partition("://")[0], path.split("/")[:-1]
    above = ["/".join((f"{scheme}://{server}", *parts[:depth], "")) for depth in range(len(parts), -1, -1)]
    return next((one for one in above if one in boards), key)


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what is sent there."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme == "https" or is_loopback(parts.hostname)
    return False
