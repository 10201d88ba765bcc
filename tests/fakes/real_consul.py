"""A real Consul agent on this machine, for tests: in memory, with access control that denies by default."""

import asyncio
import json
import ssl
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes.consul import TOKEN
from tests.parts import free_ports, unpack

_PAPERS = ("cert_file", "key_file", "ca_file")
_ACCESS = {"enabled": True, "default_policy": "deny", "tokens": {"master": TOKEN}}


class Papers(NamedTuple):
    """With what an agent that speaks TLS proves who it is, and by whom it believes others."""

    certificate: Path
    key: Path
    ca_file: Path


class RealConsul:
    """The real thing; starting it anew forgets everything, as the stand-in does. With papers: HTTPS only."""

    def __init__(self, program: Path, folder: Path, papers: Papers | None = None) -> None:
        self._program = program
        self._log = folder / "consul.log"
        self._settings = folder / "consul.json"
        self.papers = papers
        self.port, *self._others = free_ports(5)
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Run, and wait until it leads itself."""
        await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        """Be gone at once."""
        await asyncio.to_thread(self._stop)

    def _start(self) -> None:
        names = ("dns-port", "server-port", "serf-lan-port", "serf-wan-port")
        ports = [f"-{name}={port}" for name, port in zip(names, self._others, strict=True)]
        self._settings.write_text(
            json.dumps({"disable_update_check": True, "acl": _ACCESS} | self._serving())
        )
        command: list[str | Path] = [self._program, "agent", "-dev", "-bind=127.0.0.1", "-client=127.0.0.1"]
        command += ["-grpc-port=-1", *ports, f"-config-file={self._settings}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._is_ready():
            assert time.monotonic() < deadline, self._log.read_text()[-2000:]
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            time.sleep(0.05)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"{'http' if self.papers is None else 'https'}://127.0.0.1:{self.port}"

    def trust(self) -> ssl.SSLContext:
        """How its administrator believes it."""
        return ssl.create_default_context(cafile=None if self.papers is None else self.papers.ca_file)

    def _serving(self) -> dict[str, Any]:
        if self.papers is None:
            return {"ports": {"http": self.port}}
        files = {name: str(path) for name, path in zip(_PAPERS, self.papers, strict=True)}
        return {"ports": {"http": -1, "https": self.port}, "verify_outgoing": True, **files}

    def _is_ready(self) -> bool:
        # Until the first leader has set up access control, the token is unknown.
        request = urllib.request.Request(f"{self.url}/v1/acl/token/self", headers={"X-Consul-Token": TOKEN})
        try:
            with urllib.request.urlopen(request, timeout=2, context=self.trust()):
                return True
        except OSError:
            return False

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@asynccontextmanager
async def real_consul(folder: Path, papers: Papers | None = None) -> AsyncIterator[RealConsul]:
    """A real agent that is running."""
    consul = RealConsul(await asyncio.to_thread(unpack, "consul"), folder, papers)
    try:
        await consul.start()
        yield consul
    finally:
        await consul.stop()
