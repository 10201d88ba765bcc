"""A history on a disk that others fill; run as a program on a small file system, it says what went wrong."""

import os
import sys
from pathlib import Path

from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.records import Batch
from gpuboard.model.errors import HistoryPausedError
from tests.history.fleets import DAY, HOUR, batches, curve, gpu_sample, tidy

GPUS = [f"GPU-{number}" for number in range(32)]


def fill(path: Path) -> None:
    """Take every byte that is left."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, b"x" * 65536)
    except OSError:
        pass
    finally:
        os.close(handle)


def is_paused(history: EmbeddedHistory, at: float) -> bool:
    """Whether a sample is answered by "not now"."""
    try:
        history.write(Batch(gpu_samples=[gpu_sample("GPU-0", at, utilization=77.0)]), now=at)
    except HistoryPausedError:
        return True
    return False


def main() -> None:
    """Fill the disk under a history, and make room again."""
    folder, others, more = (Path(sys.argv[1]) / name for name in ("state", "others", "more"))
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    for now, batch in batches(GPUS, DAY, DAY + 2 * HOUR):
        history.write(batch, now=now)
        tidy(history, now)
    before = curve(history, "GPU-5", DAY, DAY + 2 * HOUR)
    fill(others)
    at = DAY + 2 * HOUR
    assert is_paused(history, at), "it wrote on a full disk"
    # What is too old can be forgotten all the same, and what is there can be read.
    tidy(history, at + 5 * HOUR)
    assert curve(history, "GPU-5", DAY, DAY + 2 * HOUR) == before, "the past has changed"
    history.close()
    again = EmbeddedHistory(folder / "history.sqlite", Keep(full_seconds=HOUR))
    again.open()
    # What the journal had taken came free.
    fill(more)
    assert is_paused(again, at), "it wrote on a full disk after a restart"
    others.unlink()
    more.unlink()
    assert not is_paused(again, at), "it did not go on"
    tidy(again, at + 5 * HOUR)
    assert curve(again, "GPU-0", at, at + 10, points=1) == [77.0], "the new sample is missing"
    again.close()


if __name__ == "__main__":
    main()
