from gpuboard.probes.nvml import NvmlProbe
from tests.driver import StandInDriver
from tests.fakes import nvml
from tests.fakes.nvml.scenario import GIB, MIB


def test_instances_are_gpus_with_a_parent(driver: StandInDriver) -> None:
    """Each has its own memory and processes; what only the whole card can tell stays unknown."""
    machine = driver.show(nvml.mig_a100())
    devices = NvmlProbe().read()
    cut, instance = devices.gpus[0], devices.gpus[1]
    assert devices.problems == ()
    assert [gpu.mig_profile for gpu in devices.gpus] == [
        None,
        "3g.40gb",
        "2g.20gb",
        "1g.10gb",
        "1g.10gb",
        None,
    ]
    assert (cut.mig_enabled, cut.utilization_percent, cut.processes) == (True, None, ())
    assert (instance.mig_parent_uuid, instance.index, instance.model) == (
        cut.uuid,
        0,
        "NVIDIA A100-SXM4-80GB",
    )
    assert (instance.memory_used_bytes, instance.memory_total_bytes) == (11 * GIB, 40448 * MIB)
    assert (instance.utilization_percent, instance.temperature_celsius) == (None, None)
    assert [process.pid for process in instance.processes or ()] == [4_000_201]
    assert devices.gpus[5].uuid == machine.gpus[1].uuid
    assert not devices.gpus[5].mig_enabled


def test_a_dissolved_instance_is_not_lost(driver: StandInDriver) -> None:
    """The admin cut the card anew; nothing fell off the bus."""
    machine = driver.show(nvml.mig_a100())
    probe = NvmlProbe()
    probe.read()
    driver.show(machine.with_gpu(0, migs=machine.gpus[0].migs[:2]))
    devices = probe.read()
    assert len(devices.gpus) == 4
    assert devices.problems == ()


def test_the_instances_of_a_lost_card_are_lost_with_it(driver: StandInDriver) -> None:
    """They stay in the list, and the count is of cards."""
    machine = driver.show(nvml.mig_a100())
    probe = NvmlProbe()
    probe.read()
    driver.show(machine.without_gpu(0))
    devices = probe.read()
    assert len(devices.gpus) == 6
    assert {problem.gpu_uuid for problem in devices.problems if problem.kind == "gpu-lost"} == {
        gpu.uuid for gpu in devices.gpus[:5]
    }
    assert "1 of 2," in devices.problems[-1].text


def test_an_instance_that_fails_does_not_stop_the_others(driver: StandInDriver) -> None:
    """Its card has the problem; the other instances go on."""
    machine = nvml.mig_a100()
    broken = nvml.FakeMig(uuid="MIG-broken", rules=nvml.Rules(errors={"*": 999}))
    driver.show(machine.with_gpu(0, migs=(broken, *machine.gpus[0].migs[1:])))
    devices = NvmlProbe().read()
    assert [problem.kind for problem in devices.problems] == ["sensor-error"]
    assert len(devices.gpus) == 5


def test_an_instance_may_be_left_out(driver: StandInDriver) -> None:
    """The others of its card are read all the same."""
    machine = driver.show(nvml.mig_a100())
    probe = NvmlProbe()
    probe.read()
    stuck = machine.gpus[0].migs[1].uuid
    devices = probe.read(lambda name: name != stuck)
    assert len(devices.gpus) == 5
    assert devices.problems == ()
