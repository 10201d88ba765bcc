"""Places: a card keeps its number while another is missing, and what is booked stays booked."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.places import MAX_CARDS, NOWHERE, REPLACED_SECONDS, Places, seat
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.wire.report import check_report
from tests.clock import HandClock
from tests.fleet.test_state import GPU, INSTANCE, REPORT

DAY = 24 * 3600.0
EIGHT = [f"GPU-{letter}" for letter in "abcdefgh"]


def seen(uuids: Iterable[str]) -> tuple[GpuReading, ...]:
    """GPUs as a driver numbers them: in its order, without holes."""
    return tuple(replace(GPU, uuid=uuid, index=place) for place, uuid in enumerate(uuids))


def in_slots(uuids: Sequence[str | None], *, are_told: bool = True) -> tuple[GpuReading, ...]:
    """GPUs in the slots of a machine, of which some may be empty: the driver numbers what it sees."""
    here = [(slot, uuid) for slot, uuid in enumerate(uuids) if uuid is not None]
    return tuple(
        replace(
            GPU, uuid=uuid, index=index, pcie_bus_id=f"00000000:{slot + 1:02x}:00.0" if are_told else None
        )
        for index, (slot, uuid) in enumerate(here)
    )


def unnamed(count: int) -> tuple[GpuReading, ...]:
    """GPUs of a format without UUIDs."""
    return tuple(
        replace(GPU, uuid=f"a:{place}", index=place, uuid_is_synthetic=True) for place in range(count)
    )


def after(*reports: Sequence[str] | int) -> Places:
    """The places after these reports, a minute apart: cards by their UUIDs, or so many without."""
    places = NOWHERE
    for minute, told in enumerate(reports):
        gpus = unnamed(told) if isinstance(told, int) else seen(told)
        places = seat(places, gpus, now=1000.0 + 60 * minute, forget_after=DAY)
    return places


def numbers(places: Places) -> dict[str, int]:
    """The number of each card."""
    return {card.uuid: number for number, card in places.cards.items()}


def without(*gone: str) -> list[str]:
    """Eight cards but these."""
    return [uuid for uuid in EIGHT if uuid not in gone]


def test_cards_keep_their_numbers_while_one_is_missing() -> None:
    """The driver calls GPU 4 GPU 3 when 3 falls off; people have booked GPU 4."""
    places = after(EIGHT, without("GPU-d"))
    assert numbers(places) == {uuid: place for place, uuid in enumerate(EIGHT)}
    assert [card.uuid for card in places.missing().values()] == ["GPU-d"]


def test_a_card_that_comes_back_is_where_it_was() -> None:
    """After a reboot, say."""
    assert after(EIGHT, without("GPU-d"), EIGHT) == after(EIGHT)


def test_a_new_card_at_the_number_of_a_missing_one_has_replaced_it() -> None:
    """It takes the place and its bookings; that is said for a day."""
    changed = ["GPU-new" if uuid == "GPU-d" else uuid for uuid in EIGHT]
    places = after(EIGHT, without("GPU-d"), changed)
    assert numbers(places) == {uuid: place for place, uuid in enumerate(changed)}
    assert [(n, card.replaced_uuid) for n, card in places.replaced().items()] == [(3, "GPU-d")]
    later = seat(places, seen(changed), now=1120 + REPLACED_SECONDS, forget_after=DAY)
    assert later.replaced() == {}


def test_a_card_is_replaced_while_another_is_missing() -> None:
    """The new one is numbered one too low by the driver; its neighbours tell where it is."""
    changed = ["GPU-new" if uuid == "GPU-f" else uuid for uuid in without("GPU-d")]
    places = after(EIGHT, changed)
    assert numbers(places)["GPU-new"] == EIGHT.index("GPU-f")
    assert list(places.missing()) == [EIGHT.index("GPU-d")]


def test_a_card_is_replaced_while_another_has_been_missing() -> None:
    """As many as before: none has moved up, and the driver's number tells whose place it is."""
    missing = without("GPU-a")
    changed = ["GPU-new" if uuid == "GPU-b" else uuid for uuid in missing]
    places = after(EIGHT, missing, changed)
    assert (numbers(places)["GPU-new"], list(places.missing())) == (1, [0])


