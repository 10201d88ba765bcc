"""What may be booked, and why not."""

from datetime import UTC, datetime
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from gpuboard.bookings.book import GpuFact, MemoryBook, NodeFact
from gpuboard.bookings.limits import Limit, Limits, gpu_hours, limits_for, most_at_once, week_of
from gpuboard.bookings.rules import Booker, Change, Decision, Request, Span, book, cancel, edit
from gpuboard.model.booking import Booking, is_on
from gpuboard.model.errors import BookingRefused
from gpuboard.model.verdict import NO_NUMBER, WHOLE_NODE, Claim, GpuPlace

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
FREE = GpuFact(word="free")
FACTS = {node: NodeFact(gpus={0: FREE, 1: FREE, 2: FREE}) for node in ("gpu01", "gpu02")}
ANA = Booker(person="ana", zone=UTC)
BEN = Booker(person="ben", zone=UTC)
ADMIN = Booker(person="root-of-lab", is_admin=True, zone=UTC)
IDS = count()


def want(
    *places: GpuPlace,
    by: Booker = ANA,
    start: float = NOW,
    hours: float = 4,
    on: MemoryBook | None = None,
    kind: str = "booking",
    facts: dict[str, NodeFact] = FACTS,
) -> Decision:
    """Try to book."""
    request = Request(places=places, span=Span(start=start, end=start + hours * HOUR), kind=kind)  # type: ignore[arg-type] # a kind
    return book(on or MemoryBook(), request, by=by, facts=facts, now=NOW, make_id=lambda: f"b{next(IDS)}")


def refused(*places: GpuPlace, **how: object) -> BookingRefused:
    """Why one cannot book."""
    with pytest.raises(BookingRefused) as caught:
        want(*places, **how)  # type: ignore[arg-type] # as above
    return caught.value


def test_what_somebody_has_is_refused_with_who_until_when_and_the_next_gap() -> None:
    """The gap is as long as what was wanted, not the first that comes."""
    mine = want(("gpu01", 0)).booking
    later = want(("gpu01", 0), start=NOW + 6 * HOUR).booking
    error = refused(("gpu01", 0), by=BEN, start=NOW + HOUR, on=MemoryBook([mine, later]))
    assert error.reason.code == "booking-conflict"
    assert error.reason.values["who"] == "ana"
    assert error.reason.values["until"] == NOW + 4 * HOUR
    assert error.reason.values["gap_start"] == NOW + 10 * HOUR
    assert "gpu01:0 is booked by ana until 2026-03-04 16:00 UTC" in str(error)


def test_bookings_that_only_touch_do_not_conflict() -> None:
    """A booking is for `[start, end)`."""
    mine = want(("gpu01", 0)).booking
    assert want(("gpu01", 0), by=BEN, start=NOW + 4 * HOUR, on=MemoryBook([mine])).booking.who == "ben"


@pytest.mark.parametrize(
    ("first", "second"), [(("gpu01", WHOLE_NODE), ("gpu01", 2)), (("gpu01", 2), ("gpu01", WHOLE_NODE))]
)
def test_a_whole_node_conflicts_with_each_of_its_gpus(first: GpuPlace, second: GpuPlace) -> None:
    """Also with those that come later."""
    on = MemoryBook([want(first).booking])
    assert refused(second, by=BEN, on=on).reason.code == "booking-conflict"


def test_a_number_is_booked_only_where_the_node_is_known_to_have_it() -> None:
    """One of eight is not seen: it can be booked, and no number beyond."""
    facts = {"gpu01": NodeFact(gpus=dict.fromkeys(range(7), FREE), unseen=frozenset({7}))}
    late = NOW + 24 * HOUR
    assert want(("gpu01", 7), start=late, facts=facts).booking.places == (("gpu01", 7),)
    error = refused(("gpu01", 9999), start=late, facts=facts)
    assert error.reason.code == "booking-no-such-place"
    assert str(error) == "gpu01 has no GPU 9999; it has 0, 1, 2, 3, 4, 5, 6, 7"


def test_of_a_node_that_has_told_nothing_only_the_whole_can_be_booked() -> None:
    """Which numbers it has, nobody knows."""
    facts = {"gpu01": NodeFact()}
    assert "book the whole node" in str(refused(("gpu01", 0), facts=facts))
    assert want(("gpu01", WHOLE_NODE), facts=facts).booking.gpus == 1


