"""`gpuboard node`: let nodes push to the board, see which do, stop them; also while the board runs."""

import argparse
import sys
import time
from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Final

import msgspec

from gpuboard.cli.board_database import board_database
from gpuboard.cli.enroll_hints import hint
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.tables import print_table
from gpuboard.cli.which_board import add_which
from gpuboard.model.units import format_duration
from gpuboard.wire.enrolment import UNIT_TOKEN_FILE, show_code

if TYPE_CHECKING:
    from gpuboard.accounts.connected import Connection
    from gpuboard.accounts.tokens import NodeRecord
    from gpuboard.storage.base import Database

# Where the agent's unit looks for it.


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
        add_which(action)


def run(arguments: argparse.Namespace) -> int:
    """Do one thing to the board's tokens."""
    say_warnings()
    with board_database(arguments) as database:
        return _ACTIONS[arguments.action](database, arguments)


def _enroll(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the same

    own = database.fact(BOARD_URL) or ""
    url: str = arguments.url or own
    code = show_code(NodeTokens(database).invite(arguments.node.lower()))
    print(f"code: {code}   (for {arguments.node.lower()}, once, within an hour)")
    print("run on the node, and type the code when it asks:")
    print(f"  gpuboard agent enroll {quote(url)} --token-file {UNIT_TOKEN_FILE}")
    print("then start the agent there:")
    print(f"  gpuboard agent --push {quote(url)} --token-file {UNIT_TOKEN_FILE}")
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
    print_table(table)
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
