"""The stand-in NVML library tells what the scenario says, asked through the real nvidia-ml-py."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.fakes import nvml
from tests.fakes.nvml.scenario import GIB, MIB
from tests.fakes.nvml_session import NvmlSession

Start: TypeAlias = Callable[[nvml.Scenario], NvmlSession]

# question about GPU 5 of the busy machine, answer
READINGS = [
    ("nvmlSystemGetDriverVersion()", "535.104.05"),
    ("nvmlSystemGetCudaDriverVersion()", 12020),
    ("nvmlDeviceGetCount()", 8),
    ("nvmlDeviceGetIndex(gpu(5))", 5),
    ("nvmlDeviceGetName(gpu(5))", "NVIDIA H100 80GB HBM3"),
    ("nvmlDeviceGetUUID(gpu(5))", nvml.eight_busy_datacenter().gpus[5].uuid),
    ("nvmlDeviceGetSerial(gpu(5))", "1652523000005"),
    ("nvmlDeviceGetMinorNumber(gpu(5))", 5),
    ("nvmlDeviceGetMemoryInfo(gpu(5)).used", 46 * GIB + 479 * MIB),
    ("nvmlDeviceGetMemoryInfo(gpu(5), nvmlMemory_v2).used", 46 * GIB),
    ("nvmlDeviceGetMemoryInfo(gpu(5), nvmlMemory_v2).reserved", 479 * MIB),
    ("nvmlDeviceGetMemoryInfo(gpu(5), nvmlMemory_v2).total", 81559 * MIB),
    ("nvmlDeviceGetMemoryInfo(gpu(5), nvmlMemory_v2).free", 81559 * MIB - 46 * GIB - 479 * MIB),
    ("nvmlDeviceGetUtilizationRates(gpu(5)).gpu", 95),
    ("nvmlDeviceGetUtilizationRates(gpu(5)).memory", 45),
    ("nvmlDeviceGetEncoderUtilization(gpu(5))[0]", 0),
    ("nvmlDeviceGetTemperature(gpu(5), NVML_TEMPERATURE_GPU)", 65),
    ("nvmlDeviceGetTemperatureV(gpu(5), NVML_TEMPERATURE_GPU)", 65),
    ("nvmlDeviceGetPowerUsage(gpu(5))", 605_500),
    ("nvmlDeviceGetEnforcedPowerLimit(gpu(5))", 700_000),
    ("nvmlDeviceGetPowerManagementLimit(gpu(5))", 700_000),
    ("nvmlDeviceGetClockInfo(gpu(5), NVML_CLOCK_SM)", 1980),
    ("nvmlDeviceGetClockInfo(gpu(5), NVML_CLOCK_MEM)", 2619),
    ("nvmlDeviceGetMaxClockInfo(gpu(5), NVML_CLOCK_GRAPHICS)", 1980),
    ("nvmlDeviceGetPerformanceState(gpu(5))", 0),
    ("nvmlDeviceGetCurrentClocksThrottleReasons(gpu(5))", 0),
    ("nvmlDeviceGetCurrentClocksEventReasons(gpu(5))", 0),
    ("nvmlDeviceGetEccMode(gpu(5))", [1, 1]),
    ("nvmlDeviceGetTotalEccErrors(gpu(5), NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC)", 0),
    ("nvmlDeviceGetPciInfo(gpu(5)).busId", "00000000:C3:00.0"),
    ("nvmlDeviceGetPciInfo(gpu(5)).busIdLegacy", "0000:C3:00.0"),
    ("nvmlDeviceGetCurrPcieLinkGeneration(gpu(5))", 5),
    ("nvmlDeviceGetCurrPcieLinkWidth(gpu(5))", 16),
    ("nvmlDeviceGetPersistenceMode(gpu(5))", 1),
    ("nvmlDeviceGetDisplayActive(gpu(5))", 0),
    ("nvmlDeviceGetCudaComputeCapability(gpu(5))", [8, 0]),
    ("nvmlDeviceGetMigMode(gpu(5))", [0, 0]),
    ("nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(gpu(5))))", 5),
    ("nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId('0000:c3:00.0'))", 5),
    ("nvmlSystemGetProcessName(4000011)", "/opt/conda/bin/python"),
    ("[p.pid for p in nvmlDeviceGetComputeRunningProcesses(gpu(5))]", [4_000_011, 4_000_012]),
    (
        "[p.usedGpuMemory for p in nvmlDeviceGetComputeRunningProcesses_v2(gpu(5))]",
        [40 * GIB, 5 * GIB + 300 * MIB],
    ),
    ("nvmlDeviceGetComputeRunningProcesses(gpu(5))[0].gpuInstanceId", 0xFFFFFFFF),
    ("nvmlDeviceGetGraphicsRunningProcesses(gpu(5))", []),
    ("[s.smUtil for s in nvmlDeviceGetProcessUtilization(gpu(5), 0)]", [47, 47]),
    ("nvmlErrorString(15)", "GPU is lost"),
]


def test_a_busy_datacenter_machine_tells_every_reading(start: Start) -> None:
    """All readings come out as they went into the scenario."""
    session = start(nvml.eight_busy_datacenter())
    assert [(question, session.ask(question)) for question, _ in READINGS] == READINGS


@pytest.mark.parametrize(
    "question",
    [
        "nvmlDeviceGetEnforcedPowerLimit(gpu(2))",
        "nvmlDeviceGetPowerManagementLimit(gpu(2))",
        "nvmlDeviceGetEccMode(gpu(2))",
        "nvmlDeviceGetTotalEccErrors(gpu(2), 0, 0)",
        "nvmlDeviceGetSerial(gpu(2))",
        "nvmlDeviceGetFanSpeed(gpu(2))",
        "nvmlDeviceGetMigMode(gpu(2))",
    ],
)
def test_a_consumer_card_says_not_supported_for_what_it_lacks(start: Start, question: str) -> None:
    """A missing sensor is NVML's code 3, never a zero."""
    assert start(nvml.four_consumer_cards()).code(question) == 3


