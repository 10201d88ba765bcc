"""Booking in a book of a hundred thousand, on SQLite and PostgreSQL; against a bare commit in the same run.

A bare commit writes one row and nothing else: what this disk takes for the least that can be kept. Each
round does one of everything in turn, so that all of them meet the same neighbours.

Usage: script/bench bookings [--bookings 100000] [--rounds 300]
"""

import argparse
import contextlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC
from itertools import count
from pathlib import Path
from typing import Any, Final

from sqlalchemy import insert, text

from gpuboard.bookings.book import GpuFact, NodeFact
from gpuboard.bookings.desk import MOST_TOLD, BookingDesk
from gpuboard.bookings.limits import Limits
from gpuboard.bookings.rules import Booker, Decision, Request, Span, book
from gpuboard.bookings.store import BookingStore, StoredBook
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import BookingRefused
from gpuboard.storage.base import Database, set_fact
from gpuboard.storage.tables import BOOKING_PLACES, BOOKINGS
from tests.clock import HandClock
from tests.databases import open_database, open_url
from tests.fakes.real_postgresql import RealPostgres

GOAL: Final = 3.0
DAY: Final = 86400.0
HOUR: Final = 3600.0
NODES: Final = 500
GPUS: Final = 8
PEOPLE: Final = 300
# Two years of a lab that books, and what is booked ahead.
PAST_DAYS: Final = 730
AHEAD_DAYS: Final = 14
# What the page asks for when lanes are shown: two weeks of what is booked, everywhere.
LANES_SECONDS: Final = 14 * DAY
LANES: Final = "lanes of two weeks, all nodes"
# Not more in one transaction: a server ends those that last too long.
SOME: Final = 2000

FACTS: Final = {
    f"gpu{number:03d}": NodeFact(gpus={gpu: GpuFact(word="free") for gpu in range(GPUS)})
    for number in range(NODES)
}
IDS: Final = count()


