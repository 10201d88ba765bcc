"""The book of claims: several givers, ranks, and what begins and ends by itself."""

import pytest

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.claims import ClaimBook, merge
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free
from gpuboard.fleet.views import find_gpu
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.model.verdict import NO_NUMBER, SOMEBODY, SOMEBODY_WITHOUT_DATE, WHOLE_NODE, Claim
from gpuboard.wire.redact import hide_names_in_gpu, hide_names_in_row
from tests.clock import HandClock

GPU = GpuReading(
    uuid="GPU-1", index=0, memory_used_bytes=0, memory_total_bytes=GIB, utilization_percent=0.0, processes=()
)
# One that does not report again in a week is not stale here.
REPORT = NodeReport(node="a", interval_seconds=86_400.0, gpus=(GPU,))
PLACE = ("a", 0)


def tracking(clock: HandClock, report: NodeReport = REPORT) -> tuple[Fleet, ChangeTracker]:
    """A fleet of one node that reported once."""
    fleet = Fleet(clock)
    fleet.sink("push").report("a", report)
    return fleet, ChangeTracker(fleet)


def word(tracker: ChangeTracker) -> str:
    """The word at the next tick."""
    tracker.tick()
    return tracker.gpus["GPU-1"].verdict


def test_a_booking_ends_when_it_ends_although_the_node_says_nothing() -> None:
    """Its end is an event of its own."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    fleet.set_claims("booking", {PLACE: Claim(who="ana", until=clock.time + 60)})
    words = [word(tracker)]
    for step in (59.0, 1.0):
        clock.time += step
        words.append(word(tracker))
    assert words == ["booked", "booked", "free"]
    assert tracker.gpus["GPU-1"].claim is None


def test_a_booking_holds_from_its_start_and_not_before() -> None:
    """Free until then, booked at that tick."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    fleet.set_claims("booking", {PLACE: Claim(who="ana", start=clock.time + 60, until=clock.time + 90)})
    words = [word(tracker)]
    for step in (59.0, 1.0, 30.0):
        clock.time += step
        words.append(word(tracker))
    assert words == ["free", "free", "booked", "free"]


def test_the_next_claim_on_a_gpu_is_known_before_it_begins() -> None:
    """The first of those to come; what runs is none. A whole node is each of its GPUs."""
    clock = HandClock()
    fleet, _ = tracking(clock)
    assert fleet.next_claim_at(PLACE) is None
    now = clock.time
    claims = (
        Claim(who="ana", start=now - 60, until=now + 60),
        Claim(who="ben", start=now + 600, until=now + 700),
        Claim(who="cem", start=now + 300, until=now + 400),
    )
    fleet.set_claims("booking", {PLACE: claims})
    assert fleet.next_claim_at(PLACE) == now + 300
    assert fleet.next_claim_at(("a", 1)) is None
    fleet.set_claims("block", {("a", WHOLE_NODE): Claim(who="admin", start=now + 100, until=now + 200)})
    assert fleet.next_claim_at(PLACE) == fleet.next_claim_at(("a", 1)) == now + 100


def test_what_is_claimed_of_a_gpu_from_now_on_is_known() -> None:
    """What runs and what is to come, under its own number and the whole node's; what is over is not."""
    clock = HandClock()
    fleet, _ = tracking(clock)
    assert fleet.claims_to_come(PLACE) == ()
    now = clock.time
    over, runs, comes, block = (
        Claim(who="ana", start=now + start, until=now + start + 60) for start in (-60, -30, 90, 200)
    )
    fleet.set_claims("booking", {PLACE: (over, runs, comes)})
    fleet.set_claims("block", {("a", WHOLE_NODE): block})
    assert set(fleet.claims_to_come(PLACE)) == {runs, comes, block}
    assert fleet.claims_to_come(("a", 1)) == (block,)