def test_a_consumer_card_tells_compute_and_graphics_processes_apart(start: Start) -> None:
    """A process of both kinds is in both lists."""
    session = start(nvml.four_consumer_cards())
    assert session.ask("[p.pid for p in nvmlDeviceGetComputeRunningProcesses(gpu(0))]") == [4_000_102]
    assert session.ask("[p.pid for p in nvmlDeviceGetGraphicsRunningProcesses(gpu(0))]") == [
        4_000_101,
        4_000_102,
    ]


def test_one_lost_gpu_leaves_the_others_alone(start: Start) -> None:
    """The lost one is still counted; only its handle cannot be had."""
    session = start(nvml.one_lost_of_eight(3))
    assert session.ask("nvmlDeviceGetCount()") == 8
    assert [session.code(f"gpu({index})") for index in range(8) if index != 3] == [0] * 7
    assert session.code("gpu(3)") == 15


def test_a_gpu_in_mig_mode_shows_its_devices(start: Start) -> None:
    """Each MIG device has memory, ids and processes of its own, and none of the sensors."""
    scenario = nvml.mig_a100()
    session = start(scenario)
    mig = "nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), {})".format
    assert session.ask("nvmlDeviceGetMigMode(gpu(0))") == [1, 1]
    assert session.ask("nvmlDeviceGetMaxMigDeviceCount(gpu(0))") == 7
    assert session.ask(f"nvmlDeviceGetName({mig(0)})") == "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
    assert session.ask(f"nvmlDeviceGetUUID({mig(1)})") == scenario.gpus[0].migs[1].uuid
    assert session.ask(f"nvmlDeviceGetMemoryInfo({mig(1)}, nvmlMemory_v2).total") == 19968 * MIB
    assert session.ask(f"nvmlDeviceGetGpuInstanceId({mig(2)})") == 9
    assert session.ask(f"nvmlDeviceGetComputeInstanceId({mig(2)})") == 0
    assert session.ask(f"nvmlDeviceGetAttributes_v2({mig(0)}).gpuInstanceSliceCount") == 3
    assert session.ask(f"nvmlDeviceGetAttributes_v2({mig(0)}).memorySizeMB") == 40448
    assert session.ask(f"nvmlDeviceGetIndex(nvmlDeviceGetDeviceHandleFromMigDeviceHandle({mig(0)}))") == 0
    assert session.ask(f"[p.pid for p in nvmlDeviceGetComputeRunningProcesses({mig(0)})]") == [4_000_201]
    assert session.ask("[p.gpuInstanceId for p in nvmlDeviceGetComputeRunningProcesses(gpu(0))]") == [2]
    assert session.code(mig(5)) == 6
    assert session.code("nvmlDeviceGetUtilizationRates(gpu(0))") == 3
    assert session.code(f"nvmlDeviceGetTemperature({mig(0)}, 0)") == 3


