"""Hosts to log in to: one real sshd on loopback that plays them all, and ports at which nobody answers."""

import os
import random
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import psutil

from bench._server import Cost, Meter, watch
from bench._ssh import SshFigures, SshOrder
from tests.probes.nvidia_smi.logs import NEW_HEAD, TAIL, new_gpu, process
from tests.sources.ssh.server import Server, running_server

GPUS: Final = 8
# Figures change from sample to sample, as they do on a real node.
DOCUMENTS: Final = 100
_NVIDIA_SMI: Final = f"""#!/bin/sh
[ "$1" = -L ] || exec cat "${{0%/*}}/../logs/$(($$ % {DOCUMENTS})).xml"
"""


@contextmanager
def hosts() -> Iterator[Server]:
    """An sshd with a driver of 8 GPUs; nothing that it started is left afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_server(folder, config="PermitUserEnvironment yes") as server:
            _install_driver(server)
            # What somebody's ~/.bashrc does at every login would cost more than all the rest.
            public = server.user_key.with_suffix(".pub").read_text()
            (folder / "authorized_keys").write_text(f'environment="HOME={folder}" {public}')
            try:
                yield server
            finally:
                _end_sessions(server)


@contextmanager
def dead_ports(count: int) -> Iterator[tuple[int, ...]]:
    """Ports that take a connection, or not even that, and then say nothing."""
    with ExitStack() as stack:
        ports = []
        for place in range(count):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
            ports.append(listener.getsockname()[1])
            if place % 2:
                # Its queue is full: from now on packets are swallowed.
                stack.enter_context(socket.create_connection(listener.getsockname()))
        yield tuple(ports)


def read_hosts(order: SshOrder) -> tuple[SshFigures, Cost]:
    """Read hosts in a process of its own; what counts is the CPU time of that process alone."""
    answer, cost = watch([sys.executable, "-m", "bench._ssh"], msgspec.json.encode(order), Meter)
    return msgspec.json.decode(answer, type=SshFigures), cost


def _install_driver(server: Server) -> None:
    logs = server.folder / "logs"
    logs.mkdir()
    for number in range(DOCUMENTS):
        gpus = "".join(_gpu(place) for place in range(GPUS))
        (logs / f"{number}.xml").write_text(NEW_HEAD + gpus + TAIL)
    (server.bin / "nvidia-smi").write_text(_NVIDIA_SMI)
    # It looks through all processes for what an earlier run left; those of 199 other nodes are not its own.
    (server.bin / "grep").write_text("#!/bin/sh\nexit 1\n")
    (server.bin / "grep").chmod(0o755)


def _gpu(place: int) -> str:
    """One GPU with two processes that exist, its figures at random."""
    pids = (os.getpid(), os.getppid())
    memory = [random.randint(300, 40_000) for _ in pids]
    inside = "".join(
        process(pid, "/usr/bin/python3", memory=f"{used} MiB") for pid, used in zip(pids, memory, strict=True)
    )
    text = new_gpu(place, inside=f"<processes>{inside}\n\t\t</processes>")
    figures = {
        "98 %": f"{random.randint(0, 100)} %",
        "37 %": f"{random.randint(0, 100)} %",
        "53 C": f"{random.randint(25, 90)} C",
        "433.78 W": f"{random.uniform(60, 700):.2f} W",
        "447.35 W": f"{random.uniform(60, 700):.2f} W",
        "1980 MHz": f"{random.randrange(210, 1980, 15)} MHz",
        "11125 MiB": f"{sum(memory)} MiB",
    }
    for old, new in figures.items():
        assert old in text
        text = text.replace(old, new)
    return text


def _end_sessions(server: Server) -> None:
    """End what runs in sessions, also where its session has ended already: it has our folder in its PATH."""
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if str(server.bin) in one.environ().get("PATH", ""):
                one.terminate()
