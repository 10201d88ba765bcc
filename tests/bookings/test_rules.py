"""What may be booked, and why not."""

from datetime import UTC, datetime
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from gpuboard.bookings.book import GpuFact, MemoryBook, NodeFact
from gpuboard.bookings.limits import Limit, Limits, limits_for, week_of
from gpuboard.bookings.refusals import over_limit
from gpuboard.bookings.rules import SOON_SECONDS, Booker, Change, Decision, Request, Span, book, cancel, edit
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


def test_a_refusal_without_the_name_does_not_give_it_away() -> None:
    """A name may be part of that of a node: who has it is left out, and nothing else."""
    facts = {"ana-01": NodeFact(gpus={0: GpuFact(word="busy", people=("ana",))})}
    mine = MemoryBook([want(("ana-01", 0), facts=facts).booking])
    conflict = refused(("ana-01", 0), facts=facts, by=BEN, start=NOW + HOUR, on=mine).unnamed
    assert conflict.text.startswith("ana-01:0 is booked by somebody until")
    assert (conflict.values["node"], conflict.values["who"]) == ("ana-01", None)
    in_use = refused(("ana-01", 0), facts=facts, by=BEN).unnamed
    assert in_use.text == "somebody is on ana-01:0 now; ask, or book it for 15m from now or later"
    assert in_use.values["who"] is None


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
    assert refused(("gpu01", WHOLE_NODE), facts=facts).reason.values == {"node": "gpu01", "gpu": None}


def test_a_node_that_has_told_nothing_can_be_booked_from_tomorrow_on_with_a_word() -> None:
    """Nobody knows whether it works: it is as one that has fallen silent."""
    facts = {"gpu01": NodeFact()}
    assert str(refused(("gpu01", WHOLE_NODE), facts=facts, start=NOW + 11 * HOUR)) == (
        "gpu01 is stale now; it can be booked from tomorrow on"
    )
    decision = want(("gpu01", WHOLE_NODE), facts=facts, start=NOW + 12 * HOUR)
    assert [note.code for note in decision.notes] == ["booking-stale-now"]
    assert decision.booking.gpus == 1


def test_a_whole_node_is_all_gpus_that_it_is_known_to_have() -> None:
    """After a restart none of them is seen at first: each is refused as it is by its number, and counted."""
    facts = {"gpu01": NodeFact(unseen=frozenset(range(8)))}
    assert refused(("gpu01", WHOLE_NODE), facts=facts).reason == refused(("gpu01", 0), facts=facts).reason
    assert want(("gpu01", WHOLE_NODE), facts=facts, start=NOW + 12 * HOUR).booking.gpus == 8
    by = replace(ANA, limits={"gpus_at_once": Limit(2, None)})
    error = refused(("gpu01", WHOLE_NODE), facts=facts, start=NOW + 12 * HOUR, by=by)
    assert error.reason.values["asked"] == 8


@pytest.mark.parametrize(("number", "verb"), [(0, "is"), (NO_NUMBER, "may be")])
def test_what_another_board_has_in_its_file_conflicts_too(number: int, verb: str) -> None:
    """A claim of no number that can be read may be of any GPU; without end there is no gap."""
    facts = {"gpu01": NodeFact(gpus={0: FREE}, claims={number: (Claim(who="chen", is_unverified=True),)})}
    error = refused(("gpu01", 0), facts=facts)
    assert (error.reason.values["who"], error.reason.values["gap_start"]) == ("chen", None)
    assert f"gpu01:0 {verb} booked by chen (not verified) without end" in str(error)


def test_a_gpu_on_which_somebody_else_is_cannot_be_booked_now() -> None:
    """But later, and by whoever is on it."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word="busy", people=("Ben",))})}
    assert refused(("gpu01", 0), facts=facts).reason.values["who"] == "Ben"
    assert want(("gpu01", 0), facts=facts, start=NOW + HOUR).booking.who == "ana"
    assert want(("gpu01", 0), facts=facts, by=BEN).booking.who == "ben"


def test_what_begins_in_a_moment_begins_now() -> None:
    """A second later is no other time for whoever is there; by what is held already nobody is asked again."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word="busy", people=("ben",))})}
    for start in (NOW + 1, NOW + SOON_SECONDS - 1):
        assert refused(("gpu01", 0), facts=facts, start=start).reason.code == "booking-in-use"
    assert "for 15m from now or later" in str(refused(("gpu01", 0), facts=facts, start=NOW + 1))
    later = want(("gpu01", 0), facts=facts, start=NOW + SOON_SECONDS).booking
    with pytest.raises(BookingRefused, match="ben is on gpu01:0 now"):
        edit(MemoryBook([later]), later, Change(start=NOW + 1), by=ANA, facts=facts, now=NOW)
    longer = Change(end=later.end + HOUR)
    at = later.start - 1
    assert edit(MemoryBook([later]), later, longer, by=ANA, facts=facts, now=at).booking.end == longer.end


