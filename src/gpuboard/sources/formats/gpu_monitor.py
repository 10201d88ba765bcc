"""The family of files that the gpu-monitor scripts leave per host: gpus, processes, users, status, disks.

Their times are local and without zone. The line of `uptime` tells the host's clock, and when the files were
written tells the date that goes with it; without that line an age cannot be told.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from gpuboard.model.errors import ProbeError, WireError
from gpuboard.model.report import GpuProcess, GpuReading, HostFacts, NodeReport
from gpuboard.model.units import MIB
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.messages import explain
from gpuboard.probes.nvidia_smi.tables import Row, apps_from_rows, attach_apps, devices_from_rows, read_tables
from gpuboard.probes.nvidia_smi.values import word
from gpuboard.sources.formats.base import report_of, report_of_failure, whole_lines
from gpuboard.sources.formats.host_status import read_disks, read_status, time_of_day
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.text import decode_text

# HOST_gpus.csv and so on; only the first must be there.
MEMBERS: Final = ("gpus", "processes", "users", "status", "disks")
PROBE: Final = "gpu-monitor"
GPU_FIELDS: Final = (
    *("index", "uuid", "name", "memory.used", "memory.total", "utilization.gpu", "utilization.memory"),
    *("temperature.gpu", "timestamp"),
)
APP_FIELDS: Final = ("timestamp", "gpu_uuid", "used_gpu_memory", "process_name", "pid")
# Lines of one round are this close together.
_ROUND_SECONDS: Final = 3
# Both loops run every 20 s: processes this much older than the GPUs have ended.
_ENDED_SECONDS: Final = 40
# A dead process on a GPU that uses less than this is only a leftover line.
_LEFTOVER_BYTES: Final = 10 * MIB
_DAY: Final = 86400
_ZONE_STEP: Final = 900
# Zones reach from Hawaii, ten hours behind, to here, the Chatham Islands: so a time of day tells its date.
_EAST: Final = 13 * 3600 + 45 * 60
# The last zone of all: by its clock, a local time was the longest ago.
_EASTMOST: Final = 14 * 3600
# The files are written one after the other, so that a line may be newer than the clock beside it.
_EARLY: Final = 60
# And copied some seconds later. A clock further off than this is no zone's: the copy is newer than its files.
_COPIED: Final = 120
_PS: Final = re.compile(r"(\d{1,10})\s+(\S{1,256})(.*)")


class _Person(NamedTuple):
    user: str
    started: float | None


class FileFamily(NamedTuple):
    """What one host's files say."""

    report: NodeReport
    # The newest line's local time, counted as if it were UTC: good to be compared with that of other rounds.
    newest: float | None
    # False: the report's age is made up, and too old to count as fresh.
    is_age_known: bool


def read_family(
    files: Mapping[str, bytes], node: str, *, written_at: float, zone_seconds: float | None = None
) -> FileFamily:
    """Read one host's files, by member name; when they were written (UTC) lets local times be told.

    The report's age is how old the newest line about GPUs was when the files were written. Where they may be
    copies that somebody makes again and again, `zone_seconds` is the only zone in which a host's clock is
    believed to be that of the copy: files that hang for hours look like fresh ones of another zone.

    Raises:
        WireError: the file about GPUs is missing, half-written or of another form.
    """
    if "gpus" not in files:
        raise WireError("the file about GPUs (…_gpus.csv) is missing")
    texts = {member: decode_text(files[member]) for member in MEMBERS if member in files}
    text = whole_lines(texts["gpus"])
    try:
        rows, newest = _newest(read_tables(text, GPU_FIELDS).gpus)
        if not rows:
            raise explain(text)
        if newest is None:
            raise WireError("its lines tell no time")
        there = _local_time(time_of_day(texts.get("status", "")), written_at)
        zone = None if there is None else float(round((there - written_at) / _ZONE_STEP) * _ZONE_STEP)
        age = None if _is_stale_copy(there, written_at, zone_seconds) else _age(newest, there)
        devices = devices_from_rows(rows, text=text, node=node)
        if "processes" in texts:
            devices = _with_processes(devices, texts, newest, zone)
    except ProbeError as error:
        # A sentence has no time; it is as old as its file.
        return FileFamily(report_of_failure(error, node, probe=PROBE), None, is_age_known=True)
    report = report_of(
        devices,
        node,
        probe=PROBE,
        host=_host(texts),
        taken_at=_utc(newest, zone),
        # Whatever the zone and however wrong the clock: not fresh.
        age_seconds=max(_DAY, written_at + _EASTMOST - newest) if age is None else age,
    )
    return FileFamily(report, newest, is_age_known=age is not None)


def _local(text: str, form: str) -> float | None:
    """A local time, counted as if it were UTC: good for differences."""
    try:
        return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _time(row: Row) -> float | None:
    return _local(row.get("timestamp", "").partition(".")[0], "%Y/%m/%d %H:%M:%S")


