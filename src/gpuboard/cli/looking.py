"""Where a command looks: this machine, others over ssh, a folder of files, a board, or a demo."""

import argparse
import functools
import importlib
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import CANNOT_TELL, DONE, REFUSED
from gpuboard.cli.logs import say_warnings
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.errors import UsageError
from gpuboard.model.node import node_name_of, spoken
from gpuboard.model.report import NodeReport
from gpuboard.model.source import identify
from gpuboard.probes.registry import PROBE_NAMES
from gpuboard.wire.clean import clean_text
from gpuboard.wire.report import check_report
from gpuboard.wire.views import FleetView

if TYPE_CHECKING:
    from gpuboard.bookings.comments import CommentsFile
    from gpuboard.settings.board import Settings

ShowFleet = Callable[[Fleet], None]


def add_where(parser: argparse.ArgumentParser) -> None:
    """Declare where to look."""
    parser.add_argument("hosts", metavar="HOST", nargs="*", help="look at these over ssh, like gpu[01-16]")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--board",
        metavar="URL",
        nargs="?",
        const=os.environ.get("GPUBOARD_BOARD", ""),
        help="ask a board (without URL: that of the last login) [GPUBOARD_BOARD]",
    )
    where.add_argument("--folder", metavar="DIR", help="read the files that nodes leave in a folder")
    where.add_argument("--demo", action="store_true", help="show a simulated machine")
    where.add_argument(
        "--probe",
        metavar="NAME",
        help=f"read this machine's devices by this alone: {PROBE_NAMES}",
    )
    add_ca_file(parser)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="gpuboard.toml: what things are called, how hosts are reached; without HOST, which",
    )
    parser.add_argument("--user", metavar="NAME", help="log in to hosts as this user")
    parser.add_argument("--pattern", metavar="NAMES", help="which files of the folder to read, like cml*")


class Seer:
    """Shows the fleet as it is now; it remembers what it saw before."""

    def __init__(
        self,
        see: Callable[[], FleetView],
        bookings: "CommentsFile | None" = None,
        *,
        only_board: str | None = None,
    ) -> None:
        """Show what `see` returns; `only_board` says whom the board alone could show besides."""
        self.see = see
        self._bookings = bookings
        self._only_board = only_board

    def say_unread(self) -> None:
        """Say which bookings the last look could not read, and why."""
        trouble = self._bookings.trouble if self._bookings else None
        if trouble is not None:
            print(f"gpuboard: bookings: {clean_text(trouble.text)}", file=sys.stderr)

    def say_left_out(self) -> None:
        """Say of whom nothing was seen, because only the board hears of them."""
        if self._only_board is not None:
            print(f"gpuboard: {self._only_board}", file=sys.stderr)


def make_seer(arguments: argparse.Namespace) -> Seer:
    """Return what shows the fleet.

    Raises:
        UsageError: the arguments contradict each other.
    """
    say_warnings()
    if arguments.hosts and any(
        (arguments.demo, arguments.board is not None, arguments.probe, arguments.folder)
    ):
        raise UsageError("HOST goes with none of --demo, --board, --folder and --probe")
    if arguments.pattern and not arguments.folder:
        raise UsageError("--pattern goes with --folder")
    if arguments.board is not None:
        from gpuboard.cli.which_board import asked_board  # noqa: PLC0415 - only to ask a board
        from gpuboard.client.board import BoardClient  # noqa: PLC0415 - the same

        arguments.board = asked_board(arguments)
        return Seer(BoardClient(arguments.board, ca_file=arguments.ca_file).fleet)
    settings = _settings(arguments)
    look = _look_at(arguments, settings)
    fleet = _fleet(settings)
    bookings = _bookings(settings, fleet)

    def see() -> FleetView:
        if bookings is not None:
            bookings.read_once()
        look(fleet)
        fleet.settle()
        return fleet_view(fleet)

    return Seer(see, bookings, only_board=_only_board(arguments, settings))


def say_if_empty(fleet: FleetView, arguments: argparse.Namespace) -> None:
    """Say why there is nothing to show, if not even a node is there."""
    if fleet.nodes:
        return
    if arguments.board:
        none = "does not know its nodes yet" if fleet.sources_unknown else "has no nodes yet"
        why = f"the board at {arguments.board} {none}"
    elif arguments.folder:
        named = f" and is named like {arguments.pattern}" if arguments.pattern else ""
        why = f"no file in {arguments.folder} is a node's{named}"
    else:
        why = "there is no node to show"
    print(f"gpuboard: {why}", file=sys.stderr)


def exit_code(fleet: FleetView, arguments: argparse.Namespace) -> int:
    """What a look was good for: GPUs were seen, or nothing can be told, or nobody lets us look."""
    if any(node.gpus for node in fleet.nodes):
        return DONE
    # On a board a refused node is the board's affair; over ssh it is we who were refused.
    is_ours = bool(fleet.nodes) and not arguments.board and not getattr(arguments, "saved", None)
    is_refused = is_ours and all(node.state == "refused" for node in fleet.nodes)
    return REFUSED if is_refused else CANNOT_TELL


def _settings(arguments: argparse.Namespace) -> "Settings | None":
    if not arguments.config:
        return None
    from gpuboard.settings.board import read_settings  # noqa: PLC0415 - only for settings

    return read_settings(Path(arguments.config))