def test_whoever_has_it_until_then_is_in_nobodys_way() -> None:
    """One books behind another in the last minutes too, but not behind somebody who has booked nothing."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word="busy", people=("ben",))})}
    bens = MemoryBook([want(("gpu01", 0), by=BEN, hours=0.1).booking])
    assert want(("gpu01", 0), facts=facts, on=bens, start=NOW + 360).booking.who == "ana"
    both = {"gpu01": NodeFact(gpus={0: GpuFact(word="busy", people=("ben", "cleo"))})}
    assert refused(("gpu01", 0), facts=both, on=bens, start=NOW + 360).reason.values["who"] == "cleo"


@pytest.mark.parametrize("word", ["stale", "broken"])
def test_what_does_not_work_can_be_booked_from_tomorrow_on_with_a_word(word: str) -> None:
    """Nobody knows whether it will work then."""
    facts = {"gpu01": NodeFact(gpus={0: GpuFact(word=word)})}  # type: ignore[arg-type] # a verdict
    assert refused(("gpu01", 0), facts=facts, start=NOW + 11 * HOUR).reason.code == f"booking-{word}"
    decision = want(("gpu01", 0), facts=facts, start=NOW + 12 * HOUR)
    assert [note.code for note in decision.notes] == [f"booking-{word}-now"]


def test_what_is_away_is_said_of_each_node_once() -> None:
    """Who books a node that is lost reads one sentence, not one for each of its GPUs."""
    stale = NodeFact(gpus=dict.fromkeys(range(3), GpuFact(word="stale")))
    facts = {"gpu01": stale, "gpu02": stale}
    wanted = (("gpu01", WHOLE_NODE), ("gpu02", 1))
    first, second = want(*wanted, facts=facts, start=NOW + 12 * HOUR).notes
    assert first.values == {"node": "gpu01", "gpus": [0, 1, 2]}
    assert first.text == "gpu01:0,1,2 are stale now, and may still be then"
    assert second.text == "gpu02:1 is stale now, and may still be then"


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


def test_what_a_booking_has_already_is_not_left_for_it() -> None:
    """Whoever wants two hours more hears how many more there are, not how long it may be."""
    by = Booker(person="ana", zone=UTC, limits={"hours_per_week": Limit(20, None)})
    first, second = want(("gpu01", 0), hours=8).booking, want(("gpu01", 1), hours=12).booking
    with pytest.raises(BookingRefused, match="would make 22; 0 are left"):
        edit(MemoryBook([first, second]), first, Change(end=NOW + 10 * HOUR), by=by, facts=FACTS, now=NOW)


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


@pytest.mark.parametrize(
    ("policy", "more", "words"),
    [
        ("longest", 1.0, "3d at most, this would be 3d 1s"),
        ("longest", 2 * HOUR, "3d 0h at most, this would be 3d 2h"),
        ("ahead", 0.5, "3d from now at the latest, this would be in 3d 1s"),
    ],
)
def test_what_is_a_little_too_long_is_told_to_the_second(policy: str, more: float, words: str) -> None:
    """`3d 0h at most, this would be 3d 0h` says nothing."""
    limit = 72 * HOUR
    refused = over_limit(f"booking-{policy}", policy, None, limit=limit, asked=limit + more, left=limit)
    assert words in refused.reason.text


def test_whoever_gives_back_time_is_not_asked_whether_it_was_too_much() -> None:
    """Policies may have become stricter since."""
    mine = want(("gpu01", 0)).booking
    strict = Booker(person="ana", zone=UTC, limits={"longest": Limit(HOUR, None)})
    change = Change(end=NOW + 2 * HOUR)
    assert edit(MemoryBook([mine]), mine, change, by=strict, facts=FACTS, now=NOW).booking.end == change.end


@pytest.mark.parametrize(
    "facts",
    [
        {"gpu01": NodeFact(gpus=dict.fromkeys(range(3), GpuFact(word="stale")))},
        {"gpu01": NodeFact(gpus=dict.fromkeys(range(3), GpuFact(word="broken")))},
        {"gpu01": NodeFact(gpus=FACTS["gpu01"].gpus, claims={1: (Claim(who="chen", start=NOW),)})},
        {"gpu01": NodeFact()},
        {},
    ],
    ids=["stale", "broken", "claimed since", "without this GPU", "without this node"],
)
@pytest.mark.parametrize(
    ("had", "change"),
    [
        ((("gpu01", 0), ("gpu01", 1)), Change(places=(("gpu01", 1),))),
        ((("gpu01", 1),), Change(end=NOW + 3 * HOUR)),
        ((("gpu01", 1),), Change(start=NOW + 2 * HOUR)),
        ((("gpu01", WHOLE_NODE), ("gpu02", 0)), Change(places=(("gpu01", WHOLE_NODE),))),
    ],
    ids=["a GPU", "its end", "its begin", "a node"],
)
def test_giving_back_is_always_allowed(
    had: tuple[GpuPlace, ...], change: Change, facts: dict[str, NodeFact]
) -> None:
    """Whatever the GPUs are like by now, and whoever has written himself down for them since."""
    mine = want(*had, start=NOW + HOUR).booking
    after = edit(MemoryBook([mine]), mine, change, by=ANA, facts=facts, now=NOW).booking
    assert (after.places, after.start, after.end) == (
        change.places or mine.places,
        change.start or mine.start,
        change.end or mine.end,
    )


def test_of_a_whole_node_one_gpu_may_be_kept() -> None:
    """That is less; another node, or nothing, is not."""
    mine = want(("gpu01", WHOLE_NODE), start=NOW + HOUR).booking
    stale = {node: NodeFact(gpus={0: GpuFact(word="stale")}) for node in FACTS}

    def kept(*places: GpuPlace) -> tuple[GpuPlace, ...]:
        on = MemoryBook([mine])
        return edit(on, mine, Change(places=places), by=ANA, facts=stale, now=NOW).booking.places

    assert kept(("gpu01", 0)) == (("gpu01", 0),)
    for others in ((("gpu02", 0),), (("gpu01", 0), ("gpu01", 0)), ()):
        with pytest.raises(BookingRefused):
            kept(*others)
