"""VictoriaMetrics, given the same figures by remote write and asked the same questions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from bench._peer import Peer, running

PROGRAM: Final = "victoria-metrics"


class Victoria(Peer):
    """One that runs."""

    program = PROGRAM

    @classmethod
    def command(cls, folder: Path, port: int) -> list[str]:
        """How it is started: it keeps all, and remembers no answers."""
        return [
            PROGRAM, f"-storageDataPath={folder / 'data'}", f"-httpListenAddr=127.0.0.1:{port}",
            "-retentionPeriod=100y", "-search.latencyOffset=0s", "-search.disableCache",
        ]  # fmt: skip

    def flush(self) -> None:
        """Let all be seen that was handed over."""
        self.get("/internal/force_flush")


@contextmanager
def victoria() -> Iterator[Victoria]:
    """One of its own, in a folder of its own."""
    with running(Victoria) as peer:
        yield cast("Victoria", peer)
