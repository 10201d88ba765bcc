"""The stand-in nvidia-smi writes what the scenario says, the way the real command does."""

import csv
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias
from xml.etree import ElementTree as ET

import pytest

from tests.fakes import nvidia_smi, nvml
from tests.fakes.nvml.scenario import FakeProcess

PATIENCE_SECONDS = 60
LOST = "Unable to determine the device handle for GPU0000:1B:00.0: "
Style: TypeAlias = Literal["old", "newest"] | None
Finished: TypeAlias = "subprocess.CompletedProcess[bytes]"
Smi: TypeAlias = Callable[..., Finished]


@pytest.fixture
def smi(scenario_path: Path) -> Smi:
    """Return a function that runs the command on a scenario."""

    def run(scenario: nvml.Scenario, *arguments: str, style: Style = None) -> Finished:
        scenario.write(scenario_path)
        return subprocess.run(
            ["nvidia-smi", *arguments],
            env=os.environ | nvidia_smi.environment(scenario_path, style=style),
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    return run


def _rows(finished: Finished) -> list[list[str]]:
    assert finished.returncode == 0
    return list(csv.reader(finished.stdout.decode().splitlines(), skipinitialspace=True))


def test_the_csv_of_gpus_has_canonical_names_and_units(smi: Smi) -> None:
    """An alias asks for the field, the header tells its real name."""
    query = (
        "--query-gpu=index,gpu_uuid,memory.used,power.draw,clocks.sm,fan.speed,temperature.gpu,pstate,serial"
    )
    header, first, *rest = _rows(smi(nvml.eight_busy_datacenter(), query, "--format=csv"))
    assert header[:4] == ["index", "uuid", "memory.used [MiB]", "power.draw [W]"]
    assert header[4:] == ["clocks.current.sm [MHz]", "fan.speed [%]", "temperature.gpu", "pstate", "serial"]
    assert first[2:] == ["41984 MiB", "600.50 W", "1980 MHz", "[N/A]", "60", "P0", "1652523000000"]
    assert len(rest) == 7


def test_noheader_and_nounits_leave_only_values(smi: Smi) -> None:
    """What most scripts ask for."""
    options = ("--query-gpu=index,memory.total,utilization.gpu", "--format=csv,noheader,nounits")
    assert _rows(smi(nvml.four_consumer_cards(), *options))[1] == ["1", "24564", "99"]


def test_an_old_driver_says_not_supported(smi: Smi) -> None:
    """And counts what it reserves as used."""
    options = ("--query-gpu=serial,power.limit,memory.used", "--format=csv,noheader")
    assert _rows(smi(nvml.four_consumer_cards(), *options, style="old"))[0] == [
        "[Not Supported]",
        "[Not Supported]",
        "1046 MiB",
    ]


def test_a_failing_reading_names_the_failure_in_its_place(smi: Smi) -> None:
    """The rest of the row is as usual."""
    rules = nvml.Rules(errors={"nvmlDeviceGetUtilizationRates": 999, "nvmlDeviceGetFanSpeed": 15})
    scenario = nvml.eight_busy_datacenter().with_gpu(1, rules=rules)
    options = ("--query-gpu=utilization.gpu,fan.speed,temperature.gpu", "--format=csv,noheader")
    assert _rows(smi(scenario, *options))[1] == ["[Unknown Error]", "[GPU is lost]", "61"]


def test_a_comma_in_a_process_name_is_not_quoted(smi: Smi) -> None:
    """As in the real command: one column more than the header has."""
    process = FakeProcess(pid=4_000_001, memory=None, name="python --gpus=0,1")
    scenario = nvml.eight_busy_datacenter().with_gpu(0, processes=(process,))
    options = ("--query-compute-apps=pid,name,used_memory", "--format=csv")
    lines = smi(scenario, *options).stdout.decode().splitlines()
    assert lines[:2] == ["pid, process_name, used_gpu_memory [MiB]", "4000001, python --gpus=0,1, [N/A]"]
    assert len(lines) == 16


def test_an_unknown_field_is_refused(smi: Smi) -> None:
    """On stdout, with exit code 2."""
    finished = smi(nvml.eight_busy_datacenter(), "--query-gpu=index,cuda_version", "--format=csv")
    assert (finished.returncode, finished.stdout) == (
        2,
        b'Field "cuda_version" is not a valid field to query.\n\n',
    )


@pytest.mark.parametrize(
    ("style", "doctype", "power", "reasons"),
    [
        ("old", None, "power_readings/power_draw", "clocks_throttle_reasons"),
        (None, b"nvsmi_device_v12.dtd", "gpu_power_readings/power_draw", "clocks_event_reasons"),
        ("newest", b"nvsmi_device_v13.dtd", "gpu_power_readings/average_power_draw", "clocks_event_reasons"),
    ],
)
def test_the_document_follows_its_generation(
    smi: Smi, style: Style, doctype: bytes | None, power: str, reasons: str
) -> None:
    """Each generation of drivers names some elements its own way."""
    document = smi(nvml.four_consumer_cards(), "-q", "-x", style=style).stdout
    first = ET.fromstring(document).findall("gpu")[0]
    assert (doctype in document) if doctype else (b"DOCTYPE" not in document)
    assert first.findtext(power) == "38.20 W"
    assert first.find(reasons) is not None
    assert first.findtext("temperature/gpu_temp") == "45 C"
    assert first.findtext("serial") == "N/A"
    assert [info.findtext("type") for info in first.iter("process_info")] == ["G", "C+G"]


def test_the_document_shows_mig_devices_without_their_uuids(smi: Smi) -> None:
    """As the real one; only the list tells the UUIDs."""
    scenario = nvml.mig_a100()
    root = ET.fromstring(smi(scenario, "-q", "-x").stdout)
    migs = root.findall("gpu/mig_devices/mig_device")
    assert [mig.findtext("gpu_instance_id") for mig in migs] == ["2", "3", "9", "10"]
    assert migs[1].findtext("fb_memory_usage/total") == "19968 MiB"
    assert root.findtext("gpu/processes/process_info/gpu_instance_id") == "2"
    listed = smi(scenario, "-L").stdout.decode().splitlines()
    assert listed[1] == f"  MIG 3g.40gb     Device  0: (UUID: {scenario.gpus[0].migs[0].uuid})"


@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        (nvml.mismatch(), 18, "Failed to initialize NVML: Driver/library version mismatch\n"),
        (
            nvml.no_driver(),
            9,
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        ),
        (nvml.no_permission(), 4, "Failed to initialize NVML: Insufficient Permissions\n"),
        (nvml.zero_gpus(), 6, "No devices were found\n"),
        (nvml.one_lost_of_eight(0), 15, LOST + "GPU is lost.  Reboot the system to recover this GPU\n"),
    ],
)
def test_the_command_fails_in_the_words_of_the_real_one(
    smi: Smi, scenario: nvml.Scenario, code: int, words: str
) -> None:
    """On stdout, with NVML's code as exit code."""
    finished = smi(scenario, "-q", "-x")
    assert finished.returncode == code
    assert finished.stdout.decode().startswith(words)


