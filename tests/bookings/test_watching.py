"""What is booked against what really happens."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.bookings.desk import BookingDesk
from gpuboard.bookings.limits import Limits
from gpuboard.bookings.rules import Span
from gpuboard.bookings.store import BookingStore
from gpuboard.bookings.telling import EventCommand
from gpuboard.bookings.use import Sight, Use, count
from gpuboard.bookings.watching import LONGEST_STEP, MOST_TOLD, BookingEvent, BookingWatch
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.model.booking import Booking
from gpuboard.model.identity import Identity
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import MIB
from gpuboard.model.verdict import WHOLE_NODE, Claim, Flag, GpuPlace
from gpuboard.storage.base import Database, Run
from tests.booking_lab import gpu
from tests.clock import HandClock

ANA = Identity(address=None, counted_as=None, tier="names", role="user", person="ana")
PLACE, NODE = ("a", 0), ("a", WHOLE_NODE)


class Watched:
    """A fleet of one node, its book, and time that passes when the test says so."""

    def __init__(self, database: Database, on_no_show: str = "release") -> None:
        self.clock = HandClock()
        self.seconds = 0.0
        self.fleet = Fleet(self.clock)
        self._tracker = ChangeTracker(self.fleet)
        self.store = BookingStore(database, lambda *_: None, clock=self.clock.now)
        self.events: list[BookingEvent] = []
        self.desk = self.desk_with(database.run)
        self.watch = BookingWatch(
            self.desk,
            self.store,
            self.fleet,
            run=database.run,
            no_show_after=60.0,
            on_no_show=on_no_show,  # type: ignore[arg-type] # one of those
            tell=self.events.append,
            monotonic=lambda: self.seconds,
        )

    def desk_with(self, run: Run) -> BookingDesk:
        """A desk whose calls of the store are run so."""
        return BookingDesk(
            self.store,
            self.fleet,
            self._tracker,
            run=run,
            zone=UTC,
            limits=Limits(),
            group_limits={},
        )

    async def begin(self, *gpus: GpuReading) -> None:
        """Let the node report, and read the empty book."""
        (await asyncio.to_thread(self.desk.load))()
        self.report(*gpus)

    def report(self, *gpus: GpuReading) -> None:
        """Let the node say what is on its GPUs."""
        self.fleet.sink("push").report("a", NodeReport(node="a", interval_seconds=5.0, gpus=gpus))
        self._tracker.tick()

    async def pass_time(self, seconds: float, *gpus: GpuReading) -> None:
        """Let time pass in steps in which the node reports this, or nothing."""
        for _ in range(round(seconds / 5)):
            self.clock.time += 5
            self.seconds += 5
            if gpus:
                self.report(*gpus)
            else:
                self._tracker.tick()
            await self.watch.look()

    async def book(
        self, seconds: float = 3600.0, *, start: float | None = None, place: GpuPlace = PLACE
    ) -> Booking:
        """Ana books the GPU, from now on unless it is said."""
        start = float(int(self.clock.now())) if start is None else start
        span = Span(start=start, end=start + seconds)
        return (await self.desk.book(ANA, [place], span, kind="booking", comment="")).booking

    @property
    def told(self) -> list[tuple[str, tuple[str, ...]]]:
        """What was told."""
        return [(one.event, one.people) for one in self.events]

    def flags(self) -> tuple[Flag, ...]:
        """The flags of the GPU."""
        return next(iter(self._tracker.gpus.values())).flags

    def use(self, booking: Booking) -> Use:
        """How a booking was used so far."""
        use = self.watch.use_of(booking.id)
        assert use is not None
        return use


async def test_every_second_of_a_booking_is_counted_as_one_kind(database: Database) -> None:
    """Unused, by others, by its booker, by nobody known, and not observed."""
    lab = Watched(database, "warn")
    await lab.begin(gpu(0))
    booking = await lab.book()
    await lab.watch.look()
    await lab.pass_time(10, gpu(0))
    await lab.pass_time(15, gpu(0, user="ben"))
    await lab.pass_time(20, gpu(0, user="Ana"))
    await lab.pass_time(25, gpu(0, user="root", uid=0))
    lab.clock.time += 600
    await lab.pass_time(30)
    use = lab.use(booking)
    counted = (use.unused_seconds, use.others_seconds, use.used_seconds, use.unobserved_seconds)
    assert counted == (10, 15, 45, 30)
    assert lab.told == [("trespass", ("ben",))]


async def test_booked_is_said_when_it_is_written_down_and_not_before(database: Database) -> None:
    """Who is told so counts on it, whatever happens to the board in the next moment."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    has_come, may_write = asyncio.Event(), asyncio.Event()

    async def wait_and_run(call: Callable[[], Any], *, is_write: bool = False) -> Any:  # noqa: ANN401 - whatever it gives
        has_come.set()
        await may_write.wait()
        return await database.run(call, is_write=is_write)

    lab.desk = lab.desk_with(wait_and_run)
    asked = asyncio.create_task(lab.book())
    await has_come.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not asked.done()
    assert lab.desk.claims("booking") == {}
    may_write.set()
    made = await asked
    assert await database.run(lambda: lab.store.find(made.id)) is not None


