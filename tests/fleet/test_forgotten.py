"""Cards that were taken out: forgotten with their node, though who reads it goes on to call them lost."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gpuboard.fleet.state import Fleet
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.probes.inventory import blank, roll_call
from tests.clock import HandClock
from tests.fleet.test_places import kinds, report, seen, words
from tests.fleet.test_state import GPU, INSTANCE

CARDS = ["GPU-a", "GPU-b", "GPU-c"]


def remembering(here: Sequence[str], *lost: str) -> NodeReport:
    """What an agent says that has seen these fall off the bus: it has them at the numbers that they had."""
    gone = [replace(blank(GPU), uuid=uuid, index=CARDS.index(uuid)) for uuid in lost]
    gpus = (*seen(here), *gone)
    missing = roll_call(gpus, lost)
    told = [problem("gpu-lost", gpu_uuid=uuid) for uuid in lost]
    return replace(report(gpus), problems=(*told, *([missing] if missing else ())))


def shown(fleet: Fleet) -> dict[str, int]:
    """The GPUs of node a and their numbers."""
    node = fleet.get("a")
    assert node is not None
    return {gpu.uuid: gpu.index for gpu in node.readings()}


@pytest.fixture
def fleet() -> Fleet:
    """A fleet with node a, of whose three cards the first is lost."""
    fleet = Fleet(HandClock())
    sink = fleet.sink("push")
    sink.expect(["a"])
    sink.report("a", report(seen(CARDS)))
    sink.report("a", remembering(CARDS[1:], "GPU-a"))
    fleet.settle()
    return fleet


def test_a_card_that_is_lost_keeps_its_number_and_the_others_theirs(fleet: Fleet) -> None:
    """Whoever booked its number means none of the others, though the driver calls the next one so now."""
    fleet.set_claims("booking", {("a", 0): Claim(who="bob")})
    assert shown(fleet) == {"GPU-a": 0, "GPU-b": 1, "GPU-c": 2}
    assert [word for word, _ in words(fleet).values()] == ["broken", "free", "free"]


def test_a_board_that_starts_while_a_card_is_lost_numbers_it_first() -> None:
    """It had the number before the other moved up."""
    fleet = Fleet(HandClock())
    fleet.sink("push").report("a", remembering(["GPU-a", "GPU-0"], "GPU-b"))
    assert shown(fleet) == {"GPU-a": 0, "GPU-b": 1, "GPU-0": 2}


def test_a_lost_card_is_forgotten_with_its_node(fleet: Fleet) -> None:
    """It came back with the next report, at another number; also after a restart of the board."""
    assert fleet.forget("a")
    for one in (fleet, Fleet(HandClock())):
        one.restore_places(fleet.places())
        one.sink("push").report("a", remembering(CARDS[1:], "GPU-a"))
        one.settle()
        assert (shown(one), kinds(one)) == ({"GPU-b": 0, "GPU-c": 1}, [])


def test_what_is_forgotten_stays_so_while_another_is_lost(fleet: Fleet) -> None:
    """Who is missing is said of the others, and forgotten in turn."""
    sink = fleet.sink("push")
    for lost, left in (("GPU-a", {"GPU-b": 0, "GPU-c": 1}), ("GPU-b", {"GPU-c": 0})):
        fleet.forget("a")
        sink.report("a", remembering(CARDS[CARDS.index(lost) + 1 :], *CARDS[: CARDS.index(lost) + 1]))
        assert shown(fleet) == left
        sink.report("a", remembering(["GPU-c"], "GPU-a", "GPU-b"))
        fleet.settle()
    node = fleet.get("a")
    assert node is not None
    assert (shown(fleet), kinds(fleet)) == ({"GPU-c": 0}, [])


def test_the_roll_call_leaves_out_who_is_forgotten(fleet: Fleet) -> None:
    """Of the two that there are one is missing."""
    fleet.forget("a")
    fleet.sink("push").report("a", remembering(CARDS[1:], "GPU-a"))
    fleet.sink("push").report("a", remembering(["GPU-c"], "GPU-a", "GPU-b"))
    node = fleet.get("a")
    assert node is not None
    assert [one.detail for one in node.problems() if one.kind == "gpus-missing"] == ["1 of 2, missing GPU-b"]


def test_a_forgotten_card_that_answers_is_shown_and_missed_again(fleet: Fleet) -> None:
    """Somebody has put it back."""
    fleet.forget("a")
    sink = fleet.sink("push")
    sink.report("a", remembering(CARDS[1:], "GPU-a"))
    sink.report("a", report(seen(CARDS)))
    assert shown(fleet) == {"GPU-a": 0, "GPU-b": 1, "GPU-c": 2}
    sink.report("a", remembering(CARDS[1:], "GPU-a"))
    assert words(fleet)[0] == ("broken", "gpu-lost")


def test_instances_of_a_forgotten_card_are_left_out_with_it(fleet: Fleet) -> None:
    """An agent remembers these too."""
    part = replace(blank(INSTANCE), mig_parent_uuid="GPU-a")
    told = remembering(CARDS[1:], "GPU-a")
    told = replace(told, gpus=(*(told.gpus or ()), part))
    told = replace(told, problems=(*told.problems, problem("gpu-lost", gpu_uuid=part.uuid)))
    fleet.sink("push").report("a", told)
    fleet.forget("a")
    fleet.sink("push").report("a", told)
    fleet.settle()
    assert (shown(fleet), kinds(fleet)) == ({"GPU-b": 0, "GPU-c": 1}, [])


def test_a_card_that_only_its_driver_silences_is_not_forgotten(fleet: Fleet) -> None:
    """It says nothing, and nobody says that it is lost."""
    silent: tuple[GpuReading, ...] = tuple(map(blank, seen(CARDS)))
    told = replace(report(silent), problems=(problem("driver-hung"),))
    fleet.sink("push").report("a", told)
    fleet.forget("a")
    fleet.sink("push").report("a", told)
    assert set(shown(fleet)) == set(CARDS)
