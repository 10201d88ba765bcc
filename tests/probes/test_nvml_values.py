import pytest

from gpuboard.model.chips import shares_host_memory
from gpuboard.probes.nvml_values import (
    cuda_version,
    library_version,
    memory_within,
    mig_profile,
    module_version,
    performance_state,
)


@pytest.mark.parametrize(
    ("used", "total", "believed"),
    [
        (5, 10, (5, 10)),
        (1005, 1000, (1005, 1000)),
        (1200, 1000, (None, 1000)),
        (-1, 1000, (None, 1000)),
        (5, 0, (None, None)),
        (None, 10, (None, 10)),
        (5, None, (None, None)),
        (5, 2**60, (None, None)),
    ],
)
def test_memory_is_believed_only_within_its_size(
    used: int | None, total: int | None, believed: tuple[int | None, int | None]
) -> None:
    """A little over is rounding, more is garbage."""
    assert memory_within(used, total) == believed


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
            "535.104.05",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build", "560.35.03"),
        ("something else", None),
    ],
)
def test_the_modules_version_is_found(text: str, version: str | None) -> None:
    """In the forms that open and closed modules write."""
    assert module_version(text) == version


@pytest.mark.parametrize(
    ("text", "version"), [("12.535.104.05", "535.104.05"), ("535.104", "535.104"), ("?", "?")]
)
def test_the_librarys_version_is_the_drivers(text: str, version: str) -> None:
    """Without the version of CUDA in front, so that the two can be compared."""
    assert library_version(text) == version


@pytest.mark.parametrize(
    ("name", "slices", "megabytes", "profile"),
    [
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None, None, "1g.5gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", 1, 2, "1c.3g.20gb"),
        ("NVIDIA A100-SXM4-40GB", 1, 4864, "1g.5gb"),
        (None, 3, 19968, "3g.20gb"),
        (None, None, None, None),
    ],
)
def test_a_profile_comes_from_the_name_or_the_slices(
    name: str | None, slices: int | None, megabytes: int | None, profile: str | None
) -> None:
    """Older drivers do not put it into the name."""
    assert mig_profile(name, slices=slices, megabytes=megabytes) == profile


def test_numbers_become_the_words_people_know() -> None:
    """And what has no word stays unknown."""
    assert (cuda_version(12040), cuda_version(9000), cuda_version(0)) == ("12.4", "9.0", None)
    assert (performance_state(8), performance_state(32), performance_state(None)) == ("P8", None, None)


@pytest.mark.parametrize("model", ["NVIDIA GB10", "Orin (nvgpu)", "NVIDIA Thor", "NVIDIA Tegra X1"])
def test_chips_that_share_the_hosts_memory_are_known(model: str) -> None:
    """By name: the driver has no better way to tell."""
    assert shares_host_memory(model)
    assert not shares_host_memory("NVIDIA GB200")
    assert not shares_host_memory(None)
