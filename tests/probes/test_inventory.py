from msgspec.structs import replace

from gpuboard.model.report import GpuReading
from gpuboard.probes.inventory import Inventory, blank, name_of, replaced, roll_call

CARD = GpuReading(uuid="GPU-a", index=0, model="A100", mig_enabled=True, utilization_percent=50, processes=())
PART = GpuReading(uuid="MIG-1", index=1, model="A100", mig_parent_uuid="GPU-a", mig_profile="1g.5gb")
OTHER = GpuReading(uuid="GPU-b", index=1, model="A100", memory_total_bytes=80)
THIRD = GpuReading(uuid="GPU-c", index=2)
NEW = GpuReading(uuid="GPU-new", index=0)
MADE_UP = GpuReading(uuid="n1:7", uuid_is_synthetic=True, index=7)


def remembering(*gpus: GpuReading) -> Inventory:
    """An inventory that has seen these."""
    inventory = Inventory()
    inventory.remember(gpus)
    return inventory


def test_a_blank_keeps_what_a_gpu_is_and_nothing_that_it_said() -> None:
    """Unknown is not zero."""
    assert blank(CARD) == GpuReading(uuid="GPU-a", index=0, model="A100", mig_enabled=True)


def test_what_was_seen_and_is_not_here_is_missing() -> None:
    """Unless it was left out on purpose, by itself or with its card."""
    inventory = remembering(CARD, PART, OTHER)
    assert inventory.missing([CARD, PART]) == (OTHER,)
    assert inventory.missing([CARD, PART], left_out={"GPU-b"}) == ()
    assert inventory.missing([OTHER], left_out={"GPU-a"}) == ()
    assert [gpu.uuid for gpu in inventory.missing([])] == ["GPU-a", "MIG-1", "GPU-b"]


def test_an_instance_is_forgotten_when_its_card_answers_without_it() -> None:
    """But not when it was left out, nor when the card is silent too."""
    inventory = remembering(CARD, PART)
    inventory.remember([CARD], left_out={"MIG-1"})
    inventory.remember([OTHER])
    assert len(inventory.all()) == 3
    inventory.remember([CARD])
    assert [gpu.uuid for gpu in inventory.all()] == ["GPU-a", "GPU-b"]


def test_made_up_names_are_not_remembered() -> None:
    """The same GPU has a real one when it comes back."""
    assert remembering(MADE_UP).all() == ()


def test_a_card_that_another_has_replaced_is_forgotten_with_its_instances() -> None:
    """By its slot, or by its number while there are as many as before."""
    inventory = remembering(CARD, PART, OTHER)
    inventory.remember([NEW, OTHER])
    assert inventory.all() == (NEW, OTHER)
    slots = [replace(gpu, pcie_bus_id=f"0000:0{gpu.index}:00.0") for gpu in (CARD, OTHER, THIRD)]
    moved_up = replace(NEW, index=0, pcie_bus_id="00000000:01:00.0")
    assert replaced(slots, [moved_up, replace(slots[2], index=1)]) == {"GPU-b"}


def test_a_card_is_not_replaced_by_one_that_only_has_its_number() -> None:
    """The others move up when one is missing; nor by one that hangs, or cannot say who it is."""
    assert replaced([CARD, OTHER, THIRD], [replace(OTHER, index=0), replace(NEW, index=1)]) == set()
    assert replaced([CARD, OTHER], [MADE_UP, OTHER]) == set()
    inventory = remembering(CARD, OTHER)
    inventory.remember([replace(NEW, index=1)], left_out={"GPU-a", "GPU-b"})
    assert {"GPU-a", "GPU-b"} < {gpu.uuid for gpu in inventory.all()}


def test_a_gpu_is_found_by_its_place_and_with_its_family() -> None:
    """An instance has a place of its own kind."""
    inventory = remembering(CARD, PART, OTHER)
    assert inventory.at(1) == OTHER
    assert inventory.at(5) is None
    assert [gpu.uuid for gpu in inventory.family("GPU-a")] == ["GPU-a", "MIG-1"]


def test_the_roll_call_counts_cards() -> None:
    """It says which are missing; when none is, it says nothing."""
    assert roll_call([CARD, PART, OTHER], set()) is None
    missing = roll_call([CARD, PART, OTHER], {"GPU-a", "MIG-1"})
    assert missing is not None
    assert "1 of 2, missing GPU-a" in missing.text


def test_a_gpu_is_named_as_people_name_it() -> None:
    """By its index first."""
    assert name_of(OTHER) == "GPU 1 (A100, GPU-b)"
    assert name_of(PART) == "MIG instance 1 (A100, MIG-1)"
    assert name_of(MADE_UP) == "GPU 7 (n1:7)"
