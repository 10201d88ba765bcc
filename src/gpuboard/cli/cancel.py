"""`gpuboard cancel`: give back what one has booked."""

import argparse

from gpuboard.cli.booking_words import add_booking_arguments, client_of, print_answer
from gpuboard.cli.exits import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="which, as gpuboard bookings shows it")
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """End it now, or before it begins."""
    print_answer(client_of(arguments).cancel(arguments.id), arguments)
    return DONE
