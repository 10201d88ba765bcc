import os
import platform
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from gpuboard.model.report import Disk
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.probes import host
from gpuboard.probes.host import HostReader, addresses, boot_id, mounts, sequence
from tests.clock import Clock
from tests.started import eventually


def partition(device: str, mountpoint: str, fstype: str = "ext4") -> SimpleNamespace:
    """One line of the system's table of mounts."""
    return SimpleNamespace(device=device, mountpoint=mountpoint, fstype=fstype)


def test_the_machine_is_described() -> None:
    """Each fact is the one that the system tells."""
    facts = HostReader().read()
    assert (facts.hostname, facts.kernel, facts.cpu_count) == (
        platform.node(),
        platform.release(),
        os.cpu_count(),
    )
    assert facts.uptime_seconds == pytest.approx(time.time() - psutil.boot_time(), abs=5)
    assert facts.memory_total_bytes == psutil.virtual_memory().total
    assert 0 < (facts.memory_used_bytes or 0) < (facts.memory_total_bytes or 0)
    assert None not in (
        facts.load_1,
        facts.load_5,
        facts.load_15,
        facts.operating_system,
        facts.agent_version,
    )
    root = next(disk for disk in facts.disks if disk.mount == "/")
    assert 0 < (root.used_bytes or 0) <= (root.total_bytes or 0)


def test_a_disk_is_listed_once_and_pictures_of_disks_never() -> None:
    """Containers mount the same disk over single files; packages mount themselves."""
    table = [
        partition("/dev/sda1", "/etc/hosts"),
        partition("/dev/sda1", "/data"),
        partition("/dev/sdb1", "/scratch"),
        partition("/dev/loop0", "/snap/core/1", "squashfs"),
        partition("overlay", "/var/lib/docker/overlay2/x/merged", "overlay"),
        partition("tmpfs", "/dev/shm", "tmpfs"),
    ]
    assert mounts(table) == ["/data", "/scratch"]


@pytest.mark.parametrize(
    ("fstype", "expected"), [("ext4", ["/"]), ("overlay", ["/"]), ("tmpfs", []), ("rootfs", [])]
)
def test_the_root_is_a_disk_unless_it_is_memory(fstype: str, expected: list[str]) -> None:
    """In a container its figures are those of the disk below; a machine without disks has none."""
    assert mounts([partition("root", "/", fstype)]) == expected


def test_a_disk_that_hangs_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size stays, its use becomes unknown, and it is not asked again while it hangs."""
    clock = Clock()
    reader = HostReader(clock=clock)
    monkeypatch.setattr(host, "disks", lambda: (Disk(mount="/", used_bytes=1, total_bytes=2),))
    assert reader.read().disks == (Disk(mount="/", used_bytes=1, total_bytes=2),)
    asked = []
    answers = threading.Event()

    def hang() -> tuple[Disk, ...]:
        asked.append(1)
        answers.wait()
        return ()

    monkeypatch.setattr(host, "disks", hang)
    for _ in range(3):
        clock.now += 60
        assert reader.read().disks == (Disk(mount="/", total_bytes=2),)
    assert len(asked) == 1
    answers.set()


def test_addresses_are_those_that_others_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the machine's own loop, nor those that hold on one cable only."""
    found = {
        "lo": [SimpleNamespace(family=2, address="127.0.0.1"), SimpleNamespace(family=10, address="::1")],
        "eth0": [
            SimpleNamespace(family=2, address="192.0.2.7"),
            SimpleNamespace(family=10, address="2001:db8::7"),
            SimpleNamespace(family=10, address="fe80::1%eth0"),
            SimpleNamespace(family=2, address="169.254.3.1"),
            SimpleNamespace(family=17, address="00:00:5e:00:53:01"),
        ],
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: found)
    assert [(a.interface, a.address) for a in addresses()] == [("eth0", "192.0.2.7"), ("eth0", "2001:db8::7")]


def test_a_start_of_the_machine_has_a_name(tmp_path: Path) -> None:
    """Where the kernel tells it."""
    assert boot_id() == boot_id()
    assert boot_id(tmp_path) is None


def test_the_sequence_rises_with_the_machines_own_clock() -> None:
    """In milliseconds since its start, so that a restarted agent goes on from there."""
    before = int(boot_seconds() * 1000)
    first = sequence()
    assert before <= first <= boot_seconds() * 1000
    eventually(lambda: sequence() > first)
