"""`gpuboard node`: let nodes push to the board, see which do, stop them; also while the board runs."""

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from gpuboard.cli.enroll_hints import hint
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.logs import say_warnings
from gpuboard.model.errors import StorageError
from gpuboard.model.units import format_duration
from gpuboard.wire.enrolment import show_code

if TYPE_CHECKING:
    from gpuboard.accounts.connected import Connection
    from gpuboard.accounts.tokens import NodeRecord
    from gpuboard.storage.base import Database

# Where the agent's unit looks for it.
TOKEN_FILE: Final = "/var/lib/gpuboard-agent/node.token"  # noqa: S105 - the name of the file
SERVICE_DIRECTORY: Final = Path("/var/lib/gpuboard")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    enroll = actions.add_parser("enroll", help="make a code with which one node gets its token")
    enroll.add_argument("node", metavar="NAME", help="what the node is called on the board")
    enroll.add_argument("--url", help="where the node reaches the board (default: where it listens)")
    listing = actions.add_parser("list", help="show the enrolled nodes, and which are connected")
    listing.add_argument("--json", action="store_true", help="print JSON")
    revoke = actions.add_parser("revoke", help="take a node's token away; it is cut off at once")
    revoke.add_argument("node", metavar="NAME")
    forget = actions.add_parser("forget", help="take a node off the board now, its token too")
    forget.add_argument("node", metavar="NAME")
    for action in (enroll, listing, revoke, forget):
        action.add_argument("--config", metavar="FILE", help="the board's gpuboard.toml, which may name it")
        action.add_argument(
            "--state-dir",
            metavar="DIR",
            default="",
            help="the board's state directory (default: $STATE_DIRECTORY, else ~/.local/state/gpuboard)",
        )


def run(arguments: argparse.Namespace) -> int:
    """Do one thing to the board's tokens."""
    say_warnings()
    database = _open(arguments)
    try:
        if not database.has_board():
            print(
                f"gpuboard: no board runs on {database.name} now; this is what the last one left, "
                "and what is changed holds when one is started",
                file=sys.stderr,
            )
        return _ACTIONS[arguments.action](database, arguments)
    finally:
        database.close()


def _open(arguments: argparse.Namespace) -> "Database":
    """The database of a board; never one that no board has used.

    Raises:
        StorageError: no board uses the directory, or it cannot be used.
    """
    from gpuboard.settings.board import Settings, read_settings  # noqa: PLC0415 - the light install lacks what follows
    from gpuboard.storage.registry import make_database  # noqa: PLC0415 - the same
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the same

    settings = read_settings(Path(arguments.config)) if arguments.config else Settings()
    database = make_database(settings.storage, arguments.state_dir or settings.board.state_dir)
    try:
        if database.exists():
            database.open()
            own = database.fact(BOARD_URL)
            if own is not None:
                if arguments.config:
                    _compare(own, settings.board.listen, database.name)
                return database
        service = make_database(Settings().storage, str(SERVICE_DIRECTORY))
        known = f"; that of the service is {SERVICE_DIRECTORY}" if service.exists() else ""
    except BaseException:
        database.close()
        raise
    database.close()
    raise StorageError(
        f"no board uses {database.name}; start the board first, or name its directory "
        f"with --state-dir or its settings with --config{known}"
    )


def _compare(own: str, listen: str, name: str) -> None:
    """Say that these settings are not those of the board there: it listens elsewhere."""
    there, said = urlsplit(own).port, int(listen.rpartition(":")[2])
    if there not in (None, said):
        print(
            f"gpuboard: the board that uses {name} listens at {own}, not at {listen} as these settings say: "
            "it may be another board; start yours, or give it a state_dir of its own",
            file=sys.stderr,
        )


def _enroll(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the same

    own = database.fact(BOARD_URL) or ""
    url: str = arguments.url or own
    code = show_code(NodeTokens(database).invite(arguments.node.lower()))
    print(f"code: {code}   (for {arguments.node.lower()}, once, within an hour)")
    print("run on the node, and type the code when it asks:")
    print(f"  gpuboard agent enroll {quote(url)} --token-file {TOKEN_FILE}")
    print("then start the agent there:")
    print(f"  gpuboard agent --push {quote(url)} --token-file {TOKEN_FILE}")
    print(f"gpuboard: {hint(arguments.url, own)}", file=sys.stderr)
    return DONE


def _list(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.connected import ConnectedNodes  # noqa: PLC0415 - the light install lacks it
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the same

    records = NodeTokens(database).records()
    connected = ConnectedNodes(database).load()
    if arguments.json:
        rows = [
            msgspec.to_builtins(record) | {"connected": msgspec.to_builtins(connected.get(record.node))}
            for record in records
        ]
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
        return DONE
    if not records:
        print("gpuboard: no node is enrolled; begin with: gpuboard node enroll NAME", file=sys.stderr)
        return DONE
    table = [
        ("NODE", "ENROLLED", "LAST PUSH"),
        *(_row(record, connected, time.time()) for record in records),
    ]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return DONE


def _row(record: "NodeRecord", connected: Mapping[str, "Connection"], now: float) -> tuple[str, str, str]:
    if record.enrolled_at is None:
        left = format_duration((record.code_expires_at or now) - now)
        return record.node, f"code waits, {left} left", "—"
    line = connected.get(record.node)
    if line is not None:
        heard = f"live since {format_duration(max(0.0, now - line.since))}, {line.address}"
    elif record.last_used_at is not None:
        heard = f"{format_duration(max(0.0, now - record.last_used_at))} ago"
    else:
        heard = "never"
    return record.node, f"{format_duration(max(0.0, now - record.enrolled_at))} ago", heard


def _revoke(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it

    node = arguments.node.lower()
    if NodeTokens(database).revoke(node):
        print(f"{node} can no longer push; it is shown as lost until forgotten (now: gpuboard node forget)")
        return DONE
    print(f"gpuboard: no node {arguments.node!r} is enrolled; see: gpuboard node list", file=sys.stderr)
    return FAILED


def _forget(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.connected import ConnectedNodes  # noqa: PLC0415 - the light install lacks it
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the same

    node = arguments.node.lower()
    tokens = NodeTokens(database)
    is_known = tokens.knows(node) or node in ConnectedNodes(database).load()
    tokens.forget(node)
    if not is_known:
        print(
            f"gpuboard: no node {node!r} is enrolled, and no GPU of it was seen; see: gpuboard node list; "
            "a board that runs is asked to forget it all the same, in case a source lists it",
            file=sys.stderr,
        )
        return FAILED
    print(f"the board forgets {node} now, or when it starts; it comes back if a source lists it still")
    return DONE


_ACTIONS: Final = {"enroll": _enroll, "list": _list, "revoke": _revoke, "forget": _forget}