def test_the_slot_tells_which_card_was_replaced() -> None:
    """Where one falls out in the same moment the driver's numbers do not."""
    places = seat(NOWHERE, in_slots(EIGHT), now=0.0, forget_after=DAY)
    places = seat(places, in_slots([None, "GPU-new", *EIGHT[2:]]), now=60.0, forget_after=DAY)
    assert (numbers(places)["GPU-new"], list(places.missing())) == (1, [0])
    assert places.replaced()[1].replaced_uuid == "GPU-b"


def test_a_card_of_another_vendor_replaces_none() -> None:
    """Each vendor's driver counts by itself."""
    acme = replace(GPU, uuid="acme-1", index=1000, vendor="acme")
    places = seat(NOWHERE, (*seen(FOUR[:2]), acme), now=0.0, forget_after=DAY)
    places = seat(places, seen([*FOUR[:2], "GPU-new"]), now=60.0, forget_after=DAY)
    assert (numbers(places)["GPU-new"], list(places.missing())) == (2, [1000])


def test_cards_that_are_exchanged_while_another_is_missing_keep_their_numbers() -> None:
    """Until all are there again; then the driver's numbers are right, and that is said."""
    places = seat(NOWHERE, in_slots(FOUR), now=0.0, forget_after=DAY)
    missing = seat(places, in_slots([FOUR[1], FOUR[0], None, FOUR[3]]), now=60.0, forget_after=DAY)
    assert (numbers(missing), list(missing.missing())) == (numbers(places), [2])
    whole = seat(missing, in_slots([FOUR[1], FOUR[0], *FOUR[2:]]), now=120.0, forget_after=DAY)
    assert (numbers(whole)[FOUR[1]], sorted(whole.renumbered())) == (0, [0, 1])


def test_a_card_that_is_cut_while_another_is_swapped_keeps_its_number() -> None:
    """Instances take nobody's place."""
    places = seat(NOWHERE, in_slots(FOUR), now=0.0, forget_after=DAY)
    swapped = in_slots(["GPU-new", *FOUR[1:]])
    cut = replace(INSTANCE, mig_parent_uuid=FOUR[1], pcie_bus_id=swapped[1].pcie_bus_id)
    after_it = seat(places, (*swapped, cut), now=60.0, forget_after=DAY)
    assert numbers(after_it) == {"GPU-new": 0, FOUR[1]: 1, FOUR[2]: 2, FOUR[3]: 3}
    assert seat(after_it, swapped, now=120.0, forget_after=DAY) == after_it


def test_a_card_that_comes_back_after_it_was_replaced_has_its_number_again() -> None:
    """And the one that stood in for it is replaced."""
    changed = ["GPU-new" if uuid == "GPU-d" else uuid for uuid in EIGHT]
    places = after(EIGHT, changed, EIGHT)
    assert (numbers(places), places.missing()) == (numbers(after(EIGHT)), {})
    assert places.replaced()[3].replaced_uuid == "GPU-new"


def test_with_nothing_missing_the_driver_numbers() -> None:
    """A ninth card in the middle moves the others, as everybody on that machine sees."""
    nine = [*EIGHT[:4], "GPU-new", *EIGHT[4:]]
    places = after(EIGHT, nine)
    assert numbers(places) == {uuid: place for place, uuid in enumerate(nine)}
    assert not places.replaced()


def test_a_machine_with_other_cards_altogether_misses_nothing() -> None:
    """All old ones are forgotten; those whose number is used again have been replaced."""
    places = after(EIGHT, ["GPU-x", "GPU-y"])
    assert numbers(places) == {"GPU-x": 0, "GPU-y": 1}
    assert (places.missing(), list(places.replaced())) == ({}, [0, 1])


def test_a_driver_that_starts_again_with_no_gpu_loses_no_number() -> None:
    """All eight are missing, and come back where they were."""
    none = after(EIGHT, [])
    assert (len(none.missing()), after(EIGHT, [], EIGHT)) == (8, after(EIGHT))


def test_a_card_that_is_missing_for_a_day_is_forgotten() -> None:
    """It was taken out; from then on the driver's numbers are everybody's."""
    places = after(EIGHT, without("GPU-d"))
    later = seat(places, seen(without("GPU-d")), now=1060 + DAY, forget_after=DAY)
    assert numbers(later) == {uuid: place for place, uuid in enumerate(without("GPU-d"))}


