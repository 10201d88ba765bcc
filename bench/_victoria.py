"""VictoriaMetrics, given the same figures by remote write and asked the same questions."""

import http.client
import json
import shutil
import struct
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from bench._past import Fleet, Round
from bench._server import Meter
from gpuboard.history.figures import GPU_NUMBERS
from tests.board import free_port, wait_for

PROGRAM: Final = "victoria-metrics"
_WHO: Final = "holders"


def is_installed() -> bool:
    """Whether there is one to compare with."""
    return shutil.which(PROGRAM) is not None


class Victoria:
    """One that runs."""

    def __init__(self, port: int, pid: int, folder: Path) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.meter = Meter(pid)
        self._pid = pid
        self._folder = folder
        self._template: Template | None = None

    def write(self, fleet: Fleet, one: Round) -> None:
        """Hand over a round; what cannot be told is no sample."""
        if self._template is None:
            self._template = Template(fleet, one)
        body = literal(self._template.fill(one))
        headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
        self._ask("POST", "/api/v1/write", body, headers)

    def flush(self) -> None:
        """Let all be seen that was handed over."""
        self._ask("GET", "/internal/force_flush")

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
            raise RuntimeError(f"{PROGRAM} knows nothing of {question}")
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
            raise RuntimeError(f"{PROGRAM} answered {answer.status}: {text[:200]!r}")
        return text


@contextmanager
def victoria() -> Iterator[Victoria]:
    """One of its own, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        log = folder / "log"
        command = [
            PROGRAM, f"-storageDataPath={folder / 'data'}", f"-httpListenAddr=127.0.0.1:{port}",
            "-retentionPeriod=100y", "-search.latencyOffset=0s", "-search.disableCache",
        ]  # fmt: skip
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                wait_for(f"http://127.0.0.1:{port}/health", process, log)
                with closing(Victoria(port, process.pid, folder / "data")) as peer:
                    yield peer
            finally:
                process.kill()


class Template:
    """A remote-write request whose values and times alone change from round to round."""

    def __init__(self, fleet: Fleet, one: Round) -> None:
        self._present = ~np.isnan(one.numbers)
        parts: list[bytes] = []
        places: list[int] = []
        length = 0
        for gpu, (uuid, node) in enumerate(zip(fleet.uuids, fleet.nodes, strict=True)):
            for column, name in enumerate((*GPU_NUMBERS, _WHO)):
                if column < len(GPU_NUMBERS) and not self._present[gpu, column]:
                    continue
                labels = _label("__name__", f"gpu_{name}") + _label("gpu", uuid) + _label("node", node)
                series = labels + b"\x12\x10\x09" + bytes(8) + b"\x10" + bytes(6)
                message = b"\x0a" + _varint(len(series)) + series
                parts.append(message)
                length += len(message)
                places.append(length - 15)
        self._buffer = np.frombuffer(b"".join(parts), np.uint8).copy()
        self._values = np.array(places)[:, None] + np.arange(8)
        self._times = np.array(places)[:, None] + 9 + np.arange(6)
        present = np.concatenate([self._present, np.ones((fleet.gpus, 1), np.bool_)], axis=1)
        self._rows, self._columns = np.nonzero(present)

    def fill(self, one: Round) -> bytes:
        """The request for one round."""
        numbers = np.concatenate([one.numbers, one.people[:, None]], axis=1)
        values = numbers[self._rows, self._columns].astype("<f8")
        self._buffer[self._values] = values.view(np.uint8).reshape(-1, 8)
        moments = one.at_ms[self._rows][:, None] >> (7 * np.arange(6))
        self._buffer[self._times] = (moments & 0x7F) | np.array([0x80] * 5 + [0])
        return self._buffer.tobytes()


def literal(plain: bytes) -> bytes:
    """What snappy would make of bytes that it cannot make smaller."""
    return _varint(len(plain)) + b"\xfc" + struct.pack("<I", len(plain) - 1) + plain


def _label(name: str, value: str) -> bytes:
    inner = b"\x0a" + _varint(len(name)) + name.encode() + b"\x12" + _varint(len(value)) + value.encode()
    return b"\x0a" + _varint(len(inner)) + inner


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
