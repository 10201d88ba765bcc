"""What the commands about bookings have in common: places as people write them, and bookings as lines."""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.moments import read_duration, read_moment, show_moment
from gpuboard.cli.which_board import add_asked, asked_board
from gpuboard.client.bookings import BookingClient
from gpuboard.model.errors import UsageError
from gpuboard.wire.bookings import BookingAnswer, BookingView, ElsewhereView, WantedPlaces

_NUMBERS: Final = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")
MOST_NUMBERS: Final = 256


def add_booking_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which board is asked, and how it is answered."""
    add_asked(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_ca_file(parser)


def add_span_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare from when until when."""
    ends = parser.add_mutually_exclusive_group(required=True)
    ends.add_argument("--for", dest="duration", metavar="TIME", help="how long, like 4h or 2d 4h")
    ends.add_argument("--until", metavar="T", help='its end, like 18:00, "tomorrow 9:00", "2026-03-02 09:00"')
    parser.add_argument("--from", dest="start", metavar="T", help="its begin, the same (default now)")
    parser.add_argument("-m", "--comment", metavar="TEXT", default="", help="what for, for all to see")


def client_of(arguments: argparse.Namespace) -> BookingClient:
    """The board that is meant."""
    return BookingClient(asked_board(arguments), ca_file=arguments.ca_file)


def read_span(arguments: argparse.Namespace) -> tuple[float | None, float]:
    """The span that is meant; without a begin it is now.

    Raises:
        UsageError: a time cannot be read.
    """
    now = time.time()
    start = None if arguments.start is None else read_moment("--from", arguments.start, now=now)
    if arguments.duration is not None:
        return start, (now if start is None else start) + read_duration("--for", arguments.duration)
    return start, read_moment("--until", arguments.until, now=now)


def read_places(words: Sequence[str]) -> tuple[WantedPlaces, ...]:
    """`gpu01:0,2-3` are GPUs of a node, `gpu01` is all of it.

    Raises:
        UsageError: this is no place.
    """
    return tuple(map(_read_place, words))


def _read_place(word: str) -> WantedPlaces:
    node, colon, numbers = word.rpartition(":")
    if not colon:
        return WantedPlaces(node=word)
    if not node or not _NUMBERS.fullmatch(numbers):
        raise UsageError(
            f"{word!r} is no place; write NODE:GPUS, like gpu01:0 or gpu01:0,2-3, or a node alone"
        )
    found: list[int] = []
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    if not 0 < len(found) <= MOST_NUMBERS:
        raise UsageError(f"{word!r} names {len(found)} GPUs; from 1 to {MOST_NUMBERS} can be booked at once")
    return WantedPlaces(node=node, gpus=tuple(found))


def show_places(booking: BookingView) -> str:
    """The places of a booking as they can be typed."""
    return " ".join(
        one.node if one.gpus is None else f"{one.node}:{','.join(map(str, one.gpus))}"
        for one in booking.places
    )


def line_of(booking: BookingView) -> str:
    """A booking on one line."""
    who = booking.who or "somebody"
    besides = ["block"] if booking.kind == "block" else []
    if booking.through is not None:
        besides.append(f"through {booking.through}")
    what = f"{who} ({', '.join(besides)})" if besides else who
    comment = f"\t{booking.comment}" if booking.comment else ""
    state = (
        booking.state if booking.outcome in (None, booking.state) else f"{booking.state}, {booking.outcome}"
    )
    span = f"{show_moment(booking.start)} - {show_moment(booking.end)}"
    return f"{booking.id or '-'}\t{what}\t{show_places(booking)}\t{span}\t{state}{comment}"


def line_of_elsewhere(claim: ElsewhereView) -> str:
    """What somebody has by another book on one line: it has no id, for it cannot be changed here."""
    origin = "from comments.json, not verified" if claim.is_unverified else "from another book"
    place = claim.node if claim.gpu is None else f"{claim.node}:{claim.gpu}"
    end = "without end" if claim.until is None else f"until {show_moment(claim.until)}"
    span = end if claim.start is None else f"from {show_moment(claim.start)}, {end}"
    comment = f"\t{claim.comment}" if claim.comment else ""
    return f"-\t{claim.who or 'somebody'} ({origin})\t{place}\t{span}{comment}"


def print_answer(answer: BookingAnswer, arguments: argparse.Namespace) -> None:
    """Print what is booked now; what is worth a word goes beside it."""
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
        return
    print(line_of(answer.booking))
    for note in answer.notes:
        print(f"gpuboard: {note.text}", file=sys.stderr)
    for one in answer.displaced:
        print(f"gpuboard: displaced: {line_of(one)}", file=sys.stderr)
