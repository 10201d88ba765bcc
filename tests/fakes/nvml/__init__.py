"""A stand-in NVIDIA driver: a real `libnvidia-ml.so.1` that tells what a scenario file says.

Build it once, write a scenario, start a process in its environment:

    library = nvml.build(tmp_path_factory.getbasetemp())
    scenario = nvml.eight_busy_datacenter()
    scenario.write(path)
    subprocess.run(command, env=os.environ | nvml.environment(path, library), check=True)
    scenario.without_gpu(3).write(path)  # while it runs: GPU 3 falls off the bus

The format of the file is described at the top of `nvml.c`; the fake `nvidia-smi` reads the same file.
"""

from tests.fakes.nvml.library import build, count_calls, environment
from tests.fakes.nvml.scenario import FakeGpu, FakeMig, FakeProcess, Rules, Scenario
from tests.fakes.nvml.shapes import (
    eight_busy_datacenter,
    everything_hangs,
    four_consumer_cards,
    mig_a100,
    mismatch,
    no_driver,
    no_permission,
    one_gpu_hangs,
    one_lost_of_eight,
    sixteen_cut,
    zero_gpus,
)

__all__ = [
    "FakeGpu",
    "FakeMig",
    "FakeProcess",
    "Rules",
    "Scenario",
    "build",
    "count_calls",
    "eight_busy_datacenter",
    "environment",
    "everything_hangs",
    "four_consumer_cards",
    "mig_a100",
    "mismatch",
    "no_driver",
    "no_permission",
    "one_gpu_hangs",
    "one_lost_of_eight",
    "sixteen_cut",
    "zero_gpus",
]