def test_a_second_giver_does_not_erase_the_first() -> None:
    """Each replaces its own."""
    fleet, tracker = tracking(HandClock())
    fleet.set_claims("comments-json", {PLACE: Claim(who="ana")})
    fleet.set_claims("booking", {})
    assert word(tracker) == "booked"
    fleet.set_claims("comments-json", {})
    assert word(tracker) == "free"


def test_the_highest_rank_is_the_claim_and_the_others_stand_behind_it() -> None:
    """Block, booking, lease, comments.json; whoever came first."""
    book = ClaimBook()
    for giver in ("comments-json", "lease", "block", "booking"):
        book.write(giver, [(PLACE, Claim(who=giver))], 0.0)
    claim = book.at(PLACE, 0.0)
    assert claim is not None
    assert [claim.who, *(each.who for each in claim.behind)] == ["block", "booking", "lease", "comments-json"]


def test_whoever_has_a_claim_behind_is_no_trespasser() -> None:
    """A block is laid over bookings; their owners did no wrong."""
    clock = HandClock()
    gpu = GpuReading(uuid="GPU-1", index=0, processes=(GpuProcess(pid=1, user="ana"),))
    fleet, tracker = tracking(clock, NodeReport(node="a", gpus=(gpu,)))
    fleet.set_claims("block", {PLACE: Claim(who="maintenance")})
    tracker.tick()
    flags = [tracker.gpus["GPU-1"].flags]
    fleet.set_claims("booking", {PLACE: Claim(who="Ana")})
    tracker.tick()
    flags.append(tracker.gpus["GPU-1"].flags)
    assert flags == [("trespass",), ()]


def test_what_comes_of_a_file_is_said_to_be_unverified() -> None:
    """Anybody can write any name into it; a booking is by whoever has signed in."""
    fleet, tracker = tracking(HandClock())
    fleet.set_claims("comments-json", {PLACE: Claim(who="ana")})
    tracker.tick()
    row = tracker.gpus["GPU-1"]
    assert (row.claim and row.claim.is_unverified, row.reason.text) == (True, "booked by ana (not verified)")
    fleet.set_claims("booking", {PLACE: Claim(who="ben")})
    tracker.tick()
    row = tracker.gpus["GPU-1"]
    assert row.claim is not None
    assert (row.claim.is_unverified, [one.is_unverified for one in row.claim.behind]) == (False, [True])
    assert row.reason.text == "booked by ben"


@pytest.mark.parametrize("who", [SOMEBODY, SOMEBODY_WITHOUT_DATE])
def test_nobody_trespasses_on_an_entry_of_which_nobody_knows_whose_it_is(who: str) -> None:
    """It may be theirs."""
    gpu = GpuReading(uuid="GPU-1", index=0, processes=(GpuProcess(pid=1, user="ana"),))
    fleet, tracker = tracking(HandClock(), NodeReport(node="a", gpus=(gpu,)))
    fleet.set_claims("comments-json", {PLACE: Claim(who=who)})
    tracker.tick()
    flags = [tracker.gpus["GPU-1"].flags]
    fleet.set_claims("comments-json", {PLACE: Claim(who="ben")})
    tracker.tick()
    assert [*flags, tracker.gpus["GPU-1"].flags] == [(), ("trespass",)]


def test_several_bookings_of_one_gpu_follow_one_another() -> None:
    """One giver may say more than one thing about a place."""
    now = 1000.0
    day = (Claim(who="ana", until=now + 10), Claim(who="bob", start=now + 10, until=now + 20))
    assert [claim and claim.who for claim in (merge(day, now + at) for at in (0, 9.9, 10, 20))] == [
        "ana",
        "ana",
        "bob",
        None,
    ]


def test_claims_said_again_unchanged_touch_nobody() -> None:
    """A file that is read every few seconds says mostly the same."""
    book = ClaimBook()
    assert book.write("booking", [(PLACE, Claim(who="ana"))], 0.0) == {"a"}
    assert book.write("booking", [(PLACE, Claim(who="ana"))], 1.0) == set()