async def test_when_a_booking_is_given_back_is_told_until_its_booker_comes(database: Database) -> None:
    """As long as nobody could see the GPU it is given back later; where it is only said, never."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book()

    def given_back_at() -> float | None:
        return lab.watch.given_back_at(lab.use(booking), lab.clock.now())

    await lab.pass_time(30, gpu(0))
    assert given_back_at() == booking.start + 60
    await lab.pass_time(5, gpu(0, user="ana"))
    assert given_back_at() is None
    assert Watched(database, "warn").watch.given_back_at(Use(), 0.0) is None


async def test_a_booker_who_does_not_come_loses_the_booking(database: Database) -> None:
    """It ends then, and the GPU is free for others."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book()
    await lab.pass_time(55, gpu(0))
    assert lab.told == []
    await lab.pass_time(10, gpu(0))
    assert [event for event, _ in lab.told] == ["no_show", "released"]
    found = await database.run(lambda: lab.store.find(booking.id))
    assert found is not None
    assert (found.outcome, found.end) == ("released", booking.start + 60)
    assert lab.desk.claims("booking")[PLACE][0].until == found.end


async def test_a_booker_who_came_keeps_it_though_the_gpu_is_left_again(database: Database) -> None:
    """Also as root, in a container."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    await lab.book()
    await lab.pass_time(5, gpu(0, user="root", uid=0))
    await lab.pass_time(300, gpu(0))
    assert lab.told == []


DEAD = replace(gpu(0, user="ben").processes[0], state="zombie")  # type: ignore[index] # it has one
DISPLAY = replace(DEAD, user="root", uid=0, kind="graphics", memory_used_bytes=20 * MIB, state="running")


@pytest.mark.parametrize("process", [DEAD, DISPLAY], ids=["dead", "display server"])
async def test_what_nobody_works_with_is_no_use_of_a_booking(database: Database, process: GpuProcess) -> None:
    """It keeps nobody from booking now, is no trespasser, and is not the booker who came."""
    lab = Watched(database)
    there = replace(gpu(0), processes=(process,))
    await lab.begin(there)
    booking = await lab.book()
    await lab.pass_time(55, there)
    assert lab.use(booking).unused_seconds == 55
    assert lab.told == []
    await lab.pass_time(10, there)
    assert [event for event, _ in lab.told] == ["no_show", "released"]


async def test_a_dead_process_beside_the_bookers_own_is_nobody(database: Database) -> None:
    """That one lives makes no trespasser of another."""
    lab = Watched(database)
    own = gpu(0, user="ana")
    both = replace(own, processes=(*(own.processes or ()), DEAD))
    await lab.begin(both)
    await lab.book()
    await lab.pass_time(10, both)
    assert lab.told == []


async def test_an_outage_of_the_node_releases_nothing(database: Database) -> None:
    """Nobody saw whether the booker came; afterwards the time that was seen counts on."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    await lab.book()
    await lab.pass_time(40, gpu(0))
    lab.clock.time += 600
    await lab.pass_time(300)
    assert lab.told == []
    await lab.pass_time(30, gpu(0))
    assert [event for event, _ in lab.told] == ["no_show", "released"]