def test_instances_are_no_places() -> None:
    """Cards are cut anew every day."""
    card = replace(GPU, mig_enabled=True)
    before = seat(NOWHERE, (card, INSTANCE), now=0.0, forget_after=DAY)
    assert numbers(seat(before, (card,), now=1.0, forget_after=DAY)) == {"GPU-1": 0}


def test_a_lost_gpu_that_cannot_say_who_it_is_is_not_missing() -> None:
    """The driver names its number; so nobody looks for the card that was there."""
    lost = replace(GPU, uuid="a:3", index=3, uuid_is_synthetic=True)
    rest = tuple(gpu for gpu in seen(EIGHT) if gpu.index != 3)
    places = seat(after(EIGHT), (*rest, lost), now=2000.0, forget_after=DAY)
    assert not places.missing()
    assert numbers(places)["GPU-d"] == 3


def test_without_uuids_a_hole_cannot_be_told_from_a_shift() -> None:
    """Seven of eight: which one is missing, nobody knows."""
    places = after(8, 7)
    assert (places.unnamed, places.fewer_since, places.missing()) == (8, 1060.0, {})
    assert after(8, 7, 8).fewer_since is None
    assert seat(places, unnamed(7), now=1060 + DAY, forget_after=DAY) == Places(unnamed=7)


def test_a_node_that_no_longer_says_uuids_misses_none_of_them() -> None:
    """Another program writes its file now; fewer than there were is still said."""
    assert after(EIGHT, 8).missing() == {}
    assert after(EIGHT, 7).fewer_since is not None


Uuids = st.lists(st.sampled_from([f"GPU-{n}" for n in range(12)]), unique=True, max_size=12)


@given(st.lists(Uuids, max_size=8))
def test_every_card_has_one_place_and_every_place_one_card(reports: list[list[str]]) -> None:
    """Whatever a node says, in whatever order."""
    places = NOWHERE
    for second, report in enumerate(reports):
        places = seat(places, seen(report), now=float(second), forget_after=DAY)
        here = numbers(places)
        assert len(here) == len(places.cards)
        assert set(report) <= here.keys()
        assert {card.uuid for card in places.missing().values()} == here.keys() - set(report)


@given(st.lists(st.sampled_from(EIGHT), unique=True, min_size=1), st.data())
def test_no_number_moves_while_cards_come_and_go(uuids: list[str], data: st.DataObject) -> None:
    """Any of them may be missing at any time, all too; each is always where it was first seen."""
    first = after(uuids)
    places = first
    for second in range(5):
        here = data.draw(st.lists(st.sampled_from(uuids), unique=True))
        order = [uuid for uuid in uuids if uuid in here]
        places = seat(places, seen(order), now=2000.0 + second, forget_after=DAY)
        assert numbers(places) == numbers(first)


# What happens in a slot: it has been emptied, its first card is in it again, or one of two others.
Changes = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([None, "first", "second", "third"])), max_size=4
)


@given(st.lists(Changes, max_size=8))
def test_a_number_is_a_slot_whatever_is_taken_out_and_put_in(
    rounds: list[list[tuple[int, str | None]]],
) -> None:
    """Several at once, as long as one card stays: who books a number has what is in that slot."""
    slots: list[str | None] = [f"first-{slot}" for slot in range(7)]
    places = seat(NOWHERE, in_slots(slots), now=0.0, forget_after=DAY)
    for second, changes in enumerate(rounds):
        for slot, what in changes:
            slots[slot] = what and f"{what}-{slot}"
        places = seat(places, in_slots(slots), now=float(second), forget_after=DAY)
        assert {number: card.uuid for number, card in places.cards.items() if card.missing_since is None} == {
            slot: uuid for slot, uuid in enumerate(slots) if uuid is not None
        }
        assert (len(places.cards), places.renumbered()) == (7, {})


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=12))
def test_without_slots_a_swapped_card_has_the_number_of_the_old_one(steps: list[tuple[int, bool]]) -> None:
    """One after the other: cards fall out and come back, and those that are there are swapped."""
    cards = [f"GPU-{slot}" for slot in range(7)]
    out = set[int]()
    places = seat(NOWHERE, in_slots(cards, are_told=False), now=0.0, forget_after=DAY)
    for second, (slot, is_swapped) in enumerate(steps):
        if is_swapped and slot not in out:
            cards[slot] = f"GPU-new-{second}"
        elif len(out) < 5:
            out ^= {slot}
        here = [None if slot in out else uuid for slot, uuid in enumerate(cards)]
        places = seat(places, in_slots(here, are_told=False), now=float(second), forget_after=DAY)
        assert numbers(places) == {uuid: slot for slot, uuid in enumerate(cards)}


