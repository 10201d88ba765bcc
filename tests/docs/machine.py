"""A machine on which a guide can be followed to the letter: a copy of this one that is thrown away.

Files, processes, network and name are its own: paths, ports and host names are those of the guide, and
nothing has to be substituted. It has a driver with two free GPUs. Root only.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.parts import ROOT, require, require_root
from tests.probes.nvidia_smi.logs import NEW_HEAD, TAIL, new_gpu
from tests.started import eventually

DOMAIN = "lab.example"
# The checkout is there too, where services may look for programs.
CHECKOUT = Path("/srv/gpuboard")
HOME = "/home/root"
SECONDS = 60
UP = {"running", "degraded"}
_CONTROL_GROUPS = re.compile(r"^\S+ (\S+) (?:cgroup2 |cgroup \S*name=systemd)", re.MULTILINE)
_FILES = """
set -e
place=$1 checkout=$2 name=$3 groups=${4:-}
mount -t tmpfs tmpfs "$place" && cd "$place" && mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
for own in home srv etc/gpuboard opt/gpuboard var/lib/gpuboard; do
    mkdir -p "root/$own" && mount -t tmpfs tmpfs "root/$own"
done
mount -t tmpfs tmpfs root/tmp && chmod 1777 root/tmp
sed -i "s,:/root:,:/home/root:," root/etc/passwd
mkdir root/home/root
for same in "root/$checkout" root/srv/gpuboard; do
    mkdir -p "$same" && mount --bind "$checkout" "$same" && mount -o remount,bind,ro "$same"
