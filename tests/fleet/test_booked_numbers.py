"""Booked numbers that no GPU of their node has."""

import pytest

from gpuboard.fleet.booked_numbers import unseen_numbers
from gpuboard.fleet.places import NOWHERE
from gpuboard.fleet.state import Fleet
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.model.verdict import NO_NUMBER, Claim, GpuPlace
from tests.clock import HandClock

ANA = Claim(who="ana")


def gpu(index: int, uuid: str | None = None, parent: str | None = None) -> GpuReading:
    """A GPU of this number."""
    return GpuReading(uuid=uuid or f"GPU-{index}", index=index, mig_parent_uuid=parent)


def fleet_of(*nodes: str) -> Fleet:
    """Nodes with the GPUs 0 and 1 each."""
    fleet = Fleet(HandClock())
    fleet.sink("push").expect(nodes)
    for node in nodes:
        say(fleet, node, gpu(0, f"{node}-0"), gpu(1, f"{node}-1"))
    return fleet


def say(fleet: Fleet, node: str, *gpus: GpuReading, problems: tuple[Problem, ...] = ()) -> None:
    """Let a node report."""
    fleet.sink("push").report(node, NodeReport(node=node, gpus=gpus, problems=problems))


def beyond(fleet: Fleet, *booked: GpuPlace) -> tuple[GpuPlace, ...]:
    """What is booked and not there, after a tick."""
    if booked:
        fleet.set_claims("comments-json", dict.fromkeys(booked, ANA))
    fleet.settle()
    return fleet.booked_beyond()


def test_a_number_that_the_node_does_not_have_is_told_and_heals_with_the_booking() -> None:
    """GPU 7 of a machine with two holds nothing."""
    fleet = fleet_of("gpu01")
    told = [beyond(fleet, ("gpu01", 1), ("gpu01", 7), ("gpu01", NO_NUMBER))]
    assert [*told, beyond(fleet, ("gpu01", 1))] == [(("gpu01", 7),), ()]


def test_a_gpu_that_comes_heals_it() -> None:
    """A card was put in after it was booked."""
    fleet = fleet_of("gpu01")
    told = [beyond(fleet, ("gpu01", 2))]
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(1, "gpu01-1"), gpu(2))
    assert [*told, beyond(fleet)] == [(("gpu01", 2),), ()]


def test_a_card_that_is_missing_keeps_its_booking_without_a_word() -> None:
    """Whoever booked it wrote it rightly; its node says what is wrong."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"))
    assert beyond(fleet, ("gpu01", 1)) == ()


def test_a_card_with_another_number_since_lately_is_no_slip() -> None:
    """It was booked by the number that it had."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(4, "gpu01-1"))
    assert beyond(fleet, ("gpu01", 1), ("gpu01", 4), ("gpu01", 5)) == (("gpu01", 5),)


def test_instances_go_with_their_card_and_one_without_its_card_is_no_slip() -> None:
    """A card that is cut has its number; one that the driver hides may have any."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(1, "gpu01-1"), gpu(0, "MIG-1", parent="gpu01-1"))
    told = [beyond(fleet, ("gpu01", 1), ("gpu01", 3))]
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(1, "gpu01-1"), gpu(0, "MIG-2", parent="GPU-hidden"))
    assert [*told, beyond(fleet)] == [(("gpu01", 3),), ()]


@pytest.mark.parametrize("kind", ["no-driver", "gpus-missing", "truncated-output", "vendor-unreadable"])
def test_a_node_that_cannot_list_all_its_gpus_may_have_the_one_that_is_booked(kind: str) -> None:
    """Not seen is not absent."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(1, "gpu01-1"), problems=(problem(kind),))  # type: ignore[arg-type]
    assert beyond(fleet, ("gpu01", 7)) == ()


def test_a_name_that_means_two_nodes_is_met_by_either() -> None:
    """`gpu1` books gpu1 of any domain."""
    fleet = fleet_of("gpu1.a", "gpu1.b")
    say(fleet, "gpu1.b", *(gpu(number, f"b-{number}") for number in range(8)))
    assert beyond(fleet, ("gpu1", 7), ("gpu1", 9)) == (("gpu1", 9),)


def test_a_node_that_was_never_read_and_one_that_is_forgotten_say_nothing() -> None:
    """Which GPUs it has, nobody knows."""
    fleet = fleet_of("gpu01")
    fleet.sink("push").expect(["gpu01", "gpu02"])
    told = [beyond(fleet, ("gpu01", 7), ("gpu02", 7))]
    fleet.forget("gpu01")
    assert [*told, beyond(fleet)] == [(("gpu01", 7),), ()]


def test_a_booking_that_ends_is_told_no_longer() -> None:
    """Nobody counts on it then."""
    fleet = fleet_of("gpu01")
    until = fleet.clock.now() + 9
    fleet.set_claims("comments-json", {("gpu01", 7): Claim(who="ana", until=until)})
    told = [beyond(fleet)]
    assert isinstance(fleet.clock, HandClock)
    fleet.clock.time = until
    assert [*told, beyond(fleet)] == [(("gpu01", 7),), ()]


def test_nothing_is_told_while_a_source_has_yet_to_name_its_nodes() -> None:
    """Another node of that short name may come."""
    fleet = fleet_of("gpu1.a")
    slow = fleet.sink("pull")
    told = [beyond(fleet, ("gpu1", 7))]
    slow.expect([])
    assert [*told, beyond(fleet)] == [(), (("gpu1", 7),)]


def unseen(fleet: Fleet, name: str = "gpu01") -> set[int]:
    """The numbers that a node does not show and can be booked all the same, after a tick."""
    fleet.settle()
    node = fleet.get(name)
    assert node is not None
    return set(unseen_numbers(node, fleet.places().get(name, NOWHERE)))


def test_a_node_that_shows_all_its_gpus_has_no_others() -> None:
    """And none is made up."""
    assert unseen(fleet_of("gpu01")) == set()


def test_a_missing_card_keeps_its_number_and_brings_no_other() -> None:
    """It is shown as missing, so that nothing else is unseen."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"))
    assert unseen(fleet) == set()


def test_cards_that_a_node_only_says_it_lacks_count_and_no_more() -> None:
    """Two are there and one is lost without a name: it is one of three."""
    fleet = fleet_of("gpu01")
    say(fleet, "gpu01", gpu(0, "gpu01-0"), gpu(1, "gpu01-1"), problems=(problem("gpu-lost"),))
    assert unseen(fleet) == {2}


def test_a_node_without_uuids_of_which_one_is_missing_has_as_many_numbers_as_it_had() -> None:
    """Three of four are here, and nobody can tell which."""
    fleet = Fleet(HandClock())
    fleet.sink("push").expect(["gpu01"])
    four = [GpuReading(uuid=f"gpu01:{n}", index=n, uuid_is_synthetic=True) for n in range(4)]
    say(fleet, "gpu01", *four)
    say(fleet, "gpu01", *four[:3])
    assert unseen(fleet) == {3}


def test_what_is_remembered_of_a_node_that_was_not_heard_yet_can_be_booked() -> None:
    """A board that was restarted knows its cards."""
    before = fleet_of("gpu01")
    before.settle()
    fleet = Fleet(HandClock())
    fleet.restore_places(before.places())
    fleet.sink("push").expect(["gpu01", "gpu02"])
    assert (unseen(fleet), unseen(fleet, "gpu02")) == ({0, 1}, set())