@pytest.mark.parametrize(
    ("scenario", "code"),
    [(nvml.mismatch(), 18), (nvml.no_driver(), 9), (nvml.no_permission(), 4), (nvml.zero_gpus(), 0)],
)
def test_the_driver_fails_to_start_as_the_scenario_says(
    start: Start, scenario: nvml.Scenario, code: int
) -> None:
    """And whoever goes on regardless is told that nothing was initialised."""
    session = start(scenario)
    assert session.code("nvmlInit()") == code
    assert session.code("nvmlDeviceGetCount()") == (1 if code else 0)


def test_without_gpus_the_count_is_zero(start: Start) -> None:
    """Zero GPUs is an answer, not an error."""
    assert start(nvml.zero_gpus()).ask("nvmlDeviceGetCount()") == 0


def test_without_a_scenario_file_there_is_no_driver(start: Start, scenario_path: Path) -> None:
    """The file may also go away while the process runs."""
    session = start(nvml.eight_busy_datacenter())
    scenario_path.unlink()
    assert session.code("nvmlDeviceGetCount()") == 9
    nvml.zero_gpus().write(scenario_path)
    assert session.ask("nvmlDeviceGetCount()") == 0


def test_after_shutdown_nothing_answers(start: Start) -> None:
    """Start and end are counted, as in the real library."""
    session = start(nvml.eight_busy_datacenter())
    session.ask("nvmlInit()")
    session.ask("nvmlShutdown()")
    assert session.code("nvmlDeviceGetCount()") == 0
    session.ask("nvmlShutdown()")
    assert session.code("nvmlDeviceGetCount()") == 1


def test_a_name_that_is_not_text_breaks_the_binding_not_the_library(start: Start) -> None:
    """The real nvidia-ml-py decodes strictly: whoever asks for names must be ready for that."""
    session = start(nvml.eight_busy_datacenter().with_gpu(0, name=b"NVIDIA \xff\xfe #1 \\ "))
    assert session.code("nvmlDeviceGetName(gpu(0))") == repr(b"NVIDIA \xff\xfe #1 \\ ")


def test_each_call_is_counted_by_name(start: Start, tmp_path: Path) -> None:
    """So a test can prove that something is asked once, or not at all."""
    session = start(nvml.eight_busy_datacenter())
    session.ask("[nvmlDeviceGetName(gpu(i)) for i in range(8)]")
    calls = nvml.count_calls(tmp_path / "calls")
    assert (calls["nvmlInitWithFlags"], calls["nvmlDeviceGetName"], calls["nvmlDeviceGetSerial"]) == (1, 8, 0)


def test_the_library_is_compiled_once(library: Path) -> None:
    """A second build finds the first."""
    before = (library / "libnvidia-ml.so.1").stat().st_mtime_ns
    assert nvml.build(library.parent) == library
    assert (library / "libnvidia-ml.so.1").stat().st_mtime_ns == before
