"""`gpuboard bookings export`: what is booked now, as the bookings file of a PHP board."""

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path

from gpuboard.bookings.comments_written import Form, write_comments
from gpuboard.cli.booking_words import add_booking_arguments, client_of
from gpuboard.cli.exits import DONE
from gpuboard.client.bookings import BookingClient
from gpuboard.client.credentials import Credentials
from gpuboard.export.files import write_out
from gpuboard.model.errors import UsageError
from gpuboard.model.verdict import Claim, GpuPlace
from gpuboard.settings.zones import check_zone, zone_of
from gpuboard.wire.bookings import BookingView
from gpuboard.wire.views import NodeView


def add_file_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare which file, and how its dates are meant."""
    parser.add_argument("file", metavar="FILE", help=what)
    parser.add_argument("--timezone", metavar="ZONE", default="UTC", help="of the file's dates (default UTC)")
    add_booking_arguments(parser)


def read_zone(name: str) -> tzinfo | None:
    """The zone of the file's dates.

    Raises:
        UsageError: there is no such zone.
    """
    try:
        check_zone(name)
    except ValueError as error:
        raise UsageError(f"--timezone {name!r}: {error}") from None
    return zone_of(name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_arguments(parser, "the file to write, whole or not at all")
    parser.add_argument(
        "--form", choices=("list", "object"), default="object", help="GPUs by number, or in lists from 0"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what is booked now; what is booked for later has no place in such a file."""
    zone = read_zone(arguments.timezone)
    client, path = client_of(arguments), Path(arguments.file)
    # Asked for once it is our turn: else what is older could come to stand last.
    with _alone(path):
        later = _export(client, path, form=arguments.form, zone=zone)
    if later:
        print(f"gpuboard: {later} left out that have not begun: the file knows no begin", file=sys.stderr)
    return DONE


def _export(client: BookingClient, path: Path, *, form: Form, zone: tzinfo | None) -> int:
    """Write it; how many are left out that have not begun."""
    found = client.bookings(mine=False, start=time.time())
    if found.tier != "names":
        raise UsageError(Credentials().no_names)
    if found.is_cut:
        raise UsageError("more is booked than the board tells at once; nothing was written")
    running = [one for one in found.bookings if one.state == "running"]
    claims = {place: _claim(one) for one in running for place in _places(one, client.node)}
    write_out(path, write_comments(claims, form=form, zone=zone))
    return sum(one.state == "upcoming" for one in found.bookings)


def _claim(booking: BookingView) -> Claim:
    return Claim(who=booking.who or "somebody", until=booking.end, comment=booking.comment)


def _places(booking: BookingView, node: Callable[[str], NodeView]) -> Iterator[GpuPlace]:
    """The GPUs of a booking one by one; of a whole node those that it has now."""
    for one in booking.places:
        numbers = one.gpus
        if numbers is None:
            numbers = tuple(
                gpu.reading.index for gpu in node(one.node).gpus if gpu.reading.mig_parent_uuid is None
            )
        yield from ((one.node, number) for number in numbers)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other exports to the same folder waiting; the lock leaves nothing behind.

    Raises:
        UsageError: there is no such folder.
    """
    try:
        folder = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