@pytest.mark.parametrize("number", [0, NO_NUMBER])
def test_what_another_board_has_in_its_file_conflicts_too(number: int) -> None:
    """A claim of no number that can be read may be of any GPU; without end there is no gap."""
    facts = {"gpu01": NodeFact(gpus={0: FREE}, claims={number: (Claim(who="chen"),)})}
    error = refused(("gpu01", 0), facts=facts)
    assert (error.reason.values["who"], error.reason.values["gap_start"]) == ("chen", None)


def test_a_gpu_on_which_somebody_else_is_cannot_be_booked_now() -> None:
    """But later, and by whoever is on it."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word="busy", people=("Ben",))})}
    assert refused(("gpu01", 0), facts=facts).reason.values["who"] == "Ben"
    assert want(("gpu01", 0), facts=facts, start=NOW + HOUR).booking.who == "ana"
    assert want(("gpu01", 0), facts=facts, by=BEN).booking.who == "ben"


@pytest.mark.parametrize("word", ["stale", "broken"])
def test_what_does_not_work_can_be_booked_from_tomorrow_on_with_a_word(word: str) -> None:
    """Nobody knows whether it will work then."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word=word)})}  # type: ignore[arg-type] # a verdict
    assert refused(("gpu01", 0), facts=facts, start=NOW + 11 * HOUR).reason.code == f"booking-{word}"
    decision = want(("gpu01", 0), facts=facts, start=NOW + 12 * HOUR)
    assert [note.code for note in decision.notes] == [f"booking-{word}-now"]


@pytest.mark.parametrize(
    ("places", "code"),
    [
        ((("gpu09", 0),), "booking-no-such-place"),
        ((("gpu01", 7),), "booking-no-such-place"),
        ((("gpu01", 0), ("gpu01", WHOLE_NODE)), "booking-twice"),
        ((), "booking-nothing"),
    ],
)
def test_places_that_make_no_sense_are_refused(places: tuple[GpuPlace, ...], code: str) -> None:
    """Each with a code of its own."""
    assert refused(*places).reason.code == code


@pytest.mark.parametrize(
    ("policy", "most", "how"),
    [
        ("longest", 3 * HOUR, {}),
        ("ahead", HOUR, {"start": NOW + 2 * HOUR}),
        ("gpus_at_once", 1, {}),
        ("hours_per_week", 7.9, {}),
    ],
)
def test_each_policy_refuses_by_its_name(policy: str, most: float, how: dict[str, float]) -> None:
    """In words that an admin finds in the settings."""
    by = Booker(person="ana", zone=UTC, limits={policy: Limit(most, "students")})
    error = refused(("gpu01", 0), ("gpu01", 1), by=by, **how)
    assert error.reason.values["policy"] == policy
    assert f"(policy [bookings.groups.students] {policy})" in str(error)


def test_of_several_groups_the_most_generous_limit_holds() -> None:
    """What a group says stands before what is said for all; what none says is as for all."""
    by_group = {"a": Limits(longest=2.0), "b": Limits(longest=3.0, gpus_at_once=1), "c": Limits(longest=9.0)}
    found = limits_for(Limits(longest=5.0, ahead=7.0, gpus_at_once=4), by_group, ["a", "b", "x"])
    assert found == {"longest": Limit(3.0, "b"), "ahead": Limit(7.0, None), "gpus_at_once": Limit(1, "b")}


def test_a_week_in_which_clocks_change_begins_and_ends_at_midnight() -> None:
    """It is an hour shorter."""
    zone = ZoneInfo("Europe/Berlin")
    start, end = week_of(datetime(2026, 3, 29, 12, tzinfo=zone).timestamp(), zone)
    assert (end - start) / HOUR == 7 * 24 - 1
    assert datetime.fromtimestamp(end, zone).hour == 0


def test_what_was_cancelled_counts_up_to_then() -> None:
    """Who gives back may book again."""
    by = Booker(person="ana", zone=UTC, limits={"hours_per_week": Limit(5, None)})
    mine = want(("gpu01", 0), by=by).booking
    assert refused(("gpu01", 1), by=by, on=MemoryBook([mine])).reason.values["left"] == pytest.approx(1)
    given_back = cancel(mine, by=by, now=NOW + HOUR).booking
    assert given_back.state_at(NOW + HOUR) == "cancelled"
    assert want(("gpu01", 1), by=by, on=MemoryBook([given_back])).booking.gpus == 1


