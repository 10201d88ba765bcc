import time

import pytest

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.units import MIB
from gpuboard.probes.nvidia_smi.tables import attach_apps, parse_apps_csv, parse_gpu_csv

FIELDS = (
    "index",
    "uuid",
    "name",
    "memory.used",
    "memory.total",
    "utilization.gpu",
    "fan.speed",
    "pci.bus_id",
)
HEADER = (
    b"index, uuid, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], fan.speed, pci.bus_id\n"
)
WITH_UNITS = b"0, GPU-a, Tesla V100, 10 MiB, 16160 MiB, 0 %, [N/A], 00000000:01:00.0\n"
WITHOUT_UNITS = b"0, GPU-a, Tesla V100, 10, 16160, 0, [N/A], 00000000:01:00.0\n"
APP_FIELDS = ("timestamp", "gpu_uuid", "used_gpu_memory", "process_name", "pid")


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (HEADER + WITH_UNITS, None),
        (HEADER + WITHOUT_UNITS, None),
        (WITH_UNITS, FIELDS),
        (WITHOUT_UNITS, FIELDS),
        ((HEADER + WITH_UNITS).replace(b"\n", b"\r\n"), None),
    ],
    ids=["header, units", "header only", "units only", "neither", "Windows"],
)
def test_all_four_forms_of_the_table_read_the_same(data: bytes, fields: tuple[str, ...] | None) -> None:
    """Header and units are a matter of taste of whoever wrote the command."""
    (gpu,) = parse_gpu_csv(data, fields).gpus
    assert (gpu.uuid, gpu.index, gpu.model) == ("GPU-a", 0, "Tesla V100")
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (10 * MIB, 16160 * MIB)
    assert (gpu.utilization_percent, gpu.fan_percent) == (0, None)
    assert gpu.processes is None


def test_a_table_without_header_and_fields_cannot_be_read() -> None:
    """Guessing which column is which would be lying."""
    with pytest.raises(ProbeFailed) as caught:
        parse_gpu_csv(WITH_UNITS)
    assert caught.value.problem.kind == "unreadable-output"


def test_a_comma_in_a_process_name_stays_in_the_name() -> None:
    """The columns around it are fixed, so the name is what is left over."""
    line = b"2026/03/07 10:00:00.000, GPU-a, 2296, /opt/a, b, and c/run --x=1,2, 21180\n"
    (app,) = parse_apps_csv(line, APP_FIELDS)
    assert app.gpu_uuid == "GPU-a"
    assert app.process is not None
    assert (app.process.pid, app.process.memory_used_bytes) == (21180, 2296 * MIB)
    assert app.process.program == "a,"


def test_apps_are_put_on_their_gpus_and_the_others_are_known_to_be_empty() -> None:
    """The list of compute processes covers all GPUs at once."""
    devices = parse_gpu_csv(WITHOUT_UNITS + WITHOUT_UNITS.replace(b"0, GPU-a", b"1, GPU-b"), FIELDS)
    apps = parse_apps_csv(
        b"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-b, 7, /usr/bin/python, [N/A]\n"
    )
    first, second = attach_apps(devices, apps).gpus
    assert first.processes == ()
    assert [(p.pid, p.program, p.memory_used_bytes) for p in second.processes or ()] == [(7, "python", None)]


def test_apps_without_a_uuid_are_put_on_their_gpus_by_bus_address() -> None:
    """Either names the GPU."""
    devices = parse_gpu_csv(WITHOUT_UNITS, FIELDS)
    (gpu,) = attach_apps(devices, parse_apps_csv(b"gpu_bus_id, pid\n00000000:01:00.0, 9\n")).gpus
    assert [p.pid for p in gpu.processes or ()] == [9]


def test_a_card_that_cannot_list_processes_has_unknown_ones() -> None:
    """Old consumer cards answer with one line of `[Not Supported]`."""
    devices = parse_gpu_csv(WITHOUT_UNITS, FIELDS)
    apps = parse_apps_csv(b"GPU-a, [Not Supported], [Not Supported]\n", ("gpu_uuid", "pid", "used_memory"))
    (gpu,) = attach_apps(devices, apps).gpus
    assert gpu.processes is None


def test_a_process_on_an_unknown_device_is_a_problem_and_no_phantom_gpu() -> None:
    """A MIG instance may be created between two commands."""
    devices = parse_gpu_csv(WITHOUT_UNITS, FIELDS)
    joined = attach_apps(devices, parse_apps_csv(b"MIG-x, 5\n", ("gpu_uuid", "pid")))
    assert len(joined.gpus) == 1
    assert [found.kind for found in joined.problems] == ["unattributed-process"]


def test_no_apps_at_all_is_an_empty_table() -> None:
    """Without a header the output is simply empty."""
    assert parse_apps_csv(b"", APP_FIELDS) == ()
    assert parse_apps_csv(b"gpu_uuid, pid\n") == ()


def test_of_a_gpu_that_stands_there_twice_the_last_line_counts() -> None:
    """A loop appends one line per round."""
    data = WITHOUT_UNITS + WITHOUT_UNITS.replace(b"10, 16160", b"99, 16160")
    (gpu,) = parse_gpu_csv(data, FIELDS).gpus
    assert gpu.memory_used_bytes == 99 * MIB


def test_a_line_that_is_cut_off_is_left_out_and_said() -> None:
    """The whole lines before it stay."""
    devices = parse_gpu_csv(WITHOUT_UNITS + b"1, GPU-b, Tesla", FIELDS)
    assert [gpu.uuid for gpu in devices.gpus] == ["GPU-a"]
    assert [found.kind for found in devices.problems] == ["truncated-output"]


def test_a_sentence_between_the_lines_is_a_lost_gpu() -> None:
    """And its processes are unknown, whatever the list of processes says."""
    data = (
        b"Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot\n" + WITHOUT_UNITS
    )
    devices = attach_apps(parse_gpu_csv(data, FIELDS, node="box"), ())
    assert [(gpu.uuid, gpu.index) for gpu in devices.gpus] == [("GPU-a", 0), ("box:0000:02:00.0", 1)]
    assert devices.gpus[1].processes is None
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [("gpu-lost", "box:0000:02:00.0")]


def test_gpus_without_uuid_or_index_get_both_in_order() -> None:
    """A query may have asked for neither."""
    gpus = parse_gpu_csv(b"name, memory.used [MiB]\nA, 1 MiB\nB, 2 MiB\n", node="box").gpus
    assert [(gpu.uuid, gpu.index, gpu.uuid_is_synthetic) for gpu in gpus] == [
        ("box:0", 0, True),
        ("box:1", 1, True),
    ]


def test_a_table_without_end_is_refused() -> None:
    """No machine has that many GPUs."""
    with pytest.raises(ProbeFailed):
        parse_gpu_csv(WITHOUT_UNITS * 30_000, FIELDS)


@pytest.mark.parametrize(
    "line", [b"index" + b" " * 1_000_000 + b"x", b"uuid" + b"[" * 1_000_000, b"," * 1_000_000]
)
def test_a_line_made_to_take_long_does_not(line: bytes) -> None:
    """Each step goes over the text once."""
    started = time.thread_time()
    with pytest.raises(ProbeFailed):
        parse_gpu_csv(line + b"\n")
    assert time.thread_time() - started < 5
