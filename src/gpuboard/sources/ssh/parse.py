"""The head of a sample, read into facts. Pure; whatever a node sends, nothing here fails or grows."""

import re
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from gpuboard.model.address import is_of_one_link
from gpuboard.model.report import Address, Disk, GpuProcess, HostFacts
from gpuboard.probes.process_table import STATES
from gpuboard.wire.text import decode_text

Item = TypeVar("Item")

MAX_ITEMS: Final = 64
MAX_CHILDREN: Final = 64
_KIB: Final = 1024
_LARGEST: Final = 2**53
_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_COUNT: Final = re.compile(r"[0-9]{1,15}")
# What a process line says, in the order in which older copies of the command say it without keys.
_PROCESS_KEYS: Final = ("pid", "state", "started", "uid", "user", "children", "name", "program")


class Waiting(Struct, frozen=True, kw_only=True):
    """An nvidia-smi of an earlier sample that has not ended yet."""

    pid: int
    seconds: float
    state: str


class FrameHead(Struct, kw_only=True):
    """What one frame said; None means that it did not say."""

    # Seconds between samples; 0 means that this was the only one.
    interval: float | None = None
    # The node's own time since it started, when the driver was asked and when the frame was sent.
    begun: float | None = None
    sent: float | None = None
    time: float | None = None
    boot_id: str | None = None
    host: HostFacts | None = None
    processes: dict[int, GpuProcess]
    waiting: Waiting | None = None
    # How nvidia-smi ended, and its list of MIG instances.
    exit_code: str | None = None
    listing: bytes = b""


def parse_head(head: bytes) -> FrameHead:
    """Read what stands before the driver's document; what makes no sense is left out."""
    words: dict[str, str] = {}
    lists: dict[str, list[str]] = {"process": [], "address": [], "disk": [], "list": []}
    for line in decode_text(head).split("\n"):
        # `process` lines are separated by tabs, as user names may hold blanks.
        key, _, rest = line.partition("\t" if line.startswith("process\t") else " ")
        if key in lists:
            lists[key].append(rest)
        elif key:
            words.setdefault(key, rest)
    return FrameHead(
        interval=_number(words.get("interval"), high=86_400),
        begun=_number(words.get("begun"), high=1e11),
        sent=_number(words.get("sent"), high=1e11),
        time=_number(words.get("time"), high=1e11),
        boot_id=_word(words.get("boot")),
        host=_host(words, lists["address"], lists["disk"]),
        processes={one.pid: one for one in _each(lists["process"], _process)},
        waiting=_waiting(words.get("waiting")),
        exit_code=_word(words.get("nvidia-smi")),
        listing="\n".join(lists["list"]).encode(),
    )


def _each(lines: list[str], read: Callable[[str], Item | None]) -> list[Item]:
    return [item for line in lines if (item := read(line)) is not None]


def _host(words: dict[str, str], addresses: list[str], disks: list[str]) -> HostFacts:
    loads = [_number(load, high=1e6) for load in words.get("load", "").split(" ")[:3]]
    load_1, load_5, load_15 = [*loads, None, None, None][:3]
    total = _kibibytes(words.get("total"))
    available = _kibibytes(words.get("available"))
    used = None if total is None or available is None else max(0, total - available)
    return HostFacts(
        hostname=_word(words.get("hostname")),
        operating_system=_word(words.get("system")),
        kernel=_word(words.get("kernel")),
        uptime_seconds=_number(words.get("sent"), high=1e11),
        cpu_count=_count(words.get("cpus")),
        load_1=load_1,
        load_5=load_5,
        load_15=load_15,
        memory_used_bytes=used,
        memory_total_bytes=total,
        disks=tuple(_each(disks[:MAX_ITEMS], _disk)),
        addresses=tuple(_each(addresses, _address)[:MAX_ITEMS]),
    )


def _address(text: str) -> Address | None:
    """One address under which others may know the node; not its own loop, nor those of one link."""
    interface, _, address = text.partition(" ")
    plain = address.partition("/")[0]
    if not interface or not plain or is_of_one_link(plain):
        return None
    return Address(interface=interface[:256], address=plain[:256])


def _disk(text: str) -> Disk | None:
    total, _, rest = text.partition(" ")
    used, _, mount = rest.partition(" ")
    if not mount.startswith("/"):
        return None
    return Disk(mount=mount[:4096], used_bytes=_kibibytes(used), total_bytes=_kibibytes(total))


def _process(text: str) -> GpuProcess | None:
    """One process: `pid=7`, `state=R` and so on; keys that we do not know are for others."""
    fields = _process_fields(text.split("\t"))
    pid = _count(fields.get("pid"))
    if pid is None:
        return None
    children = [_count(child) for child in fields.get("children", "").split()[:MAX_CHILDREN]]
    return GpuProcess(
        pid=pid,
        state=STATES.get(fields.get("state", "")),
        started_at=_number(fields.get("started"), high=1e11),
        uid=_count(fields.get("uid")),
        user=_word(fields.get("user")),
        children=tuple(child for child in children if child is not None),
        program=_word(fields.get("program")) or _word(fields.get("name")),
    )


def _process_fields(fields: list[str]) -> dict[str, str]:
    if fields[0].startswith("pid="):
        return {key: value for key, _, value in (field.partition("=") for field in fields)}
    # A forced command stays as it was when it was written into authorized_keys.
    return dict(zip(_PROCESS_KEYS, fields, strict=False)) if len(fields) >= len(_PROCESS_KEYS) else {}


def _waiting(text: str | None) -> Waiting | None:
    pid, _, rest = (text or "").partition(" ")
    seconds, _, state = rest.partition(" ")
    number, age = _count(pid), _number(seconds, high=1e11)
    return None if number is None or age is None else Waiting(pid=number, seconds=age, state=state[:1])


def _word(text: str | None) -> str | None:
    return (text or "").strip()[:256] or None


def _number(text: str | None, *, high: float) -> float | None:
    if text is None or _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if value <= high else None


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and _COUNT.fullmatch(text) else None


def _kibibytes(text: str | None) -> int | None:
    size = _count(text)
    return None if size is None or size * _KIB > _LARGEST else size * _KIB
