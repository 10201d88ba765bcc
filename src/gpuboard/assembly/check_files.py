"""The files that settings name, looked at as a starting board would find them."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from gpuboard.outside.account import own_account
from gpuboard.outside.files import is_open_to_all, user_path
from gpuboard.outside.state_directory import foresee_fault, state_directory
from gpuboard.settings.board import Settings

# The keys that name files of the board's own: all, and those with secrets.
_FILES: Final = (
    "hosts_file",
    "ssh_config",
    "key_file",
    "known_hosts",
    "ca_file",
    "token_file",
    "token_folder",
    "password_file",
)
# What libpq reads, by the URL of the database.
_LIBPQ_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile")
# Those that name folders.
_FOLDERS: Final = ("path", "token_folder")
_SECRETS: Final = ("token_file", "password_file")
# A dead mount does not answer; nobody waits longer for it.
_PATIENCE_SECONDS: Final = 5.0


def missing_paths(settings: Settings) -> list[str]:
    """What the settings name and is not there now; a board would start, and wait for it."""
    named = list(_paths(settings))
    found: set[str] = set()
    has_ended = look_for_a_while(lambda: found.update(filter(is_there, dict(named).values())))
    hint = "" if has_ended else ", or its mount does not answer"
    return [f"{where} = {path!r} is not there{hint}" for where, path in named if path not in found]


def unreadable_paths(settings: Settings) -> list[str]:
    """What the settings name, is there, and cannot be read by whoever asks; a board would wait for it."""
    found: list[str] = []

    def look() -> None:
        for where, path in _paths(settings):
            why = _why_unreadable(user_path(path), is_folder=where.endswith(_FOLDERS))
            if why is not None:
                found.append(f"{where} = {path!r}{why}")

    look_for_a_while(look)
    return list(found)


def _why_unreadable(path: Path, *, is_folder: bool) -> str | None:
    try:
        if not path.exists():
            return None
        if path.is_dir() != is_folder:
            return " is no folder" if is_folder else " is a folder, and a file is expected"
        asked = [path, *path.iterdir()] if is_folder and os.access(path, os.R_OK | os.X_OK) else [path]
    except (OSError, ValueError):
        asked = [path]
    closed = next((one for one in asked if not os.access(one, os.R_OK)), None)
    if closed is None:
        return None
    which = "" if closed == path else f": {closed.name}"
    return f"{which} cannot be read by {own_account()}, as whom this was asked"


def open_secrets(settings: Settings) -> list[str]:
    """The secrets of the settings that everybody on this machine can read; a board would use them."""
    named = list(_secrets(settings))
    found: list[str] = []

    def look() -> None:
        found.extend(
            f"{where} = {path!r} is open to everybody here; run: chmod o= {path}"
            for where, path in named
            if is_open_to_all(user_path(path))
        )

    look_for_a_while(look)
    return list(found)


def look_for_a_while(look: Callable[[], None]) -> bool:
    """Look somewhere, but not for ever; whether it ended in time."""
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(_PATIENCE_SECONDS)
    return not looking.is_alive()


def _secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    for where, table in settings.sources:
        yield from named(table, _SECRETS, f"{where}:")
        yield from named(table.get("discover"), _SECRETS, f"{where}: discover")


def _paths(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.bookings.comments_json is not None:
        yield "[bookings] comments_json", settings.bookings.comments_json
    if settings.storage.password_file is not None:
        yield "[storage] password_file", settings.storage.password_file
    yield from named(_said_to_libpq(settings.storage.url), _LIBPQ_FILES, "[storage] url:")
    if settings.access.oidc.client_secret_file is not None:
        yield "[access.oidc] client_secret_file", settings.access.oidc.client_secret_file
    for where, table in settings.sources:
        if table.get("kind") == "folder":
            yield f"{where}: path", table["path"]
        yield from named(table, _FILES, f"{where}:")
        yield from named(table.get("discover"), _FILES, f"{where}: discover")


def _said_to_libpq(url: str) -> dict[str, str]:
    """What a PostgreSQL URL says besides the server; a certificate of the system's own is no file."""
    said = parse_qs(urlsplit(url).query) if url.startswith("postgres") else {}
    return {key: values[-1] for key, values in said.items() if values[-1] != "system"}


def state_faults(settings: Settings) -> list[str]:
    """Why whoever asks could not write where the settings say that the board's things lie."""
    if not settings.board.state_dir:
        # The service's own is made for it when it starts.
        return []
    found: list[str] = []

    def look() -> None:
        fault = foresee_fault(state_directory(settings.board.state_dir))
        if fault is not None:
            found.append(fault)

    look_for_a_while(look)
    return list(found)


def named(table: object, keys: Iterable[str], where: str) -> Iterator[tuple[str, str]]:
    """What a table names under these keys, with the words that say where."""
    if isinstance(table, dict):
        yield from ((f"{where} {key}", table[key]) for key in keys if isinstance(table.get(key), str))


def is_there(text: str) -> bool:
    """Whether there is something, also where it is not ours to see what."""
    path: Path = user_path(text)
    try:
        return path.exists()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
