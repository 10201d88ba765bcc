"""`gpuboard`, imported once and forked for each board that a test starts: to import it is most of a start.

Reads orders from the socket on its standard input, each with the standard files of a process; says its pid,
and later how it ended. What it forks differs from `python -m gpuboard` only in what is imported already.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any

import gpuboard.assembly.board
import gpuboard.cli.serve

MOST_BYTES = 1 << 20


def serve(orders: socket.socket) -> None:
    """Fork until nobody asks any more."""
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    gc.freeze()
    while True:
        ready, _, _ = select.select([orders.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _tell_ends(orders)
        if orders.fileno() in ready:
            data, files, _, _ = socket.recv_fds(orders, MOST_BYTES, 3)
            if not data:
                return
            pid = os.fork()
            if not pid:
                _become(json.loads(data), files)
            for file in files:
                os.close(file)
            orders.send(json.dumps({"started": pid}).encode())


def _tell_ends(orders: socket.socket) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            orders.send(json.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


def _become(order: dict[str, Any], files: list[int]) -> None:
    """Be the program that was ordered, as if it had just been started."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv = ["gpuboard", *order["arguments"]]
    sys.exit(gpuboard.cli.main())


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
