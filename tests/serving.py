"""An application on a uvicorn of its own, in a thread."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from tests.board import free_port


@contextlib.contextmanager
def serving(application: Any, **options: Any) -> Iterator[int]:  # noqa: ANN401 - ASGI's and uvicorn's own
    """Serve with these options until the block ends; the port."""
    port = free_port()
    config = uvicorn.Config(application, port=port, lifespan="off", log_level="error", **options)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        yield port
    finally:
        running.should_exit = True
        thread.join()