@given(st.lists(st.tuples(Uuids, st.integers(0, 2**53)), max_size=6))
def test_a_node_that_lies_fills_no_memory(reports: list[tuple[list[str], int]]) -> None:
    """However it names and numbers its GPUs."""
    places = NOWHERE
    for second, (report, number) in enumerate(reports):
        gpus = tuple(
            replace(GPU, uuid=f"{uuid}-{second % 3}", index=number + (place % 3))
            for place, uuid in enumerate(report)
        )
        gpus += tuple(
            replace(GPU, uuid=f"GPU-{second}-{place}", index=place * number) for place in range(240)
        )
        places = seat(places, (*gpus, GPU), now=float(second), forget_after=DAY)
        assert len(places.cards) <= MAX_CARDS
        assert {gpu.uuid for gpu in gpus} <= numbers(places).keys()


# The same, seen from outside.


def words(fleet: Fleet) -> dict[int, tuple[str, str]]:
    """The word and its reason for every GPU of node a, by number."""
    fleet.settle()
    node = fleet.get("a")
    assert node is not None
    found: dict[int, tuple[str, str]] = {}
    for reading in node.readings():
        verdict = node.gpus[reading.uuid].verdict
        assert verdict is not None
        found[reading.index] = (verdict.word, verdict.reason.code)
    return found


def report(gpus: tuple[GpuReading, ...] | None) -> NodeReport:
    """A report of node a."""
    return replace(REPORT, gpus=gpus)


def test_a_booked_card_stays_booked_when_another_vanishes() -> None:
    """The booking of GPU 4 slipped to another card, and the booked one counted as free."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("folder")
    sink.report("a", report(seen(EIGHT)))
    fleet.set_claims("booking", {("a", 4): Claim(who="bob")})
    sink.report("a", report(seen(without("GPU-d"))))
    said = words(fleet)
    assert (said[3], said[4][0], said[5][0]) == (("broken", "gpu-missing"), "booked", "free")
    node = fleet.get("a")
    assert node is not None
    assert [reading.uuid for reading in node.readings()] == EIGHT
    (problem,) = node.problems()
    assert (problem.kind, problem.gpu_uuid) == ("gpu-missing", "GPU-d")
    assert (problem.place or "").startswith("GPU 3 (")


def test_a_missing_gpu_stays_on_the_page_and_is_counted_as_missing() -> None:
    """Its row turns broken; nothing is taken away."""
    fleet = Fleet(HandClock())
    tracker = ChangeTracker(fleet)
    sink = fleet.sink("folder")
    sink.report("a", report(seen(EIGHT)))
    tracker.tick()
    sink.report("a", report(seen(without("GPU-d"))))
    change = tracker.tick()
    assert change.gone_gpus == []
    assert [(row.uuid, row.index, row.verdict) for row in change.gpus] == [("GPU-d", 3, "broken")]
    assert [row.gpus_missing for row in change.nodes] == [1]


def test_an_unreadable_list_is_not_an_empty_one() -> None:
    """Nothing is missing; what is there is unknown until the list can be read again."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("ssh")
    sink.report("a", report(seen(EIGHT)))
    sink.report("a", report(None))
    assert set(words(fleet).values()) == {("unknown", "unknown-processes")}
    node = fleet.get("a")
    assert node is not None
    assert node.problems() == ()
    sink.report("a", report(seen(EIGHT)))
    assert {word for word, _ in words(fleet).values()} == {"free"}


