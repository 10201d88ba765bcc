"""The database of a board, for commands that change it; also while the board runs."""

import argparse
import contextlib
import os
import pwd
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gpuboard.cli import service_board
from gpuboard.model.errors import StorageError
from gpuboard.outside.state_directory import state_directory

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


def person_here(arguments: argparse.Namespace, account: str) -> str:
    """The person behind an account, by the settings that are named or the service's; another one is said."""
    from gpuboard.assembly.judging import names_of  # noqa: PLC0415 - the light install lacks it

    is_service = not arguments.state_dir and service_board.can_be_used() and service_board.has_settings()
    path = arguments.config or (str(service_board.SETTINGS) if is_service else None)
    person = names_of(_settings_of(path)).person(account)
    if person != account:
        print(f"gpuboard: {account} is {person} by [names.people]", file=sys.stderr)
    return person


def deed_here(what: str) -> "Deed":
    """What somebody does who runs a command on the board's machine."""
    from gpuboard.accounts.audit import Deed  # noqa: PLC0415 - the light install lacks it

    try:
        who = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        who = str(os.getuid())
    return Deed(what=what, who=who, way="command")


def database_to_fill(arguments: argparse.Namespace) -> "Database":
    """The database of a board, closed; where none is yet, that of the board that would be started.

    Raises:
        StorageError: it cannot be said which, or it cannot be used.
    """
    candidates = [one.database for one in _candidates(_settings_of(arguments.config), arguments)]
    # A copy is needed just where what is there cannot be read.
    found = candidates[0] if len(candidates) == 1 else _used(candidates, damaged_too=True) or candidates[-1]
    found.close()
    return found


def state_directories(arguments: argparse.Namespace) -> list[Path]:
    """Where the board of this machine that is meant keeps its things: of several that runs, if one does."""
    candidates = _candidates(_settings_of(arguments.config), arguments)
    running = [one for one in candidates if len(candidates) > 1 and _is_in_use(one.database)]
    return [one.directory for one in running or candidates]


def _is_in_use(database: "Database") -> bool:
    """Whether a board runs on it; one that does not answer cannot tell."""
    try:
        return database.has_board()
    except StorageError:
        return False
    finally:
        database.close()


def _open(arguments: argparse.Namespace) -> "Database":
    """The database of a board; never one that no board has used.

    Raises:
        StorageError: no board uses the directory, it cannot be said which, or it cannot be used.
    """
    settings = _settings_of(arguments.config)
    candidates = [one.database for one in _candidates(settings, arguments)]
    found = _used(candidates)
    if found is None:
        hint = service_board.hint(has_settings=bool(arguments.config))
        raise StorageError(
            f"no board uses {candidates[0].name}; start the board first, or name its directory "
            f"with --state-dir or its settings with --config{hint}"
        )
    if arguments.config:
        _compare(found, settings)
    return found


def _settings_of(path: str | None) -> "Settings":
    from gpuboard.settings.board import Settings, read_settings  # noqa: PLC0415 - the light install lacks it

    return read_settings(Path(path)) if path else Settings()


class _Candidate(NamedTuple):
    """What may be meant: a board's database, closed, and its state directory."""

    database: "Database"
    directory: Path


def _candidates(settings: "Settings", arguments: argparse.Namespace) -> list[_Candidate]:
    """The boards that may be meant: the one that is named, or one's own and that of the service."""
    from gpuboard.storage.registry import make_database  # noqa: PLC0415 - the light install lacks it

    chosen = arguments.state_dir or settings.board.state_dir
    own = _Candidate(make_database(settings.storage, chosen), state_directory(chosen))
    if chosen or settings.storage.url or not service_board.can_be_used():
        return [own]
    # It keeps its things where its settings say; what lies in its directory may be of before.
    its = _settings_of(str(service_board.SETTINGS) if service_board.has_settings() else None)
    place = its.board.state_dir or str(service_board.DIRECTORY)
    service = _Candidate(make_database(its.storage, place), state_directory(place))
    return [own] if service.database.name == own.database.name else [own, service]


def _used(candidates: list["Database"], *, damaged_too: bool = False) -> "Database | None":
    """The one that a board uses, open unless it is damaged; None: no board has used any.

    Where a board was tried out before it became a service, the one that runs is meant.

    Raises:
        StorageError: none of several runs, or one cannot be used.
    """
    used = [one for one in candidates if _has_been_used(one, damaged_too=damaged_too)]
    running = [one for one in used if one.has_board()] if len(used) > 1 else used
    if used and len(running) != 1:
        for one in used:
            one.close()
        how_many = "more than one board runs" if running else "no board runs"
        raise StorageError(
            f"boards have used {' and '.join(one.name for one in used)}, and {how_many} there now; "
            "name the directory that is meant with --state-dir"
        )
    for one in used:
        if one not in running:
            one.close()
    return running[0] if running else None


def _has_been_used(database: "Database", *, damaged_too: bool) -> bool:
    try:
        return _url_of(database) is not None
    except StorageError as error:
        if damaged_too and error.reason.code == "storage-damaged":
            return True
        raise


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


def _compare(database: "Database", settings: "Settings") -> None:
    """Say that these settings are not those of the board there: it listens elsewhere."""
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the light install lacks it

    own, name, listen = database.fact(BOARD_URL) or "", database.name, settings.board.listen
    there, said = urlsplit(own).port, int(listen.rpartition(":")[2])
    if there not in (None, said):
        place = "database ([storage] url)" if settings.storage.url else "state_dir"
        print(
            f"gpuboard: the board that uses {name} listens at {own}, not at {listen} as these settings say: "
            f"it may be another board; start yours, or give it a {place} of its own",
            file=sys.stderr,
        )