async def test_who_sits_on_a_booking_does_not_cost_the_booker_the_booking(database: Database) -> None:
    """While somebody else is on all of its GPUs nobody can come; afterwards the time counts on."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    await lab.book()
    await lab.pass_time(40, gpu(0))
    await lab.pass_time(300, gpu(0, user="ben"))
    assert lab.told == [("trespass", ("ben",))]
    await lab.pass_time(15, gpu(0))
    assert [event for event, _ in lab.told] == ["trespass"]
    await lab.pass_time(10, gpu(0))
    assert [event for event, _ in lab.told] == ["trespass", "no_show", "released"]


def test_where_one_of_its_gpus_is_left_the_booker_could_come() -> None:
    """Somebody else on some of them is no excuse."""
    sights = [Sight(people=("ben",)), Sight(people=())]
    assert count(Use(), "ana", sights, now=0.0, seconds=5.0).absent_seconds == 5
    assert count(Use(), "ana", sights[:1], now=0.0, seconds=5.0).absent_seconds == 0


@pytest.mark.parametrize(("on_no_show", "told"), [("warn", ["no_show"]), ("nothing", [])])
async def test_by_setting_a_no_show_is_only_said_or_not_even_that(
    database: Database, on_no_show: str, told: list[str]
) -> None:
    """The booking stays."""
    lab = Watched(database, on_no_show)
    await lab.begin(gpu(0))
    booking = await lab.book()
    await lab.pass_time(120, gpu(0))
    assert [event for event, _ in lab.told] == told
    assert lab.watch.is_no_show(lab.use(booking)) is bool(told)
    assert booking.state_at(lab.clock.now()) == "running"
    # What was heard in one look is flagged with the next tick.
    lab.report(gpu(0))
    assert lab.flags() == tuple(told)


async def test_whoever_comes_late_is_flagged_no_more(database: Database) -> None:
    """It has been told, and is over."""
    lab = Watched(database, "warn")
    await lab.begin(gpu(0))
    await lab.book()
    await lab.pass_time(55, gpu(0))
    flags = [lab.flags()]
    await lab.pass_time(20, gpu(0))
    flags.append(lab.flags())
    await lab.pass_time(10, gpu(0, user="ana"))
    assert [*flags, lab.flags()] == [(), ("no_show",), ()]


async def test_whoever_stays_after_the_end_is_told_once(database: Database) -> None:
    """An overrun, after a minute of grace: to end one's programs takes a moment."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    await lab.book(seconds=30)
    await lab.pass_time(80, gpu(0, user="ana"))
    assert lab.told == []
    await lab.pass_time(60, gpu(0, user="ana"))
    assert [event for event, _ in lab.told] == ["overrun"]


@pytest.mark.parametrize(
    ("first", "then"), [(PLACE, NODE), (NODE, PLACE), (PLACE, PLACE)], ids=["node", "number", "same"]
)
async def test_who_has_it_by_another_booking_has_not_stayed(
    database: Database, first: GpuPlace, then: GpuPlace
) -> None:
    """A whole node has each of its GPUs."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book(seconds=30, place=first)
    await lab.book(start=booking.end, place=then)
    await lab.pass_time(200, gpu(0, user="ana"))
    assert lab.told == []


async def test_who_has_another_claim_on_it_is_neither_told_as_trespasser_nor_as_overrun(
    database: Database,
) -> None:
    """As the flag says of the same GPU; somebody without one is told."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    await lab.book(seconds=30)
    lab.fleet.set_claims("comments-json", {PLACE: (Claim(who="Ben"), Claim(who="ana"))})
    await lab.pass_time(20, gpu(0, user="ben"))
    assert lab.told == []
    await lab.pass_time(5, gpu(0, user="eve"))
    assert lab.told == [("trespass", ("eve",))]
    await lab.pass_time(200, gpu(0, user="ana"))
    assert [event for event, _ in lab.told] == ["trespass"]


