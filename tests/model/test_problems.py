from typing import get_args

import pytest

from gpuboard.model.chips import shares_host_memory
from gpuboard.model.problems import (
    BREAKING,
    SEVERITIES,
    ProblemKind,
    heaviest_first,
    place_name,
    problem,
    sentence_of,
    without_details,
)
from gpuboard.model.report import Problem


@pytest.mark.parametrize("kind", get_args(ProblemKind))
def test_every_kind_of_trouble_has_words_and_a_remedy(kind: ProblemKind) -> None:
    """A problem without a remedy only worries people."""
    found = problem(kind)
    assert found.kind == kind
    assert found.text
    assert found.remedy


@pytest.mark.parametrize("kind", ["gpu-missing", "numbers-moved", "not-listed"])
def test_what_the_settings_decide_is_no_number_in_a_remedy(kind: ProblemKind) -> None:
    """When something is forgotten is said by forget_after, which need not be a day."""
    assert ("a day" in problem(kind).remedy, "forget_after" in problem(kind).remedy) == (False, True)


def test_the_detail_follows_the_words() -> None:
    """Which device, which version: the reader needs it, the table cannot know it."""
    found = problem("gpu-lost", "0000:81:00.0", gpu_uuid="GPU-1", since=5.0)
    assert found.text.endswith(": 0000:81:00.0")
    assert (found.gpu_uuid, found.since) == ("GPU-1", 5.0)
    assert found.detail == "0000:81:00.0"


def test_which_gpu_it_is_stands_apart_and_before_a_sentence_of_its_own() -> None:
    """Beside its GPU nobody says it again; on a terminal it stands nowhere else."""
    place = place_name(3, "GPU-1", "NVIDIA A100")
    found = problem("ecc-uncorrected", "7 since the driver was loaded", gpu_uuid="GPU-1", place=place)
    assert "GPU 3" not in found.text
    assert sentence_of(found) == f"GPU 3 (NVIDIA A100, GPU-1): {found.text}"
    assert sentence_of(problem("clock-off")) == problem("clock-off").text
    assert without_details(found).place is None


def test_a_detail_of_any_length_fits_a_report() -> None:
    """The detail may quote the driver, which is not ours to trust."""
    assert len(problem("driver-error", "x" * 10_000).text) == 4096


@pytest.mark.parametrize(
    "model", ["NVIDIA GB10", "Orin (nvgpu)", "NVIDIA Thor", "Jetson AGX Xavier", "NVIDIA N1X", "nvidia tegra"]
)
def test_chips_with_the_hosts_memory_are_known_by_one_list(model: str) -> None:
    """Whichever probe reads them."""
    assert shares_host_memory(model)
    assert not shares_host_memory("NVIDIA GH200 480GB")


@pytest.mark.parametrize("kind", [*get_args(ProblemKind), "lost", "late", "refused", "error"])
def test_every_kind_and_every_absence_has_one_severity(kind: str) -> None:
    """Whoever sorts trouble finds it in the table, once."""
    assert [kind in kinds for kinds in SEVERITIES.values()].count(True) == 1


def test_what_breaks_is_critical_and_a_late_node_is_not() -> None:
    """It may only be slow."""
    assert set(SEVERITIES["critical"]) >= BREAKING | {"lost"}
    assert "late" in SEVERITIES["minor"]


def test_the_heaviest_problem_comes_first_and_one_of_another_program_last() -> None:
    """Equally grave ones stay in their order."""
    strange = Problem(kind="from-tomorrow", text="", remedy="")
    told = [strange, problem("clock-off"), problem("second-file"), problem("xid"), problem("gpu-lost")]
    assert [one.kind for one in heaviest_first(told)] == [
        "xid",
        "gpu-lost",
        "second-file",
        "clock-off",
        "from-tomorrow",
    ]