def _newest(rows: Sequence[Row]) -> tuple[list[Row], float | None]:
    """The lines of the newest round, and its time."""
    times = [(_time(row), row) for row in rows]
    newest = max((time for time, _ in times if time is not None), default=None)
    if newest is None:
        return list(rows), None
    return [row for time, row in times if time is not None and newest - time <= _ROUND_SECONDS], newest


def _local_time(clock: int | None, written_at: float) -> float | None:
    """What the host's clock and calendar said when the files were written, counted as if it were UTC."""
    if clock is None:
        return None
    east = (clock - written_at) % _DAY
    return written_at + (east if east <= _EAST + _ZONE_STEP / 2 else east - _DAY)


def _is_stale_copy(there: float | None, written_at: float, zone_seconds: float | None) -> bool:
    """Whether the host's clock is not that of the moment at which its files were written."""
    if there is None:
        return False
    east = there - written_at
    zone = round(east / _ZONE_STEP) * _ZONE_STEP if zone_seconds is None else zone_seconds
    return abs(east - zone) > _COPIED


def _age(newest: float, there: float | None) -> float | None:
    """How old the newest line was; None where that cannot be known.

    The collector copies its last lines again and again, also when nvidia-smi has long been hanging.
    """
    if there is None or newest - there > _EARLY:
        return None
    return max(0.0, there - newest)


def _host(texts: Mapping[str, str]) -> HostFacts:
    facts = read_status(texts.get("status", ""))
    disks = read_disks(texts.get("disks", ""))
    return msgspec.structs.replace(facts, disks=disks) if disks else facts


def _with_processes(
    devices: Devices, texts: Mapping[str, str], newest: float | None, zone: float | None
) -> Devices:
    rows, when = _newest(read_tables(texts["processes"], APP_FIELDS).apps)
    if newest is not None and when is not None and newest - when > _ENDED_SECONDS:
        rows = []
    joined = attach_apps(devices, apps_from_rows(rows))
    if "users" not in texts:
        return joined
    people, children = _users(texts["users"], zone)
    if not people:
        # `ps` told nothing at all: that makes nobody dead.
        return joined
    gpus = tuple(_with_people(gpu, people, children) for gpu in joined.gpus)
    return msgspec.structs.replace(joined, gpus=gpus)


def _utc(local: float | None, zone: float | None) -> float | None:
    return None if local is None or zone is None else max(local - zone, 0.0)


def _users(text: str, zone: float | None) -> tuple[dict[int, _Person], dict[int, tuple[int, ...]]]:
    """Read who owns which process, and its children: the first line is JSON, the rest is from `ps`."""
    first, _, rest = text.partition("\n")
    people = {}
    for line in rest.splitlines():
        match = _PS.fullmatch(line.strip())
        if match is not None:
            people[int(match[1])] = _Person(match[2], _utc(_local(match[3], "%a %b %d %H:%M:%S %Y"), zone))
    return people, _children(first)


def _children(line: str) -> dict[int, tuple[int, ...]]:
    try:
        found = msgspec.json.decode(line, type=dict[str, list[str | int]])
        refuse_twice(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, WireError):
        return {}
    return {int(pid): _pids(children, besides=pid) for pid, children in found.items() if _is_pid(pid)}


def _pids(found: Iterable[str | int], *, besides: str) -> tuple[int, ...]:
    # A process leads its own group, so it stands among its children too.
    texts = dict.fromkeys(map(str, found))
    return tuple(int(text) for text in texts if _is_pid(text) and text != besides)[:512]


def _is_pid(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10  # noqa: PLR2004 - as many digits as a pid has


def _with_people(
    gpu: GpuReading, people: Mapping[int, _Person], children: Mapping[int, tuple[int, ...]]
) -> GpuReading:
    processes = [_owned(process, people, children.get(process.pid, ())) for process in gpu.processes or ()]
    if gpu.memory_used_bytes is not None and gpu.memory_used_bytes < _LEFTOVER_BYTES:
        processes = [process for process in processes if process.state != "gone"]
    return msgspec.structs.replace(gpu, processes=None if gpu.processes is None else tuple(processes))


def _owned(process: GpuProcess, people: Mapping[int, _Person], children: tuple[int, ...]) -> GpuProcess:
    """Add the owner; of a process that is gone, a living child tells whose it was."""
    alive = process.pid in people
    person = people.get(process.pid) or next((people[child] for child in children if child in people), None)
    user = person.user if person else None
    return msgspec.structs.replace(
        process,
        # `ps` writes the number of a user whose name is too long for its column.
        user=None if user is None or user.isdigit() else word(user),
        uid=int(user) if user is not None and _is_pid(user) else None,
        started_at=person.started if person and alive else None,
        state=None if alive else "gone",
        children=children,
    )
