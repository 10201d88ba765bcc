"""`gpuboard audit`: who did what to this board, by which way, from where."""

import argparse
import sys
from datetime import UTC, datetime
from typing import Final

import msgspec

from gpuboard.cli.board_database import board_database
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.tables import print_table
from gpuboard.cli.which_board import add_which
from gpuboard.model.errors import UsageError
from gpuboard.wire.people import AuditEntry

MOST: Final = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="how many (default 100)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_which(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the newest entries, the oldest of them first."""
    from gpuboard.accounts.desk import AccountDesk  # noqa: PLC0415 - the light install lacks it

    say_warnings()
    if not 1 <= arguments.limit <= MOST:
        raise UsageError(f"--limit {arguments.limit}: from 1 to {MOST}")
    with board_database(arguments) as database:
        found = list(reversed(AccountDesk(database).deeds(limit=arguments.limit)))
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif found:
        print_table([("WHEN", "WHO", "WHAT", "WAY", "FROM", "DETAIL"), *map(_row, found)])
    else:
        print("gpuboard: nobody has done anything yet", file=sys.stderr)
    return DONE


def _row(one: AuditEntry) -> tuple[str, ...]:
    when = datetime.fromtimestamp(one.at, UTC).isoformat(sep=" ", timespec="seconds")
    way = f"{one.way} {one.through}" if one.through else one.way
    return tuple(cell or "—" for cell in (when, one.who, one.what, way, one.address, one.detail))
