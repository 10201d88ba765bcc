"""What the real gpustat writes on the stand-in driver, through the folder's readers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuboard.model.units import MIB
from gpuboard.sources.formats import read_file
from tests.fakes import nvml
from tests.parts import require


@pytest.mark.parametrize("options", [["-pcu"], ["-a", "-f", "--force-color"], ["--json"]])
def test_real_output_is_read_as_the_driver_meant_it(
    options: list[str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The users are those of real processes, whose arguments stay behind."""
    require("cc")
    code = "import sys; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "--password", "hunter2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline()
        machine = nvml.eight_busy_datacenter([job.pid])
        machine.write(tmp_path / "scenario")
        driver = nvml.environment(tmp_path / "scenario", nvml.build(tmp_path_factory.getbasetemp()))
        output = subprocess.run(
            [sys.executable, "-m", "gpustat", *options],
            env={**os.environ, **driver},
            capture_output=True,
            check=True,
        ).stdout
    report = read_file(output, "node1")
    assert report.gpus is not None
    assert [gpu.memory_used_bytes for gpu in report.gpus] == [gpu.memory_used for gpu in machine.gpus]
    assert [gpu.temperature_celsius for gpu in report.gpus] == [gpu.temperature for gpu in machine.gpus]
    for gpu in report.gpus:
        assert [(p.pid, (p.memory_used_bytes or 0) // MIB > 0) for p in gpu.processes or ()] == [
            (job.pid, True)
        ]
        assert all(p.user and (p.program or "").startswith("python") for p in gpu.processes or ())
    assert b"hunter2" in output or "--json" not in options
    assert "hunter2" not in repr(report)
