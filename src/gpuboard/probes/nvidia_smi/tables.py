"""`nvidia-smi --query-gpu` and `--query-compute-apps` as CSV, with or without header and units."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.messages import explain, says_no_devices
from gpuboard.probes.nvidia_smi.readings import Device, read_device, unopened_devices
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.wire.text import decode_text

MAX_LINES: Final = 20_000
Row = dict[str, str]

_COLUMN: Final = re.compile(r"[A-Za-z][\w.-]*")
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
    """The lines of all tables in one text, by kind, and what else stood there."""

    gpus: list[Row]
    apps: list[Row]
    # Whether a list of processes was asked for, even if it is empty.
    has_apps: bool = False
    # Lines with too few columns, and lines that are words.
    damaged: int = 0
    words: int = 0


def parse_gpu_csv(data: bytes, fields: Sequence[str] | None = None, *, node: str = "local") -> Devices:
    """Turn `--query-gpu` CSV into devices; without a header, `fields` says what was asked for.

    Raises:
        ProbeUnavailable: the output says that there is no driver.
        ProbeFailed: it says what else is wrong, or is no such table (kind `unreadable-output`).
    """
    text = decode_text(data)
    tables = read_tables(text, fields)
    if not tables.gpus:
        if says_no_devices(text):
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
    if not tables.apps and (tables.words or tables.damaged) and not says_no_devices(text):
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
    tables = Tables([], [], has_apps=_is_apps(columns))
    for line in filter(str.strip, lines):
        header = _header(line)
        if header is not None:
            columns = header
            tables = tables._replace(has_apps=tables.has_apps or _is_apps(header))
        elif columns is None or "," not in line:
            tables = tables._replace(words=tables.words + 1)
        elif (row := _row(line, columns)) is None:
            tables = tables._replace(damaged=tables.damaged + 1)
        else:
            (tables.apps if _is_apps(columns) else tables.gpus).append(row)
    return tables


def has_header(text: str) -> bool:
    """Whether some line of a text is a table's header."""
    return any(_header(line) is not None for line in text.splitlines()[:100])


def devices_from_rows(
    rows: Iterable[Row], *, text: str = "", damaged: int = 0, node: str = "local"
) -> Devices:
    """Turn lines into devices; of a GPU that stands there several times, the last line counts."""
    found: dict[str, Device] = {}
    driver_version = None
    for number, row in enumerate(rows):
        index = count(row.get("index"), high=10_000)
        device = read_device(row, index=number if index is None else index, node=node, processes=None)
        found[device.reading.uuid] = device
        driver_version = word(row.get("driver_version")) or driver_version
    taken = [device.reading.index for device in found.values()]
    devices = [*found.values(), *unopened_devices(text, taken=taken, node=node)]
    problems = [one for device in devices for one in device.problems]
    if damaged:
        problems.append(problem("truncated-output", f"{damaged} lines have too few columns"))
    return Devices(
        gpus=tuple(device.reading for device in devices),
        problems=tuple(problems),
        driver_version=driver_version,
    )


def apps_from_rows(rows: Iterable[Row]) -> tuple[App, ...]:
    """Turn lines into processes, without their users: nvidia-smi does not know those."""
    return tuple(_app(row) for row in rows)


def attach_apps(devices: Devices, apps: Iterable[App]) -> Devices:
    """Put the processes on their GPUs; a GPU that answers and has none is known to have none."""
    mute = {one.gpu_uuid for one in devices.problems if one.kind in {"gpu-lost", "no-permission"}}
    lists: dict[str, dict[int, GpuProcess] | None] = {
        gpu.uuid: None if gpu.uuid in mute else {} for gpu in devices.gpus
    }
    by_bus = {
        gpu.pcie_bus_id: gpu.uuid for gpu in devices.gpus if gpu.pcie_bus_id and not gpu.mig_parent_uuid
    }
    problems = list(devices.problems)
    for app in apps:
        uuid = app.gpu_uuid if app.gpu_uuid in lists else by_bus.get(app.gpu_bus_id or "")
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
    names = tuple(_without_unit(part.strip()) for part in line.split(","))
    if not _TELLING.intersection(names) or not all(_COLUMN.fullmatch(name) for name in names):
        return None
    return names


def _without_unit(name: str) -> str:
    return name.rpartition("[")[0].rstrip() if name.endswith("]") else name


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
