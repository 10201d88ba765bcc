"""Reports as files in a shared folder: the old or the new whole file, never a half one."""

import contextlib
import logging
import os
import threading
from pathlib import Path

from gpuboard.agent.outlet import TimedReport
from gpuboard.model.errors import UsageError
from gpuboard.outside.files import write_whole
from gpuboard.wire.drop import encode_drop

log = logging.getLogger(__name__)


class DropOutlet:
    """Writes `DIR/<node>.json`; in a thread, for a dead network mount blocks its writer."""

    def __init__(self, folder: Path, node: str, *, key: str | None = None) -> None:
        self._folder = folder
        self._node = node
        self._key = key
        self._newest: TimedReport | None = None
        self._wake = threading.Condition()
        self._stopping = False
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="gpuboard-drop", daemon=True)

    def start(self) -> None:
        """Begin.

        Raises:
            UsageError: there is no such folder, or it cannot be written.
        """
        check_folder(self._folder)
        self._thread.start()

    def offer(self, sample: TimedReport) -> None:
        """Take the newest sample; one that was not written yet is replaced."""
        with self._wake:
            self._newest = sample
            self._wake.notify()

    def stop(self) -> None:
        """Let the last write end, unless the folder hangs."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(timeout=2)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._newest is not None or self._stopping)
                sample, self._newest = self._newest, None
            if sample is None:
                return
            try:
                write_drop(self._folder, self._node, sample, key=self._key)
                self._is_failing = False
            except OSError as error:
                if not self._is_failing:
                    log.warning("drop failed: folder=%s reason=%s", self._folder, error.strerror or error)
                self._is_failing = True


def check_folder(folder: Path) -> None:
    """Make sure that reports can be dropped here.

    Raises:
        UsageError: there is no such folder, or it cannot be written.
    """
    if not folder.is_dir():
        raise UsageError(
            f"cannot drop reports in {folder}: there is no such folder; create or mount it first"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot drop reports in {folder}: this user may not write there")


def write_drop(folder: Path, node: str, sample: TimedReport, *, key: str | None = None) -> Path:
    """Write one report under its final name, whole or not at all; signed where there is a key.

    Raises:
        OSError: the folder is full, gone or read-only; the file that was there before still is.
    """
    target = folder / f"{node}.json"
    _remove_left_overs(folder, node)
    # No age: whoever reads the file knows when it was written.
    write_whole(target, encode_drop(sample.report, key=key))
    return target


def _remove_left_overs(folder: Path, node: str) -> None:
    """Take away temporary files of agents that were killed while they wrote."""
    for name in folder.glob(f".{node}.json.*.tmp"):
        pid = name.name.rsplit(".", 2)[1]
        if pid == str(os.getpid()) or not Path(f"/proc/{pid}").exists():
            with contextlib.suppress(OSError):
                name.unlink()
