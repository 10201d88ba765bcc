"""What an event loop feels of a history beside it: its delays while an hour is sealed, and its memory.

A process of its own, since others would be measured with it; figures on stdout.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench._past import PER_HOUR, START, STEP_SECONDS, Fleet
from gpuboard.history.base import OLDEST_SAMPLE_SECONDS, Keep
from gpuboard.history.embedded import EmbeddedHistory

BEAT_SECONDS: Final = 0.005
QUIET_SECONDS: Final = 10.0


class Rollover(Struct, frozen=True, kw_only=True):
    """Delays of the event loop in seconds, the longest of each part; and memory."""

    otherwise: float
    while_sealing: float
    steps: int
    sealing_seconds: float
    # Resident at most, above what was there before anything was opened.
    memory_bytes: int


class Beat:
    """Notes by how much it is called later than it should be."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            due = time.perf_counter() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self.longest = max(self.longest, time.perf_counter() - due)

    def take(self) -> float:
        """The longest delay since the last time."""
        longest, self.longest = self.longest, 0.0
        return longest


def resident(what: str) -> int:
    """Of this process: `VmRSS` now, `VmHWM` at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(what)).split()[1])


async def measure(gpus: int) -> Rollover:
    """Let an hour become due, and seal it beside a beating loop."""
    fleet = Fleet(gpus)
    # With the last of them the first hour has been over for so long that it is to be sealed.
    rounds = PER_HOUR + int(OLDEST_SAMPLE_SECONDS / STEP_SECONDS)
    before = resident("VmRSS")
    with tempfile.TemporaryDirectory() as name:
        history = EmbeddedHistory(Path(name) / "history.sqlite", Keep())
        history.open()
        last = START + rounds * STEP_SECONDS
        for one in fleet.rounds(-(-rounds // PER_HOUR)):
            if one.now > last:
                break
            history.write(fleet.batch(one), now=one.now)
            while one.now < last and history.tidy(now=one.now):
                pass
        beat = Beat()
        beating = asyncio.ensure_future(beat.run())
        await asyncio.sleep(QUIET_SECONDS)
        otherwise, steps, began = beat.take(), 0, time.perf_counter()
        while await history.run(lambda: history.tidy(now=last), is_write=True):
            steps += 1
        took = time.perf_counter() - began
        beating.cancel()
        memory = resident("VmHWM") - before
        history.close()
    return Rollover(
        otherwise=otherwise,
        while_sealing=beat.take(),
        steps=steps,
        sealing_seconds=took,
        memory_bytes=memory,
    )


if __name__ == "__main__":
    print(msgspec.json.encode(asyncio.run(measure(int(sys.argv[1])))).decode())
