"""A node of gpu-monitor: the folder that it serves."""

import functools
import os
import threading
import time
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class ServedFolder:
    """What `python -m http.server` shows of such a node's folder."""

    def __init__(
        self, folder: Path, host: str = "gpu07", address: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        self._folder = folder
        self._host = host
        self.asked: list[str] = []
        served = self

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                served.asked.append(self.path)

        handler = functools.partial(Handler, directory=str(folder))
        self._server = ThreadingHTTPServer(address, handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def sample(self) -> None:
        """Leave the files of a new round."""
        self.write()

    def write(self, *, seconds_ago: float = 0.0, copied_ago: float = 0.0) -> None:
        """Leave the files of a round so long ago, which the collector copied so long ago."""
        now = time.time()
        stamp = datetime.fromtimestamp(now - seconds_ago - copied_ago, UTC).strftime("%Y/%m/%d %H:%M:%S.000")
        clock = datetime.fromtimestamp(now - copied_ago, UTC).strftime("%H:%M:%S")
        gpu = "Tesla V100, {used}, 16160, {use}, 3, 45"
        lines = {
            "gpus": (
                f"0, GPU-a, {gpu.format(used=9000, use=88)}, {stamp}\n"
                f"1, GPU-b, {gpu.format(used=0, use=0)}, {stamp}\n"
            ),
            "processes": f"{stamp}, GPU-a, 8990, /usr/bin/python, 4242\n",
            "users": '{"4242": ["4242"]}\n 4242 ana                  Mon Nov  2 10:00:00 2026\n',
            "status": (
                "/dev/sda1 100 40 60 40% /\nMem: 64000 1000 2000 1 3 60000\n16\n"
                f" {clock} up 3 days, 1 user, load average: 1.00, 2.00, 3.00\n"
            ),
        }
        for member, text in lines.items():
            path = self._folder / f"{self._host}_{member}.csv"
            path.write_text(text)
            os.utime(path, (now - copied_ago, now - copied_ago))

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
