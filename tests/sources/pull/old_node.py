"""A node of gpu-cluster-monitor as its README describes it: POST /get-status with a password, HTTP/1.0."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "8888"  # its documented default


class OldNode:
    """Answers with its newest sample, however old that is."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        self.last_update = ""
        self.requests = 0
        # Whether it takes samples by itself, as long as it is asked.
        self.is_running = True
        self._server = ThreadingHTTPServer((address, port), self._handler())
        self.port = int(self._server.server_address[1])
        self.sample()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def sample(self, at: datetime | None = None) -> None:
        """Take a new sample; the time is local and says no zone."""
        self.last_update = (at or datetime.now(UTC)).replace(tzinfo=None).isoformat()

    def status(self) -> dict[str, Any]:
        """What it answers."""
        user = {"pid": 123, "username": "ana", "mem(MiB)": 1024, "command": "python train.py --key secret"}
        gpu = {"name": "NVIDIA A100", "use_mem": 1024, "tot_mem": 40960, "utilize": 97, "temp": 60}
        return {
            "hostname": "old-box",
            "last_update": self.last_update,
            "ips": [["eno1", "192.168.0.3"]],
            "gpus": [{"index": 0, **gpu, "users": [user]}, {"index": 1, **gpu, "users": []}],
        }

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        node = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                node.requests += 1
                if node.is_running:
                    node.sample()
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                allowed = self.path == "/get-status" and asked.get("passwd") == PASSWORD
                body = json.dumps(node.status()).encode() if allowed else b"not found"
                self.send_response(200 if allowed else 404)
                self.send_header("Content-Type", "application/json" if allowed else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@contextmanager
def old_node() -> Iterator[OldNode]:
    """A node that listens for the length of a block."""
    node = OldNode()
    try:
        yield node
    finally:
        node.stop()
