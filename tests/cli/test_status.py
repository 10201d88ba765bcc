"""`gpuboard status` on every kind of machine."""

import csv
import io
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.cli import main, status
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.identity import Tier
from gpuboard.model.node import NodeState
from gpuboard.model.verdict import Reason
from gpuboard.probes.simulated import simulate
from tests.cli.conftest import Run
from tests.clock import HandClock
from tests.fakes import nvml


def gpus_of(output: str) -> list[dict[str, Any]]:
    """The GPUs in the JSON form."""
    return [gpu for node in json.loads(output)["nodes"] for gpu in node["gpus"]]


def words(output: str) -> Counter[str]:
    """How often each verdict was given."""
    return Counter(gpu["verdict"]["word"] for gpu in gpus_of(output))


MACHINES = [
    (nvml.eight_busy_datacenter(), 0, {"busy": 8}),
    (nvml.one_lost_of_eight(), 0, {"busy": 7, "broken": 1}),
    (nvml.mig_a100(), 0, {"free": 4, "busy": 2}),
    (nvml.no_driver(), 3, {}),
    (nvml.mismatch(), 3, {}),
    (nvml.no_permission(), 3, {}),
    (nvml.zero_gpus(), 3, {}),
    (nvml.one_gpu_hangs(), 0, {"busy": 7, "broken": 1}),
    (nvml.everything_hangs(), 3, {}),
]


@pytest.mark.parametrize(
    ("machine", "code", "expected"),
    MACHINES,
    ids=["busy", "lost", "mig", "no driver", "mismatch", "no permission", "zero", "one hangs", "all hangs"],
)
def test_each_machine_gets_its_verdicts(
    run: Run, machine: nvml.Scenario, code: int, expected: dict[str, int]
) -> None:
    """By NVML; nothing crashes, and nothing that cannot be read is free."""
    done = run(machine, "status", "--json", "--probe", "nvml")
    assert (done.returncode, words(done.stdout)) == (code, expected), done.stderr


