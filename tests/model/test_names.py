import pytest

from gpuboard.fleet.names import Names
from gpuboard.model.names import in_order
from gpuboard.model.report import GpuReading


def test_gpus_are_in_the_order_of_their_indexes_each_before_its_instances() -> None:
    """As people know them from nvidia-smi."""
    card, other = GpuReading(uuid="GPU-a", index=0), GpuReading(uuid="GPU-b", index=1)
    part = GpuReading(uuid="MIG-1", index=1, mig_parent_uuid="GPU-a")
    assert in_order([other, part, card]) == (card, part, other)


@pytest.mark.parametrize(
    ("model", "profile", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "1g.10gb", "A100 80G 1g.10gb"),
        ("NVIDIA A100 1g.10gb", "1g.10gb", "A100 1g.10gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "1g.5gb", "A100 40G 1g.5gb"),
        ("NVIDIA H100 MIG 1c.2g.20gb+me", "1c.2g.20gb+me", "H100 1c.2g.20gb+me"),
        ("NVIDIA A100 MIG 1g.10gb", None, "A100 MIG 1g.10gb"),
        ("1g.10gb", "1g.10gb", "1g.10gb"),
        ("aliased", "1g.10gb", "Big 1g.10gb"),
        ("aliased whole", "1g.10gb", "Big 1G.10GB"),
        (None, "1g.10gb", "1g.10gb"),
    ],
)
def test_the_name_of_an_instance_says_its_profile_once(
    model: str | None, profile: str | None, name: str
) -> None:
    """Some drivers write it into the model too."""
    names = Names(models={"aliased": "Big", "aliased whole": "Big 1G.10GB"})
    reading = GpuReading(uuid="MIG-1", index=0, model=model, mig_profile=profile)
    assert names.model(reading) == name
