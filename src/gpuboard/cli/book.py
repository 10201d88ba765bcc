"""`gpuboard book`: book GPUs, for now or later."""

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
from gpuboard.model.errors import UsageError
from gpuboard.model.units import parse_size
from gpuboard.wire.bookings import AnyGpus, BookingWish
from gpuboard.wire.summary import MOST_GPUS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "places", nargs="*", metavar="NODE:GPUS", help="like gpu01:0,1; a node alone is all of it"
    )
    parser.add_argument(
        "-n", "--gpus", metavar="N", type=int, help="any so many that fit, chosen by the board"
    )
    parser.add_argument("--memory", metavar="SIZE", help="with -n: size of each GPU, like 40G")
    parser.add_argument("--model", metavar="NAME", help="with -n: part of the model's name, like a100")
    parser.add_argument("--same-node", action="store_true", help="with -n: all on one node")
    add_span_arguments(parser)
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Book; 1 when others have it, 4 when a policy forbids it."""
    start, end = read_span(arguments)
    wish = BookingWish(
        places=read_places(arguments.places),
        any=_any(arguments),
        start=start,
        end=end,
        comment=arguments.comment,
    )
    print_answer(client_of(arguments).book(wish), arguments)
    return DONE


def _any(arguments: argparse.Namespace) -> AnyGpus | None:
    if bool(arguments.places) == (arguments.gpus is not None):
        raise UsageError("name either places, like gpu01:0, or with -n how many GPUs are wanted")
    if arguments.gpus is None:
        if arguments.memory or arguments.model or arguments.same_node:
            raise UsageError("--memory, --model and --same-node go with -n")
        return None
    if not 1 <= arguments.gpus <= MOST_GPUS:
        raise UsageError(f"-n: from 1 to {MOST_GPUS}")
    try:
        parse_size(arguments.memory or "0")
    except ValueError as error:
        raise UsageError(f"--memory: {error}") from None
    return AnyGpus(
        gpus=arguments.gpus,
        memory=arguments.memory or "0",
        model=arguments.model,
        same_node=arguments.same_node,
    )