def test_nobody_but_the_owner_and_admins_changes_a_booking() -> None:
    """Blocks are changed by admins alone."""
    mine = want(("gpu01", 0)).booking
    block = want(("gpu02", 0), by=ADMIN, kind="block").booking
    for booking, by in ((mine, BEN), (block, ANA)):
        with pytest.raises(BookingRefused, match="ask an admin"):
            cancel(booking, by=by, now=NOW)
    assert cancel(mine, by=ADMIN, now=NOW).booking.outcome == "cancelled"
    assert refused(("gpu01", 0), kind="block").reason.code == "booking-not-yours"


def test_a_block_cuts_bookings_and_says_whose() -> None:
    """One that has not begun by then never was; one that runs ends with the block's begin."""
    runs, later = want(("gpu01", 0)).booking, want(("gpu01", 1), by=BEN, start=NOW + 2 * HOUR).booking
    on = MemoryBook([runs, later])
    decision = want(("gpu01", WHOLE_NODE), by=ADMIN, kind="block", start=NOW + HOUR, on=on)
    assert [(one.who, one.end, one.never_was) for one in decision.displaced] == [
        ("ana", NOW + HOUR, False),
        ("ben", NOW + 2 * HOUR, True),
    ]
    assert decision.displaced[0].state_at(NOW) == "running"
    assert decision.displaced[0].state_at(NOW + HOUR) == "displaced"


@pytest.mark.parametrize(("hours", "outcome"), [(0.5, "displaced"), (3, None)])
def test_what_was_displaced_stays_so_until_it_has_more_time(hours: float, outcome: str | None) -> None:
    """Whoever shortens it, or says something else about it, was displaced all the same."""
    block = want(("gpu01", 0), by=ADMIN, kind="block", start=NOW + HOUR).booking
    cut = replace(want(("gpu01", 0)).booking, end=NOW + HOUR, outcome="displaced")
    on = MemoryBook([cut] if outcome is None else [cut, block])
    after = edit(on, cut, Change(end=NOW + hours * HOUR), by=ANA, facts=FACTS, now=NOW).booking
    assert after.outcome == outcome
    said = edit(on, cut, Change(comment="x"), by=ANA, facts=FACTS, now=NOW).booking
    assert said.outcome == "displaced"


def test_a_little_too_much_is_said_to_be_too_much() -> None:
    """Ten hours and a minute are not ten."""
    by = Booker(person="ana", zone=UTC, limits={"hours_per_week": Limit(10, None)})
    assert "book 10 GPU-hours a week, this would make 10.02; 10 are left" in str(
        refused(("gpu01", 0), by=by, hours=10 + 1 / 60)
    )


def test_a_booking_that_has_begun_changes_its_end_and_comment_alone() -> None:
    """It was for these GPUs since then."""
    mine = want(("gpu01", 0)).booking
    on = MemoryBook([mine])
    with pytest.raises(BookingRefused, match="has begun"):
        edit(on, mine, Change(places=(("gpu01", 1),)), by=ANA, facts=FACTS, now=NOW + 1)
    longer = edit(on, mine, Change(end=NOW + 9 * HOUR, comment="x"), by=ANA, facts=FACTS, now=NOW + 1).booking
    assert (longer.end, longer.comment, longer.revision) == (NOW + 9 * HOUR, "x", 1)
    with pytest.raises(BookingRefused, match="over already"):
        edit(on, mine, Change(end=NOW), by=ANA, facts=FACTS, now=NOW + 1)


def test_whoever_gives_back_time_is_not_asked_whether_it_was_too_much() -> None:
    """Policies may have become stricter since."""
    mine = want(("gpu01", 0)).booking
    strict = Booker(person="ana", zone=UTC, limits={"longest": Limit(HOUR, None)})
    change = Change(end=NOW + 2 * HOUR)
    assert edit(MemoryBook([mine]), mine, change, by=strict, facts=FACTS, now=NOW).booking.end == change.end


