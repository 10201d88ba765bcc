"""`gpuboard bookings`: what is booked, as lines or as a calendar feed; and the file of a PHP board."""

import argparse
import sys
import time

import msgspec

from gpuboard.cli import booking_feed, comments_export, comments_import
from gpuboard.cli.booking_words import add_booking_arguments, client_of, line_of, line_of_elsewhere
from gpuboard.cli.exits import DONE
from gpuboard.cli.moments import read_moment
from gpuboard.model.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--mine", action="store_true", help="only my own")
    parser.add_argument("--node", metavar="NODE", help="only on this node")
    parser.add_argument("--from", dest="start", metavar="T", help="since when (default now)")
    parser.add_argument("--until", metavar="T", help="until when (default two weeks later)")
    add_booking_arguments(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    comments_import.add_arguments(actions.add_parser("import", help="take over a comments.json, for admins"))
    comments_export.add_arguments(
        actions.add_parser("export", help="write what is booked now as comments.json")
    )
    booking_feed.add_arguments(
        actions.add_parser("feed", help="make the address of a calendar of my bookings, or revoke it")
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is booked, one line each, or hand it over."""
    if arguments.action == "import":
        return comments_import.run(arguments)
    if arguments.action == "export":
        return comments_export.run(arguments)
    if arguments.action == "feed":
        return booking_feed.run(arguments)
    now = time.time()
    start = None if arguments.start is None else read_moment("--from", arguments.start, now=now)
    end = None if arguments.until is None else read_moment("--until", arguments.until, now=now)
    if end is not None and end <= (now if start is None else start):
        raise UsageError("--until: must be after --from")
    found = client_of(arguments).bookings(mine=arguments.mine, node=arguments.node, start=start, end=end)
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
        return DONE
    for booking in found.bookings:
        print(line_of(booking))
    for claim in found.elsewhere:
        print(line_of_elsewhere(claim))
    if not found.bookings and not found.elsewhere:
        print("gpuboard: nothing is booked", file=sys.stderr)
    if found.is_cut:
        print("gpuboard: there are more; name a shorter span", file=sys.stderr)
    return DONE
