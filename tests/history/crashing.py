"""A process that writes history and is killed again and again; run as a program. Says what was lost.

The writer is forked, so that the next one is there within milliseconds. It says on a pipe which batch it has
written; it is killed at a random moment after that, be it while it writes, seals or joins.
"""

import argparse
import contextlib
import mmap
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.records import Batch, Taken
from tests.history.fleets import DAY, HOUR, curve, gpu_sample, place, tidy

# Each batch is ten minutes, so that there is something to seal all the time.
SAMPLES = 60
STEP = 10.0
BATCH_SECONDS = SAMPLES * STEP
# The last sample holds so much longer than until the next would have come.
OVER_MS = 5000
# So much of the past is looked at after every crash.
LOOK_BATCHES = 40
KEEP = Keep(full_seconds=1e9, minutes_seconds=1e9)


def batch_of(number: int) -> Batch:
    """The batch of this number; its figures are those of its moments."""
    start = DAY + number * BATCH_SECONDS
    samples = [
        gpu_sample("GPU-a", start + at * STEP, utilization=value_at(number * SAMPLES + at))
        for at in range(SAMPLES)
    ]
    places = [place("GPU-a")] if number == 0 else []
    return Batch(gpu_samples=samples, places=places, positions={"gpu01": Taken("boot", number)})


def value_at(cell: int) -> float:
    """What the GPU says in a cell."""
    return float(cell % 101)


def open_at(folder: Path) -> EmbeddedHistory:
    """The history, opened as after any crash."""
    history = EmbeddedHistory(folder / "history.sqlite", KEEP)
    history.open()
    return history


def write_on(folder: Path, flag: mmap.mmap, said: int, *, answers_early: bool) -> None:
    """Write batches until killed, and say the number of each when it is safe."""
    history = Watched(folder, flag)
    history.open()
    taken = history.positions().get("gpu01")
    number = taken.sequence + 1 if taken else 0
    while True:
        now = DAY + (number + 1) * BATCH_SECONDS
        if answers_early:
            os.write(said, f"{number}\n".encode())
        history.write(batch_of(number), now=now)
        if not answers_early:
            os.write(said, f"{number}\n".encode())
        tidy(history, now)
        number += 1


class Killed(NamedTuple):
    """A writer that was killed."""

    # The last batch that it said was safe; -1: none.
    safe: int
    # It was in the middle of a change to the file.
    was_writing: bool


class Watched(EmbeddedHistory):
    """A history that shows in a byte of shared memory while a transaction is open."""

    def __init__(self, folder: Path, flag: mmap.mmap) -> None:
        super().__init__(folder / "history.sqlite", KEEP)
        write = self._file.write

        @contextlib.contextmanager
        def watched() -> Iterator[sqlite3.Connection]:
            with write() as connection:
                flag[0] = 1
                yield connection
            flag[0] = 0

        self._file.write = watched  # type: ignore[method-assign] # only to be watched


def kill_once(folder: Path, dice: random.Random, *, answers_early: bool) -> Killed:
    """Let a writer write for a while, and kill it."""
    flag = mmap.mmap(-1, 1)
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hears)
        try:
            write_on(folder, flag, says, answers_early=answers_early)
        finally:
            os._exit(1)
    os.close(says)
    heard = b""
    for _ in range(dice.randint(1, 12)):
        heard += os.read(hears, 65536)
    if not answers_early:
        # Anywhere between two batches; with an early answer the very next moment is the worst.
        time.sleep(dice.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(hears, 65536):
        heard += more
    os.close(hears)
    return Killed(int(heard.split()[-1]) if heard else -1, was_writing=bool(flag[0]))


def losses(folder: Path, safe: int) -> list[str]:
    """What is missing or wrong after a crash, in words."""
    history = open_at(folder)
    try:
        taken = history.positions().get("gpu01")
        last = taken.sequence if taken else -1
        found = []
        if last < safe:
            found.append(f"batch {safe} was said to be safe, and {last} is the last")
        first = max(0, last - LOOK_BATCHES)
        start, end = DAY + first * BATCH_SECONDS, DAY + (last + 1) * BATCH_SECONDS
        count = (last + 1 - first) * SAMPLES
        if count:
            seen = curve(history, "GPU-a", start, end, points=count)
            expected = [value_at(first * SAMPLES + cell) for cell in range(count)]
            wrong = sum(one != other for one, other in zip(seen, expected, strict=True))
            found += [f"{wrong} of {count} cells are wrong"] if wrong else []
            found += miscounted(history, last)
        return found
    finally:
        history.close()


def miscounted(history: EmbeddedHistory, last: int) -> list[str]:
    """What is wrong with the GPU-hours up to a batch, in words: what is missing, or counted twice."""
    used = history.usage(DAY, DAY + (last + 1) * BATCH_SECONDS + HOUR).total().used
    expected = round(1000 * (last + 1) * BATCH_SECONDS) + OVER_MS
    return [] if used == expected else [f"{used} ms are counted, and {expected} were said"]


def sealed(folder: Path) -> list[str]:
    """The same when every hour has been sealed."""
    history = open_at(folder)
    try:
        last = history.positions()["gpu01"].sequence
        tidy(history, DAY + (last + 1) * BATCH_SECONDS + 10 * HOUR)
        return miscounted(history, last)
    finally:
        history.close()


def main() -> int:
    """Crash so many times; the exit code says whether anything was lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--crashes", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--answers-early", action="store_true")
    asked = parser.parse_args()
    dice = random.Random(asked.seed)
    hits = 0
    for crash in range(asked.crashes):
        killed = kill_once(asked.folder, dice, answers_early=asked.answers_early)
        hits += killed.was_writing
        found = losses(asked.folder, killed.safe)
        if found:
            sys.stdout.write(f"crash {crash}: {'; '.join(found)}\n")
            return 1
    found = sealed(asked.folder)
    if asked.crashes and not hits:
        found.append("no writer was killed while it wrote")
    sys.stdout.write("; ".join(found))
    sys.stderr.write(f"{hits} of {asked.crashes} were killed while they wrote\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
