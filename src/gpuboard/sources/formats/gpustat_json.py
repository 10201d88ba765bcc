"""Files written by `gpustat --json`, of all its versions."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from gpuboard.model.errors import WireError
from gpuboard.model.report import GpuProcess, HostFacts, NodeReport
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.readings import Device, read_device
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.sources.formats.base import as_text, read_json, report_of

PROBE: Final = "gpustat"
_LOOK: Final = 4096
# What gpustat writes in a name's place when a GPU cannot be opened.
_LOST: Final = re.compile(r"\(\(.*\)\)")
# How gpustat says that it does not know a user or a command.
_UNKNOWN: Final = {"?", "??", "--"}


def is_gpustat_json(data: bytes) -> bool:
    """Whether this looks like `gpustat --json`."""
    start = data[:_LOOK]
    return start.lstrip().startswith(b"{") and b'"query_time"' in data and b'"gpus"' in data


def read_gpustat_json(data: bytes, node: str) -> NodeReport:
    """Read a file written by `gpustat --json`; of command lines, only the program's name is kept."""
    found = read_json(data)
    gpus = found.get("gpus")
    if not isinstance(gpus, list):
        raise WireError("no list of GPUs in it")
    devices = list(_devices(gpus, node))
    return report_of(
        Devices(
            gpus=tuple(device.reading for device in devices),
            problems=tuple(problem for device in devices for problem in device.problems),
            driver_version=word(as_text(found.get("driver_version"))),
        ),
        node,
        probe=PROBE,
        host=HostFacts(hostname=word(as_text(found.get("hostname")))),
        taken_at=_utc(as_text(found.get("query_time"))),
    )


def _utc(text: str | None) -> float | None:
    """The moment that a text tells; None for local time without a zone, which could be any."""
    try:
        moment = datetime.fromisoformat(text or "")
        return None if moment.tzinfo is None else max(moment.timestamp(), 0.0)
    except (ValueError, OverflowError):
        return None


def name(text: str | None) -> str | None:
    """A user's or program's name; None where gpustat does not know it."""
    plain = word(text)
    return None if plain in _UNKNOWN else plain


def gpu_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """One GPU's texts under the names of nvidia-smi, which gpustat uses too; a lost GPU says so."""
    lost = _LOST.fullmatch(texts.get("name", "").strip())
    return {**texts, "name": "GPU is lost"} if lost else {**texts}


def _devices(gpus: list[Any], node: str) -> Iterator[Device]:
    for number, gpu in enumerate(gpus):
        if not isinstance(gpu, dict):
            raise WireError("a GPU in it is no object")
        texts = {key: text for key, value in gpu.items() if (text := as_text(value)) is not None}
        index = count(texts.get("index"), high=10_000)
        yield read_device(
            gpu_texts(texts),
            index=number if index is None else index,
            node=node,
            processes=_processes(gpu.get("processes")),
        )


def _processes(found: object) -> tuple[GpuProcess, ...] | None:
    """Read processes; gpustat writes null, or one process without anything, where it cannot list them."""
    if not isinstance(found, list):
        return None
    processes: dict[int, GpuProcess] = {}
    for process in found:
        texts = {key: as_text(value) for key, value in process.items()} if isinstance(process, dict) else {}
        pid = count(texts.get("pid"))
        if pid is not None:
            processes[pid] = GpuProcess(
                pid=pid,
                user=name(texts.get("username", texts.get("user"))),
                memory_used_bytes=size(texts.get("gpu_memory_usage", texts.get("used_memory"))),
                program=name(program_name(texts.get("command", texts.get("comm")))),
            )
    return None if found and not processes else tuple(processes.values())
