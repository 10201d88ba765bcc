"""Settings, checked as a starting board would, and nothing started."""

import socket
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from gpuboard.assembly.tls import check_tls
from gpuboard.discovery.hosts import read_targets
from gpuboard.model.address import is_loopback
from gpuboard.model.node import node_name_of
from gpuboard.outside.files import is_open_to_all, user_path
from gpuboard.settings.base import read_options
from gpuboard.settings.board import Settings
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.push import PushSource
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.storage.registry import make_database

# A dead mount does not answer; nobody waits longer for it.
_PATIENCE_SECONDS: Final = 5.0


def check_settings(settings: Settings) -> list[str]:
    """Make what the settings describe, and let go of it; the kinds of their sources.

    Raises:
        SettingsError: something is wrong; says what and where.
        StorageError: this installation lacks what the database needs.
    """
    check_tls(settings.board)
    make_database(settings.storage, settings.board.state_dir).close()
    around = Surroundings(
        now=lambda: 0.0, node=node_name_of(socket.gethostname()), pushed=PushSource(CountingLedger())
    )
    return [make_source(table, around, where=where).kind for where, table in settings.sources]


def unsent_secrets(settings: Settings) -> list[str]:
    """Where nodes would never be asked: a board sends no secret over a network in clear unless told to."""
    return [
        f"{where}: the board would not send its secret to {host} in clear, and so not read it, unless it is "
        "this machine; write tls = true, or allow_plaintext = true if the network is yours alone"
        for where, table in settings.sources
        if table.get("kind") == "pull"
        for host in _first_far(read_options(PullOptions, table, where=where))
    ]


def _first_far(options: PullOptions) -> list[str]:
    """The first host that is not this machine, where a secret would have to go to it in clear."""
    has_secret = options.token_file or options.token_folder or options.password_file
    if not has_secret or options.tls or options.allow_plaintext:
        return []
    far = (one.host for one in read_targets(options.hosts) if not is_loopback(one.host))
    return list(islice(far, 1))


def missing_paths(settings: Settings) -> list[str]:
    """What the settings name and is not there now; a board would start, and wait for it."""
    named = list(_paths(settings))
    found: set[str] = set()
    has_ended = _look(lambda: found.update(filter(_is_there, dict(named).values())))
    hint = "" if has_ended else ", or its mount does not answer"
    return [f"{where} = {path!r} is not there{hint}" for where, path in named if path not in found]


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

    _look(look)
    return list(found)


def _look(look: Callable[[], None]) -> bool:
    """Look somewhere, but not for ever; whether it ended in time."""
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(_PATIENCE_SECONDS)
    return not looking.is_alive()


def _secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    for where, table in settings.sources:
        discover = table.get("discover")
        for key in ("token_file", "password_file"):
            if isinstance(table.get(key), str):
                yield f"{where}: {key}", table[key]
        if isinstance(discover, dict) and isinstance(discover.get("token_file"), str):
            yield f"{where}: discover token_file", discover["token_file"]


def _paths(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.bookings.comments_json is not None:
        yield "[bookings] comments_json", settings.bookings.comments_json
    if settings.storage.password_file is not None:
        yield "[storage] password_file", settings.storage.password_file
    for where, table in settings.sources:
        discover = table.get("discover")
        if table.get("kind") == "folder":
            yield f"{where}: path", table["path"]
        elif isinstance(discover, dict) and "hosts_file" in discover:
            yield f"{where}: discover hosts_file", discover["hosts_file"]


def _is_there(text: str) -> bool:
    path: Path = user_path(text)
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
