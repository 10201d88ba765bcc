"""Bookings in the database: decided and written in one transaction. Every call blocks: always in a thread."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Select, and_, delete, insert, select, update

from gpuboard.bookings.book import ALWAYS
from gpuboard.bookings.rules import Decision, ended
from gpuboard.bookings.use import Use
from gpuboard.model.booking import Booking, place_words
from gpuboard.model.identity import Identity
from gpuboard.storage.base import Database, set_fact
from gpuboard.storage.tables import BOOKING_PLACES, BOOKINGS, FACTS

# A number that rises with every change, so that other processes' changes are noticed.
GENERATION: Final = "bookings_generation"

# Writes down who did what, in the same transaction; the assembly knows where.
Note = Callable[[Connection, Identity | None, str, str, float], None]
Decide = Callable[["StoredBook", float], Decision]

_ROW: Final = (
    BOOKINGS.c.id,
    BOOKINGS.c.kind,
    BOOKINGS.c.who,
    BOOKINGS.c.gpus,
    BOOKINGS.c.start_at,
    BOOKINGS.c.end_at,
    BOOKINGS.c.comment,
    BOOKINGS.c.outcome,
    BOOKINGS.c.created_at,
    BOOKINGS.c.through,
    BOOKINGS.c.revision,
    BOOKINGS.c.changed_at,
)


class Written(Struct, frozen=True, kw_only=True):
    """What a decision has become: its revisions, and the number of the change."""

    decision: Decision
    generation: int


class StoredBook:
    """The book, inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def overlapping(self, nodes: Sequence[str], start: float, end: float) -> list[Booking]:
        """Those on these nodes that have something of the span."""
        places = BOOKING_PLACES.c
        found = (
            select(places.booking)
            .where(places.node.in_(nodes), places.end_at > start, places.start_at < end)
            .where(places.start_at < places.end_at)
        )
        ids = sorted(set(self._connection.scalars(found)))
        return list(_read(self._connection, BOOKINGS.c.id.in_(ids))) if ids else []

    def of_person(self, who: str, start: float, end: float) -> list[Booking]:
        """Those of a person that have something of the span."""
        mine = BOOKINGS.c.owner == who.casefold()
        # What was cancelled before it began has nothing of any span.
        lasts = BOOKINGS.c.end_at > BOOKINGS.c.start_at
        in_span = (BOOKINGS.c.end_at > start, BOOKINGS.c.start_at < end)
        return list(_read(self._connection, mine, lasts, *in_span))

    def find(self, ident: str) -> Booking | None:
        """The booking of this id."""
        return next(_read(self._connection, BOOKINGS.c.id == ident), None)


