"""The machine around the GPUs: load, memory, disks, addresses, and how long it has been up."""

import os
import platform
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psutil

from gpuboard import __version__
from gpuboard.model.address import is_of_one_link
from gpuboard.model.report import Address, Disk, HostFacts
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.probes.patience import Patience
from gpuboard.wire.clean import clean_text

DISK_PATIENCE_SECONDS: Final = 0.3
DISK_SECONDS: Final = 30.0
MAX_ITEMS: Final = 64
# Memory that looks like a disk: a machine without disks has it for its root.
_MEMORY: Final = frozenset({"tmpfs", "ramfs", "rootfs"})
# Pictures of disks that are always full, and what a container mounts over itself.
_PICTURES: Final = frozenset({"squashfs", "iso9660", "udf", "overlay", "erofs"})


class HostReader:
    """Reads the machine itself; a field that cannot be read is None."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._disks: tuple[Disk, ...] = ()
        self._disks_due = 0.0
        self._disk_patience = Patience[tuple[Disk, ...]](seconds=DISK_PATIENCE_SECONDS, name="gpuboard-disks")
        self._operating_system = operating_system()

    def read(self) -> HostFacts:
        """Return the facts of this moment, without ever waiting long."""
        memory = _memory()
        loads = _loads()
        return HostFacts(
            hostname=clean_text(platform.node())[:256] or None,
            operating_system=self._operating_system,
            kernel=platform.release()[:256] or None,
            uptime_seconds=boot_seconds(),
            cpu_count=os.cpu_count(),
            load_1=loads[0],
            load_5=loads[1],
            load_15=loads[2],
            memory_used_bytes=memory[0],
            memory_total_bytes=memory[1],
            disks=self._read_disks(),
            addresses=addresses(),
            agent_version=__version__,
        )

    def _read_disks(self) -> tuple[Disk, ...]:
        if self._clock() >= self._disks_due:
            found = self._disk_patience.ask(disks)
            # A disk that does not answer leaves what we knew: sizes, but no longer what is used.
            self._disks = _without_use(self._disks) if found is None else found
            self._disks_due = self._clock() + DISK_SECONDS
        return self._disks


def boot_id(root: Path = Path("/")) -> str | None:
    """What this start of the machine is called; None where the kernel does not say."""
    with suppress(OSError):
        return (root / "proc/sys/kernel/random/boot_id").read_text().strip()[:256] or None
    return None


def sequence() -> int:
    """A number that rises within one start of the machine, over restarts of the agent too."""
    return int(boot_seconds() * 1000)


def operating_system() -> str | None:
    """The system's own name for itself: `Debian GNU/Linux 12 (bookworm)`."""
    with suppress(OSError):
        return clean_text(platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()))[:256]
    return platform.system() or None


def memory_figures() -> tuple[int, int] | None:
    """The host's memory, used and total; what can be given back at once counts as unused."""
    with suppress(OSError, ValueError, KeyError, psutil.Error):
        memory = psutil.virtual_memory()
        return max(0, memory.total - memory.available), memory.total
    return None


def _memory() -> tuple[int | None, int | None]:
    return memory_figures() or (None, None)


def _loads() -> tuple[float | None, float | None, float | None]:
    try:
        return os.getloadavg()
    except OSError:
        return None, None, None


def disks() -> tuple[Disk, ...]:
    """Every real disk once, with what is used of it; this can hang with a disk that does."""
    # Whatever it is made of, `/` is what people ask for; psutil lists it only if it is a real disk.
    root = [part for part in psutil.disk_partitions(all=True) if part.mountpoint == "/"][-1:]
    return tuple(map(_disk, mounts([*root, *psutil.disk_partitions(all=False)])))[:MAX_ITEMS]


def mounts(partitions: Iterable[Any]) -> list[str]:
    """Where the real disks are mounted: each once, at its shortest path, and `/` unless it is memory."""
    by_device: dict[str, str] = {}
    for partition in partitions:
        # psutil has left out network file systems, which hang when their server does.
        is_root = partition.mountpoint == "/"
        if partition.fstype in _MEMORY or (partition.fstype in _PICTURES and not is_root):
            continue
        known = by_device.get(partition.device)
        if known is None or len(partition.mountpoint) < len(known):
            by_device[partition.device] = partition.mountpoint
    return sorted(set(by_device.values()))


def _disk(mount: str) -> Disk:
    with suppress(OSError):
        usage = psutil.disk_usage(mount)
        return Disk(mount=clean_text(mount)[:512], used_bytes=usage.used, total_bytes=usage.total)
    return Disk(mount=clean_text(mount)[:512])


def _without_use(known: tuple[Disk, ...]) -> tuple[Disk, ...]:
    return tuple(Disk(mount=disk.mount, total_bytes=disk.total_bytes) for disk in known)


def addresses() -> tuple[Address, ...]:
    """The addresses under which others may know this machine; not its own loop, nor those of one link."""
    try:
        interfaces = psutil.net_if_addrs()
    except (OSError, psutil.Error):
        return ()
    return tuple(_addresses(interfaces))[:MAX_ITEMS]


def _addresses(interfaces: dict[str, list[Any]]) -> Iterator[Address]:
    for interface, found in sorted(interfaces.items()):
        for entry in found:
            if entry.family not in (socket.AF_INET, socket.AF_INET6):
                continue
            # An IPv6 address of one link carries its interface behind a %.
            address = entry.address.partition("%")[0]
            if not is_of_one_link(address):
                yield Address(interface=clean_text(interface)[:256], address=address[:256])
