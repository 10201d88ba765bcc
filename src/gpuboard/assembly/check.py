"""Settings, checked as a starting board would, and nothing started."""

import shutil
import socket
import time
from itertools import islice
from urllib.parse import urlsplit

from gpuboard.assembly.check_files import is_there, look_for_a_while, named
from gpuboard.assembly.tls import check_tls
from gpuboard.bookings.comments import CommentsFile
from gpuboard.discovery.hosts import read_targets
from gpuboard.discovery.hosts_file import read_hosts
from gpuboard.model.address import is_loopback
from gpuboard.model.errors import OutsideError
from gpuboard.model.node import node_name_of
from gpuboard.outside.certificate_dates import find_expiry, validity_of_file
from gpuboard.outside.files import read_file, user_path
from gpuboard.settings.base import read_options
from gpuboard.settings.board import Settings
from gpuboard.settings.words import close_to
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.push import PushSource
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.storage.registry import make_database
from gpuboard.wire.clean import clean_text


def check_settings(settings: Settings) -> list[str]:
    """Make what the settings describe, and let go of it; the kinds of their sources.

    Raises:
        SettingsError: something is wrong; says what and where.
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
    ] + [
        f"{where}: the board would not send Consul's token to {host} in clear, and so have no list of nodes; "
        "write https://, or allow_plaintext = true in discover if the network is yours alone"
        for where, table in settings.sources
        for host in _far_consul(table.get("discover"))
    ]


def _first_far(options: PullOptions) -> list[str]:
    """The first host that is not this machine, where a secret would have to go to it in clear."""
    has_secret = options.token_file or options.token_folder or options.password_file
    if not has_secret or options.tls or options.allow_plaintext:
        return []
    far = (one.host for one in read_targets(options.hosts) if not is_loopback(one.host))
    return list(islice(far, 1))


def _far_consul(discover: object) -> list[str]:
    """The Consul that is not this machine, where a token would have to go to it in clear."""
    if not isinstance(discover, dict) or "consul" not in discover or "token_file" not in discover:
        return []
    url = urlsplit(discover["consul"])
    is_safe = (
        url.scheme == "https" or discover.get("allow_plaintext") is True or is_loopback(url.hostname or "")
    )
    return [] if is_safe else [url.hostname or ""]


def ending_certificates(settings: Settings) -> list[str]:
    """What is wrong with the dates of the board's certificate, or will be soon; a board would show it."""
    path = settings.board.tls_certificate
    found = find_expiry(validity_of_file(path), time.time()) if path else None
    return [f"[board] tls_certificate {path} {found.words}"] if found else []


def unknown_bookers(settings: Settings) -> list[str]:
    """Where the settings of bookings name what is not there: a program, or a group of people."""
    table, known = settings.bookings, settings.groups.people
    found = []
    if table.command and shutil.which(table.command[0]) is None:
        found.append(f"[bookings] command: there is no program {table.command[0]!r} that can be run")
    # Where the provider says who is in which group, nobody knows their names here.
    if not settings.access.oidc.issuer:
        found += [
            f"[bookings.groups.{name}]: nobody is in this group, for [groups.people] has none of this name"
            f"{close_to(name, known)}"
            for name in table.groups
            if name not in known
        ]
    return [clean_text(word) for word in found]


def unread_entries(settings: Settings) -> list[str]:
    """What stands in files that are there and cannot be read; a board would start, and go on without."""
    found: list[str] = []

    def look() -> None:
        comments = settings.bookings.comments_json
        if comments is not None and is_there(comments):
            bookings = CommentsFile(comments, lambda _: None)
            bookings.read_once()
            if bookings.trouble is not None:
                found.append(f"[bookings] comments_json = {comments!r}: {bookings.trouble.text}")
        for where, table in settings.sources:
            for key, path in named(table.get("discover"), ("hosts_file",), f"{where}: discover"):
                found.extend(f"{key} = {path!r}: {word}" for word in _unread_hosts(path))

    look_for_a_while(look)
    return [clean_text(word) for word in found]


def _unread_hosts(path: str) -> list[str]:
    if not is_there(path):
        return []
    try:
        hosts, problems = read_hosts(read_file(user_path(path)))
    except OutsideError as error:
        return [error.text]
    return problems if hosts or problems else ["it names no host"]
