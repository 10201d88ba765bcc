"""The lines of `df`, `free -m`, `nproc` and `uptime` that old collectors leave, as facts about the host."""

import re
from typing import Final

from gpuboard.model.report import Disk, HostFacts
from gpuboard.model.units import MIB
from gpuboard.wire.clean import clean_text

_DISK: Final = re.compile(r"(\S+)\s+(\d{1,15})\s+(\d{1,15})\s+\d{1,15}\s+\d{1,3}%\s+(/\S*)")
# What `df` calls memory that looks like a disk, and pictures of disks, which are always full.
_NO_DISK: Final = re.compile(r"(dev)?tmpfs|udev|dev|run|shm|none|ramfs|rootfs|efivarfs|squashfs|/dev/loop\d+")
_MEMORY: Final = re.compile(r"Mem:\s+(\d{1,12})\s+(\d{1,12})\b.*")
_CORES: Final = re.compile(r"\d{1,5}")
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d) up ")
_UP: Final = re.compile(r" up +(?:(\d{1,6}) days?, +)?(?:(\d{1,2}):(\d\d)|(\d{1,2}) min)?")
# Some locales write decimal commas: 0,25, 0,30, 0,28.
_LOADS: Final = re.compile(r"load averages?: (\d{1,6}[.,]\d\d),? (\d{1,6}[.,]\d\d),? (\d{1,6}[.,]\d\d)")
_MAX_DISKS: Final = 64


def read_status(text: str) -> HostFacts:
    """Find the facts line by line, each by its form: any of them may be missing."""
    memory = cores = uptime = None
    for line in map(str.strip, text.splitlines()):
        memory = memory or _MEMORY.fullmatch(line)
        cores = cores or _CORES.fullmatch(line)
        uptime = uptime or (line if _CLOCK.search(line) else None)
    loads = _LOADS.search(uptime or "")
    load_1, load_5, load_15 = (
        (float(load.replace(",", ".")) for load in loads.groups()) if loads else (None,) * 3
    )
    return HostFacts(
        memory_total_bytes=int(memory[1]) * MIB if memory else None,
        memory_used_bytes=int(memory[2]) * MIB if memory else None,
        cpu_count=int(cores[0]) if cores else None,
        load_1=load_1,
        load_5=load_5,
        load_15=load_15,
        uptime_seconds=_uptime(uptime),
        disks=read_disks(text),
    )


def read_disks(text: str) -> tuple[Disk, ...]:
    """Read the lines that `df` writes about disks, in KiB."""
    found: dict[str, Disk] = {}
    for line in map(str.strip, text.splitlines()):
        match = _DISK.fullmatch(line)
        if match is None or _NO_DISK.fullmatch(match[1]) or len(found) >= _MAX_DISKS:
            continue
        mount = clean_text(match[4])[:4096]
        found[mount] = Disk(mount=mount, total_bytes=int(match[2]) * 1024, used_bytes=int(match[3]) * 1024)
    return tuple(found.values())


def time_of_day(text: str) -> int | None:
    """The host's local time when `uptime` ran, in seconds after midnight; None when it is not there."""
    match = _CLOCK.search(text)
    return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3]) if match else None


def _uptime(line: str | None) -> float | None:
    match = _UP.search(line or "")
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, only_minutes = (int(part or 0) for part in match.groups())
    return float(days * 86400 + hours * 3600 + (minutes + only_minutes) * 60)
