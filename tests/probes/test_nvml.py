"""The probe on the real nvidia-ml-py, over a library that shows machines as people have them."""

import pynvml
import pytest

from gpuboard.model.report import GpuReading
from gpuboard.probes.base import Devices, place
from gpuboard.probes.nvml import REOPEN_SECONDS, NvmlProbe
from tests.clock import Clock
from tests.driver import StandInDriver
from tests.fakes import nvml
from tests.fakes.nvml.scenario import GIB, MIB

UNKNOWN_ERROR = 999


def kinds(devices: Devices) -> list[tuple[str, str | None]]:
    """What is wrong, and with which GPU."""
    return [(problem.kind, problem.gpu_uuid) for problem in devices.problems]


def test_busy_gpus_are_read_whole(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Every value arrives in its own unit."""
    machine = driver.show(nvml.eight_busy_datacenter())
    devices = probe.read()
    gpu = devices.gpus[3]
    assert [gpu.uuid for gpu in devices.gpus] == [gpu.uuid for gpu in machine.gpus]
    assert (devices.driver_version, devices.cuda_version, devices.problems) == ("535.104.05", "12.2", ())
    assert (gpu.index, gpu.model, gpu.vendor) == (3, "NVIDIA H100 80GB HBM3", "nvidia")
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (44 * GIB, 81559 * MIB)
    assert (gpu.utilization_percent, gpu.memory_utilization_percent) == (93, 43)
    assert (gpu.temperature_celsius, gpu.power_watts, gpu.power_limit_watts) == (63, 603.5, 700)
    assert (gpu.graphics_clock_mhz, gpu.memory_clock_mhz, gpu.performance_state) == (1980, 2619, "P0")
    assert (gpu.ecc_enabled, gpu.ecc_corrected_errors, gpu.ecc_uncorrected_errors) == (True, 0, 0)
    assert (gpu.pcie_bus_id, gpu.pcie_generation, gpu.pcie_width) == ("00000000:61:00.0", 5, 16)
    assert (gpu.nvlink_active, gpu.nvlink_total) == (16, 18)
    assert (gpu.persistence_mode, gpu.throttle_reasons, gpu.fan_percent) == (True, (), None)
    assert [(process.pid, process.kind) for process in gpu.processes or ()] == [
        (4_000_007, "compute"),
        (4_000_008, "compute"),
    ]


def test_what_a_consumer_card_cannot_tell_is_none_and_no_problem(
    driver: StandInDriver, probe: NvmlProbe
) -> None:
    """No ECC and no power limit is how these cards are."""
    driver.show(nvml.four_consumer_cards())
    devices = probe.read()
    gpu = devices.gpus[2]
    assert devices.problems == ()
    assert (gpu.ecc_enabled, gpu.ecc_uncorrected_errors, gpu.power_limit_watts, gpu.fan_percent) == (
        None,
    ) * 4
    assert (gpu.nvlink_active, gpu.nvlink_total) == (None, None)
    assert (gpu.utilization_percent, gpu.processes) == (0, ())


def test_links_are_asked_for_once_a_minute(driver: StandInDriver) -> None:
    """Each of them is a question of its own, and they seldom change."""
    clock = Clock()
    probe = NvmlProbe(clock=clock)
    found = []
    for active, seconds in ((16, 0.0), (15, 59.0), (14, 1.0)):
        clock.now += seconds
        driver.show(nvml.eight_busy_datacenter().with_gpu(3, more={"nvlinks": 18, "nvlinks_active": active}))
        found.append(probe.read().gpus[3].nvlink_active)
    probe.close()
    assert found == [16, 16, 14]


def test_links_that_fail_stop_nothing_else(driver: StandInDriver, probe: NvmlProbe) -> None:
    """A count of the links before the one that failed would look like a machine with fewer."""
    rules = nvml.Rules(errors={"nvmlDeviceGetNvLinkState": UNKNOWN_ERROR})
    driver.show(nvml.eight_busy_datacenter().with_gpu(3, rules=rules))
    devices = probe.read()
    gpu = devices.gpus[3]
    assert (gpu.nvlink_active, gpu.nvlink_total, gpu.utilization_percent) == (None, None, 93)
    assert kinds(devices) == [("sensor-error", gpu.uuid)]
    assert "nvlink" in devices.problems[0].text


def test_a_process_that_draws_and_computes_is_one_process(driver: StandInDriver, probe: NvmlProbe) -> None:
    """The driver lists it twice."""
    driver.show(nvml.four_consumer_cards())
    found = [(process.kind, process.memory_used_bytes) for process in probe.read().gpus[0].processes or ()]
    assert found == [("graphics", 410 * MIB), ("both", 183 * MIB)]


def test_a_gpu_that_goes_missing_is_missed(driver: StandInDriver, probe: NvmlProbe) -> None:
    """It stays in the list, with what it is and without what it said; the others go on under new indexes."""
    machine = driver.show(nvml.eight_busy_datacenter())
    before = probe.read().gpus[3]
    driver.show(machine.without_gpu(3))
    devices = probe.read()
    lost = next(gpu for gpu in devices.gpus if gpu.uuid == before.uuid)
    assert kinds(devices) == [("gpu-lost", before.uuid), ("gpus-missing", None)]
    assert f"7 of 8, missing {before.uuid}" in devices.problems[1].text
    assert lost == GpuReading(
        uuid=before.uuid,
        index=3,
        model=before.model,
        memory_total_bytes=before.memory_total_bytes,
        pcie_bus_id=before.pcie_bus_id,
    )
    moved = next(gpu for gpu in devices.gpus if gpu.uuid == machine.gpus[4].uuid)
    assert (moved.index, moved.utilization_percent) == (3, 94)


def test_a_gpu_that_is_lost_but_listed_is_known_by_its_index(driver: StandInDriver, probe: NvmlProbe) -> None:
    """The driver still counts eight, but one of them only says that it is lost."""
    machine = driver.show(nvml.eight_busy_datacenter())
    probe.read()
    driver.show(nvml.one_lost_of_eight(3))
    devices = probe.read()
    assert kinds(devices) == [("gpu-lost", machine.gpus[3].uuid), ("gpus-missing", None)]
    assert [gpu.index for gpu in devices.gpus] == list(range(8))
    assert [gpu.processes is None for gpu in devices.gpus].count(True) == 1


def test_a_gpu_lost_before_we_came_has_a_made_up_name(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Nobody can tell its UUID, yet it must be seen that one is missing."""
    driver.show(nvml.one_lost_of_eight(3))
    devices = probe.read()
    assert kinds(devices) == [("gpu-lost", "vision-01:3"), ("gpus-missing", None)]
    assert devices.gpus[3] == GpuReading(uuid="vision-01:3", uuid_is_synthetic=True, index=3)


def test_a_gpu_that_comes_back_is_read_again(driver: StandInDriver, probe: NvmlProbe, clock: Clock) -> None:
    """NVML finds devices only when it is opened, so it is opened anew now and then."""
    machine = driver.show(nvml.eight_busy_datacenter())
    probe.read()
    driver.show(nvml.one_lost_of_eight(3))
    probe.read()
    driver.show(machine)
    clock.now += REOPEN_SECONDS
    devices = probe.read()
    assert devices.problems == ()
    assert devices.gpus[3].utilization_percent == 93


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (pynvml.NVML_ERROR_GPU_IS_LOST, "gpu-lost"),
        (pynvml.NVML_ERROR_RESET_REQUIRED, "gpu-needs-reset"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no-device-access"),
        (UNKNOWN_ERROR, "driver-error"),
    ],
)
def test_a_gpu_that_answers_nothing_does_not_stop_the_others(
    driver: StandInDriver, probe: NvmlProbe, code: int, kind: str
) -> None:
    """Each reason is its own kind of problem."""
    machine = nvml.eight_busy_datacenter()
    driver.show(machine.with_gpu(5, rules=nvml.Rules(errors={"nvmlDeviceGetHandleByIndex": code})))
    devices = probe.read()
    assert kinds(devices)[0] == (kind, "vision-01:5")
    assert sum(gpu.utilization_percent is not None for gpu in devices.gpus) == 7
    assert all(problem.remedy for problem in devices.problems)