async def test_what_was_counted_is_known_after_a_restart(database: Database) -> None:
    """Up to the last minute, and all of it when it has ended."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book(seconds=90)
    await lab.watch.look()
    await lab.pass_time(120, gpu(0, user="ana"))
    found = await database.run(lambda: lab.store.uses([booking.id]))
    assert 80 <= found[booking.id].used_seconds <= 90
    assert found[booking.id].came_at is not None


async def test_what_was_told_is_not_told_again_after_a_restart(database: Database) -> None:
    """Neither of a booking that runs, nor of one that has ended; what is new is told."""
    lab = Watched(database, "warn")
    await lab.begin(gpu(0), gpu(1))
    await lab.book(seconds=30)
    await lab.pass_time(100, gpu(0, user="ana"), gpu(1))
    await lab.book(place=("a", 1))
    await lab.pass_time(70, gpu(0, user="ana"), gpu(1))
    await lab.pass_time(5, gpu(0, user="ana"), gpu(1, user="ben"))
    assert [event for event, _ in lab.told] == ["overrun", "no_show", "trespass"]
    later = Watched(database, "warn")
    later.clock.time = lab.clock.time
    await later.begin(gpu(0, user="ana"), gpu(1, user="ben"))
    await later.pass_time(10, gpu(0, user="ana"), gpu(1, user="ben"))
    assert later.told == []
    await later.pass_time(5, gpu(0, user="ana"), gpu(1, user="eve"))
    assert later.told == [("trespass", ("eve",))]


async def test_a_node_that_makes_up_names_is_not_told_for_ever(database: Database) -> None:
    """Each name once, and of one booking a bounded number."""
    lab = Watched(database, "warn")
    await lab.begin(gpu(0))
    await lab.book()
    for number in range(MOST_TOLD + 10):
        await lab.pass_time(5, gpu(0, user=f"user{number}"))
    assert len(lab.told) == MOST_TOLD


async def test_what_passed_while_the_board_was_away_was_not_observed(database: Database) -> None:
    """All seconds of a booking are of one kind, also those that nobody counted."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book()
    await lab.watch.look()
    await lab.pass_time(70, gpu(0, user="ana"))
    later = Watched(database)
    later.clock.time = lab.clock.time + 300
    await later.begin(gpu(0, user="ana"))
    await later.watch.look()
    await later.pass_time(10, gpu(0, user="ana"))
    use = later.use(booking)
    # Written once a minute: what came after is lost, and said to be.
    assert (use.used_seconds, use.unobserved_seconds) == (60 + 10, 10 + 300)


async def test_a_pause_of_the_board_counts_for_nobody(database: Database) -> None:
    """A suspended machine has seen nothing."""
    lab = Watched(database)
    await lab.begin(gpu(0))
    booking = await lab.book()
    await lab.watch.look()
    lab.seconds += 5000
    await lab.watch.look()
    assert lab.use(booking).unused_seconds == LONGEST_STEP


EVENT = BookingEvent(
    event="trespass",
    at=1.0,
    booking=Booking(id="b1", who="ana; rm", places=(PLACE,), gpus=1, start=0.0, end=9.0, created_at=0.0),
    people=("$(ben)",),
)


async def test_the_command_gets_the_event_on_its_stdin(tmp_path: Path) -> None:
    """As JSON; no shell reads any of it."""
    file = tmp_path / "told"
    program = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    await EventCommand([sys.executable, "-c", program, str(file)]).run(EVENT)
    told = json.loads(await asyncio.to_thread(file.read_bytes))
    assert (told["event"], told["who"], told["people"]) == ("trespass", "ana; rm", ["$(ben)"])
    assert told["places"] == [{"node": "a", "gpus": [0]}]


async def test_a_command_that_hangs_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    """The next event is not kept waiting; nor does one matter that is not there."""
    await EventCommand([sys.executable, "-c", "while True: pass"], deadline=0.5).run(EVENT)
    assert "not done in 0.5s" in caplog.text
    await EventCommand(["/no/such/program"]).run(EVENT)
    assert "command not run" in caplog.text


async def test_what_a_command_that_hangs_has_started_ends_with_it(tmp_path: Path) -> None:
    """Nothing is left behind that nobody waits for."""
    file = tmp_path / "pid"
    words = f"sleep 60 & echo $! > {file}; wait"
    await EventCommand(["/bin/sh", "-c", words], deadline=0.5).run(EVENT)
    child = int(await asyncio.to_thread(file.read_text))
    for _ in range(100):
        if not is_running(child):
            return
        await asyncio.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("it still runs")


def is_running(pid: int) -> bool:
    """Whether a process lives; one that is dead may wait for somebody to notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