class BookingStore:
    """All bookings there are; several processes may change them, one after the other."""

    def __init__(self, database: Database, note: Note, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._note = note
        self._clock = clock

    def change(self, what: str, decide: Decide, actor: Identity | None = None) -> Written:
        """Decide by the book as it is, and write the decision down before anybody else looks.

        Raises:
            BookingRefused: the rules forbid it; nothing has changed.
        """
        now = self._clock()
        with self.database.write() as connection:
            decision = _stamped(decide(StoredBook(connection), now), now)
            _put(connection, decision.booking)
            self._note(connection, actor, what, _words(decision.booking), now)
            for one in decision.displaced:
                _put(connection, one)
                self._note(connection, actor, "booking-displaced", _words(one), now)
            generation = _next_generation(connection)
        return Written(decision=decision, generation=generation)

    def cancel_all(self, connection: Connection, who: str) -> list[Booking]:
        """Cancel what a person has booked for later and end what runs, in a transaction; what that was."""
        now = self._clock()
        found = [one for one in StoredBook(connection).of_person(who, now, ALWAYS) if one.kind == "booking"]
        ends = [replace(ended(one, "cancelled", now), changed_at=now) for one in found]
        for one in ends:
            _put(connection, one)
            self._note(connection, None, "booking-cancelled", _words(one), now)
        if ends:
            _next_generation(connection)
        return ends

    def find(self, ident: str) -> Booking | None:
        """The booking of this id."""
        with self.database.read() as connection:
            return StoredBook(connection).find(ident)

    def window(
        self, start: float, end: float, *, who: str | None = None, node: str | None = None, limit: int
    ) -> list[Booking]:
        """Those that have something of a span, or would have had, the first first."""
        which: list[ColumnElement[bool]] = [BOOKINGS.c.start_at < end]
        if who is not None:
            which.append(BOOKINGS.c.owner == who.casefold())
        if node is not None:
            there = select(BOOKING_PLACES.c.booking).where(BOOKING_PLACES.c.node == node)
            which.append(BOOKINGS.c.id.in_(there.where(BOOKING_PLACES.c.end_at >= start)))
        with self.database.read() as connection:
            return list(_read(connection, *which, since=start, limit=limit))

    def since(self, moment: float) -> tuple[int, list[Booking]]:
        """All that end after a moment, and the number of the change up to which they are told."""
        with self.database.read() as connection:
            return _generation(connection), list(_read(connection, BOOKINGS.c.end_at > moment, since=moment))

    def uses(self, idents: Sequence[str]) -> dict[str, Use]:
        """How bookings were used, by id."""
        found: dict[str, Use] = {}
        columns = [BOOKINGS.c[name] for name in Use.__struct_fields__]
        with self.database.read() as connection:
            for some in _some(idents, 500):
                query = select(BOOKINGS.c.id, *columns).where(BOOKINGS.c.id.in_(some))
                for row in connection.execute(query):
                    found[row.id] = Use(**{name: getattr(row, name) for name in Use.__struct_fields__})
        return found

    def note_uses(self, uses: Mapping[str, Use]) -> None:
        """Write down how bookings were used, by id."""
        with self.database.write() as connection:
            for ident, use in uses.items():
                connection.execute(update(BOOKINGS).where(BOOKINGS.c.id == ident).values(**to_builtins(use)))

    def told(self, idents: Sequence[str]) -> dict[str, set[str]]:
        """What was told of bookings that is not as booked, by id."""
        found: dict[str, set[str]] = {}
        with self.database.read() as connection:
            for some in _some(idents, 500):
                query = select(BOOKINGS.c.id, BOOKINGS.c.told).where(BOOKINGS.c.id.in_(some))
                for row in connection.execute(query):
                    found[row.id] = set(msgspec.json.decode(row.told or "[]", type=list[str]))
        return found

    def note_told(self, told: Mapping[str, set[str]]) -> None:
        """Write down what was told of bookings, by id."""
        with self.database.write() as connection:
            for ident, words in told.items():
                text = msgspec.json.encode(sorted(words)).decode()
                connection.execute(update(BOOKINGS).where(BOOKINGS.c.id == ident).values(told=text))

    def generation(self) -> int:
        """The number of the last change."""
        with self.database.read() as connection:
            return _generation(connection)


def _generation(connection: Connection) -> int:
    return int(connection.scalar(select(FACTS.c.value).where(FACTS.c.name == GENERATION)) or 0)


def _next_generation(connection: Connection) -> int:
    generation = _generation(connection) + 1
    set_fact(connection, GENERATION, str(generation))
    return generation


def _stamped(decision: Decision, now: float) -> Decision:
    """A decision whose bookings say that they are changed now."""
    displaced = tuple(replace(one, changed_at=now) for one in decision.displaced)
    return replace(decision, booking=replace(decision.booking, changed_at=now), displaced=displaced)


def _put(connection: Connection, booking: Booking) -> None:
    values: dict[str, Any] = {
        "kind": booking.kind,
        "who": booking.who,
        "owner": booking.who.casefold(),
        "gpus": booking.gpus,
        "start_at": booking.start,
        "end_at": booking.end,
        "comment": booking.comment,
        "outcome": booking.outcome,
        "created_at": booking.created_at,
        "through": booking.through,
        "revision": booking.revision,
        "changed_at": booking.changed_at,
    }
    changed = connection.execute(update(BOOKINGS).where(BOOKINGS.c.id == booking.id).values(**values))
    if not changed.rowcount:
        connection.execute(insert(BOOKINGS).values(id=booking.id, **values, **_UNCOUNTED))
    connection.execute(delete(BOOKING_PLACES).where(BOOKING_PLACES.c.booking == booking.id))
    rows = [
        {"booking": booking.id, "node": node, "gpu": gpu, "start_at": booking.start, "end_at": booking.end}
        for node, gpu in booking.places
    ]
    connection.execute(insert(BOOKING_PLACES), rows)


_UNCOUNTED: Final = {
    "used_seconds": 0.0,
    "others_seconds": 0.0,
    "unused_seconds": 0.0,
    "unobserved_seconds": 0.0,
    "absent_seconds": 0.0,
}


def _read(
    connection: Connection,
    *which: ColumnElement[bool],
    since: float | None = None,
    limit: int | None = None,
) -> Iterator[Booking]:
    """Bookings with their places, the first first; `since` when they have not ended before."""
    chosen: Select[Any] = select(*_ROW).where(*which)
    # Said of both: whoever looks for what is young need not read all places there ever were.
    ends = (BOOKING_PLACES.c.end_at >= since,) if since is not None else ()
    if since is not None:
        chosen = chosen.where(BOOKINGS.c.end_at >= since)
    if limit is not None:
        chosen = chosen.order_by(BOOKINGS.c.start_at, BOOKINGS.c.id).limit(limit)
    found = chosen.subquery()
    # One question, however many there are: each has a place at least.
    query = (
        select(found, BOOKING_PLACES.c.node, BOOKING_PLACES.c.gpu)
        .join(BOOKING_PLACES, and_(BOOKING_PLACES.c.booking == found.c.id, *ends))
        .order_by(found.c.start_at, found.c.id, BOOKING_PLACES.c.node, BOOKING_PLACES.c.gpu)
    )
    rows = connection.execute(query).all()
    return (_booking([tuple(row) for row in same]) for _, same in groupby(rows, itemgetter(0)))


def _some(ids: Sequence[str], most: int) -> Iterable[Sequence[str]]:
    """Not more at once than a statement takes."""
    return (ids[at : at + most] for at in range(0, len(ids), most))


def _booking(rows: Sequence[tuple[Any, ...]]) -> Booking:
    """A booking of its rows, one a place; by position, as there may be thousands."""
    ident, kind, who, gpus, start, end, comment, outcome, created_at, through, revision, changed_at = rows[0][
        :-2
    ]
    return Booking(
        id=ident,
        kind=kind,
        who=who,
        places=tuple([(row[-2], row[-1]) for row in rows]),
        gpus=gpus,
        start=start,
        end=end,
        comment=comment,
        outcome=outcome,
        created_at=created_at,
        through=through,
        revision=revision,
        changed_at=changed_at,
    )


def _words(booking: Booking) -> str:
    """A booking in the audit log."""
    return f"{booking.id} {booking.kind} of {booking.who}: {place_words(booking.places)}"