def test_while_numbers_may_have_moved_and_one_is_booked_none_is_free() -> None:
    """Without UUIDs the booked card may be any of them."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("folder")
    sink.report("a", report(unnamed(8)))
    sink.report("a", report(unnamed(7)))
    assert {word for word, _ in words(fleet).values()} == {"free"}
    fleet.set_claims("booking", {("a", 3): Claim(who="bob")})
    said = words(fleet)
    assert (said[3][0], said[4], len(said)) == ("booked", ("unknown", "numbers-moved"), 7)
    node = fleet.get("a")
    assert node is not None
    assert [problem.detail for problem in node.problems()] == ["7 of 8 are here"]


Told = Sequence[str | None]
FOUR = ["GPU-s0", "GPU-s1", "GPU-s2", "GPU-s3"]


def mixed(uuids: Told) -> tuple[GpuReading, ...]:
    """GPUs in the driver's order; None: one that does not say its UUID."""
    return tuple(
        replace(GPU, uuid=uuid or f"a:{place}", index=place, uuid_is_synthetic=uuid is None)
        for place, uuid in enumerate(uuids)
    )


def booked_while(number: int, *reports: Told) -> Fleet:
    """A fleet that heard these reports of node a, one after the other, while this number is booked."""
    clock = HandClock()
    fleet = Fleet(clock)
    fleet.set_claims("booking", {("a", number): Claim(who="bob")})
    for told in reports:
        fleet.sink("folder").report("a", report(mixed(told)))
        clock.time += 5
    return fleet


def kinds(fleet: Fleet) -> list[str]:
    """The problems of node a."""
    node = fleet.get("a")
    assert node is not None
    return [problem.kind for problem in node.problems()]


@pytest.mark.parametrize(
    ("number", "reports"),
    [
        (3, [FOUR, ["GPU-s1", None, None]]),
        (2, [["GPU-s0", None, None, None], ["GPU-s0", None, None]]),
        (1, [[None] * 3, [None] * 2]),
        (1, [[None] * 3, [None] * 2, ["GPU-s0", "GPU-s1"]]),
        (2, [FOUR, [None, "GPU-s0", "GPU-s1", "GPU-s3"]]),
        (2, [FOUR, ["GPU-s0", "GPU-s1", "GPU-s3", None]]),
        (2, [FOUR, ["GPU-s0", "GPU-s2", "GPU-s3"], [None] * 3]),
    ],
)
def test_where_some_gpus_have_no_uuid_none_is_free_while_it_is_unsure_which_is_booked(
    number: int, reports: list[Told]
) -> None:
    """A booked card counted as free beside others that had names."""
    fleet = booked_while(number, *reports)
    said = words(fleet)
    assert "free" not in {word for word, _ in said.values()}
    assert kinds(fleet) == ["numbers-moved"]
    node = fleet.get("a")
    assert node is not None
    # Whoever has no UUID is used by the driver's number.
    assert [gpu.index for gpu in node.readings()] == list(range(len(reports[-1])))
    assert len(said) == len(reports[-1])


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ([None, "GPU-s0", "GPU-s1", "GPU-s3"], "all 4 are here, in another order"),
        (["GPU-s1", None, None], "3 of 4 are here"),
    ],
)
def test_numbers_that_may_have_moved_say_whether_gpus_are_missing_or_only_in_another_order(
    now: Told, told: str
) -> None:
    """None is called missing where all are there."""
    fleet = booked_while(2, FOUR, now)
    node = fleet.get("a")
    assert node is not None
    assert [problem.text for problem in node.problems()] == [
        f"the numbers of the GPUs may have moved: {told}"
    ]


def test_gpus_of_which_some_have_no_uuid_are_certain_again_when_all_are_back() -> None:
    """In the places where they were."""
    fleet = booked_while(3, FOUR, ["GPU-s1", None, None], ["GPU-s0", None, "GPU-s2", "GPU-s3"])
    assert [word for word, _ in words(fleet).values()] == ["free", "free", "free", "booked"]
    assert kinds(fleet) == []


def test_gpus_that_now_say_their_uuids_need_no_longer_be_counted() -> None:
    """All are there; from then on each keeps its number."""
    fleet = booked_while(1, [None] * 3, FOUR[:3], [FOUR[0], FOUR[2]])
    assert words(fleet)[2][0] == "free"
    assert kinds(fleet) == ["gpu-missing"]


