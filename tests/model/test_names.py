from gpuboard.model.names import in_order
from gpuboard.model.report import GpuReading


def test_gpus_are_in_the_order_of_their_indexes_each_before_its_instances() -> None:
    """As people know them from nvidia-smi."""
    card, other = GpuReading(uuid="GPU-a", index=0), GpuReading(uuid="GPU-b", index=1)
    part = GpuReading(uuid="MIG-1", index=1, mig_parent_uuid="GPU-a")
    assert in_order([other, part, card]) == (card, part, other)