def main() -> None:
    """Measure both, print."""
    arguments = _arguments()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, Python {sys.version.split()[0]}")
    with sqlite() as database:
        measure("SQLite", database, arguments)
    with postgresql() as database:
        measure("PostgreSQL", database, arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/bench bookings", description=__doc__)
    parser.add_argument("--bookings", type=int, default=100_000, help="how many there are (default 100000)")
    parser.add_argument("--rounds", type=int, default=300, help="how often each is done (default 300)")
    return parser.parse_args()


@contextlib.contextmanager
def sqlite() -> Iterator[Database]:
    """A file on the disk, as a board without settings has it."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        database = open_database(Path(folder) / "state")
        yield database
        database.close()


@contextlib.contextmanager
def postgresql() -> Iterator[Database]:
    """A server that syncs what it is told, as one does that keeps things."""
    server = RealPostgres(is_durable=True)
    try:
        server.start()
        database = open_url(server.url(server.new_database()))
        yield database
        database.close()
    finally:
        server.close()


def measure(name: str, database: Database, arguments: argparse.Namespace) -> None:
    """All of it, in turn."""
    chance, now = random.Random(1), float(int(time.time()))
    fill(database, arguments.bookings, now, chance)
    store = BookingStore(database, lambda *_: None, clock=lambda: now)
    desk = _desk(store, now)
    doing: dict[str, Callable[[int], None]] = {
        "bare commit": lambda number: _commit(database, number),
        "check and book": lambda _: _book(store, now + 20 * DAY + chance.randrange(10**6) * 60, chance),
        "check and refuse": lambda _: _book(store, now + HOUR, chance, everything=True),
        LANES: lambda _: _ask(desk, now, None),
        "lanes of two weeks, one node": lambda _: _ask(desk, now, f"gpu{chance.randrange(NODES):03d}"),
        "lanes of two weeks long ago": lambda _: _ask(desk, now - 60 * DAY, None),
    }
    took: dict[str, list[float]] = {what: [] for what in doing}
    for number in range(arguments.rounds):
        for what, do in doing.items():
            if what == LANES:
                # As the board does within a second, whoever has booked.
                desk.load()()
            begun = time.perf_counter()
            do(number)
            took[what].append(time.perf_counter() - begun)
    bare = _p95(took["bare commit"])
    told = len(store.window(now, now + LANES_SECONDS, limit=MOST_TOLD + 1))
    print(f"\n{name}: {arguments.bookings} bookings, {told} of them in the two weeks")
    print(f"{'':32}{'p95 ms':>10}{'ratio':>8}")
    for what, seconds in took.items():
        ratio = _p95(seconds) / bare
        goal = "" if what == "bare commit" else f"  goal {GOAL:g}{'' if ratio <= GOAL else ', missed'}"
        print(f"{what:32}{_p95(seconds) * 1000:10.2f}{ratio:8.2f}{goal}")


def fill(database: Database, bookings: int, now: float, chance: random.Random) -> None:
    """Write so many, of two years and of what is ahead, none over another."""
    places = [(node, gpu) for node in FACTS for gpu in range(GPUS)]
    each = -(-bookings // len(places))
    step = (PAST_DAYS + AHEAD_DAYS) * DAY / each
    rows, at = [], []
    for number in range(bookings):
        node, gpu = places[number % len(places)]
        start = now - PAST_DAYS * DAY + number // len(places) * step + chance.random() * (step - 2 * DAY)
        span = {"start_at": float(int(start)), "end_at": float(int(start + chance.uniform(1, 48) * HOUR))}
        who = f"person{chance.randrange(PEOPLE)}"
        ident = f"old{number:07d}"
        seconds = dict.fromkeys(("used", "others", "unused", "unobserved", "absent"), 0.0)
        rows.append(
            {
                "id": ident,
                "kind": "booking",
                "who": who,
                "owner": who,
                "gpus": 1,
                "comment": "a paper",
                **span,
            }
            | {"outcome": None, "created_at": start, "through": None, "revision": 0}
            | {f"{name}_seconds": value for name, value in seconds.items()}
        )
        at.append({"booking": ident, "node": node, "gpu": gpu, **span})
    for first in range(0, bookings, SOME):
        with database.write() as connection:
            connection.execute(insert(BOOKINGS), rows[first : first + SOME])
            connection.execute(insert(BOOKING_PLACES), at[first : first + SOME])
    if database.name.startswith("postgresql"):
        # As the server does by itself, a minute later.
        with database.write() as connection:
            connection.execute(text("ANALYZE"))


def _commit(database: Database, number: int) -> None:
    with database.write() as connection:
        set_fact(connection, "bench", str(number))


def _book(store: BookingStore, start: float, chance: random.Random, *, everything: bool = False) -> None:
    """Book two neighbours, or all that a node has, which somebody has a part of."""
    node, gpu = f"gpu{chance.randrange(NODES):03d}", chance.randrange(GPUS - 1)
    gpus = tuple(range(GPUS)) if everything else (gpu, gpu + 1)
    request = Request(
        places=tuple((node, number) for number in gpus),
        span=Span(start=start, end=start + (60 * DAY if everything else HOUR)),
    )
    by = Booker(person=f"booker{chance.randrange(PEOPLE)}", zone=UTC)

    def decide(on: StoredBook, now: float) -> Decision:
        return book(on, request, by=by, facts=FACTS, now=now, make_id=lambda: f"new{next(IDS):07d}")

    try:
        store.change("booking-made", decide)
    except BookingRefused:
        return


def _desk(store: BookingStore, now: float) -> BookingDesk:
    """A desk of a board that stands still at this moment; its threads are this one."""

    async def run(call: Callable[[], Any], *, is_write: bool = False) -> Any:  # noqa: ANN401 - whatever it gives
        del is_write
        return call()

    fleet = Fleet(HandClock(now))
    return BookingDesk(
        store, fleet, ChangeTracker(fleet), run=run, zone=UTC, limits=Limits(), group_limits={}
    )


def _ask(desk: BookingDesk, now: float, node: str | None) -> None:
    """Ask as the page does; nothing is waited for, so no loop is needed."""
    with contextlib.suppress(StopIteration):
        desk.window(now, now + LANES_SECONDS, node=node).send(None)


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


if __name__ == "__main__":
    main()
