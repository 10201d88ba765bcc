from typing import get_args

import pytest

from gpuboard.probes.problems import Kind, problem


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_trouble_has_words_and_a_remedy(kind: Kind) -> None:
    """A problem without a remedy only worries people."""
    found = problem(kind)
    assert found.kind == kind
    assert found.text
    assert found.remedy


def test_the_detail_follows_the_words() -> None:
    """Which device, which version: the reader needs it, the table cannot know it."""
    found = problem("gpu-lost", "0000:81:00.0", gpu_uuid="GPU-1", since=5.0)
    assert found.text.endswith(": 0000:81:00.0")
    assert (found.gpu_uuid, found.since) == ("GPU-1", 5.0)


def test_a_detail_of_any_length_fits_a_report() -> None:
    """The detail may quote the driver, which is not ours to trust."""
    assert len(problem("driver-error", "x" * 10_000).text) == 4096