def test_a_claim_that_has_ended_is_told_for_three_days() -> None:
    """The last one of a place; it holds nothing, and whoever sees no names sees none here."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    ends = clock.time + 60
    claims = (Claim(who="ana", until=ends), Claim(who="ben", until=clock.time - 60))
    fleet.set_claims("comments-json", {PLACE: claims})
    said = []
    for now in (clock.time, ends, ends + 3 * 86400 - 1, ends + 3 * 86400):
        clock.time = now
        tracker.tick()
        gpu = find_gpu(fleet, "GPU-1")
        assert gpu is not None
        said.append((gpu.claim and gpu.claim.who, gpu.ended_claim and gpu.ended_claim.who))
        assert "ben" not in repr(hide_names_in_gpu(gpu))
    assert said == [("ana", "ben"), (None, "ana"), (None, "ana"), (None, None)]


def test_a_row_of_the_stream_tells_the_claim_that_has_ended_and_forgets_it_by_itself() -> None:
    """The board's cells say "ended 3 h ago" without asking; nobody sees a name who sees none elsewhere."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    ends = clock.time + 60
    fleet.set_claims("comments-json", {PLACE: Claim(who="ana", until=ends)})
    said = []
    for now in (clock.time, ends, ends + 3 * 86400):
        clock.time = now
        tracker.tick()
        row = tracker.gpus["GPU-1"]
        said.append((row.claim and row.claim.who, row.ended_claim and row.ended_claim.who))
        assert "ana" not in repr(hide_names_in_row(row))
    assert said == [("ana", None), (None, "ana"), (None, None)]


def test_claims_behind_the_first_are_told_with_it() -> None:
    """Whoever booked too sees that it is known; without names only until when."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    fleet.set_claims("comments-json", {PLACE: Claim(who="ben", until=clock.time + 60)})
    fleet.set_claims("booking", {PLACE: Claim(who="ana", until=clock.time + 30)})
    tracker.tick()
    row = tracker.gpus["GPU-1"]
    assert row.claim is not None
    assert (row.claim.who, [one.who for one in row.claim.behind]) == ("ana", ["ben"])
    hidden = hide_names_in_row(row).claim
    assert hidden is not None
    assert [(one.who, one.until) for one in hidden.behind] == [(None, clock.time + 60)]


def test_a_node_with_a_domain_may_be_claimed_without_it() -> None:
    """As people say it; the claim begins and ends there too."""
    clock = HandClock()
    fleet = Fleet(clock)
    name = "a.lab.example"
    fleet.sink("push").report(name, NodeReport(node=name, interval_seconds=86_400.0, gpus=(GPU,)))
    tracker = ChangeTracker(fleet)
    words = [word(tracker)]
    fleet.set_claims("comments-json", {PLACE: Claim(who="ana", until=clock.time + 60)})
    words.append(word(tracker))
    clock.time += 60
    words.append(word(tracker))
    assert words == ["free", "booked", "free"]


def test_an_ended_booking_under_a_whole_name_hides_none_under_the_short_one() -> None:
    """What stands under both names of a node counts together."""
    clock = HandClock()
    book = ClaimBook()
    book.write(
        "comments-json",
        [
            (("a.lab", 0), Claim(who="old", until=clock.time - 60)),
            (("a", 0), Claim(who="ana", until=clock.time + 60)),
            (("a", 1), Claim(who="ben")),
            (("a.lab", 1), Claim(who="cem")),
        ],
        clock.time,
    )
    holding, both = book.at(("a.lab", 0), clock.time), book.at(("a.lab", 1), clock.time)
    ended = book.ended(("a.lab", 0), clock.time)
    assert (holding and holding.who, ended and ended.who) == ("ana", "old")
    assert both is not None
    assert (both.who, [claim.who for claim in both.behind]) == ("cem", ["ben"])


@pytest.mark.parametrize(
    ("booked", "nodes"),
    [
        ("10.0.0.5", {"10.0.0.5"}),
        ("gpu1.sitea", {"gpu1.sitea", "gpu1"}),
        ("gpu1", {"gpu1", "gpu1.sitea", "gpu1.siteb"}),
        ("10", {"10"}),
    ],
)
def test_a_booking_books_no_other_address_and_no_other_domain(booked: str, nodes: set[str]) -> None:
    """A domain may be left out on either side; where both name one, it is the same."""
    clock = HandClock()
    fleet = Fleet(clock)
    tracker = ChangeTracker(fleet)
    names = ("10.0.0.5", "10.0.0.6", "10", "gpu1", "gpu1.sitea", "gpu1.siteb", "gpu10")
    for name in names:
        gpus = (GpuReading(uuid=f"GPU-{name}", index=0, processes=()),)
        fleet.sink("push").report(name, NodeReport(node=name, interval_seconds=86_400.0, gpus=gpus))
    tracker.tick()
    fleet.set_claims("comments-json", {(booked, 0): Claim(who="ana", until=clock.time + 60)})
    for held in (nodes, set[str]()):
        tracker.tick()
        assert {name for name in names if tracker.gpus[f"GPU-{name}"].claim is not None} == held
        clock.time += 60


@pytest.mark.parametrize("name", ["a", "a.lab"])
def test_a_booking_without_a_number_that_can_be_read_leaves_no_gpu_of_its_node_free(name: str) -> None:
    """It may be meant for any of them; when it ends, or is corrected, they are free again."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    fleet.set_claims("comments-json", {(name, NO_NUMBER): Claim(who="ana", until=clock.time + 60)})
    words = [word(tracker)]
    found = find_gpu(fleet, "GPU-1")
    assert found is not None
    assert found.verdict.reason.code == "number-unread"
    told = find_free(tracker.nodes.values(), tracker.gpus.values(), Wish(), at=0.0)
    assert (told.cannot_tell, told.bookings_unread) == (1, 1)
    clock.time += 60
    words.append(word(tracker))
    fleet.set_claims("comments-json", {("b", NO_NUMBER): Claim(who="ana")})
    words.append(word(tracker))
    assert words == ["unknown", "free", "free"]


