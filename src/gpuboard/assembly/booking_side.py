"""The side of the board on which people book: the book, the desk, and the fleet's claims."""

from collections.abc import Sequence

from sqlalchemy import Connection

from gpuboard.accounts.audit import Deed, write_deed
from gpuboard.assembly.demo_bookings import Invented
from gpuboard.assembly.storage import BoardStorage, Part
from gpuboard.assembly.time_zone import board_zone
from gpuboard.bookings.desk import BookingDesk
from gpuboard.bookings.limits import Limits
from gpuboard.bookings.rules import Decision
from gpuboard.bookings.store import BookingStore
from gpuboard.bookings.telling import EventCommand
from gpuboard.bookings.watching import BookingWatch
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.identity import Identity
from gpuboard.settings.board import LimitsTable, Settings


class BookingSide:
    """Everything for people who book."""

    def __init__(
        self, storage: BoardStorage, settings: Settings, fleet: Fleet, tracker: ChangeTracker
    ) -> None:
        """Make it, on a storage that is not open yet; until that is, anything may be booked."""
        self._storage = storage
        self._fleet = fleet
        fleet.await_claims("block")
        fleet.await_claims("booking")
        table = settings.bookings
        store = self._store = BookingStore(storage.database, note, clock=fleet.clock.now)
        self.desk = BookingDesk(
            store,
            fleet,
            tracker,
            run=storage.run,
            zone=board_zone(settings.board),
            limits=limits_of(table),
            group_limits={name: limits_of(group) for name, group in table.groups.items()},
        )
        self._command = EventCommand(table.command)
        self.watch = BookingWatch(
            self.desk,
            store,
            fleet,
            run=storage.run,
            no_show_after=table.no_show_after,
            on_no_show=table.on_no_show,
            tell=self._command.tell,
        )
        storage.on_open(self.desk.load)
        storage.also_ask(lambda: self.desk.trouble)
        storage.also_ask(lambda: self.watch.trouble)

    def begin(self, *, has_storage: bool) -> None:
        """Hear whether there is a database; without one nothing is ever booked here."""
        if not has_storage:
            self._fleet.set_claims("block", {})
            self._fleet.set_claims("booking", {})

    def invent(self, invented: Sequence[Invented]) -> None:
        """Write down what is booked in a demo, and take it up. Blocks.

        Raises:
            StorageError: it cannot be written down.
        """
        for one in invented:
            self._store.change("booking-invented", lambda _, __, one=one: Decision(booking=one.booking))  # type: ignore[misc] # bound at once
        self._store.note_uses({one.booking.id: one.use for one in invented})
        self.desk.load()()

    def parts(self) -> Sequence[Part]:
        """What has to run while the board does, by name."""
        return (
            ("bookings", self._storage.once_open(self.desk.follow)),
            ("booking-watch", self._storage.once_open(self.watch.follow)),
            ("booking-command", self._command.follow),
        )


def note(connection: Connection, actor: Identity | None, what: str, detail: str, now: float) -> None:
    """Write down who booked what."""
    if actor is None:
        write_deed(connection, Deed(what=what, detail=detail), now)
        return
    deed = Deed(
        what=what,
        who=actor.person,
        way=actor.way,
        through=actor.through,
        address=actor.address,
        detail=detail,
    )
    write_deed(connection, deed, now)


def limits_of(table: LimitsTable) -> Limits:
    """The policies of a table, as the rules have them."""
    return Limits(
        longest=table.longest,
        ahead=table.ahead,
        gpus_at_once=table.gpus_at_once,
        hours_per_week=table.hours_per_week,
    )
