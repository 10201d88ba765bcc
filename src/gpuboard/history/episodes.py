"""Episodes: one person's program on one GPU, from when to when, joined from its processes."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from gpuboard.history.bounds import EPISODES_AN_HOUR, EPISODES_AT_ONCE, Allowance
from gpuboard.history.records import Episode
from gpuboard.history.samples import short_name
from gpuboard.model.names import holder_name
from gpuboard.model.node import LATE_AFTER_INTERVALS, LOST_AFTER_INTERVALS
from gpuboard.model.report import GpuProcess, GpuReading
from gpuboard.verdict import PersonOf
from gpuboard.verdict.holders import is_working

# Between two processes of the same program: a script that starts one after the other is one episode.
JOIN_SECONDS: Final = 60.0
# What goes on is written so often, with what is new of it.
REFRESH_SECONDS: Final = 300.0
# Of what was not shown for as many intervals as a node is not lost yet, at least for JOIN_SECONDS, the end is
# told; it goes on if it is shown again.
SILENT_AFTER_HOLDS: Final = LOST_AFTER_INTERVALS / LATE_AFTER_INTERVALS
# A node that is away for longer has most likely been started anew.
AWAY_SECONDS: Final = 24 * 3600.0
MAX_PROGRAM_LETTERS: Final = 200
# Of one GPU at once: more people and programs are not told apart.
MAX_OPEN: Final = 64

# Who, and with what.
Key = tuple[str, str | None]
# Of a node and its GPU: when the sample before was taken; None: there was none.
SeenBefore = Callable[[str, str], float | None]


class Sighting(NamedTuple):
    """One sample of a GPU, and where it was."""

    gpu: str
    node: str
    label: str
    reading: GpuReading
    at: float
    holds_seconds: float


class _Open:
    """An episode that goes on."""

    __slots__ = (
        *("holds_seconds", "label", "left_at", "node", "peak", "seconds", "seen_at", "start", "told_end"),
        *("work", "written_at"),
    )

    def __init__(self, node: str, label: str, start: float, at: float) -> None:
        self.node = node
        self.label = label
        self.start = start
        # When it was seen last; and since when it is not, though its GPU is.
        self.seen_at = at
        self.left_at: float | None = None
        # For how long its last sample holds; and the end that was told, None while it goes on.
        self.holds_seconds = 0.0
        self.told_end: float | None = None
        self.peak: int | None = None
        # Utilisation times seconds, and the seconds in which it was known.
        self.work = 0.0
        self.seconds = 0.0
        self.written_at = float("-inf")

    def add(self, own: Iterable[GpuProcess], seen: Sighting) -> None:
        """Take in one sample."""
        seconds = min(max(0.0, seen.at - self.seen_at), seen.holds_seconds)
        percent = seen.reading.utilization_percent
        if percent is not None:
            # Of the first sample a moment counts, so that there is a mean.
            self.work += percent * (seconds or 1.0)
            self.seconds += seconds or 1.0
        sizes = [one.memory_used_bytes for one in own if one.memory_used_bytes is not None]
        if sizes:
            self.peak = max(self.peak or 0, sum(sizes))
        self.seen_at, self.left_at = max(seen.at, self.seen_at), None
        self.holds_seconds = seen.holds_seconds

    def end_at(self, now: float) -> float | None:
        """When it ended, if nothing more is heard of it; None: it goes on."""
        is_silent = now - self.seen_at >= max(JOIN_SECONDS, SILENT_AFTER_HOLDS * self.holds_seconds)
        return (self.left_at or self.seen_at) if is_silent else None


class Episodes:
    """Joins processes to episodes, sample by sample; what is new waits here to be written."""

    def __init__(self, seen_before: SeenBefore) -> None:
        self._seen_before = seen_before
        self._open: dict[str, dict[Key, _Open]] = {}
        self._allowance = Allowance(EPISODES_AT_ONCE, EPISODES_AN_HOUR)
        self._news: list[Episode] = []
        # The last tick, and the one at which it was looked for the old.
        self._now = 0.0
        self._looked_at = 0.0

    def restore(self, episodes: Iterable[Episode], heard: Mapping[str, float], now: float) -> None:
        """Go on with those that an earlier run left open; `heard` is when it heard of each node last."""
        for one in episodes:
            known = _Open(one.node, one.label, one.start, max(one.start, heard.get(one.node, one.start)))
            known.peak = one.memory_peak_bytes
            if one.utilization_mean_percent is not None:
                known.seconds = max(1.0, now - one.start)
                known.work = one.utilization_mean_percent * known.seconds
            self._open.setdefault(one.gpu, {})[one.person, one.program] = known
        self.set_back(now)
        # Nodes have a moment to be heard again.
        self._now = self._looked_at = now

    def observe(self, seen: Sighting, person_of: PersonOf | None) -> None:
        """Take in one sample of a GPU; those of a GPU come in the order of their times."""
        here, processes = self._open.get(seen.gpu), seen.reading.processes
        if processes is None or not (here or processes):
            return
        found = _by_person(processes, person_of)
        if here is None:
            if not found:
                return
            here = self._open[seen.gpu] = {}
        for key, own in found.items():
            self._see(here, key, own, seen)
        if here.keys() != found.keys():
            self._miss(here, found, seen)

    def _see(self, here: dict[Key, _Open], key: Key, own: list[GpuProcess], seen: Sighting) -> None:
        known, at = here.get(key), seen.at
        if known is not None and _is_another(known, own, seen):
            self._close(seen.gpu, key, known, min(at, known.left_at or known.seen_at + seen.holds_seconds))
            known = None
        if known is None:
            if len(here) >= MAX_OPEN or not self._allowance.admits(seen.node, at):
                return
            known = here[key] = _Open(seen.node, seen.label, self._start(own, seen), at)
        known.add(own, seen)
        is_heard_again = known.told_end is not None and known.end_at(self._now) is None
        if is_heard_again or at - known.written_at >= REFRESH_SECONDS:
            known.written_at = at
            self._tell(seen.gpu, key, known)

    def _start(self, own: Iterable[GpuProcess], seen: Sighting) -> float:
        """Since when it runs: as its oldest process says, but not from before the last sample without it."""
        before = self._seen_before(seen.node, seen.gpu)
        said = min(_starts(own), default=seen.at)
        return min(seen.at, max(said, seen.at if before is None else before))

    def _miss(self, here: dict[Key, _Open], found: Container[Key], seen: Sighting) -> None:
        for key in [key for key in here if key not in found]:
            known = here[key]
            if seen.at <= known.seen_at:
                # Learnt later, of a time in which it had been seen or had not begun.
                continue
            if known.left_at is None:
                known.left_at = min(seen.at, known.seen_at + seen.holds_seconds)
            if seen.at - known.left_at >= JOIN_SECONDS:
                del here[key]
                self._close(seen.gpu, key, known, known.left_at)
        if not here:
            del self._open[seen.gpu]

    def end(self, gpus: Iterable[str]) -> None:
        """End all that is known of GPUs that are gone."""
        for gpu in gpus:
            for key, known in self._open.pop(gpu, {}).items():
                self._close(gpu, key, known, known.left_at or known.seen_at)

    def look_for_the_old(self, now: float) -> None:
        """End what has not been seen for so long that it goes on no more."""
        self._now = now
        if now - self._looked_at < JOIN_SECONDS:
            return
        self._looked_at = now
        self._end_where(lambda known: known.left_at is not None and now - known.left_at >= JOIN_SECONDS)
        self._end_where(lambda known: now - known.seen_at >= AWAY_SECONDS)
        for gpu, here in self._open.items():
            for key, known in here.items():
                if known.end_at(now) != known.told_end:
                    self._tell(gpu, key, known)

    def _end_where(self, is_over: Callable[[_Open], bool]) -> None:
        over = [(gpu, key) for gpu, here in self._open.items() for key, one in here.items() if is_over(one)]
        for gpu, key in over:
            here = self._open[gpu]
            known = here.pop(key)
            self._close(gpu, key, known, known.left_at or known.seen_at)
            if not here:
                del self._open[gpu]

    def take_news(self) -> list[Episode]:
        """What is to be written, in order."""
        news, self._news = self._news, []
        return news

    def set_back(self, now: float) -> None:
        """What was seen when the clock was wrong was seen by now; what began then begins anew."""
        self._now, self._looked_at = min(self._now, now), min(self._looked_at, now)
        self._end_where(lambda known: known.start > now)
        for here in self._open.values():
            for known in here.values():
                known.seen_at = min(known.seen_at, now)
                known.written_at = min(known.written_at, now)
                if known.left_at is not None:
                    known.left_at = min(known.left_at, now)

    def tell_again(self) -> list[Episode]:
        """All that goes on, for a history that has forgotten it."""
        return [
            _episode(gpu, key, known, known.told_end)
            for gpu, here in self._open.items()
            for key, known in here.items()
        ]

    def _tell(self, gpu: str, key: Key, known: _Open) -> None:
        known.told_end = known.end_at(self._now)
        self._news.append(_episode(gpu, key, known, known.told_end))

    def _close(self, gpu: str, key: Key, known: _Open, end: float) -> None:
        self._news.append(_episode(gpu, key, known, max(end, known.start)))


def _by_person(processes: Iterable[GpuProcess], person_of: PersonOf | None) -> dict[Key, list[GpuProcess]]:
    found: dict[Key, list[GpuProcess]] = {}
    for process in processes:
        if is_working(process):
            found.setdefault(_key(process, person_of), []).append(process)
    return found


def _key(process: GpuProcess, person_of: PersonOf | None) -> Key:
    user = process.user
    if user is not None and person_of is not None:
        user = person_of(user)
    program = process.program
    return short_name(holder_name(user, process.uid)), None if program is None else program[
        :MAX_PROGRAM_LETTERS
    ]


def _starts(own: Iterable[GpuProcess]) -> Iterator[float]:
    return (one.started_at for one in own if one.started_at is not None)


def _is_another(known: _Open, own: Iterable[GpuProcess], seen: Sighting) -> bool:
    """Whether these processes began only after the episode was over, while nobody looked or long after."""
    until = (known.left_at or known.seen_at + seen.holds_seconds) + JOIN_SECONDS
    return seen.at > until and min(_starts(own), default=seen.at) > until


def _episode(gpu: str, key: Key, known: _Open, end: float | None) -> Episode:
    person, program = key
    return Episode(
        gpu=gpu,
        node=known.node,
        label=known.label,
        person=person,
        program=program,
        start=known.start,
        end=end,
        memory_peak_bytes=known.peak,
        utilization_mean_percent=round(known.work / known.seconds, 1) if known.seconds else None,
    )
