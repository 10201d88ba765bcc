"""Where a wish can be met, and when "no" is certain."""

import pytest
from msgspec.structs import replace

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free, fits_next, with_ends
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.verdict import Claim, GpuPlace, VerdictWord
from gpuboard.probes.simulated import simulate
from gpuboard.wire.summary import FreeAnswer, FreeBlock
from gpuboard.wire.views import GpuRow


def rows(**verdicts: VerdictWord) -> list[GpuRow]:
    """Eight GPUs on each node, all with the node's verdict."""
    fleet = Fleet(SteadyClock())
    tracker = ChangeTracker(fleet)
    for node in verdicts:
        fleet.sink("simulated").report(node, simulate(node, 0.0))
    tracker.tick()
    return [
        replace(row, node=node, verdict=verdict, index=index, model="RTX 4090")
        for node, verdict in verdicts.items()
        for index, row in enumerate(list(tracker.gpus.values())[:8])
    ]


@pytest.mark.parametrize(
    ("wanted", "same_node", "uncertain"),
    [(8, True, True), (9, True, False), (9, False, False), (1, True, True)],
)
def test_only_silent_gpus_that_could_complete_the_wish_make_a_no_uncertain(
    wanted: int, *, same_node: bool, uncertain: bool
) -> None:
    """Eight silent GPUs never make nine."""
    wish = Wish(gpus=wanted, same_node=same_node)
    found = find_free([], rows(silent="stale", full="busy"), wish, at=0.0)
    assert (found.enough, found.could_be_enough) == (False, uncertain)


def test_free_and_silent_gpus_of_one_node_count_together() -> None:
    """Three free and five unknown might be eight."""
    mixed = [replace(row, verdict="free" if row.index < 3 else "unknown") for row in rows(half="free")]
    assert find_free([], mixed, Wish(gpus=8, same_node=True), at=0.0).could_be_enough


@pytest.mark.parametrize(("model", "uncertain"), [("H100", False), ("RTX 4090", True), (None, True)])
def test_two_models_of_one_node_are_not_taken_together(model: str | None, *, uncertain: bool) -> None:
    """Five of one model and three silent ones of another are no eight; of an unknown model they may be."""
    mixed = [
        row if row.index < 5 else replace(row, verdict="stale", model=model) for row in rows(mixed="free")
    ]
    found = find_free([], mixed, Wish(gpus=8, same_node=True), at=0.0)
    assert (found.enough, found.could_be_enough) == (False, uncertain)


def test_only_nodes_that_meet_the_whole_wish_are_listed_if_there_are_any() -> None:
    """Whoever takes the second line of the answer must not end up with less than asked for."""
    few = [row for row in rows(few="free") if row.index < 1]
    enough = find_free([], [*rows(many="free"), *few], Wish(gpus=2, same_node=True), at=0.0)
    short = find_free([], few, Wish(gpus=2, same_node=True), at=0.0)
    assert [block.node for block in enough.blocks] == ["many"]
    assert (short.enough, [block.node for block in short.blocks]) == (False, ["few"])


def test_numbers_are_not_those_of_programs_while_a_card_is_missing() -> None:
    """The board keeps the number of each card; whoever starts anew on the node counts only what is there."""
    fleet = Fleet(SteadyClock())
    tracker = ChangeTracker(fleet)
    cards = [
        GpuReading(uuid=f"card-{name}", index=index, memory_used_bytes=0, processes=())
        for index, name in enumerate("ab")
    ]

    def block() -> FreeBlock:
        tracker.tick()
        [found] = find_free(tracker.nodes.values(), tracker.gpus.values(), Wish(), at=0.0).blocks
        return found

    fleet.sink("pull").report("n", NodeReport(node="n", gpus=tuple(cards)))
    whole = block()
    fleet.sink("pull").report("n", NodeReport(node="n", gpus=(replace(cards[1], index=0),)))
    short = block()
    assert (whole.labels, whole.numbers_known) == (("0", "1"), True)
    assert (short.labels, short.numbers_known) == (("1",), False)


def free_on(node: str, count: int, **facts: float | None) -> list[GpuRow]:
    """As many free GPUs, long since unless told otherwise."""
    changes = {"since": None, **facts}
    found = [replace(row, node=node, uuid=f"GPU-{node}-{row.index}", **changes) for row in rows(any="free")]
    return found[:count]


def taken(answer: FreeAnswer) -> list[tuple[str, int]]:
    """What to take of which node."""
    return [(block.node, block.chosen) for block in answer.blocks]


LAB = [*free_on("big", 8), *free_on("pair", 2), *free_on("one", 1), *free_on("new", 1, since=90.0)]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(gpus=1), [("one", 1), ("pair", 1), ("big", 1), ("new", 1)]),
        (Wish(gpus=2), [("pair", 2), ("big", 2), ("one", 1), ("new", 1)]),
        (Wish(gpus=2, same_node=True), [("pair", 2), ("big", 2)]),
        # Nobody has so many: the largest first, and of the next only what is missing.
        (Wish(gpus=9), [("big", 8), ("pair", 1), ("one", 0), ("new", 0)]),
    ],
)
def test_the_best_fit_stands_first(wish: Wish, expected: list[tuple[str, int]]) -> None:
    """A job for one GPU must not break up the only node that has eight; what was just freed comes last."""
    assert taken(find_free([], LAB, wish, at=100.0)) == expected


