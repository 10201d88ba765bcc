"""A machine on which a guide can be followed to the letter: a copy of this one that is thrown away.

Files, processes, network and name are its own: paths, ports and host names are those of the guide, and
nothing has to be substituted. It has a driver with two GPUs. Root only.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.parts import ROOT, require, require_root
from tests.probes.nvidia_smi.logs import NEW_HEAD, TAIL, new_gpu
from tests.started import eventually

DOMAIN = "lab.example"
HOME = "/home/root"
SECONDS = 60
_BEGIN = """
set -e
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount --rbind /dev root/dev
for own in tmp run home etc/gpuboard opt/gpuboard var/lib/gpuboard; do
    mkdir -p "root/$own" && mount -t tmpfs tmpfs "root/$own"
done
chmod 1777 root/tmp && mkdir -p root/run/sshd root/home/root "root/$3"
sed -i "s,:/root:,:/home/root:," root/etc/passwd
mount --bind "$3" "root/$3" && mount -o remount,bind,ro "root/$3"
hostname "$2"
ip link set lo up
ip address add 10.20.30.1/24 dev lo
echo ready
exec chroot root sleep infinity
"""
_SMI = """#!/bin/sh
case $1 in
    -L) echo "GPU 0: NVIDIA H100 80GB HBM3"; echo "GPU 1: NVIDIA H100 80GB HBM3";;
    *) cat /usr/local/share/nvidia-smi.xml;;
esac
"""


class Machine:
    """The copy; commands run in it as root types them, from an empty home directory."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.root = Path(f"/proc/{pid}/root")
        self.write("/usr/local/bin/nvidia-smi", _SMI, mode=0o755)
        self.write("/usr/local/share/nvidia-smi.xml", NEW_HEAD + new_gpu(0) + new_gpu(1) + TAIL)
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

    def run(self, commands: str, *, given: str = "", fails: bool = False, **environment: str) -> str:
        """Type commands, each of which must succeed; what they print."""
        done = subprocess.run(
            self._inside("sh", "-e", "-c", commands), env=_surroundings(environment), input=given,
            capture_output=True, text=True, check=False, timeout=SECONDS,
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
            "ssh-keygen -q -A && mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519\n"
            "cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys"
        )
        listens = " ".join(f"-p {port}" for port in ports)
        with self.running(f"/usr/sbin/sshd -D -e {listens} -o UsePAM=no -o PasswordAuthentication=yes"):
            known = self.root / HOME[1:] / ".ssh" / "known_hosts"
            while not known.exists() or known.stat().st_size == 0:
                self.run(f"ssh-keyscan gpu01.{DOMAIN} > ~/.ssh/known_hosts || sleep 0.05")
            yield

    def until_live(self, node: str, board: str = "http://127.0.0.1:8042/", *, options: str = "") -> None:
        """Wait until a board shows a node live, with both GPUs."""
        seen: dict[str, tuple[str, int]] = {}

        def is_live() -> bool:
            told = self.run(f"gpuboard status --board {board} {options} --json || true")
            nodes = json.loads(told)["nodes"] if told else []
            seen.update({each["name"]: (each["state"], len(each["gpus"])) for each in nodes})
            return seen.get(node) == ("live", 2)

        try:
            eventually(is_live)
        except AssertionError:
            raise AssertionError(f"{node} is not live: {seen}") from None

    def _inside(self, *command: str) -> list[str]:
        return ["nsenter", f"--target={self._pid}", "--all", "--root", f"--wdns={HOME}", *command]


def _surroundings(more: Mapping[str, str]) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {"PATH": path, "HOME": HOME, "LANG": "C.UTF-8", "USER": "root", "LOGNAME": "root", **more}


@contextlib.contextmanager
def machine(folder: Path, *, name: str = "gpu01") -> Iterator[Machine]:
    """A machine that lasts until the block ends, with everything that runs on it."""
    require("unshare", "nsenter", "ip", "hostname")
    require_root()
    place = folder / "machine"
    place.mkdir()
    private = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    with subprocess.Popen(
        [*private, "sh", "-c", _BEGIN, "sh", str(place), name, str(ROOT)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said == "ready\n", said
            yield Machine(*_children(process.pid))
        finally:
            process.kill()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
