"""`gpuboard extend`: let a booking end later, or sooner."""

import argparse
import time

from gpuboard.cli.booking_words import add_booking_arguments, client_of, print_answer
from gpuboard.cli.exits import DONE
from gpuboard.cli.moments import read_duration, read_moment
from gpuboard.wire.bookings import BookingChange


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="which, as gpuboard bookings shows it")
    ends = parser.add_mutually_exclusive_group(required=True)
    ends.add_argument("--by", metavar="TIME", help="so much later, like 2h")
    ends.add_argument("--until", metavar="T", help="its new end, like 18:00; sooner than before shortens it")
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Change its end; 1 when others have what comes then, 4 when a policy forbids it."""
    if arguments.by is not None:
        change = BookingChange(extend_seconds=read_duration("--by", arguments.by))
    else:
        change = BookingChange(end=read_moment("--until", arguments.until, now=time.time()))
    print_answer(client_of(arguments).change(arguments.id, change), arguments)
    return DONE