def test_a_value_that_fails_is_none_and_stops_no_other(driver: StandInDriver, probe: NvmlProbe) -> None:
    """The GPU works; the problem says what is missing, and does not call it broken."""
    machine = nvml.eight_busy_datacenter()
    rules = nvml.Rules(
        errors={"nvmlDeviceGetTemperature": UNKNOWN_ERROR, "nvmlDeviceGetPowerUsage": UNKNOWN_ERROR}
    )
    driver.show(machine.with_gpu(2, rules=rules))
    devices = probe.read()
    gpu = devices.gpus[2]
    assert kinds(devices) == [("sensor-error", gpu.uuid)]
    assert "temperature, power (Unknown Error)" in devices.problems[0].text
    assert (gpu.temperature_celsius, gpu.power_watts, gpu.utilization_percent) == (None, None, 92)


def test_a_gpu_that_fails_in_all_that_matters_is_in_error(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Without memory and processes nothing can be said about it."""
    driver.show(nvml.eight_busy_datacenter().with_gpu(2, rules=nvml.Rules(errors={"*": UNKNOWN_ERROR})))
    assert kinds(probe.read())[0] == ("driver-error", "vision-01:2")
    errors = {"nvmlDeviceGetMemoryInfo": UNKNOWN_ERROR, "nvmlDeviceGetComputeRunningProcesses": UNKNOWN_ERROR}
    machine = driver.show(nvml.eight_busy_datacenter().with_gpu(1, rules=nvml.Rules(errors=errors)))
    devices = probe.read()
    assert kinds(devices) == [("driver-error", machine.gpus[1].uuid)]
    assert devices.gpus[1].processes is None


def test_processes_of_which_one_list_fails_are_unknown(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Half a list could hide the very process that matters."""
    rules = nvml.Rules(errors={"nvmlDeviceGetGraphicsRunningProcesses": UNKNOWN_ERROR})
    driver.show(nvml.four_consumer_cards().with_gpu(1, rules=rules))
    assert probe.read().gpus[1].processes is None


def test_an_old_driver_is_asked_in_the_old_way(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Functions that it lacks have elder sisters."""
    missing = (
        "MemoryInfo_v2",
        "ComputeRunningProcesses_v3",
        "GraphicsRunningProcesses_v3",
        "CurrentClocksEventReasons",
    )
    errors = {f"nvmlDeviceGet{name}": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND for name in missing}
    driver.show(nvml.eight_busy_datacenter().with_rules(nvml.Rules(errors=errors)))
    devices = probe.read()
    gpu = devices.gpus[0]
    assert devices.problems == ()
    assert gpu.memory_used_bytes == 41 * GIB + 479 * MIB
    assert (len(gpu.processes or ()), gpu.throttle_reasons) == (2, ())


def test_an_uncorrected_memory_error_is_a_problem(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Results computed there may be wrong."""
    driver.show(nvml.eight_busy_datacenter().with_gpu(6, ecc_uncorrected_volatile=2))
    devices = probe.read()
    assert kinds(devices) == [("ecc-uncorrected", devices.gpus[6].uuid)]
    assert devices.gpus[6].ecc_uncorrected_errors == 2


def test_a_gpu_that_needs_a_reset_says_so(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Some drivers say it only when asked for the utilisation."""
    errors = {"nvmlDeviceGetUtilizationRates": pynvml.NVML_ERROR_RESET_REQUIRED}
    driver.show(nvml.eight_busy_datacenter().with_gpu(0, rules=nvml.Rules(errors=errors)))
    devices = probe.read()
    assert kinds(devices) == [("gpu-needs-reset", devices.gpus[0].uuid)]


def test_garbage_is_unknown(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Values that cannot be are no values."""
    machine = nvml.eight_busy_datacenter()
    processes = (
        nvml.FakeProcess(pid=4_000_001, memory=1 << 45),
        nvml.FakeProcess(pid=4_000_002, memory=None),
    )
    changes = {"utilization": 4_000_000, "temperature": 2**31, "power_milliwatts": 2**32 - 1, "fan": 70_000}
    driver.show(
        machine.with_gpu(0, memory_used=1 << 45, performance_state=32, processes=processes, **changes)
    )
    gpu = probe.read().gpus[0]
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (None, 81559 * MIB)
    assert (gpu.utilization_percent, gpu.temperature_celsius, gpu.power_watts) == (None, None, None)
    assert (gpu.fan_percent, gpu.performance_state) == (None, None)
    assert [process.memory_used_bytes for process in gpu.processes or ()] == [None, None]


def test_a_name_that_is_not_text_is_shown_as_well_as_can_be(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Some drivers on Windows' Linux give bytes in another encoding."""
    driver.show(nvml.eight_busy_datacenter().with_gpu(0, name=b"NVIDIA \xff\xfe X"))
    assert probe.read().gpus[0].model == "NVIDIA \ufffd\ufffd X"


def test_throttling_is_told_in_words_and_idling_is_none(driver: StandInDriver, probe: NvmlProbe) -> None:
    """Clocks that rest are not held down."""
    machine = nvml.eight_busy_datacenter().with_gpu(0, throttle_reasons=0x1)
    driver.show(machine.with_gpu(1, throttle_reasons=0x4 | 0x8 | 0x20 | 0x40 | 0x80))
    gpus = probe.read().gpus
    assert gpus[0].throttle_reasons == ()
    assert gpus[1].throttle_reasons == (
        *("power-cap", "hardware-slowdown", "thermal", "hardware-thermal", "power-brake"),
    )


def test_a_chip_that_shares_the_hosts_memory_shows_the_hosts(driver: StandInDriver, probe: NvmlProbe) -> None:
    """It has none of its own; another card that cannot tell its memory stays unknown."""
    silent = {"memory_total": None, "memory_used": None}
    machine = nvml.eight_busy_datacenter().with_gpu(0, name="NVIDIA GB10", **silent)
    driver.show(machine.with_gpu(1, **silent))
    gpus = probe.read().gpus
    assert gpus[0].memory_unified
    assert 0 < (gpus[0].memory_used_bytes or 0) < (gpus[0].memory_total_bytes or 0)
    assert (gpus[1].memory_unified, gpus[1].memory_total_bytes) == (False, None)


def test_what_is_to_be_left_out_is_not_asked(driver: StandInDriver, probe: NvmlProbe) -> None:
    """A device that hangs must not be touched again, by whatever name, and is not called lost either."""
    machine = driver.show(nvml.eight_busy_datacenter())
    probe.read()
    stuck = machine.gpus[3].uuid
    driver.show(nvml.one_gpu_hangs(3))
    devices = probe.read(lambda name: name != stuck)
    assert [gpu.index for gpu in devices.gpus] == [0, 1, 2, 4, 5, 6, 7]
    assert devices.problems == ()


def test_a_device_is_named_before_it_is_asked(driver: StandInDriver, probe: NvmlProbe) -> None:
    """By its place at first, by its UUID from then on, so that a hang has a name."""
    machine = driver.show(nvml.four_consumer_cards())
    touched: list[str | None] = []

    def touch(name: str | None, /) -> bool:
        if touched[-1:] != [name]:
            touched.append(name)
        return True

    probe.read(touch)
    first = touched.copy()
    touched.clear()
    probe.read(touch)
    uuids = [gpu.uuid for gpu in machine.gpus]
    assert first == [None, *(name for i, uuid in enumerate(uuids) for name in (place(i), uuid)), None]
    assert touched == [None, *uuids, None]