@given(st.lists(st.lists(st.sampled_from([*EIGHT, None]), max_size=6), max_size=6))
def test_every_number_is_shown_once_whoever_has_a_uuid(reports: list[list[str | None]]) -> None:
    """In whatever order, and whoever is missing."""
    tellable = [[u for n, u in enumerate(told) if u is None or u not in told[:n]] for told in reports]
    fleet = booked_while(0, *tellable)
    node = fleet.get("a")
    shown = [] if node is None else [gpu.index for gpu in node.readings()]
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize(
    "reports",
    [
        [FOUR, ["GPU-s0", "GPU-s2", "GPU-s3"], ["GPU-s0", "GPU-s2", "GPU-s3", "GPU-s1"]],
        [FOUR, ["GPU-s0", "GPU-s1", "GPU-s3", "GPU-s2"]],
        [FOUR, ["GPU-s0", "GPU-s1", "GPU-s3", "GPU-s2"], ["GPU-s0", "GPU-s3", "GPU-s1", "GPU-s2"]],
    ],
)
def test_a_card_whose_earlier_number_is_booked_is_not_free(reports: list[Told]) -> None:
    """The booking of 3 went to another card without a word, and the card that was meant counted as free."""
    fleet = booked_while(3, *reports)
    meant = reports[-1].index("GPU-s3")
    said = words(fleet)
    assert (said[3][0], said[meant], said[0][0]) == ("booked", ("unknown", "numbers-moved"), "free")
    assert set(kinds(fleet)) == {"gpu-renumbered"}
    node = fleet.get("a")
    assert node is not None
    (told,) = [problem for problem in node.problems() if problem.gpu_uuid == "GPU-s3"]
    assert (told.place or "").startswith(f"GPU {meant} (")
    assert (told.detail or "").startswith("before ")


def test_a_card_with_another_number_is_free_again_when_the_booking_ends_or_after_a_day() -> None:
    """Whichever comes first."""
    swapped = ["GPU-s0", "GPU-s1", "GPU-s3", "GPU-s2"]
    fleet = booked_while(3, FOUR, swapped)
    fleet.set_claims("booking", {})
    assert words(fleet)[2][0] == "free"
    assert set(kinds(fleet)) == {"gpu-renumbered"}
    fleet = booked_while(3, FOUR, swapped)
    assert isinstance(fleet.clock, HandClock)
    fleet.clock.time += REPLACED_SECONDS
    fleet.sink("folder").report("a", report(mixed(swapped)))
    assert (words(fleet)[2][0], kinds(fleet)) == ("free", [])


@pytest.mark.parametrize("parent", ["GPU-gone", "MIG-0", "MIG-1"])
def test_an_instance_of_a_card_that_nobody_knows_is_not_free_while_the_node_is_booked(parent: str) -> None:
    """It may be of the booked card; also where instances say that they are each other's."""
    first = replace(INSTANCE, uuid="MIG-0", mig_parent_uuid=parent)
    second = replace(INSTANCE, uuid="MIG-1", mig_parent_uuid="MIG-0")
    fleet = Fleet(HandClock())
    fleet.sink("folder").report("a", report((*seen(EIGHT), first, second)))
    node = fleet.get("a")
    assert node is not None
    found = []
    for claims in ({}, {("a", 5): Claim(who="bob")}):
        fleet.set_claims("booking", claims)
        fleet.settle()
        verdicts = [node.gpus[uuid].verdict for uuid in ("MIG-0", "MIG-1", "GPU-a")]
        found.append([verdict and verdict.word for verdict in verdicts])
    assert found == [["free", "free", "free"], ["unknown", "unknown", "free"]]


