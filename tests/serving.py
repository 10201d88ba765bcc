"""An application on a uvicorn of its own, in a thread."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from gpuboard.assembly.listening import take_address
from gpuboard.web.deadline_tls import DeadlineServer


@contextlib.contextmanager
def serving(application: Any, **options: Any) -> Iterator[int]:  # noqa: ANN401 - ASGI's and uvicorn's own
    """Serve with these options until the block ends; the port."""
    config = uvicorn.Config(application, lifespan="off", log_level="error", **options)
    running = DeadlineServer(config)
    sockets = take_address("127.0.0.1:0")
    port: int = sockets[0].getsockname()[1]
    thread = threading.Thread(target=running.run, args=(sockets,))
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        yield port
    finally:
        running.should_exit = True
        thread.join()
