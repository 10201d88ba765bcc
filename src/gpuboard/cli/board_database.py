"""The database of a board, for commands that change it; also while the board runs."""

import argparse
import contextlib
import os
import pwd
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gpuboard.cli import service_board
from gpuboard.model.errors import StorageError

if TYPE_CHECKING:
    from gpuboard.accounts.audit import Deed
    from gpuboard.settings.board import Settings
    from gpuboard.storage.base import Database


@contextlib.contextmanager
def board_database(arguments: argparse.Namespace) -> Iterator["Database"]:
    """The board's database, open until the block ends; whether a board runs on it is said.

    Raises:
        StorageError: no board uses the directory, or it cannot be used.
    """
    database = _open(arguments)
    try:
        if not database.has_board():
            print(
                f"gpuboard: no board runs on {database.name} now; this is what the last one left, "
                "and what is changed holds when one is started",
                file=sys.stderr,
            )
        yield database
    finally:
        database.close()


def deed_here(what: str) -> "Deed":
    """What somebody does who runs a command on the board's machine."""
    from gpuboard.accounts.audit import Deed  # noqa: PLC0415 - the light install lacks it

    try:
        who = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        who = str(os.getuid())
    return Deed(what=what, who=who, way="command")


def _open(arguments: argparse.Namespace) -> "Database":
    """The database of a board; never one that no board has used.

    Raises:
        StorageError: no board uses the directory, or it cannot be used.
    """
    from gpuboard.settings.board import Settings, read_settings  # noqa: PLC0415 - the light install lacks what follows
    from gpuboard.storage.registry import make_database  # noqa: PLC0415 - the same

    settings = read_settings(Path(arguments.config)) if arguments.config else Settings()
    chosen = arguments.state_dir or settings.board.state_dir
    database = make_database(settings.storage, chosen)
    own, found = _url_of(database), database
    if own is None and not chosen and not settings.storage.url and service_board.can_be_used():
        # Whoever administers the service has no board of his own.
        found = make_database(settings.storage, str(service_board.DIRECTORY))
        own = _url_of(found)
    if own is None:
        raise StorageError(
            f"no board uses {database.name}; start the board first, or name its directory with --state-dir "
            f"or its settings with --config{service_board.hint(has_settings=bool(arguments.config))}"
        )
    if arguments.config:
        _compare(own, settings, found.name)
    return found


def _url_of(database: "Database") -> str | None:
    """Where the board answers whose database this is, which is open then; None: no board has used it.

    Raises:
        StorageError: it cannot be used.
    """
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the light install lacks it

    try:
        if database.exists():
            database.open()
            own = database.fact(BOARD_URL)
            if own is not None:
                return own
    except BaseException:
        database.close()
        raise
    database.close()
    return None


def _compare(own: str, settings: "Settings", name: str) -> None:
    """Say that these settings are not those of the board there: it listens elsewhere."""
    listen = settings.board.listen
    there, said = urlsplit(own).port, int(listen.rpartition(":")[2])
    if there not in (None, said):
        place = "database ([storage] url)" if settings.storage.url else "state_dir"
        print(
            f"gpuboard: the board that uses {name} listens at {own}, not at {listen} as these settings say: "
            f"it may be another board; start yours, or give it a {place} of its own",
            file=sys.stderr,
        )
