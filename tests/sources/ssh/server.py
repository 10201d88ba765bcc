"""A real sshd on a private port, with a small nvidia-smi of our own on the PATH of its sessions."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from gpuboard.sources.ssh import SshOptions
from tests.parts import require
from tests.probes.nvidia_smi.logs import NEW_HEAD, TAIL, new_gpu, process
from tests.started import is_running

Mode = Literal["ok", "slow", "hang", "flood", "fail", "missing"]

# It says what the file `mode` beside it says; it notes every start, so that a test can count them.
NVIDIA_SMI = """#!/bin/sh
here=$(dirname "$0")/..
read -r mode < "$here/mode"
echo $$ >> "$here/started"
case $mode in
    slow) sleep 0.8;;
    hang) exec "$here"/hang/* 600;;
    flood) while :; do echo "<gpu>this never ends, and nobody has asked for it</gpu>"; done;;
    fail) echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9;;
esac
[ "$1" = -L ] || cat "$here/log.xml"
"""


class Server:
    """One running sshd and everything that belongs to it."""

    def __init__(self, folder: Path, *, config: str = "") -> None:
        self.folder = folder
        self.port = _free_port()
        self.hung_name = f"smi-{self.port}"
        self.user = getpass.getuser()
        self.user_key = make_key(folder / "user_key")
        self.host_key = make_key(folder / "host_key")
        self.config = config
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.set_nvidia_smi("ok")
        self.set_log(new_gpu(0) + new_gpu(1))
        self.allow(self.user_key)
        self.known_hosts = folder / "known_hosts"
        self.trust(self.host_key)
        self.process: subprocess.Popen[bytes] | None = None

    def set_nvidia_smi(self, mode: Mode) -> None:
        """Change what nvidia-smi does from now on."""
        (self.folder / "mode").write_text(f"{mode}\n")
        # A process that does nothing for a long time, and that no other test takes for its own.
        hang = self.folder / "hang" / self.hung_name
        if not hang.exists():
            hang.parent.mkdir()
            shutil.copy(shutil.which("sleep") or "/bin/sleep", hang)
        command = self.bin / "nvidia-smi"
        if mode == "missing":
            command.unlink(missing_ok=True)
        elif not command.exists():
            command.write_text(NVIDIA_SMI)
            command.chmod(0o755)

    def wrap_nvidia_smi(self) -> None:
        """Let nvidia-smi be a script that waits for the real one."""
        (self.bin / "nvidia-smi").write_text(NVIDIA_SMI.replace("exec ", ""))

    def impatient(
        self, script: str, *, ended_after: int = 60, grace: int = 1, name: str | None = None
    ) -> str:
        """A script that soon calls this server's own nvidia-smi left behind, and no other server's."""
        name = name or self.hung_name
        changes = {
            "grace = 8;": f"grace = {grace};",
            'left_behind("nvidia-smi",': f'left_behind("{name}",',
            'left_behind(\\"nvidia-smi\\",': f'left_behind(\\"{name}\\",',
            '"asks"': f'"asks-{self.hung_name}"',
            '\\"asks\\"': f'\\"asks-{self.hung_name}\\"',
            "age >= 60": f"age >= {ended_after}",
        }
        for old, new in changes.items():
            script = script.replace(old, new)
        assert self.hung_name in script
        return script

    def set_log(self, gpus: str) -> None:
        """Change what nvidia-smi prints."""
        (self.folder / "log.xml").write_text(NEW_HEAD + gpus + TAIL)

    def run_on_gpu(self, *pids: int, name: str = "python") -> None:
        """Put processes on the first GPU."""
        inside = "".join(process(pid, name) for pid in pids)
        self.set_log(new_gpu(0, inside=f"<processes>{inside}\n\t\t</processes>") + new_gpu(1))

    def hanging(self) -> list[int]:
        """The process ids of every nvidia-smi that is still there."""
        return [pid for pid in self.starts() if is_running(pid) and self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        # By now the number may be somebody else's.
        try:
            return str(self.folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def starts(self) -> list[int]:
        """The process ids of every nvidia-smi that was started."""
        path = self.folder / "started"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def use_shell(self, *words: str) -> None:
        """Let `sh` on the nodes be another shell."""
        shell = self.bin / "sh"
        shell.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
        shell.chmod(0o755)

    def allow(self, key: Path, options: str = "") -> None:
        """Let a key in, with the options of an authorized_keys line."""
        public = key.with_suffix(".pub").read_text()
        with (self.folder / "authorized_keys").open("a") as file:
            file.write(f"{options} {public}" if options else public)

    def trust(self, key: Path) -> None:
        """Make this the only host key that clients trust."""
        kind, data, *_ = key.with_suffix(".pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {data}\n")

    def options(self, **changes: object) -> SshOptions:
        """How a client gets in."""
        settings = {
            "user": self.user,
            "key_file": str(self.user_key),
            "known_hosts": str(self.known_hosts),
            "ssh_config": os.devnull,
            "port": self.port,
        }
        return SshOptions(**{**settings, **changes})  # type: ignore[arg-type]

    def start(self) -> None:
        """Start sshd and wait until it listens."""
        path = self.folder / "sshd_config"
        search = f"{self.bin}:/usr/local/bin:/usr/bin:/bin"
        path.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.host_key}\nPidFile {self.folder}/pid\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nMaxStartups 200:30:400\nMaxSessions 100\nPrintMotd no\n"
            f"SetEnv PATH={search}\n{self.config}\n"
        )
        sshd = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin") or "sshd"
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([sshd, "-D", "-e", "-f", str(path)], stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.02)
        raise RuntimeError((self.folder / "log").read_text())

    def freeze(self, pids: Sequence[int]) -> None:
        """Stop processes without ending them."""
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    def thaw(self, pids: Sequence[int]) -> None:
        """Let stopped processes go on."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    @property
    def listener(self) -> int:
        """The process that accepts connections."""
        assert self.process is not None
        return self.process.pid

    def sessions(self) -> list[int]:
        """The processes that serve connections."""
        return children_of(self.listener)

    def stop(self) -> None:
        """End sshd, its sessions and every nvidia-smi that still hangs."""
        if self.process is None:
            return
        family = [self.listener, *descendants_of(self.listener)]
        self.thaw(family)
        hanging = self.hanging()
        for pid in [*family, *hanging]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if pid in hanging else signal.SIGTERM)
        self.process.wait(10)
        self.process = None


@contextlib.contextmanager
def running_server(folder: Path, *, config: str = "") -> Iterator[Server]:
    """A server for one test."""
    require("sshd", "ssh-keygen")
    server = Server(folder, config=config)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def make_key(path: Path, *, passphrase: str = "", kind: str = "ed25519") -> Path:
    """Make a key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", path], check=True)
    return path


def children_of(pid: int) -> list[int]:
    """The children of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(") ")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def descendants_of(pid: int) -> list[int]:
    """The children of a process, their children, and so on."""
    return [one for child in children_of(pid) for one in (child, *descendants_of(child))]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