def test_until_bookings_are_read_once_no_gpu_is_free() -> None:
    """Afterwards a giver that says nothing new has said all; that it claims nothing is heard too."""
    fleet, tracker = tracking(HandClock())
    fleet.await_claims("comments-json")
    words = [word(tracker)]
    found = find_gpu(fleet, "GPU-1")
    assert found is not None
    assert found.verdict.reason.code == "bookings-unread"
    fleet.set_claims("comments-json", {})
    words.append(word(tracker))
    fleet.await_claims("comments-json")
    words.append(word(tracker))
    assert words == ["unknown", "free", "free"]


def test_a_claim_on_a_whole_node_is_one_on_each_of_its_gpus() -> None:
    """Whatever numbers they have, and it is no slip that no GPU has this number."""
    clock = HandClock()
    fleet, tracker = tracking(clock)
    fleet.set_claims("booking", {("a", WHOLE_NODE): Claim(who="ana", until=clock.time + 60)})
    assert word(tracker) == "booked"
    assert fleet.booked_beyond() == ()


def test_what_is_claimed_elsewhere_is_told_apart_from_the_boards_own_book() -> None:
    """By number, and only what is not over."""
    clock = HandClock()
    fleet, _ = tracking(clock)
    fleet.set_claims("booking", {PLACE: Claim(who="ana")})
    over = Claim(who="ben", until=clock.time - 1)
    fleet.set_claims("comments-json", {PLACE: (Claim(who="chen"), over), ("a", NO_NUMBER): Claim(who="dan")})
    node = fleet.get("a")
    assert node is not None
    found = fleet.claims_elsewhere(node)
    assert {number: [one.who for one in claims] for number, claims in found.items()} == {
        0: ["chen"],
        NO_NUMBER: ["dan"],
    }
