"""Prometheus as a store: given the same figures by remote write and asked the same questions."""

from pathlib import Path
from typing import Final

from bench._peer import Peer

PROGRAM: Final = "prometheus"


class PrometheusStore(Peer):
    """One that runs."""

    program = PROGRAM
    health_path = "/-/ready"

    @classmethod
    def command(cls, folder: Path, port: int) -> list[str]:
        """How it is started: it scrapes nothing, and keeps all."""
        config = folder / "prometheus.yml"
        config.write_text("global: {}\n")
        return [
            PROGRAM, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver",
            "--storage.tsdb.retention.time=100y", "--log.level=warn",
        ]  # fmt: skip