def _fleet(settings: "Settings | None") -> Fleet:
    if settings is None:
        return Fleet(SteadyClock())
    from gpuboard.assembly.judging import groups_of, names_of, thresholds_of  # noqa: PLC0415 - only for settings

    return Fleet(
        SteadyClock(),
        thresholds=thresholds_of(settings.verdict),
        names=names_of(settings),
        groups=groups_of(settings.groups),
    )


def _bookings(settings: "Settings | None", fleet: Fleet) -> "CommentsFile | None":
    if settings is None:
        return None
    from gpuboard.assembly.bookings import bookings_of  # noqa: PLC0415 - only for settings

    return bookings_of(settings.bookings, fleet, fleet.clock.now)


def _only_board(arguments: argparse.Namespace, settings: "Settings | None") -> str | None:
    """Which nodes of the settings are not looked at, and who can be asked for them."""
    if settings is None or any((arguments.hosts, arguments.folder, arguments.demo, arguments.probe)):
        return None
    kinds = [table.get("kind") for _, table in settings.sources]
    signed = any(table.get("signed") is True for _, table in settings.sources)
    left = ["nodes that push to the board"] if "push" in kinds else []
    left += ["folders with signed = true"] if signed else []
    return f"{' and '.join(left)} are left out; ask the board with --board URL" if left else None


def _look_at(arguments: argparse.Namespace, settings: "Settings | None") -> ShowFleet:
    if arguments.hosts and settings is not None:
        return _look_at_named(arguments, settings)
    if arguments.hosts:
        return _look_over_ssh(arguments, settings)
    if arguments.folder:
        return _look_into_folder({"path": arguments.folder, "pattern": arguments.pattern or "*"})
    if settings is not None and not arguments.demo and not arguments.probe:
        return _look_at_sources(arguments, settings)
    return functools.partial(_look_here, _reader_here(arguments))


def _look_at_named(arguments: argparse.Namespace, settings: "Settings") -> ShowFleet:
    """The hosts that are named, by their own names or by what the settings call them; asked as listed."""
    from gpuboard.assembly.judging import names_of  # noqa: PLC0415 - only for settings

    names = names_of(settings)
    arguments.hosts = [next(names.nodes_called(spoken(host)), host) for host in arguments.hosts]
    if not any(table.get("kind") == "pull" for _, table in settings.sources):
        return _look_over_ssh(arguments, settings)
    pulled = importlib.import_module("gpuboard.assembly.pulled")

    def look(fleet: Fleet) -> None:
        left = pulled.look_at_those_pulled(arguments.hosts, fleet, settings=settings)
        if left:
            _look_over_ssh(argparse.Namespace(**{**vars(arguments), "hosts": left}), settings)(fleet)

    return look


def _look_over_ssh(arguments: argparse.Namespace, settings: "Settings | None") -> ShowFleet:
    # By name: the light install lacks ssh, and nothing else here may need it.
    hosts = importlib.import_module("gpuboard.assembly.hosts")
    tables = hosts.ssh_tables(settings) if settings is not None else ()
    return functools.partial(hosts.look_at_hosts, arguments.hosts, tables=tables, user=arguments.user)


def _look_into_folder(
    table: Mapping[str, Any], *, where: str = "--folder", name: str = "folder"
) -> ShowFleet:
    from gpuboard.assembly.folder import look_into_folder  # noqa: PLC0415 - only for folders

    # Whoever looks wants to know; a crontab would send it by mail every minute.
    return look_into_folder(table, where=where, name=name, names_skipped=sys.stderr.isatty())


def _look_at_sources(arguments: argparse.Namespace, settings: "Settings") -> ShowFleet:
    """Everything that the settings name and that can be looked at without a board."""
    folders = [named for named in settings.sources if named[1].get("kind") == "folder"]
    looks = [
        _look_into_folder(table, where=where, name=identity.name)
        for (where, table), identity in zip(folders, identify("folder" for _ in folders), strict=True)
        # Only the board has the tokens with which those are checked.
        if table.get("signed") is not True
    ]
    if any(table.get("kind") == "ssh" for _, table in settings.sources):
        looks.append(_look_over_ssh(arguments, settings))
    if any(table.get("kind") == "pull" for _, table in settings.sources):
        # By name, as with ssh.
        pulled = importlib.import_module("gpuboard.assembly.pulled")
        looks.append(functools.partial(pulled.look_at_pulled, settings=settings))
    if not looks:
        raise UsageError(
            f"{arguments.config} has no source of kind ssh or pull, or folder without signed = true, to look "
            "at; name a HOST, or ask the board with --board URL"
        )

    def look(fleet: Fleet) -> None:
        for one in looks:
            one(fleet)

    return look


def _reader_here(arguments: argparse.Namespace) -> Callable[[], NodeReport]:
    if arguments.demo:
        from gpuboard.assembly.demo import demo_machine  # noqa: PLC0415 - only for the demo

        return demo_machine
    from gpuboard.assembly.agent import this_machine  # noqa: PLC0415 - loads the driver's library

    return this_machine(node=node_name_of(socket.gethostname()), probe=arguments.probe)


def _look_here(read: Callable[[], NodeReport], fleet: Fleet) -> None:
    report = read()
    fleet.sink("local").report(report.node, check_report(report))
