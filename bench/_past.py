"""A day of a fleet, invented and seeded: jobs come and go, and figures are noisy while they run."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.figures import GPU_MEASURED, GPU_NUMBERS, VERDICT_CODES
from gpuboard.history.records import Batch, GpuSamples, HostSample, Place, packed

STEP_SECONDS: Final = 10
PER_HOUR: Final = 360
PER_NODE: Final = 8
PEOPLE: Final = 40
GIB: Final = 1024**3
CROWDS: Final = ((), *((f"person{number:02d}",) for number in range(PEOPLE)))
# The beginning of a day.
START: Final = 1_699_920_000
Floats = NDArray[np.float64]


class Round(NamedTuple):
    """What all GPUs said in one round: when, and every figure by GPU; NaN is "cannot tell"."""

    now: float
    at_ms: NDArray[np.int64]
    numbers: Floats
    people: NDArray[np.int64]


class Fleet:
    """So many GPUs, eight a node, each node sampled at a moment of its own within every ten seconds."""

    def __init__(self, gpus: int, seed: int = 1, *, is_on_the_grid: bool = False) -> None:
        self.dice = np.random.default_rng(seed)
        self.gpus = gpus
        self.uuids = [f"GPU-{number:08x}-0000-4000-8000-{number:012x}" for number in range(gpus)]
        self.nodes = [f"gpu{number // 8:03d}" for number in range(gpus)]
        # A bit of the round later for each node, as real ones are.
        self._told = {
            first: tuple(self.uuids[first : first + PER_NODE]) for first in range(0, gpus, PER_NODE)
        }
        self._delay_ms = np.repeat(self.dice.integers(0, 8000, -(-gpus // 8)), 8)[:gpus]
        if is_on_the_grid:
            self._delay_ms[:] = 0
        # Every other node is cooled by the room's fans and has none of its own.
        self._has_fan = np.arange(gpus) // 8 % 2 == 0
        self._busy = self.dice.random(gpus) < 0.6
        self._job = self._new_jobs()
        self._heat = np.full(gpus, 40.0)
        self._since_end = np.full(gpus, 1000)

    def places(self) -> list[Place]:
        """Where they are."""
        return [
            Place(gpu=uuid, node=node, index=number % 8, label=str(number % 8), model="A100 80G", start=START)
            for number, (uuid, node) in enumerate(zip(self.uuids, self.nodes, strict=True))
        ]

    def rounds(self, hours: int, start: int = START) -> Iterator[Round]:
        """Round by round."""
        for number in range(hours * PER_HOUR):
            yield self._round(start + (number + 1) * STEP_SECONDS)

    def batch(self, one: Round) -> Batch:
        """A round as the recorder hands it over."""
        told = one.numbers.astype(object)
        told[np.isnan(one.numbers)] = None
        firsts = range(0, self.gpus, PER_NODE)
        return Batch(
            gpu_samples=[self._node(first, one, told) for first in firsts],
            host_samples=[self._host(first, one) for first in firsts],
            places=self.places() if one.now == START + STEP_SECONDS else (),
        )

    def _host(self, first: int, one: Round) -> HostSample:
        used = float(64 * GIB + first * 1024**2)
        numbers = (float(round(one.numbers[first, 0] / 2)), used, 512.0 * GIB, 40.0)
        return HostSample(self.nodes[first], int(one.at_ms[first]), 30_000, numbers)

    def _node(self, first: int, one: Round, told: NDArray[np.object_]) -> GpuSamples:
        cut = slice(first, first + PER_NODE)
        measured = len(GPU_MEASURED)
        return GpuSamples(
            self._told[first],
            int(one.at_ms[first]),
            30_000,
            packed(told[cut, :measured].ravel().tolist()),
            told[cut, measured].astype(bool).tolist(),
            told[cut, measured + 1].astype(int).tolist(),
            tuple([CROWDS[who] for who in one.people[cut].tolist()]),
        )

    def _new_jobs(self) -> dict[str, Floats]:
        dice, gpus = self.dice, self.gpus
        return {
            "utilization": dice.uniform(35, 99, gpus),
            "spread": dice.choice([1.5, 5.0, 15.0], gpus),
            "memory": dice.uniform(4, 78, gpus) * 1024,
            "who": dice.integers(1, PEOPLE + 1, gpus).astype(np.float64),
        }

    def _round(self, now: float) -> Round:
        dice, gpus = self.dice, self.gpus
        ends, begins = dice.random(gpus) < 1 / 720, dice.random(gpus) < 1 / 540
        fresh = self._new_jobs()
        starts = ~self._busy & begins
        self._busy = np.where(self._busy, ~ends, begins)
        for name, values in fresh.items():
            self._job[name] = np.where(starts, values, self._job[name])
        busy, job = self._busy, self._job
        noise = dice.normal(0, 1, (4, gpus))
        utilization = np.where(
            busy, np.clip(np.rint(job["utilization"] + noise[0] * job["spread"]), 0, 100), 0
        )
        power = np.where(busy, 90 + 2.9 * utilization, 55) + noise[1] * np.where(busy, 6.0, 0.3)
        self._heat += 0.05 * (28 + power / 8 - self._heat)
        throttled = busy & (self._heat > 69.5)
        drifts = dice.random(gpus) < 0.02
        job["memory"] = np.where(busy & drifts, job["memory"] + np.rint(noise[2] * 64), job["memory"])
        figures = {
            "utilization_percent": utilization,
            "memory_used_bytes": np.where(busy, np.clip(np.rint(job["memory"]), 600, 80_000), 3) * 1024**2,
            "memory_utilization_percent": np.clip(np.rint(utilization * 0.6 + 3 * noise[3] * busy), 0, 100),
            "power_watts": np.round(power, 2),
            "power_limit_watts": np.full(gpus, 400.0),
            "temperature_celsius": np.rint(self._heat + noise[2] * 0.2),
            "fan_percent": np.where(self._has_fan, np.rint(self._heat * 0.9 - 10), np.nan),
            "graphics_clock_mhz": np.where(busy, 1410 - 15 * np.rint(np.abs(noise[3])) - 90 * throttled, 210),
            "memory_clock_mhz": np.where(busy, 1593, 1215).astype(np.float64),
            "throttled": throttled.astype(np.float64),
            "verdict": np.where(busy, VERDICT_CODES["busy"], VERDICT_CODES["free"]).astype(np.float64),
        }
        numbers = np.stack([figures[name] for name in GPU_NUMBERS], axis=1)
        at_ms = np.int64((now - STEP_SECONDS) * 1000) + self._delay_ms
        return Round(now, at_ms, numbers, np.where(busy, job["who"], 0).astype(np.int64))