def test_a_node_that_is_forgotten_begins_anew() -> None:
    """A card was taken out for good, and the administrator says so."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("ssh")
    sink.expect(["a"])
    sink.report("a", report(seen(EIGHT)))
    sink.report("a", report(seen(without("GPU-d"))))
    fleet.forget("a")
    node = fleet.get("a")
    assert node is not None
    assert node.freshness_at(0.0).state == "never"
    sink.report("a", report(seen(without("GPU-d"))))
    assert sorted(words(fleet)) == list(range(7))


def test_places_outlive_the_board() -> None:
    """A card that is missing when the board starts again is missed all the same."""
    fleet = Fleet(HandClock())
    fleet.sink("ssh").report("a", report(seen(EIGHT)))
    kept = fleet.places()
    fleet = Fleet(HandClock())
    fleet.restore_places(kept)
    fleet.sink("ssh").report("a", report(seen(without("GPU-d"))))
    assert words(fleet)[3] == ("broken", "gpu-missing")


def test_places_of_nodes_that_nobody_names_any_more_are_forgotten() -> None:
    """A day after the start at the latest; those of nodes that are down stay."""
    clock = HandClock()
    fleet = Fleet(clock, forget_after_seconds=DAY)
    fleet.restore_places({"a": after(EIGHT), "gone": after(EIGHT)})
    fleet.sink("ssh").expect(["a"])
    fleet.settle()
    before = set(fleet.places())
    clock.time += DAY
    fleet.settle()
    assert (before, set(fleet.places())) == ({"a", "gone"}, {"a"})


@pytest.mark.parametrize(
    "parents",
    [{"A": "B"}, {"A": "B", "B": "A"}, {"A": "B", "B": "C"}, {"A": "A"}, {"A": "B", "B": "C", "C": "A"}],
)
@pytest.mark.parametrize("is_shifted", [False, True])
def test_a_card_that_is_said_to_be_an_instance_is_shown_once(
    parents: dict[str, str], *, is_shifted: bool
) -> None:
    """One row for each, and what is an instance itself has none."""
    fleet = Fleet(HandClock())
    cards = seen("ABC")
    cut = tuple(
        replace(gpu, mig_parent_uuid=parents.get(gpu.uuid), index=gpu.index + is_shifted) for gpu in cards
    )
    for gpus in (cards, cut, cut):
        fleet.sink("push").report("a", check_report(NodeReport(node="a", gpus=gpus)))
        fleet.settle()
    (node,) = fleet_view(fleet).nodes
    assert sorted(gpu.uuid for gpu in node.gpus) == ["A", "B", "C"]
    shown = {gpu.uuid: gpu.reading.mig_parent_uuid for gpu in node.gpus}
    assert all(shown[parent] is None for parent in shown.values() if parent is not None)
    assert [problem.kind for problem in node.problems if problem.kind == "gpu-missing"] == []


def test_of_two_cards_that_say_one_number_neither_is_free_while_it_is_booked() -> None:
    """A driver or a patched agent counts wrongly; whoever booked may mean either. Instances are no cards."""
    cards = (GPU, replace(GPU, uuid="GPU-2"), replace(GPU, uuid="GPU-3", index=2))
    instances = tuple(replace(INSTANCE, uuid=f"MIG-{n}", mig_parent_uuid="GPU-3") for n in range(2))
    fleet = Fleet(HandClock())
    fleet.sink("push").report("a", report((*cards, *instances)))
    found = []
    for number in (None, 0, 2):
        fleet.set_claims("booking", {} if number is None else {("a", number): Claim(who="bob")})
        fleet.settle()
        node = fleet.get("a")
        assert node is not None
        verdicts = [node.gpus[uuid].verdict for uuid in ("GPU-1", "GPU-2", "MIG-0")]
        found.append([verdict and verdict.word for verdict in verdicts])
    assert found == [["free", "free", "free"], ["booked", "unknown", "free"], ["free", "free", "booked"]]


def test_gpus_without_uuids_stay_where_the_driver_no_longer_answers() -> None:
    """Their node was read a moment ago, and has them still: broken, not gone."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("folder")
    mismatch = NodeReport(node="a", gpus=None, problems=(problem("driver-mismatch"),))
    words = []
    for report in (replace(REPORT, node="a", gpus=unnamed(2)), mismatch, mismatch):
        sink.report("a", report)
        fleet.settle()
        (node,) = fleet_view(fleet).nodes
        words.append([(gpu.uuid, gpu.verdict.word) for gpu in node.gpus])
    assert words[1] == words[2] == [("a:0", "broken"), ("a:1", "broken")]
    assert [uuid for uuid, _ in words[0]] == ["a:0", "a:1"]
