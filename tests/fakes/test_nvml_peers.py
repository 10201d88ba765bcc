"""The programs people use today see the stand-in driver as a real one."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes import nvml
from tests.fakes.nvml.scenario import MIB

PATIENCE_SECONDS = 60

SNAPSHOT = """
import json, nvitop
devices = [leaf for device in nvitop.Device.all() for leaf in (device.mig_devices() or [device])]
print(json.dumps([{
    "uuid": device.uuid(), "name": device.name(),
    "used": device.memory_used(), "total": device.memory_total(),
    "utilization": device.gpu_utilization(), "temperature": device.temperature(),
    "power": device.power_usage(),
    "pids": sorted(device.processes()),
} for device in devices]))
"""


def test_gpustat_shows_what_the_scenario_says(library: Path, scenario_path: Path) -> None:
    """Its JSON carries the same devices, readings and processes."""
    scenario = nvml.eight_busy_datacenter([os.getpid(), os.getppid()])
    gpus = json.loads(_run(scenario, scenario_path, library, "-m", "gpustat", "--json"))["gpus"]
    assert [gpu["uuid"] for gpu in gpus] == [gpu.uuid for gpu in scenario.gpus]
    assert [gpu["temperature.gpu"] for gpu in gpus] == [gpu.temperature for gpu in scenario.gpus]
    assert [gpu["utilization.gpu"] for gpu in gpus] == [gpu.utilization for gpu in scenario.gpus]
    assert [gpu["memory.used"] for gpu in gpus] == [(gpu.memory_used or 0) // MIB for gpu in scenario.gpus]
    assert [gpu["power.draw"] for gpu in gpus] == [
        (gpu.power_milliwatts or 0) // 1000 for gpu in scenario.gpus
    ]
    assert {process["pid"] for gpu in gpus for process in gpu["processes"]} == {os.getpid(), os.getppid()}


def test_gpustat_shows_seven_gpus_and_a_lost_one(library: Path, scenario_path: Path) -> None:
    """One lost GPU costs gpustat no other."""
    gpus = json.loads(_run(nvml.one_lost_of_eight(3), scenario_path, library, "-m", "gpustat", "--json"))[
        "gpus"
    ]
    assert [gpu["index"] for gpu in gpus if "lost" in gpu["name"]] == [3]
    assert len([gpu for gpu in gpus if gpu.get("temperature.gpu") is not None]) == 7


@pytest.mark.parametrize(
    "scenario", [nvml.eight_busy_datacenter(), nvml.four_consumer_cards(), nvml.mig_a100()]
)
def test_nvitop_agrees_with_the_scenario(library: Path, scenario_path: Path, scenario: nvml.Scenario) -> None:
    """Whole GPUs and MIG devices; "N/A" where the scenario has no reading."""
    shown = json.loads(_run(scenario, scenario_path, library, "-c", SNAPSHOT))
    expected = [leaf for gpu in scenario.gpus for leaf in (gpu.migs or [gpu])]
    assert [device["uuid"] for device in shown] == [device.uuid for device in expected]
    assert [device["used"] for device in shown] == [device.memory_used for device in expected]
    assert [device["total"] for device in shown] == [device.memory_total for device in expected]
    assert [device["pids"] for device in shown] == [
        sorted(p.pid for p in device.processes) for device in expected
    ]
    for key in ("utilization", "temperature"):
        readings = [getattr(device, key, None) for device in expected]
        assert [device[key] for device in shown] == ["N/A" if value is None else value for value in readings]


def test_nvitop_prints_its_screen_without_complaint(library: Path, scenario_path: Path) -> None:
    """A function that it needs and we lack would be a traceback on stderr."""
    assert "3g.40gb" in _run(nvml.mig_a100(), scenario_path, library, "-m", "nvitop", "--once")


def test_nvitop_exporter_serves_eight_gpus_and_sixteen_processes(library: Path, scenario_path: Path) -> None:
    """What the benchmark compares us with."""
    with _sleepers(16) as pids:
        nvml.eight_busy_datacenter(pids).write(scenario_path)
        with _exporter(os.environ | nvml.environment(scenario_path, library)) as metrics:
            assert len(re.findall(r"^gpu_temperature_C\{", metrics, re.MULTILINE)) == 8
            assert set(
                map(int, re.findall(r'^process_gpu_memory_MiB\{.*?pid="(\d+)"', metrics, re.MULTILINE))
            ) == set(pids)


def _run(scenario: nvml.Scenario, scenario_path: Path, library: Path, *arguments: str) -> str:
    scenario.write(scenario_path)
    finished = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | nvml.environment(scenario_path, library),
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@contextmanager
def _sleepers(count: int) -> Iterator[list[int]]:
    command = [shutil.which("sleep") or "sleep", "60"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _is_whole(metrics: str) -> bool:
    return metrics.count("\ngpu_temperature_C{") >= 8 and metrics.count("\nprocess_gpu_memory_MiB{") >= 16


@contextmanager
def _exporter(environment: dict[str, str]) -> Iterator[str]:
    """Yield what the exporter serves once it serves all GPUs and processes: it starts with some."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nvitop_exporter", "--bind-address", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        metrics = ""
        while not _is_whole(metrics) and time.monotonic() < deadline:
            time.sleep(0.2)
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as response:
                    metrics = response.read().decode()
            except urllib.error.URLError:
                continue
        yield metrics
    finally:
        process.kill()
        process.wait()
