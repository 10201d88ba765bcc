"""A process that asks the stand-in driver through the real nvidia-ml-py, each question in its own thread."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Self

PATIENCE_SECONDS: Final = 60

# Reads {"number", "question"} lines, answers {"number", "answer"} or {"number", "error"} as they come.
ASKING: Final = """
import inspect, json, sys, threading
import pynvml
from pynvml import *

handles = {}
one_at_a_time = threading.Lock()

def gpu(index):
    # The handle as first seen, so that a test can hold on to one that went stale.
    if index not in handles:
        handles[index] = nvmlDeviceGetHandleByIndex(index)
    return handles[index]

def tolerant(function, *arguments):
    try:
        return function(*arguments)
    except Exception:
        return None

def sweep():
    # Ask each device all that takes a handle and nothing else; say how many answers came.
    gpus = [tolerant(nvmlDeviceGetHandleByIndex, index) for index in range(tolerant(nvmlDeviceGetCount) or 0)]
    places = [(handle, index) for handle in gpus for index in range(7)]
    migs = [tolerant(nvmlDeviceGetMigDeviceHandleByIndex, handle, index) for handle, index in places]
    questions = [function for name, function in vars(pynvml).items() if name.startswith("nvmlDeviceGet")
                 and len(inspect.signature(function).parameters) == 1]
    handles = [handle for handle in gpus + migs if handle]
    return sum(tolerant(function, handle) is not None for function in questions for handle in handles)

def answer(number, question):
    try:
        reply = {"answer": eval(question)}
    except NVMLError as error:
        reply = {"error": error.value}
    except UnicodeDecodeError as error:
        reply = {"error": repr(error.object)}
    except Exception as error:
        reply = {"error": repr(error)}
    with one_at_a_time:
        print(json.dumps({"number": number} | reply, default=repr), flush=True)

for line in sys.stdin:
    threading.Thread(target=answer, kwargs=json.loads(line), daemon=True).start()
"""


class NvmlProblemError(Exception):
    """The question ended in an NVML error, or in bytes that are not text."""

    def __init__(self, code: int | str) -> None:
        super().__init__(code)
        self.code = code


class NvmlSession:
    """One running process; a question is an expression on all of pynvml, `gpu(index)` and `sweep()`."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", ASKING],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # Any: an answer is whatever JSON the question makes of it.
        self._open: dict[int, Future[Any]] = {}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def submit(self, question: str) -> "Future[Any]":
        """Ask without waiting for the answer."""
        number = len(self._open)
        future: Future[Any] = Future()
        self._open[number] = future
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps({"number": number, "question": question}) + "\n")
            self._process.stdin.flush()
        return future

    # Any: see above.
    def ask(self, question: str) -> Any:  # noqa: ANN401
        """Return the answer; raise NvmlProblemError with the code if NVML says no."""
        return self.submit(question).result(PATIENCE_SECONDS)

    def code(self, question: str) -> int | str:
        """Return the code of the error that the question ends in; 0 if in none."""
        problem = self.submit(question).exception(PATIENCE_SECONDS)
        return problem.code if isinstance(problem, NvmlProblemError) else 0

    def is_alive(self) -> bool:
        """Whether the process still runs, that is: whether the library has not crashed it."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End the process, whatever its threads are doing."""
        self._process.kill()
        self._process.communicate()
        self._listener.join()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            reply = json.loads(line)
            future = self._open[reply["number"]]
            if "error" in reply:
                future.set_exception(NvmlProblemError(reply["error"]))
            else:
                future.set_result(reply["answer"])
