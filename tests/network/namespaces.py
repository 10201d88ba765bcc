"""Two machines and the cable between them: network namespaces, for root only."""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.board import ROOT, RunningBoard, wait_for
from tests.parts import require, require_root

CLONE_NEWNET = 0x40000000
NAME = "lab-board"
BOARD, VIEWER = "10.213.77.1", "10.213.77.2"
# A second address of the other machine, of somebody who has nothing to do with the first.
BYSTANDER = "10.213.77.3"


class Network:
    """The board's machine, and another from which it is looked at."""

    def __init__(self, here: str, there: str) -> None:
        self.here = here
        self.there = there

    def run_there(self, *command: str) -> str:
        """Run a command on the other machine; what it prints."""
        whole = ["ip", "netns", "exec", self.there, *command]
        return subprocess.run(whole, capture_output=True, text=True, check=True, timeout=60).stdout

    def drop_everything(self) -> None:
        """Let no packet from elsewhere reach the board, without a word to either side."""
        chain = "add chain inet cut everything { type filter hook input priority 0; policy drop; }"
        self._nft(f"add table inet cut; {chain}; add rule inet cut everything iif lo accept")

    def restore(self) -> None:
        """Let packets through again."""
        self._nft("delete table inet cut")

    def _nft(self, commands: str) -> None:
        subprocess.run(["ip", "netns", "exec", self.here, "nft", commands], check=True, capture_output=True)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """Two namespaces with a cable; the other one knows the board's name."""
    require("ip", "nft", "unshare", "hostname")
    require_root()
    here, there = f"gpb{os.getpid()}a", f"gpb{os.getpid()}b"
    names = Path("/etc/netns") / there
    with contextlib.ExitStack() as stack:
        for namespace in (here, there):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
        ip("link", "add", "cable", "netns", here, "type", "veth", "peer", "name", "cable", "netns", there)
        for namespace, addresses in ((here, [BOARD]), (there, [VIEWER, BYSTANDER])):
            for address in addresses:
                ip("-n", namespace, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("cable", "lo"):
                ip("-n", namespace, "link", "set", device, "up")
        names.mkdir(parents=True)
        stack.callback(shutil.rmtree, names)
        (names / "hosts").write_text(f"127.0.0.1 localhost\n{BOARD} {NAME}\n")
        yield Network(here, there)


def ip(*arguments: str) -> None:
    """Set something up."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def living_on(namespace: str) -> Iterator[None]:
    """Let this thread, and those that it starts, live on the network of one of the machines."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path: str) -> None:
        with Path(path).open(encoding="utf-8") as handle:
            if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), path)

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    enter(f"/run/netns/{namespace}")
    try:
        yield
    finally:
        libc.setns(home, CLONE_NEWNET)
        os.close(home)


@contextlib.contextmanager
def board_on(
    network: Network,
    port: int,
    *arguments: str,
    folder: Path,
    ca_file: Path | None = None,
    limits: Mapping[str, float] | None = None,
) -> Iterator[RunningBoard]:
    """A board that listens on every address of its machine, which has a name of its own.

    `limits` are others than people have, by module and name.
    """
    log = folder / "log"
    surroundings = {**os.environ, **({"GPUBOARD_TEST_LIMITS": json.dumps(limits)} if limits else {})}
    serve = [
        sys.executable,
        "-m",
        "tests.impatient" if limits else "gpuboard",
        "serve",
        "--listen",
        f"0.0.0.0:{port}",
    ]
    serve += ["--state-dir", str(folder / "state"), *arguments]
    named = ["unshare", "--uts", "sh", "-c", f'hostname {NAME}; exec "$@"', "sh", *serve]
    with log.open("ab") as out:
        process = subprocess.Popen(
            ["ip", "netns", "exec", network.here, *named], stdout=out, stderr=out, env=surroundings, cwd=ROOT
        )
    url = f"{'https' if ca_file else 'http'}://{BOARD}:{port}/"
    try:
        with living_on(network.there):
            wait_for(f"{url}healthz", process, log, ca_file)
        yield RunningBoard(url, process, folder / "state")
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
