import pytest

from gpuboard.model.errors import ProbeError, ProbeFailed, ProbeUnavailable
from gpuboard.probes.nvidia_smi.tables import parse_apps_csv, parse_gpu_csv
from gpuboard.probes.nvidia_smi.xml import parse_xml

SENTENCES = [
    (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
        ProbeFailed,
        "driver-mismatch",
    ),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure it runs.\n",
        ProbeUnavailable,
        "no-driver",
    ),
    ("Failed to initialize NVML: Driver Not Loaded\n", ProbeUnavailable, "no-driver"),
    ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", ProbeUnavailable, "no-driver"),
    ("sh: 1: nvidia-smi: not found\n", ProbeUnavailable, "no-driver"),
    ("bash: line 1: nvidia-smi: command not found\n", ProbeUnavailable, "no-driver"),
    ("Failed to initialize NVML: Insufficient Permissions\n", ProbeFailed, "no-permission"),
    ("Failed to initialize NVML: GPU access blocked by the operating system\n", ProbeFailed, "no-permission"),
    ("Failed to initialize NVML: Unknown Error\n", ProbeFailed, "driver-error"),
    (
        "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system\n",
        ProbeFailed,
        "gpu-lost",
    ),
    (
        "Unable to determine the device handle for GPU0: 0000:01:00.0: Not Found\nNo devices were found\n",
        ProbeFailed,
        "gpu-lost",
    ),
    ("Hello!\n", ProbeFailed, "unreadable-output"),
    ("", ProbeFailed, "unreadable-output"),
]


@pytest.mark.parametrize(("text", "error", "kind"), SENTENCES)
def test_each_sentence_of_the_driver_has_its_own_kind_in_every_form(
    text: str, error: type[ProbeError], kind: str
) -> None:
    """Whatever was asked, the driver answers with the same sentence; it is never taken for data."""
    with pytest.raises(error) as of_xml:
        parse_xml(text.encode())
    with pytest.raises(error) as of_gpus:
        parse_gpu_csv(text.encode(), ("index", "uuid"))
    assert of_xml.value.problem.kind == of_gpus.value.problem.kind == kind
    assert of_xml.value.problem.remedy


def test_a_mismatch_names_the_librarys_version() -> None:
    """So that the reader sees which half is the new one."""
    with pytest.raises(ProbeFailed, match=r"535\.161"):
        parse_xml(SENTENCES[0][0].encode())


@pytest.mark.parametrize("text", ["No devices were found\n", "No devices found.\n"])
def test_no_devices_is_an_empty_list_with_a_problem(text: str) -> None:
    """The driver answered: there are none."""
    for devices in (parse_xml(text.encode()), parse_gpu_csv(text.encode(), ("index", "uuid"))):
        assert devices.gpus == ()
        assert [found.kind for found in devices.problems] == ["no-devices"]


def test_a_failing_list_of_processes_is_no_empty_list() -> None:
    """Else every GPU would look free just when the driver breaks."""
    with pytest.raises(ProbeFailed):
        parse_apps_csv(b"Failed to initialize NVML: Unknown Error\n", ("gpu_uuid", "pid"))
