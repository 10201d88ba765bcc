"""`gpuboard block`: keep everybody away from GPUs, for admins."""

import argparse

from gpuboard.cli.booking_words import (
    add_booking_arguments,
    add_span_arguments,
    client_of,
    print_answer,
    read_places,
    read_span,
)
from gpuboard.cli.exits import DONE
from gpuboard.wire.bookings import BookingWish


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "places", nargs="+", metavar="NODE:GPUS", help="like gpu01:0,1; a node alone is all of it"
    )
    add_span_arguments(parser)
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Block, and say whose bookings are cut by that."""
    start, end = read_span(arguments)
    wish = BookingWish(
        places=read_places(arguments.places), start=start, end=end, comment=arguments.comment, kind="block"
    )
    print_answer(client_of(arguments).book(wish), arguments)
    return DONE
