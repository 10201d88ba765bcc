"""`gpuboard bookings import`: the bookings file of a PHP board, taken over once."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuboard.bookings.comments_json import MAX_BYTES, parse_comments
from gpuboard.cli.booking_words import client_of, line_of
from gpuboard.cli.comments_export import add_file_arguments, read_zone
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.moments import show_moment
from gpuboard.model.booking import LONGEST_COMMENT, NOT_YOURS
from gpuboard.model.errors import BoardRefusedError, BookingRefused, OutsideError, UsageError, WireError
from gpuboard.model.verdict import NO_NUMBER, SOMEBODY, Claim, GpuPlace, Reason
from gpuboard.outside.files import read_file
from gpuboard.verdict.holders import is_same
from gpuboard.wire.bookings import BookingWish, WantedPlaces
from gpuboard.wire.people import person_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_arguments(parser, "comments.json, with lists or objects")
    parser.add_argument(
        "--person", action="append", default=[], metavar="NAME=PERSON", help="whose a name is; any number"
    )
    parser.add_argument(
        "--names-are-people", action="store_true", help="every other name is the person of that name"
    )


def run(arguments: argparse.Namespace) -> int:
    """Book what stands in the file, from now on; nothing before it is known whose every name is.

    What an earlier run has booked is no conflict.

    Raises:
        BoardRefusedError: whoever asks is no admin.
    """
    claims, is_whole = _read(arguments)
    people = _people(sorted({claim.who for claim in claims.values()}), arguments)
    client = client_of(arguments)
    refused = 0
    for place, claim in sorted(claims.items()):
        person = people[claim.who]
        try:
            made = client.book(_wish(place, claim, person)).booking
        except (BookingRefused, BoardRefusedError, UsageError) as error:
            if isinstance(error, BoardRefusedError) and error.code in (None, NOT_YOURS):
                # Who asks is refused, not this entry: the others would be too.
                raise BoardRefusedError(f"no more is taken over: {error}") from None
            if isinstance(error, BookingRefused) and _is_taken_over(error.reason, claim, person):
                print(f"gpuboard: taken over before: {_words(place, claim)}", file=sys.stderr)
                continue
            refused += 1
            print(f"gpuboard: not taken over: {_words(place, claim)}: {error}", file=sys.stderr)
        else:
            print(line_of(made))
    return DONE if is_whole and not refused else FAILED


def _read(arguments: argparse.Namespace) -> tuple[dict[GpuPlace, Claim], bool]:
    """The entries that can be booked, and whether those are all that have not ended; the others are named."""
    path, now = Path(arguments.file), time.time()
    zone = read_zone(arguments.timezone)
    try:
        data = read_file(path, limit=MAX_BYTES)
        found = parse_comments(data, now, written_at=path.stat().st_mtime, zone=zone)
    except (OutsideError, WireError) as error:
        raise UsageError(f"{path}: {error}; nothing was booked") from None
    for unread in found.unread:
        print(f"gpuboard: not taken over: {unread}", file=sys.stderr)
    open_claims = {
        place: claim for place, claim in found.claims.items() if claim.until is None or claim.until > now
    }
    claims = {place: claim for place, claim in open_claims.items() if _can_be_booked(place, claim)}
    return claims, len(claims) == len(open_claims) and not found.unread


def _can_be_booked(place: GpuPlace, claim: Claim) -> bool:
    return place[1] != NO_NUMBER and claim.until is not None and claim.who != SOMEBODY


def _people(names: Sequence[str], arguments: argparse.Namespace) -> Mapping[str, str]:
    """Whose each name is: as told, else by asking whoever sits there.

    Raises:
        UsageError: of a name nobody has said it.
    """
    told = dict(_told(word) for word in arguments.person)
    missing = [name for name in names if name not in told]
    if arguments.names_are_people:
        told |= {name: name for name in missing}
    elif missing and sys.stdin.isatty():
        told |= {name: _ask(name) for name in missing}
    elif missing:
        raise UsageError(
            f"whose are {', '.join(missing)}? Say so with --person NAME=PERSON for each, or with "
            "--names-are-people; nothing was booked"
        )
    return told


def _told(word: str) -> tuple[str, str]:
    name, sign, person = word.partition("=")
    known = person_name(person)
    if not sign or known is None:
        raise UsageError(f"--person {word!r}: write NAME=PERSON, like --person 'Ana M.'=ana")
    return name.strip(), known


def _ask(name: str) -> str:
    print(
        f"gpuboard: whose is {name!r}? (Enter: the person of that name) ", end="", file=sys.stderr, flush=True
    )
    answer = person_name(sys.stdin.readline().strip() or name)
    if answer is None:
        raise UsageError(f"this is nobody's name; nothing was booked for {name!r}, nor for anybody else")
    return answer


def _wish(place: GpuPlace, claim: Claim, person: str) -> BookingWish:
    return BookingWish(
        places=(WantedPlaces(node=place[0], gpus=(place[1],)),),
        end=claim.until,
        comment=(claim.comment or "")[:LONGEST_COMMENT],
        who=person,
    )


def _is_taken_over(refused: Reason, claim: Claim, person: str) -> bool:
    """Whether what is in the way is this very entry: an import that broke off is finished by another."""
    # The board says who is meant: it knows which names are one person's.
    meant = str(refused.values.get("asked_for", person))
    who, until = refused.values.get("who"), refused.values.get("until")
    return isinstance(who, str) and is_same(who, meant) and until == int(claim.until or 0.0)


def _words(place: GpuPlace, claim: Claim) -> str:
    return f"{place[0]}:{place[1]} of {claim.who} until {show_moment(claim.until or 0.0)}"