def test_consumer_cards_without_power_limit_or_ecc_are_read(run: Run) -> None:
    """What a card lacks is null, and never zero."""
    gpus = gpus_of(run(nvml.four_consumer_cards(), "status", "--json").stdout)
    readings = [gpu["reading"] for gpu in gpus]
    assert [reading["power_limit_watts"] for reading in readings] == [None] * 4
    assert [reading["fan_percent"] for reading in readings] == [30, 64, None, 0]
    assert [reading["ecc_enabled"] for reading in readings] == [None] * 4


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (nvml.no_driver(), "modprobe nvidia"),
        (nvml.mismatch(), "reboot"),
        (nvml.no_permission(), "/dev/nvidia"),
        (nvml.everything_hangs(), "does not answer"),
    ],
    ids=["no driver", "mismatch", "no permission", "hang"],
)
def test_a_machine_that_cannot_be_read_says_why_in_one_line(
    run: Run, machine: nvml.Scenario, says: str
) -> None:
    """On stderr, with what to do, and 3."""
    done = run(machine, "status", "--probe", "nvml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert says in done.stderr


def test_the_table_has_a_line_per_gpu_and_the_answer(run: Run) -> None:
    """Without colour when it is not a terminal."""
    lines = run(nvml.four_consumer_cards(), "status").stdout.splitlines()
    assert [line[:15] for line in lines[1:5]] == [f"[{index}]  RTX 4090  " for index in range(4)]
    assert lines[-1].endswith("of 4 GPUs free")
    assert "\x1b" not in "".join(lines)


def test_the_table_tells_what_is_wrong_and_what_to_do(run: Run) -> None:
    """Below the GPUs of its node."""
    output = run(nvml.one_lost_of_eight(), "status").stdout
    assert "fallen off the bus" in output
    assert "→ reboot" in output


def test_csv_has_a_line_per_gpu(run: Run) -> None:
    """With uuid and verdict."""
    rows = list(csv.DictReader(io.StringIO(run(nvml.eight_busy_datacenter(), "status", "--csv").stdout)))
    assert [row["verdict"] for row in rows] == ["busy"] * 8
    assert all(row["uuid"].startswith("GPU-") for row in rows)


def test_the_demo_needs_no_gpu(run: Run) -> None:
    """The first thing that a curious person runs."""
    done = run(nvml.no_driver(), "status", "--demo")
    assert (done.returncode, "of 8 GPUs free" in done.stdout) == (0, True)


def test_an_unknown_probe_is_a_usage_error(run: Run) -> None:
    """Which names those that there are."""
    done = run(nvml.zero_gpus(), "status", "--probe", "tarot")
    assert (done.returncode, "nvidia-smi" in done.stderr) == (2, True)


def test_a_bad_interval_is_a_usage_error(run: Run) -> None:
    """And it says how to write one."""
    done = run(nvml.zero_gpus(), "status", "-i", "often")
    assert (done.returncode, "5s" in done.stderr) == (2, True)


@pytest.mark.parametrize("probe", ["nvml", "nvidia-smi"])
def test_both_probes_see_the_same_machine(run: Run, probe: str) -> None:
    """Whichever way the devices are read."""
    gpus = gpus_of(run(nvml.eight_busy_datacenter(), "status", "--json", "--probe", probe).stdout)
    told = [
        (
            gpu["uuid"],
            gpu["reading"]["index"],
            gpu["reading"]["utilization_percent"],
            gpu["reading"]["temperature_celsius"],
        )
        for gpu in gpus
    ]
    assert told == [
        (gpu.uuid, index, gpu.utilization, gpu.temperature)
        for index, gpu in enumerate(nvml.eight_busy_datacenter().gpus)
    ]


@pytest.mark.slow
def test_a_driver_that_takes_seconds_to_wake_is_waited_for(run: Run) -> None:
    """Without persistence mode the first answer of every device is slow."""
    machine = nvml.eight_busy_datacenter().with_rules(nvml.Rules(delays={"nvmlDeviceGetMemoryInfo": 900}))
    done = run(machine, "status", "--json", "--probe", "nvml")
    assert (done.returncode, words(done.stdout)) == (0, {"busy": 8})


def test_processes_are_shown_with_pid_and_program_when_wanted(run: Run) -> None:
    """What one needs to find or end it."""
    machine = nvml.eight_busy_datacenter(pids=[os.getpid()])
    line = f"{os.getpid()} python"
    assert line not in run(machine, "status").stdout
    assert line in run(machine, "status", "-p").stdout


@pytest.mark.parametrize("command", [["export", "html"], ["status"]])
def test_a_file_that_is_no_nodes_is_not_named_where_nobody_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """A crontab sends by mail whatever is on stderr, every minute."""
    write_drop(tmp_path, "dgx-01", TimedReport(simulate("dgx-01", time.time()), 0.0))
    (tmp_path / "README.txt").write_text("what this folder is for\n")
    assert (main([*command, "--folder", str(tmp_path)]), capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize(
    ("tier", "state", "is_said"),
    [("counts", "error", True), ("counts", "live", False), ("names", "error", False)],
)
def test_where_reasons_are_general_the_full_ones_are_pointed_at(
    capsys: pytest.CaptureFixture[str], tier: Tier, state: NodeState, *, is_said: bool
) -> None:
    """An administrator who sees codes alone has to know where the rest is."""
    fleet = Fleet(HandClock())
    fleet.sink("ssh").trouble("gpu12", Reason(code="file-open", text="chmod"))
    fleet.settle()
    view = fleet_view(fleet)
    nodes = tuple(replace(node, state=state) for node in view.nodes)
    status._say_if_hidden(replace(view, tier=tier, nodes=nodes))
    assert ("the board's log" in capsys.readouterr().err) == is_said
