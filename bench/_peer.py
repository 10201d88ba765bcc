"""A database of time series in a process of its own: given rounds by remote write, and asked in PromQL."""

import http.client
import json
import shutil
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench._past import Fleet, Round
from bench._remote_write import HEADERS, Writer
from bench._server import Meter
from tests.board import free_port, wait_for


class Peer:
    """One that runs."""

    program = ""
    write_path = "/api/v1/write"
    health_path = "/health"

    def __init__(self, port: int, pid: int, folder: Path) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.meter = Meter(pid)
        self._pid = pid
        self._folder = folder
        self._writer: Writer | None = None

    @classmethod
    def command(cls, folder: Path, port: int) -> list[str]:
        """How it is started, with its data in a folder."""
        raise NotImplementedError

    @classmethod
    def is_installed(cls) -> bool:
        """Whether there is one to compare with."""
        return shutil.which(cls.program) is not None

    def write(self, fleet: Fleet, one: Round) -> None:
        """Hand over a round; what cannot be told is no sample."""
        if self._writer is None:
            self._writer = Writer(fleet, one)
        self._ask("POST", self.write_path, self._writer.request(one), HEADERS)

    def flush(self) -> None:
        """Let all be seen that was handed over."""

    def meter_now(self) -> Meter:
        """A meter that begins now."""
        return Meter(self._pid)

    def query(self, question: str, start: float, end: float, step: float) -> float:
        """Ask over a span; how long the answer took, in seconds."""
        words = {"query": question, "start": start, "end": end, "step": f"{step:g}s", "nocache": 1}
        begun = time.perf_counter()
        answer = self._ask("GET", f"/api/v1/query_range?{urllib.parse.urlencode(words)}")
        took = time.perf_counter() - begun
        if not json.loads(answer)["data"]["result"]:
            raise RuntimeError(f"{self.program} knows nothing of {question}")
        return took

    def get(self, path: str) -> bytes:
        """What it answers to a path."""
        return self._ask("GET", path)

    def close(self) -> None:
        """Ask it nothing more."""
        self._line.close()

    def disk_bytes(self) -> int:
        """What it takes on the disk."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> bytes:
        self._line.request(method, path, body, headers or {})
        answer = self._line.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{self.program} answered {answer.status}: {text[:200]!r}")
        return text


@contextmanager
def running(kind: type[Peer]) -> Iterator[Peer]:
    """One of its own, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        log = folder / "log"
        command = kind.command(folder, port)
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                wait_for(f"http://127.0.0.1:{port}{kind.health_path}", process, log)
                with closing(kind(port, process.pid, folder / "data")) as peer:
                    yield peer
            finally:
                process.kill()
