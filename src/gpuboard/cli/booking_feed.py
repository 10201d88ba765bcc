"""`gpuboard bookings feed`: the address at which calendar programs find one's own bookings."""

import argparse
import sys

import msgspec

from gpuboard.cli.booking_words import add_booking_arguments, client_of
from gpuboard.cli.exits import DONE, FAILED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--revoke", action="store_true", help="the address is not good any more")
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a new address, or take the one there is away."""
    client = client_of(arguments)
    if not arguments.revoke:
        address = client.make_feed()
        print(msgspec.json.encode({"url": address}).decode() if arguments.json else address)
        print(
            "gpuboard: whoever has this address sees your bookings; it is not shown again, and the one "
            "before it is not good any more",
            file=sys.stderr,
        )
        return DONE
    if client.feed().created_at is None:
        print("gpuboard: you have no calendar feed", file=sys.stderr)
        return FAILED
    client.end_feed()
    print("gpuboard: the address of your calendar feed is not good any more", file=sys.stderr)
    return DONE
