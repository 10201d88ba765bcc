"""Weeks of a lab by the minute, invented and seeded, with all that befalls one; and what is true of them.

Nodes of eight GPUs. One is away for hours, one is heard late, one joins later, one loses a GPU, one has a
card cut into two instances, and in the middle the clock of the board is set forward by an hour; if asked for,
it is set back later. GPUs are used, held idle, booked and unused, free or broken.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gpuboard.history.base import History
from gpuboard.history.figures import GPU_MEASURED, VERDICT_CODES
from gpuboard.history.records import Batch, CurvesQuery, GpuSamples, Member, Place, packed
from gpuboard.model.verdict import VerdictWord
from tests.history.fleets import DAY, HOUR, tidy

Floats = NDArray[np.float64]

PER_NODE: Final = 8
MINUTE: Final = 60.0
# A sample holds for three of its intervals.
HOLDS_MINUTES: Final = 3
# So many minutes are written at once, and so many more are kept back by the node that is heard late.
AT_ONCE: Final = 10
LATE_MINUTES: Final = 50
# By so much the clock is set back: what is said then stands between what was said before.
BACK: Final = 1230.0
CROWDS: Final[tuple[tuple[str, ...] | None, ...]] = ((), ("ana",), ("ana", "chen"), ("weber",), None)
# Those of one whose name is known.
CLAIMS: Final = [place for place, people in enumerate(CROWDS) if people is not None and len(people) == 1]
# Nodes that something befalls, and GPUs of theirs.
AWAY, JOINS, LOSES, IS_CUT, LATE = range(1, 6)
LOST, CARD, FIRST_INSTANCE, SECOND_INSTANCE = range(4)


class Truth(NamedTuple):
    """One GPU at one minute; nothing was observed where there is no utilisation."""

    utilization: float | None
    verdict: VerdictWord | None
    holders: tuple[str, ...] | None


class Month:
    """So many nodes for so many minutes; the last two columns of a node are instances, if it has any."""

    def __init__(self, nodes: int, minutes: int, seed: int = 12, *, is_set_back: bool = False) -> None:
        dice = np.random.default_rng(seed)
        self.nodes, self.minutes = nodes, minutes
        gpus = nodes * PER_NODE
        # What runs changes every half an hour.
        jobs = -(-minutes // 30)
        self._who = dice.integers(0, len(CROWDS), (gpus, jobs)).repeat(30, axis=1)[:, :minutes]
        held = self._who > 0
        chance = dice.random((gpus, jobs)).repeat(30, axis=1)[:, :minutes]
        # Who has booked is always known.
        is_booked = np.isin(self._who, CLAIMS) & (chance < 0.1)
        is_idle = held & ~is_booked & (chance < 0.2)
        self._words = np.where(held, np.where(is_booked, "booked", np.where(is_idle, "idle", "busy")), "free")
        self._words[~held & (chance < 0.1)] = "broken"
        busy, held = self._words == "busy", held & ~is_booked
        # Enough to be no idle time that is found out later.
        self.use: Floats = np.where(busy, dice.integers(6, 101, (gpus, minutes)), 0).astype(np.float64)
        self.power: Floats = np.round(50 + 3 * self.use + dice.uniform(0, 5, (gpus, minutes)), 1)
        self.memory: Floats = np.where(held, self._who * 1024.0, 0) * 1024**2
        self._is_said = np.ones((gpus, minutes), np.bool_)
        self._say_who_is_away(minutes)
        # From here on the board's clock is an hour ahead of what it was.
        self.clock_set_at = minutes // 2 // AT_ONCE * AT_ONCE
        # While no node is heard late.
        self._set_back_at = (3 * minutes // 4 // 120 * 120 + 80) if is_set_back else minutes

    def _say_who_is_away(self, minutes: int) -> None:
        away, joins, leaves, cut = self.away(), minutes // 3, 2 * minutes // 3, minutes // 4
        said = self._is_said
        said[self.of(AWAY), away[0] : away[1]] = False
        said[self.of(JOINS), :joins] = False
        said[self.of(LOSES).start + LOST, leaves:] = False
        # The card says nothing of its own while it is cut; its instances only then.
        said[self.of(IS_CUT).start + CARD, cut:] = False
        for instance in (FIRST_INSTANCE, SECOND_INSTANCE):
            said[self.of(IS_CUT).start + instance, :cut] = False
        self._joins, self._leaves, self._cut = joins, leaves, cut

    def away(self) -> tuple[int, int]:
        """From when to when one node is away."""
        return self.minutes // 5, self.minutes // 5 + min(self.minutes // 10, 600)

    @staticmethod
    def of(node: int) -> slice:
        """The GPUs of a node."""
        return slice(node * PER_NODE, (node + 1) * PER_NODE)

    @staticmethod
    def name(gpu: int) -> str:
        """The name of a GPU."""
        return f"GPU-{gpu:04d}"

    def time(self, minute: int) -> float:
        """When a minute was, by the board's clock."""
        apart = HOUR if minute >= self.clock_set_at else 0.0
        return DAY + minute * MINUTE + apart - (BACK if minute >= self._set_back_at else 0.0)

    def write(self, history: History) -> None:
        """Write it all, and let the history do in between what is due."""
        for now, batch in self.batches():
            history.write(batch, now=now)
            tidy(history, now)
        tidy(history, self.time(self.minutes - 1) + 3 * HOUR)

    def batches(self) -> Iterator[tuple[float, Batch]]:
        """Ten minutes at a time; one node is heard fifty minutes late, all at once, and then in time."""
        places = sorted(self.places(), key=lambda place: place.start)
        for first in range(0, self.minutes, AT_ONCE):
            now = self.time(min(first + AT_ONCE, self.minutes) - 1) + 1.0
            samples: list[GpuSamples] = []
            for node in range(self.nodes):
                if node != LATE:
                    samples += self._samples(node, first, first + AT_ONCE)
                elif not self._is_cut_off(first):
                    samples += self._samples(node, self._kept_since(first), first + AT_ONCE)
            new = [place for place in places if place.start <= now]
            del places[: len(new)]
            yield now, Batch(gpu_samples=samples, places=new)

    def _is_cut_off(self, first: int) -> bool:
        """Whether the node that is heard late is not heard now: the first minutes of every two hours."""
        return first % 120 < LATE_MINUTES and first + AT_ONCE < self.minutes

    def _kept_since(self, first: int) -> int:
        """Where its samples begin when it is heard again."""
        while first and self._is_cut_off(first - AT_ONCE):
            first -= AT_ONCE
        return first

    def _samples(self, node: int, first: int, last: int) -> Iterator[GpuSamples]:
        for minute in range(first, min(last, self.minutes)):
            gpus = [
                gpu for gpu in range(self.of(node).start, self.of(node).stop) if self._is_said[gpu, minute]
            ]
            if gpus:
                yield self._sample(gpus, minute)

    def _sample(self, gpus: list[int], minute: int) -> GpuSamples:
        figures: list[float | None] = []
        for gpu in gpus:
            told = {
                "utilization_percent": self.use[gpu, minute],
                "memory_used_bytes": self.memory[gpu, minute],
                "power_watts": self.power[gpu, minute],
            }
            figures += [told.get(name) for name in GPU_MEASURED]
        nothing = (None,) * len(gpus)
        return GpuSamples(
            tuple([self.name(gpu) for gpu in gpus]),
            round(self.time(minute) * 1000),
            round(HOLDS_MINUTES * MINUTE * 1000),
            packed(figures),
            nothing,
            [VERDICT_CODES[self._word(gpu, minute)] for gpu in gpus],
            tuple([CROWDS[self._who[gpu, minute]] for gpu in gpus]),
        )

    def _word(self, gpu: int, minute: int) -> VerdictWord:
        return cast("VerdictWord", str(self._words[gpu, minute]))

    def places(self) -> list[Place]:
        """Where all GPUs are, from when to when."""
        return [place for gpu in range(self.nodes * PER_NODE) for place in self._places(gpu)]

    def _places(self, gpu: int) -> Iterator[Place]:
        node, index = divmod(gpu, PER_NODE)
        place = Place(gpu=self.name(gpu), node=f"gpu{node:02d}", index=index, label=str(index), start=DAY)
        if node == JOINS:
            yield replace(place, start=self.time(self._joins))
        elif (node, index) == (LOSES, LOST):
            yield replace(place, end=self.time(self._leaves))
        elif (node, index) == (IS_CUT, CARD):
            # A card counts by its instances.
            yield replace(place, end=self.time(self._cut))
            yield replace(place, start=self.time(self._cut), counted=False)
        elif node == IS_CUT and index in (FIRST_INSTANCE, SECOND_INSTANCE):
            card = self.name(self.of(IS_CUT).start + CARD)
            yield replace(place, start=self.time(self._cut), parent=card)
        else:
            yield place

    def truth(self, gpu: int, minute: int) -> Truth:
        """What is true of a GPU in the middle of a minute: what it said last, for three minutes."""
        said = self._said_at(gpu, self.time(minute))
        if said is None:
            return Truth(None, None, None)
        word = self._word(gpu, said)
        # On what is booked is nobody.
        people = () if word == "booked" else CROWDS[self._who[gpu, said]]
        return Truth(float(self.use[gpu, said]), word, people)

    def said(self, gpu: int) -> Iterator[tuple[int, int, VerdictWord, tuple[str, ...]]]:
        """From when to when, in milliseconds, each sample held, its word, and whose that time was."""
        minutes = sorted(np.flatnonzero(self._is_said[gpu]).tolist(), key=self.time)
        times = [round(1000 * self.time(minute)) for minute in minutes]
        for place, minute in enumerate(minutes):
            end = times[place] + round(1000 * HOLDS_MINUTES * MINUTE)
            following = times[place + 1] if place + 1 < len(times) else end
            people = CROWDS[self._who[gpu, minute]]
            whose = ("unknown",) if people is None else people
            yield times[place], min(end, following), self._word(gpu, minute), whose

    def held(self, figure: Floats, gpu: int, hour: int) -> Floats:
        """What a figure of a GPU was in each minute of an hour, as far as it was observed."""
        moments = [DAY + hour * HOUR + place * MINUTE for place in range(60)]
        found = [self._said_at(gpu, moment) for moment in moments]
        return np.array([figure[gpu, said] for said in found if said is not None], np.float64)

    def _said_at(self, gpu: int, moment: float) -> int | None:
        """The minute whose sample held at a moment; None: nothing was observed."""
        for back in range(HOLDS_MINUTES):
            minute = self._minute_at(moment - back * MINUTE)
            if minute is not None and self._is_said[gpu, minute]:
                return minute
        return None

    def _minute_at(self, moment: float) -> int | None:
        """Which minute was at a moment; None: in the hour that the clock left out, and outside."""
        minute = round((moment - DAY) / MINUTE)
        if minute >= self.clock_set_at:
            minute -= 60
            if minute < self.clock_set_at:
                return None
        return minute if 0 <= minute < self.minutes else None


def hourly(
    history: History, gpu: str, figure: str, start: float, hours: int
) -> list[tuple[float | None, ...]]:
    """Mean, least and most of a figure of a GPU, hour by hour."""
    curve = history.curves(
        CurvesQuery(
            kind="gpu",
            groups=((Member(gpu),),),
            figures=(figure,),
            start=start,
            end=start + hours * HOUR,
            points=hours,
        )
    ).curves[0]
    return list(zip(curve.mean, curve.least, curve.most, strict=True))
