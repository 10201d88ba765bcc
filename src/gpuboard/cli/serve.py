"""`gpuboard serve`: run the board."""

import argparse
import contextlib
import functools
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import set_up_logging
from gpuboard.model.address import is_loopback, split_address
from gpuboard.model.errors import UsageError
from gpuboard.settings.board import DEFAULT_LISTEN, Settings, read_settings

# Who looks at a demo that keeps nothing is one of its people.
DEMO_PERSON: Final = "lin"
DEMO_CONTACT: Final = "mailto:{person}@lab.example"
MOST_DEMO_NODES: Final = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--config", metavar="FILE", help="gpuboard.toml; without it the board watches this machine"
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help=f"default {DEFAULT_LISTEN}")
    parser.add_argument(
        "--demo",
        metavar="NODES",
        nargs="?",
        type=int,
        const=12,
        default=0,
        help="show simulated nodes (default 12)",
    )
    parser.add_argument(
        "--anonymous",
        choices=("nothing", "counts", "names"),
        help="what visitors see (default: names on this machine, counts beyond)",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        default="",
        help="where tokens are kept (default: $STATE_DIRECTORY, else ~/.local/state/gpuboard)",
    )
    parser.add_argument(
        "--tls-certificate", metavar="FILE", default="", help="speak TLS: certificate chain, PEM"
    )
    parser.add_argument("--tls-key", metavar="FILE", default="", help="speak TLS: its private key, PEM")
    parser.add_argument(
        "--check", action="store_true", help="only check the settings: 0 if they are in order, 2 if not"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the board until it is told to stop."""
    with contextlib.ExitStack() as until_stopped:
        folder = None
        if _keeps_nothing(arguments):
            # What is tried out there is nobody's, and keeps no real board from starting.
            temporary = tempfile.TemporaryDirectory(prefix="gpuboard-demo-", ignore_cleanup_errors=True)
            folder = until_stopped.enter_context(temporary)
        return _run(arguments, folder)


def _keeps_nothing(arguments: argparse.Namespace) -> bool:
    """Whether this is a demo and nothing else."""
    return bool(arguments.demo and not _kept_by(arguments))


def _kept_by(arguments: argparse.Namespace) -> str:
    """The options by which a board is no mere demo."""
    return " and ".join(
        name
        for name, value in (("--config", arguments.config), ("--state-dir", arguments.state_dir))
        if value
    )


def _run(arguments: argparse.Namespace, folder: str | None) -> int:
    # Here, so that `--help` answers at once; and the light install lacks what it needs.
    from gpuboard.assembly.board import Board  # noqa: PLC0415
    from gpuboard.assembly.listening import bound_address, take_address  # noqa: PLC0415

    set_up_logging()
    read = functools.partial(settings_of, arguments, folder)
    settings = read()
    if arguments.check:
        return _check(settings)
    # Until the board runs, a wish to read the settings again is met by itself.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sockets = take_address(settings.board.listen)
    board = Board(settings, listen=bound_address(sockets, settings.board.listen), reread=read)
    print(f"gpuboard: open {board.url}", file=sys.stderr)
    if settings.access.anonymous is None and not is_loopback(split_address(settings.board.listen)[0]):
        print(
            "gpuboard: other machines see counts and no names; to show names: --anonymous names",
            file=sys.stderr,
        )
    if settings.demo_person is not None:
        print(
            f"gpuboard: you are {settings.demo_person} in this demo, may book, and nothing is kept",
            file=sys.stderr,
        )
    kept_by = _kept_by(arguments)
    if settings.demo_nodes and kept_by:
        print(
            f"gpuboard: with {kept_by} this demo keeps its state: nobody is invented who looks at it"
            f" ({DEMO_PERSON}), nor what they booked, nor a way to ask people",
            file=sys.stderr,
        )
    path = shlex.quote(str(board.socket_path))
    print(f"gpuboard: to sign in as yourself: gpuboard login --socket {path}", file=sys.stderr)
    board.tell_set_up_link(
        lambda link: print(
            f"gpuboard: there is no admin yet; within the hour, set one up at {link}",
            file=sys.stderr,
            flush=True,
        )
    )
    with contextlib.suppress(KeyboardInterrupt):
        board.run(sockets)
    return DONE


def _check(settings: Settings) -> int:
    from gpuboard.assembly.check import (  # noqa: PLC0415 - as above
        check_settings,
        ending_certificates,
        unknown_bookers,
        unread_entries,
        unsent_secrets,
    )
    from gpuboard.assembly.check_files import (  # noqa: PLC0415 - the same
        missing_paths,
        open_secrets,
        state_faults,
        unreadable_paths,
    )
    from gpuboard.assembly.check_pairs import idle_settings  # noqa: PLC0415 - the same
    from gpuboard.assembly.unmatched import unmatched_entries  # noqa: PLC0415 - the same

    kinds = check_settings(settings)
    sources = ", ".join(kinds) if kinds else "none, so the board watches this machine"
    print(f"the settings are in order; sources: {sources}")
    if settings.is_empty:
        print(
            "gpuboard: the settings file is empty: a board would start with defaults alone, and one that "
            "runs with other settings would not take it up",
            file=sys.stderr,
        )
    for word in (*ending_certificates(settings), *unsent_secrets(settings), *open_secrets(settings)):
        print(f"gpuboard: {word}", file=sys.stderr)
    for fault in state_faults(settings):
        print(f"gpuboard: {fault}; the board would start, and keep nothing until it can", file=sys.stderr)
    for idle in idle_settings(settings):
        print(f"gpuboard: {idle}", file=sys.stderr)
    for unknown in unknown_bookers(settings):
        print(f"gpuboard: {unknown}", file=sys.stderr)
    for unmatched in unmatched_entries(settings):
        print(f"gpuboard: {unmatched}", file=sys.stderr)
    for unread in unread_entries(settings):
        print(f"gpuboard: {unread}; the board would start, and go on without", file=sys.stderr)
    for unreadable in unreadable_paths(settings):
        print(f"gpuboard: {unreadable}; the board would start, and wait until it can", file=sys.stderr)
    for missing in missing_paths(settings):
        print(f"gpuboard: {missing}; the board would start and wait for it", file=sys.stderr)
    return DONE


def settings_of(arguments: argparse.Namespace, folder: str | None = None) -> Settings:
    """The file's settings, with what the command line says instead; a demo's state is in its own folder."""
    if not 0 <= arguments.demo <= MOST_DEMO_NODES:
        raise UsageError(f"--demo {arguments.demo}: from 1 to {MOST_DEMO_NODES} nodes can be simulated")
    settings = read_settings(Path(arguments.config)) if arguments.config else Settings()
    given = {
        name: value
        for name in ("listen", "state_dir", "tls_certificate", "tls_key")
        if (value := getattr(arguments, name))
    }
    if folder is not None:
        given["state_dir"] = folder
    settings = replace(settings, board=replace(settings.board, **given))
    if arguments.anonymous:
        settings = replace(settings, access=replace(settings.access, anonymous=arguments.anonymous))
    if _keeps_nothing(arguments):
        # Who looks at a demo sees how people are asked for what they hold idle; nobody reads these mails.
        settings = replace(settings, names=replace(settings.names, contact=DEMO_CONTACT))
    # Who says what visitors see wants to see just that.
    is_everybody = _keeps_nothing(arguments) and not arguments.anonymous
    return replace(settings, demo_nodes=arguments.demo, demo_person=DEMO_PERSON if is_everybody else None)
