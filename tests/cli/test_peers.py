"""The peers agree: gpustat and nvitop read the same driver."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.fakes import nvml

# What nvitop says of each device, as JSON; its own command has no such form.
NVITOP = """
import json
from nvitop import Device
print(json.dumps([{
    "index": device.index, "uuid": device.uuid(),
    "used": device.memory_used(), "total": device.memory_total(),
    "utilization": device.gpu_utilization(), "temperature": device.temperature(),
    "pids": sorted(device.processes()),
} for device in Device.all()]))
"""


def ours(run: Run, machine: nvml.Scenario) -> list[dict[str, Any]]:
    """What we say of each device, in the same form."""
    nodes = json.loads(run(machine, "status", "--json").stdout)["nodes"]
    readings = [gpu["reading"] for gpu in nodes[0]["gpus"]]
    return [
        {
            "index": reading["index"],
            "uuid": reading["uuid"],
            "used": reading["memory_used_bytes"],
            "total": reading["memory_total_bytes"],
            "utilization": reading["utilization_percent"],
            "temperature": reading["temperature_celsius"],
            "pids": sorted(process["pid"] for process in reading["processes"]),
        }
        for reading in readings
    ]


@pytest.fixture
def machine() -> nvml.Scenario:
    """Eight GPUs with processes that are really there, for peers look them up."""
    return nvml.eight_busy_datacenter(pids=[os.getpid(), os.getppid()])


def test_nvitop_agrees(run: Run, machine: nvml.Scenario, environment: dict[str, str]) -> None:
    """On index, uuid, memory, utilisation, temperature and pids."""
    mine = ours(run, machine)
    answer = subprocess.run([sys.executable, "-c", NVITOP], env=environment, capture_output=True, check=True)
    assert mine == json.loads(answer.stdout)


def test_gpustat_agrees(run: Run, machine: nvml.Scenario, environment: dict[str, str]) -> None:
    """In megabytes, as it tells them."""
    mine = ours(run, machine)
    command = [str(Path(sys.executable).with_name("gpustat")), "--json"]
    answer = subprocess.run(command, env=environment, capture_output=True, check=True)
    theirs = [
        {
            "index": gpu["index"],
            "uuid": gpu["uuid"],
            "used": gpu["memory.used"],
            "total": gpu["memory.total"],
            "utilization": gpu["utilization.gpu"],
            "temperature": gpu["temperature.gpu"],
            "pids": sorted(process["pid"] for process in gpu["processes"]),
        }
        for gpu in json.loads(answer.stdout)["gpus"]
    ]
    megabytes = [gpu | {"used": gpu["used"] // 1024**2, "total": gpu["total"] // 1024**2} for gpu in mine]
    assert megabytes == theirs