PLACES = st.lists(
    st.tuples(st.sampled_from(["gpu01", "gpu02"]), st.sampled_from([0, 1, 2, WHOLE_NODE])),
    min_size=1,
    max_size=3,
)
HOURS = st.integers(-2, 80)
LIMITS = {
    "longest": Limit(30 * HOUR, None),
    "ahead": Limit(60 * HOUR, None),
    "gpus_at_once": Limit(4, None),
    "hours_per_week": Limit(90, None),
}


class BookOfALab(RuleBasedStateMachine):
    """People book, change and cancel whatever they like, and admins block, while time passes."""

    @initialize()
    def begin(self) -> None:
        """Nothing is booked."""
        self.now = NOW
        self.bookings: dict[str, Booking] = {}

    def attempt(self, decide: object) -> None:
        """Do what the rules allow; what they refuse changes nothing."""
        before = dict(self.bookings)
        try:
            decision: Decision = decide(MemoryBook(self.bookings.values()))  # type: ignore[operator] # a call
        except BookingRefused:
            assert self.bookings == before
            return
        for one in (decision.booking, *decision.displaced):
            self.bookings[one.id] = one

    @rule(who=st.sampled_from("abc"), places=PLACES, start=HOURS, hours=st.integers(-1, 40))
    def somebody_books(self, who: str, places: list[GpuPlace], start: int, hours: int) -> None:
        """Anything, from anybody."""
        by, at = Booker(person=who, zone=UTC, limits=LIMITS), self.now + start * HOUR
        request = Request(places=tuple(places), span=Span(start=at, end=at + hours * HOUR))
        self.attempt(
            lambda on: book(
                on, request, by=by, facts=FACTS, now=self.now, make_id=lambda: str(len(self.bookings))
            )
        )

    @rule(places=PLACES, start=HOURS, hours=st.integers(1, 40))
    def an_admin_blocks(self, places: list[GpuPlace], start: int, hours: int) -> None:
        """Over whatever is booked."""
        at = self.now + start * HOUR
        request = Request(places=tuple(places), span=Span(start=at, end=at + hours * HOUR), kind="block")
        self.attempt(
            lambda on: book(
                on, request, by=ADMIN, facts=FACTS, now=self.now, make_id=lambda: str(len(self.bookings))
            )
        )

    @rule(which=st.integers(0, 50), places=st.none() | PLACES, start=st.none() | HOURS, end=st.none() | HOURS)
    def one_is_changed(
        self, which: int, places: list[GpuPlace] | None, start: int | None, end: int | None
    ) -> None:
        """By its owner."""
        one = self.bookings.get(str(which % max(1, len(self.bookings))))
        if one is None:
            return
        change = Change(
            places=None if places is None else tuple(places),
            start=None if start is None else self.now + start * HOUR,
            end=None if end is None else self.now + end * HOUR,
        )
        by = ADMIN if one.kind == "block" else Booker(person=one.who, zone=UTC, limits=LIMITS)
        self.attempt(lambda on: edit(on, one, change, by=by, facts=FACTS, now=self.now))

    @rule(which=st.integers(0, 50))
    def one_is_cancelled(self, which: int) -> None:
        """By its owner."""
        one = self.bookings.get(str(which % max(1, len(self.bookings))))
        if one is not None:
            by = ADMIN if one.kind == "block" else Booker(person=one.who, zone=UTC)
            self.attempt(lambda _: cancel(one, by=by, now=self.now))

    @rule(hours=st.integers(1, 30))
    def time_passes(self, hours: int) -> None:
        """A while."""
        self.now += hours * HOUR

    @invariant()
    def nothing_overlaps(self) -> None:
        """One place has one holder at one moment."""
        real = [one for one in self.bookings.values() if not one.never_was]
        for number, one in enumerate(real):
            for other in real[:number]:
                if one.start < other.end and other.start < one.end:
                    assert not any(is_on(a, b) for a in one.places for b in other.places)

    @invariant()
    def policies_hold(self) -> None:
        """For each person, at every moment and in every week."""
        for who in "abc":
            mine = [one for one in self.bookings.values() if one.who == who]
            assert all(one.end - one.start <= LIMITS["longest"].most for one in mine)
            assert most_at_once(mine, NOW, NOW + 1e9) <= LIMITS["gpus_at_once"].most
            for one in mine:
                assert gpu_hours(mine, *week_of(one.start, UTC)) <= LIMITS["hours_per_week"].most + 0.01


TestBookOfALab = BookOfALab.TestCase
TestBookOfALab.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
