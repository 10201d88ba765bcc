"""`gpuboard node`: let nodes push to the board, see which do, stop them; also while the board runs."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from gpuboard.cli.exits import DONE, FAILED
from gpuboard.model.units import format_duration
from gpuboard.wire.enrolment import show_code

if TYPE_CHECKING:
    from gpuboard.accounts.tokens import NodeRecord
    from gpuboard.storage.database import Database


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    enroll = actions.add_parser("enroll", help="make a code with which one node gets its token")
    enroll.add_argument("node", metavar="NAME", help="what the node is called on the board")
    enroll.add_argument("--url", help="where the node reaches the board (default: where it listens)")
    listing = actions.add_parser("list", help="show the enrolled nodes and when each was last heard")
    listing.add_argument("--json", action="store_true", help="print JSON")
    revoke = actions.add_parser("revoke", help="take a node's token away; it is cut off at once")
    revoke.add_argument("node", metavar="NAME")
    for action in (enroll, listing, revoke):
        action.add_argument(
            "--state-dir",
            metavar="DIR",
            default="",
            help="the board's state directory (default: $STATE_DIRECTORY, else ~/.local/state/gpuboard)",
        )


def run(arguments: argparse.Namespace) -> int:
    """Do one thing to the board's tokens."""
    from gpuboard.storage.database import open_database  # noqa: PLC0415 - the light install lacks it
    from gpuboard.storage.place import state_directory  # noqa: PLC0415 - the same

    database = open_database(state_directory(arguments.state_dir))
    try:
        return {"enroll": _enroll, "list": _list, "revoke": _revoke}[arguments.action](database, arguments)
    finally:
        database.close()


def _enroll(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the same

    url = arguments.url or database.fact(BOARD_URL) or "http://127.0.0.1:8042/"
    code = show_code(NodeTokens(database).invite(arguments.node.lower()))
    print(f"code: {code}   (for {arguments.node.lower()}, once, within an hour)")
    print("run on the node:")
    print(f"  gpuboard agent --push {url} --token-file /var/lib/gpuboard-agent/token --enroll {code}")
    if "//127." in url or "//localhost" in url or "//[::1]" in url:
        print(
            "gpuboard: the board listens on this machine only; for other nodes start it with "
            "--listen 0.0.0.0:8042 and --tls-certificate, or give the address of its proxy with --url",
            file=sys.stderr,
        )
    elif url.startswith("http:"):
        print(
            "gpuboard: the board does not speak TLS, so tokens would travel in clear; start it with "
            "--tls-certificate, or add --allow-plaintext to the command on a network you trust",
            file=sys.stderr,
        )
    return DONE


def _list(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it

    records = NodeTokens(database).records()
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(records)).decode())
        return DONE
    if not records:
        print("gpuboard: no node is enrolled; begin with: gpuboard node enroll NAME", file=sys.stderr)
        return DONE
    rows = [("NODE", "ENROLLED", "TOKEN LAST USED"), *(_row(record, time.time()) for record in records)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return DONE


def _row(record: "NodeRecord", now: float) -> tuple[str, str, str]:
    if record.enrolled_at is None:
        left = format_duration((record.code_expires_at or now) - now)
        return record.node, f"code waits, {left} left", "—"
    used = "never" if record.last_used_at is None else f"{format_duration(now - record.last_used_at)} ago"
    return record.node, f"{format_duration(now - record.enrolled_at)} ago", used


def _revoke(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.tokens import NodeTokens  # noqa: PLC0415 - the light install lacks it

    if NodeTokens(database).revoke(arguments.node.lower()):
        print(f"{arguments.node.lower()} can no longer push")
        return DONE
    print(f"gpuboard: no node {arguments.node!r} is enrolled; see: gpuboard node list", file=sys.stderr)
    return FAILED