done
echo "$name" > root/etc/hostname
"""
_BARE = """
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/run
hostname "$name"
echo ready
exec chroot root sleep infinity
"""
# The services of this machine are not started there; its control groups lie below one of its own.
_BOOTED = """
rm -rf root/etc/systemd/system/*.wants
for group in $groups; do mkdir "$group" && echo $$ > "$group/cgroup.procs"; done
echo ready
# The checkout may lie in /tmp.
export SYSTEMD_NSPAWN_TMPFS_TMP=0
exec systemd-nspawn --quiet --directory=root --private-network --register=no --keep-unit --link-journal=no \\
    --machine="$name" --console=pipe --boot
"""
_SMI = """#!/bin/sh
case $1 in
    -L) echo "GPU 0: NVIDIA H100 80GB HBM3"; echo "GPU 1: NVIDIA H100 80GB HBM3";;
    *) sed "s|<timestamp>.*<|<timestamp>$(LC_ALL=C date +%c)<|" /usr/local/share/nvidia-smi.xml;;
esac
"""

_WAIT = """
import json, ssl, sys, time, urllib.request

board, node, *ca_file = sys.argv[1:]
context = ssl.create_default_context(cafile=ca_file[0] if ca_file else None)
ends = time.monotonic() + 60
seen = {}
while seen.get(node) != ("live", 2):
    if time.monotonic() > ends:
        sys.exit(f"{node} is not live: {seen}")
    time.sleep(0.1)
    try:
        with urllib.request.urlopen(f"{board}api/v1/fleet", timeout=20, context=context) as answer:
            nodes = json.load(answer)["nodes"]
        seen = {each["name"]: (each["state"], len(each["gpus"])) for each in nodes}
    except OSError as error:
        seen = {"nobody": str(error)}
"""


class Machine:
    """The copy; commands run in it as root types them, from an empty home directory."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.root = Path(f"/proc/{pid}/root")
        # Until it has gone into its own files, these would be ours.
        eventually(lambda: not self.root.samefile("/"))
        self.write("/usr/local/bin/nvidia-smi", _SMI, mode=0o755)
        cards = (new_gpu(0) + new_gpu(1)).replace("98 %", "0 %").replace("11125 MiB", "0 MiB")
        self.write("/usr/local/share/nvidia-smi.xml", NEW_HEAD + cards + TAIL)
        self.run("ip link set lo up && ip address add 10.20.30.1/24 dev lo")
        self.write("/etc/resolv.conf", "")
        self.write("/etc/hosts", f"127.0.0.1 localhost\n10.20.30.1 gpu01.{DOMAIN} gpu01\n")

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Put a file there; a path that does not begin with / lies in the home directory."""
        file = self.root / HOME[1:] / path if path[0] != "/" else self.root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, path: str) -> str:
        """What a file there says."""
        return (self.root / path.lstrip("/")).read_text()

    def name(self, *names: str, address: str = "10.20.30.1") -> None:
        """Let names lead to an address of this machine."""
        with (self.root / "etc" / "hosts").open("a") as hosts:
            hosts.write(f"{address} {' '.join(names)}\n")

    def run(
        self,
        commands: str,
        *,
        given: str = "",
        fails: bool = False,
        seconds: int = SECONDS,
        **environment: str,
    ) -> str:
        """Type commands, each of which must succeed; what they print."""
        done = subprocess.run(
            self._inside("sh", "-e", "-c", commands), env=_surroundings(environment), input=given,
            capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        assert (done.returncode != 0) == fails, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def running(self, commands: str, **environment: str) -> Iterator[None]:
        """Type commands of which the last goes on until the block ends."""
        log = self.root / "tmp" / f"log-{time.monotonic_ns()}"
        *before, last = commands.replace("\\\n", "").strip().splitlines()
        with log.open("wb") as out:
            process = subprocess.Popen(
                self._inside("sh", "-e", "-c", "\n".join([*before, f"exec {last}"])),
                env=_surroundings(environment), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        try:
            yield
            assert process.poll() is None, f"{commands} ended: {log.read_text()}"
        finally:
            # nsenter hands no signal on, and ends with its child.
            for child in _children(process.pid):
                os.kill(child, signal.SIGTERM)
            process.wait(timeout=30)

    def logs(self) -> str:
        """What all that goes on, or went on, has printed."""
        return "".join(log.read_text() for log in (self.root / "tmp").glob("log-*"))

    @contextlib.contextmanager
    def open_to_ssh(self, *ports: int) -> Iterator[None]:
        """Let people in by ssh until the block ends; root of this machine without a password."""
        self.run(
            "ssh-keygen -q -A && mkdir -p /run/sshd ~/.ssh\n"
            "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519\n"
            "cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys"
        )
        listens = " ".join(f"-p {port}" for port in ports)
        with self.running(f"/usr/sbin/sshd -D -e {listens} -o UsePAM=no -o PasswordAuthentication=yes"):
            scan = f"ssh-keyscan gpu01.{DOMAIN} | tee ~/.ssh/known_hosts"
            eventually(lambda: bool(self.run(scan)))
            yield

    def until_live(self, node: str, board: str = "http://127.0.0.1:8042/", *, ca_file: str = "") -> None:
        """Wait until a board shows a node live, with both GPUs."""
        # It gives up by itself, and says what it saw.
        self.run(
            f"python -S -c '{_WAIT}' {board} {node} {ca_file} || {{ journalctl -n 60 --no-pager; exit 1; }}",
            seconds=2 * SECONDS,
        )

    def _inside(self, *command: str) -> list[str]:
        return ["nsenter", f"--target={self._pid}", "--all", "--root", f"--wdns={HOME}", *command]


def _surroundings(more: Mapping[str, str]) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {"PATH": path, "HOME": HOME, "LANG": "C.UTF-8", "USER": "root", "LOGNAME": "root", **more}


@contextlib.contextmanager
def machine(folder: Path, *, name: str = "gpu01") -> Iterator[Machine]:
    """A machine that lasts until the block ends, with everything that runs on it."""
    private = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child")
    with _begun(private, _FILES + _BARE, folder, name) as process:
        yield Machine(*_children(process.pid))


@contextlib.contextmanager
def booted_machine(folder: Path, *, name: str = "gpu01") -> Iterator[Machine]:
    """The same with systemd, which has started it."""
    require("systemd-nspawn")
    groups = [Path(mount) / f"gpuboard-{os.getpid()}" for mount in _CONTROL_GROUPS.findall(_mounts())]
    given = " ".join(str(group) for group in groups)
    with _begun(("--mount",), _FILES + _BOOTED, folder, name, given) as process:
        eventually(lambda: [_comm(pid) for pid in _children(process.pid)] == ["systemd"])
        (first,) = _children(process.pid)
        try:
            here = Machine(first)
            eventually(lambda: here.run("systemctl is-system-running || true").strip() in UP)
            yield here
        finally:
            os.kill(first, signal.SIGKILL)
            process.wait(timeout=30)
    for group in groups:
        subprocess.run(["find", str(group), "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], check=True)


@contextlib.contextmanager
def _begun(
    private: Sequence[str], script: str, folder: Path, *more: str
) -> Iterator["subprocess.Popen[str]"]:
    require("unshare", "nsenter", "ip", "hostname")
    require_root()
    place = folder / "machine"
    place.mkdir()
    with subprocess.Popen(
        ["unshare", *private, "sh", "-c", script, "sh", str(place), str(ROOT), *more],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said == "ready\n", said
            yield process
        finally:
            process.kill()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _mounts() -> str:
    return Path("/proc/mounts").read_text()


def _comm(pid: int) -> str | None:
    """What a process is called; None: it has just ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
