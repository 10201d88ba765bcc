"""`nvidia-smi --query-gpu` and `--query-compute-apps` as CSV, with or without header and units."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.report import GpuProcess, GpuReading, Problem
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.messages import explain, read_messages, says_no_devices
from gpuboard.probes.nvidia_smi.readings import read_device
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.probes.problems import problem
from gpuboard.wire.text import decode_text

MAX_LINES: Final = 20_000
Row = dict[str, str]

_COLUMN: Final = re.compile(r"[A-Za-z][\w.-]*")
_UNIT: Final = re.compile(r"\s*\[[^\]]*\]$")
# A line is a header when it names some of these; no device answers with such words.
_TELLING: Final = {
    "uuid",
    "gpu_uuid",
    "index",
    "pid",
    "pci.bus_id",
    "gpu_bus_id",
    "memory.used",
    "process_name",
}
# The only columns that may hold a comma, the likelier first.
_FREE: Final = ("process_name", "name", "gpu_name")
_MEMORY: Final = ("used_gpu_memory", "used_memory")


class App(NamedTuple):
    """One line of the list of compute processes; without process when the driver cannot list them."""

    gpu_uuid: str | None
    gpu_bus_id: str | None
    process: GpuProcess | None


class Tables(NamedTuple):
    """The lines of all tables in one text, by kind, and whether some were damaged."""

    gpus: list[Row]
    apps: list[Row]
    # Whether there was such a table at all, even an empty one.
    has_gpus: bool
    has_apps: bool
    damaged: int


def parse_gpu_csv(data: bytes, fields: Sequence[str] | None = None, *, node: str = "local") -> Devices:
    """Turn `--query-gpu` CSV into devices; without a header, `fields` says what was asked for.

    Raises:
        ProbeUnavailable: the output says that there is no driver.
        ProbeFailed: it says what else is wrong, or is no such table (kind `unreadable-output`).
    """
    text = decode_text(data)
    tables = read_tables(text, fields)
    if not tables.gpus:
        if says_no_devices(text) and not read_messages(text).problems:
            return Devices(gpus=(), problems=(problem("no-devices"),))
        raise explain(text)
    return devices_from_rows(tables.gpus, text=text, damaged=tables.damaged, node=node)


def parse_apps_csv(data: bytes, fields: Sequence[str] | None = None) -> tuple[App, ...]:
    """Turn `--query-compute-apps` CSV into processes; without a header, `fields` says what was asked for.

    Raises:
        ProbeUnavailable: the output says that there is no driver.
        ProbeFailed: it says what else is wrong, or is no such table (kind `unreadable-output`).
    """
    text = decode_text(data)
    tables = read_tables(text, fields)
    if not tables.apps and not tables.has_apps and text.strip():
        raise explain(text)
    return apps_from_rows(tables.apps)


def read_tables(text: str, fields: Sequence[str] | None = None) -> Tables:
    """Find the tables in a text; several may follow each other, each with its header.

    Raises:
        ProbeFailed: the text is longer than any honest table.
    """
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise ProbeFailed(problem("unreadable-output", f"more than {MAX_LINES} lines"))
    columns = tuple(fields) if fields else None
    tables = Tables([], [], _is_gpus(columns), _is_apps(columns), 0)
    for line in lines:
        header = _header(line)
        if header is not None:
            columns = header
            tables = tables._replace(
                has_gpus=tables.has_gpus or _is_gpus(header), has_apps=tables.has_apps or _is_apps(header)
            )
        elif columns is not None and "," in line:
            row = _row(line, columns)
            if row is None:
                tables = tables._replace(damaged=tables.damaged + 1)
            else:
                (tables.apps if _is_apps(columns) else tables.gpus).append(row)
    return tables


def devices_from_rows(
    rows: Iterable[Row], *, text: str = "", damaged: int = 0, node: str = "local"
) -> Devices:
    """Turn lines into devices; of a GPU that stands there several times, the last line counts."""
    messages = read_messages(text)
    found: dict[str, tuple[GpuReading, tuple[Problem, ...]]] = {}
    driver_version = None
    for number, row in enumerate(rows):
        index = count(row.get("index"), high=10_000)
        device = read_device(row, index=number if index is None else index, node=node, processes=None)
        found[device.reading.uuid] = device
        driver_version = word(row.get("driver_version")) or driver_version
    problems = [each for _, problems in found.values() for each in problems]
    problems.extend(messages.problems)
    if damaged:
        problems.append(problem("truncated-output", f"{damaged} lines have too few columns"))
    return Devices(
        gpus=tuple(reading for reading, _ in found.values()),
        problems=tuple(problems),
        driver_version=driver_version,
    )


def apps_from_rows(rows: Iterable[Row]) -> tuple[App, ...]:
    """Turn lines into processes, without their users: nvidia-smi does not know those."""
    return tuple(_app(row) for row in rows)


def attach_apps(devices: Devices, apps: Iterable[App]) -> Devices:
    """Put the processes on their GPUs; a GPU without any is known to have none."""
    lists: dict[str, dict[int, GpuProcess] | None] = {gpu.uuid: {} for gpu in devices.gpus}
    by_bus = {gpu.pcie_bus_id: gpu.uuid for gpu in devices.gpus if not gpu.mig_parent_uuid}
    problems = list(devices.problems)
    for app in apps:
        uuid = app.gpu_uuid if app.gpu_uuid in lists else by_bus.get(app.gpu_bus_id)
        if uuid is None:
            where = app.gpu_uuid or app.gpu_bus_id or "unknown device"
            who = f"process {app.process.pid} on {where}" if app.process else where
            problems.append(problem("unattributed-process", who))
        elif app.process is None:
            lists[uuid] = None
        elif (processes := lists[uuid]) is not None:
            processes[app.process.pid] = app.process
    gpus = tuple(
        msgspec.structs.replace(
            gpu, processes=None if (own := lists[gpu.uuid]) is None else tuple(own.values())
        )
        for gpu in devices.gpus
    )
    return msgspec.structs.replace(devices, gpus=gpus, problems=tuple(problems))


def _app(row: Row) -> App:
    pid = count(row.get("pid"))
    process = None
    if pid is not None:
        process = GpuProcess(
            pid=pid,
            kind="compute",
            memory_used_bytes=next((size(row[name]) for name in _MEMORY if name in row), None),
            program=program_name(row.get("process_name", row.get("name"))),
        )
    return App(word(row.get("gpu_uuid")), word(row.get("gpu_bus_id")), process)


def _header(line: str) -> tuple[str, ...] | None:
    names = tuple(_UNIT.sub("", part.strip()) for part in line.split(","))
    if not _TELLING.intersection(names) or not all(_COLUMN.fullmatch(name) for name in names):
        return None
    return names


def _row(line: str, columns: Sequence[str]) -> Row | None:
    """Cut a line into its columns; a comma in a name makes it longer, and the name is what is left over."""
    parts = line.split(",")
    extra = len(parts) - len(columns)
    free = next((columns.index(name) for name in _FREE if name in columns), None)
    if extra < 0 or (extra > 0 and free is None):
        return None
    if extra > 0 and free is not None:
        parts[free : free + extra + 1] = [",".join(parts[free : free + extra + 1])]
    return {name: part.strip() for name, part in zip(columns, parts, strict=True)}


def _is_apps(columns: Sequence[str] | None) -> bool:
    return columns is not None and "pid" in columns


def _is_gpus(columns: Sequence[str] | None) -> bool:
    return columns is not None and "pid" not in columns
