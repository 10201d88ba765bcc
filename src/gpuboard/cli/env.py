"""`gpuboard env`: my booked GPUs here and now, for eval."""

import argparse
import re
import socket
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from gpuboard.cli.booking_words import add_booking_arguments, client_of, show_places
from gpuboard.cli.exits import CANNOT_TELL, DONE, FAILED
from gpuboard.cli.for_eval import run_for_eval, set_variable
from gpuboard.cli.moments import show_moment
from gpuboard.client.bookings import BookingClient
from gpuboard.model.errors import BoardUnreachableError
from gpuboard.model.names import device_uuid
from gpuboard.model.node import node_name_of
from gpuboard.wire.bookings import BookingView
from gpuboard.wire.views import NodeView

EPILOG = """  eval "$(gpuboard env)" && python train.py

Without a booking of yours that runs here now nothing is set, the reason is on stderr, and eval fails."""

_is_cuda_uuid: Final = re.compile(r"(?:GPU|MIG)-[A-Za-z0-9/-]+").fullmatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--node", metavar="NODE", help="this machine's name on the board (default: its host name)"
    )
    add_booking_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what a shell has to set; 1 without a booking here and now."""
    return run_for_eval(lambda: _print_devices(arguments))


def _print_devices(arguments: argparse.Namespace) -> int:
    client = client_of(arguments)
    node = _own_name(client, arguments.node) if arguments.node else node_name_of(socket.gethostname())
    mine = [one for one in client.bookings(mine=True).bookings if one.kind == "booking"]
    running = [one for one in mine if one.state == "running" and _numbers_on(one, node) != ()]
    if not running:
        return _refuse(_why_none(mine, node), FAILED)
    uuids = _uuids(client.node(node), [_numbers_on(one, node) for one in running])
    if uuids is None:
        return _refuse(f"the board does not know the UUIDs of what you have booked on {node}", CANNOT_TELL)
    until = min(one.end for one in running)
    if arguments.json:
        found = {"node": node, "bookings": [one.id for one in running], "devices": uuids, "until": until}
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
        return DONE
    set_variable("CUDA_VISIBLE_DEVICES", ",".join(uuids))
    set_variable("GPUBOARD_NODE", node)
    set_variable("GPUBOARD_BOOKED_UNTIL", str(int(until)))
    print(f"gpuboard: {len(uuids)} booked until {show_moment(until)}", file=sys.stderr)
    return DONE


def _own_name(client: BookingClient, told: str) -> str:
    """The name that bookings have of a node, whatever the board's settings call it."""
    try:
        return client.node(told).name
    except BoardUnreachableError:
        # There is none: that nothing is booked there is said in words that let eval fail.
        return told


def _refuse(why: str, code: int) -> int:
    print(f"gpuboard: {why}", file=sys.stderr)
    return code


def _numbers_on(booking: BookingView, node: str) -> tuple[int, ...] | None:
    """The numbers that are booked on a node; None: all of them."""
    here = [one for one in booking.places if one.node == node]
    if any(one.gpus is None for one in here):
        return None
    return tuple(number for one in here for number in one.gpus or ())


def _uuids(view: NodeView, booked: Sequence[tuple[int, ...] | None]) -> list[str] | None:
    """The booked GPUs as CUDA names them, instances in place of a cut card; None: not all have names."""
    cards = {gpu.reading.uuid: gpu.reading.index for gpu in view.gpus if gpu.reading.mig_parent_uuid is None}
    cut = {gpu.reading.mig_parent_uuid for gpu in view.gpus}
    numbers = set(cards.values()) if None in booked else {n for some in booked for n in some or ()}
    if not numbers or not numbers <= set(cards.values()):
        return None
    found = [
        device_uuid(gpu.uuid)
        for gpu in view.gpus
        if gpu.reading.uuid not in cut
        and cards.get(gpu.reading.mig_parent_uuid or gpu.reading.uuid) in numbers
    ]
    return found if found and all(map(_is_cuda_uuid, found)) else None


def _why_none(mine: Sequence[BookingView], node: str) -> str:
    here = [one for one in mine if one.state == "upcoming" and _numbers_on(one, node) != ()]
    if here:
        return f"your booking on {node} begins only at {show_moment(min(one.start for one in here))}"
    elsewhere = [show_places(one) for one in mine if one.state == "running"]
    if elsewhere:
        return f"you have booked nothing on {node} for now, but {', '.join(elsewhere)}"
    return f"you have booked nothing on {node} for now; run: gpuboard book {node}:0 --for 4h"
