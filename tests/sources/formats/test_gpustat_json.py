import json
from typing import Any

import pytest

from gpuboard.model.errors import WireError
from gpuboard.model.units import MIB
from gpuboard.sources.formats.gpustat_json import is_gpustat_json, read_gpustat_json

# 0.3.1 passes on nvidia-smi's texts.
OLD: dict[str, Any] = {
    "hostname": "cml10",
    "query_time": "2017-08-25T23:04:11.000001",
    "gpus": [
        {
            "index": "0",
            "uuid": "GPU-a",
            "name": "GeForce GTX 1080 Ti",
            "temperature.gpu": "64",
            "utilization.gpu": "98",
            "memory.used": "10935",
            "memory.total": "11172",
            "processes": [{"pid": "12345", "used_memory": "10925", "user": "alice", "comm": "python"}],
        },
        {
            "index": "1",
            "uuid": "GPU-b",
            "name": "GeForce GT 630",
            "temperature.gpu": None,
            "utilization.gpu": None,
            "memory.used": "10",
            "memory.total": "1998",
            "processes": [{"pid": None, "used_memory": None, "user": None, "comm": None}],
        },
    ],
}
NEW: dict[str, Any] = {
    "hostname": "vm",
    "driver_version": "535.104.05",
    "query_time": "2026-11-15T22:20:49.957565",
    "gpus": [
        {
            "index": 0,
            "uuid": "GPU-c",
            "name": "NVIDIA H100 80GB HBM3",
            "temperature.gpu": 60,
            "fan.speed": None,
            "utilization.gpu": 90,
            "utilization.enc": 0,
            "power.draw": 600,
            "enforced.power.limit": 700,
            "memory.used": 41984,
            "memory.total": 81559,
            "processes": [
                {
                    "username": "alice",
                    "command": "python3",
                    "full_command": ["python3", "train.py", "--password", "hunter2"],
                    "gpu_memory_usage": 40960,
                    "cpu_percent": 0.0,
                    "pid": 23123,
                },
                {"username": "?", "command": "?", "full_command": ["?"], "gpu_memory_usage": None, "pid": 5},
            ],
        },
        {"index": 1, "name": "((Unknown Error))", "processes": None},
    ],
}


def encode(value: object) -> bytes:
    """As gpustat writes it."""
    return json.dumps(value, indent=4).encode() + b"\n"


def test_the_first_versions_texts_are_read_as_numbers() -> None:
    """They came from nvidia-smi unchanged."""
    assert is_gpustat_json(encode(OLD))
    report = read_gpustat_json(encode(OLD), "cml10")
    assert report.gpus is not None
    first, second = report.gpus
    assert (first.uuid, first.index, first.memory_used_bytes) == ("GPU-a", 0, 10935 * MIB)
    assert [(p.pid, p.user, p.program) for p in first.processes or ()] == [(12345, "alice", "python")]
    assert (second.temperature_celsius, second.processes) == (None, None)


def test_the_newest_version_is_read_without_its_command_lines() -> None:
    """It always writes full command lines; none of them goes further."""
    report = read_gpustat_json(encode(NEW), "vm")
    assert report.gpus is not None
    gpu = report.gpus[0]
    assert (gpu.power_watts, gpu.power_limit_watts, gpu.fan_percent) == (600, 700, None)
    assert [(p.pid, p.user, p.program, p.memory_used_bytes) for p in gpu.processes or ()] == [
        (23123, "alice", "python3", 40960 * MIB),
        (5, None, None, None),
    ]
    assert report.host is not None
    assert (report.host.hostname, report.host.driver_version) == ("vm", "535.104.05")
    assert "hunter2" not in repr(report)


def test_a_gpu_that_cannot_be_opened_is_lost() -> None:
    """It has a number and no figures."""
    report = read_gpustat_json(encode(NEW), "vm")
    assert [(found.kind, found.gpu_uuid) for found in report.problems] == [("gpu-lost", "vm:1")]


def test_local_time_without_a_zone_is_no_time() -> None:
    """It could be any of forty moments; with a zone it is one."""
    assert read_gpustat_json(encode(NEW), "vm").taken_at is None
    with_zone = {**NEW, "query_time": "2026-11-15T22:20:49+01:00"}
    assert read_gpustat_json(encode(with_zone), "vm").taken_at == 1_794_777_649


@pytest.mark.parametrize(
    "data",
    [
        encode(NEW)[:-20],
        encode({**NEW, "gpus": None}),
        encode({**NEW, "gpus": [3]}),
        encode([NEW]),
        b"[" * 100_000,
        encode({**NEW, "gpus": NEW["gpus"] * 40}),
    ],
    ids=["cut off", "no list", "no objects", "no object", "depth without end", "the same GPU again"],
)
def test_what_is_not_whole_or_not_gpustat_is_refused(data: bytes) -> None:
    """With a sentence, and nothing else."""
    with pytest.raises(WireError):
        read_gpustat_json(data, "vm")


@pytest.mark.parametrize("value", [True, {}, [], "NaN", 10**400, -1, "1e999", "x" * 10_000])
def test_values_of_the_wrong_kind_are_unknown(value: object) -> None:
    """One odd value costs only itself."""
    gpu = {**NEW["gpus"][0], "memory.used": value, "utilization.gpu": value}
    report = read_gpustat_json(encode({**NEW, "gpus": [gpu]}), "vm")
    assert report.gpus is not None
    assert (report.gpus[0].memory_used_bytes, report.gpus[0].utilization_percent) == (None, None)