def test_of_blocks_of_one_size_the_smaller_memory_comes_first() -> None:
    """Who needs 24 GB does not take the card with 80; whose size nobody knows comes after both."""
    sizes = {"unknown": None, "large": 80 * 2**30, "small": 24 * 2**30}
    fleet = [row for node, size in sizes.items() for row in free_on(node, 1, memory_total_bytes=size)]
    found = find_free([], fleet, Wish(), at=0.0)
    assert [block.node for block in found.blocks] == ["small", "large", "unknown"]


def test_the_order_is_the_same_however_the_rows_come() -> None:
    """Whoever asks twice, or asks another output, gets the same."""
    assert taken(find_free([], LAB, Wish(gpus=2), at=100.0)) == taken(
        find_free([], LAB[::-1], Wish(gpus=2), at=100.0)
    )


def test_a_block_is_free_until_the_first_booking_of_what_is_to_be_taken_of_it() -> None:
    """Bookings of its others are no matter; who books an instance books its card."""
    block = FreeBlock(
        node="a",
        model=None,
        labels=("0", "1:0", "1:1", "2"),
        indexes=(0, 0, 1, 2),
        uuids=("A", "B", "C", "D"),
        memory_total_bytes=None,
        just_freed=0,
        chosen=3,
    )
    booked = {("a", 0): 900.0, ("a", 1): 700.0, ("a", 2): 100.0}
    assert [one.free_until for one in with_ends([block], booked.get)] == [700.0]
    assert [one.free_until for one in with_ends([replace(block, chosen=1)], booked.get)] == [900.0]
    assert [one.free_until for one in with_ends([block], {("b", 0): 1.0}.get)] == [None]


def test_what_is_booked_soon_is_offered_last() -> None:
    """Two hours are hardly enough to begin: another GPU of the node first, and before that another node's."""
    soon = {("a", 0): 7200.0, ("a", 1): 86400.0, ("b", 0): 7200.0}
    both = [row for row in rows(a="free", b="free") if row.index < (2 if row.node == "a" else 1)]
    found = find_free([], both, Wish(), at=0.0, booked_from=soon.get)
    assert [(block.node, block.labels, block.chosen) for block in found.blocks] == [
        ("a", ("1", "0"), 1),
        ("b", ("0",), 1),
    ]


def test_what_is_booked_soon_is_still_offered_where_nothing_else_is() -> None:
    """It is free now."""
    found = find_free([], rows(a="free"), Wish(gpus=8), at=0.0, booked_from=lambda _: 60.0)
    assert (found.enough, [block.chosen for block in found.blocks]) == (True, [8])


def held(start: float | None, until: float | None) -> Claim:
    """Somebody's booking."""
    return Claim(who="ana", start=start, until=until)


# A node with two models, all free, and one that is booked.
MIXED = [
    replace(row, node=node, verdict=verdict, model=model, driver_model=None, index=index, label=str(index))
    for node, verdict, models in (
        ("mixed", "free", ("A100", "A100", "4090", "4090")),
        ("full", "booked", ("A100",) * 4),
    )
    for row, (index, model) in zip(rows(any="free"), enumerate(models), strict=False)
]
BOOKED = {("full", index): (held(None, 200.0 + index),) for index in range(4)}


@pytest.mark.parametrize(
    ("wish", "booked", "expected"),
    [
        # Two models are not taken together, however free they are.
        (Wish(gpus=4, same_node=True), BOOKED, (203.0, "full")),
        (Wish(gpus=4, model="a100"), BOOKED, (201.0, None)),
        (Wish(gpus=5, same_node=True), BOOKED, None),
        # Where one node has enough as soon as all of them, it is named.
        (Wish(gpus=1, model="a100"), BOOKED, (100.0, "mixed")),
        # Back to back is no gap, and one that comes takes what is free.
        (
            Wish(gpus=4, same_node=True),
            BOOKED | {("full", 0): (held(50.0, 200.0), held(200.0, 300.0))},
            (300.0, "full"),
        ),
        (Wish(gpus=3, model="a100"), BOOKED | {("mixed", 1): (held(150.0, 400.0),)}, (201.0, None)),
        # Whoever has it without end never leaves.
        (Wish(gpus=4, same_node=True), BOOKED | {("full", 3): (held(None, None),)}, None),
    ],
)
def test_when_a_wish_fits_next_is_when_bookings_leave_enough(
    wish: Wish, booked: dict[GpuPlace, tuple[Claim, ...]], expected: tuple[float, str | None] | None
) -> None:
    """By all that is booked, and by the offers that there would be then; the page once said 1970."""
    assert fits_next(MIXED, wish, lambda place: booked.get(place, ()), at=100.0) == expected


def test_those_who_work_without_a_booking_may_stay() -> None:
    """When somebody leaves who has not said so, nobody knows."""
    busy = [replace(row, verdict="busy") for row in MIXED if row.node == "full"]
    assert fits_next(busy, Wish(), BOOKED.__getitem__, at=100.0) is None