def test_the_newest_command_skips_a_lost_gpu(smi: Smi) -> None:
    """It says so on stderr and exits with 0."""
    finished = smi(nvml.one_lost_of_eight(3), "--query-gpu=index", "--format=csv,noheader", style="newest")
    assert finished.stdout.decode().split() == ["0", "1", "2", "4", "5", "6", "7"]
    assert b"GPU3: 0000:61:00.0: GPU is lost" in finished.stderr


def test_a_loop_goes_on_while_the_scenario_changes(scenario_path: Path) -> None:
    """A GPU lost on the way stays in the list, its readings say why."""
    nvml.eight_busy_datacenter().write(scenario_path)
    command = [
        "nvidia-smi",
        "--query-gpu=index,temperature.gpu",
        "--format=csv,noheader",
        "-lms",
        "50",
        "-i",
        "3",
    ]
    with subprocess.Popen(
        command, env=os.environ | nvidia_smi.environment(scenario_path), stdout=subprocess.PIPE, text=True
    ) as looping:
        lines = looping.stdout or ()
        assert next(iter(lines)) == "3, 63\n"
        nvml.one_lost_of_eight(3).write(scenario_path)
        assert next(line for line in lines if line != "3, 63\n") == "3, [GPU is lost]\n"
        looping.kill()


def test_a_hanging_driver_hangs_the_command_until_it_recovers(scenario_path: Path) -> None:
    """Nothing is written before."""
    nvml.everything_hangs().write(scenario_path)
    with subprocess.Popen(
        ["nvidia-smi", "-L"],
        env=os.environ | nvidia_smi.environment(scenario_path),
        stdout=subprocess.PIPE,
    ) as hanging:
        time.sleep(0.5)
        assert hanging.poll() is None
        nvml.eight_busy_datacenter().write(scenario_path)
        assert len(hanging.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()) == 8


def test_a_name_that_is_not_text_is_written_as_it_is(smi: Smi) -> None:
    """Readers must decode with replacement."""
    scenario = nvml.eight_busy_datacenter().with_gpu(0, name=b"NVIDIA \xff")
    assert smi(scenario, "--query-gpu=name", "--format=csv,noheader").stdout.startswith(b"NVIDIA \xff\n")
