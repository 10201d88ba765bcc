"""From what nodes say to what is written: judged, named, and compared with the sample before."""

from collections.abc import Container
from math import isinf
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory, Remembered
from gpuboard.fleet.changes import Change
from gpuboard.fleet.node import Node, Seen
from gpuboard.fleet.state import Fleet
from gpuboard.history.base import History
from gpuboard.history.bounds import KnownCrowds
from gpuboard.history.episodes import Episodes, Sighting
from gpuboard.history.events import Events
from gpuboard.history.hindsight import Hindsight
from gpuboard.history.judged import Judged
from gpuboard.history.late import LateJudge
from gpuboard.history.records import Batch, Episode, Event, GpuSamples, HostSample, Place
from gpuboard.history.remembering import Left, Remembering, read_memories
from gpuboard.history.samples import (
    Names,
    Told,
    absent,
    codes_of,
    holds_ms,
    names_noted,
    names_of,
    told_of,
)
from gpuboard.history.steady import Steady
from gpuboard.history.whereabouts import Whereabouts
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.verdict import Holder

# Who is on a GPU is looked at closely when that has changed, and at least so often.
LOOK_SECONDS: Final = 10.0
# A clock that goes back by more was set.
SET_BACK_SECONDS: Final = 1.0
# What outlives the board is asked for so often at most: a large fleet has several batches in that time.
REMEMBER_SECONDS: Final = 5.0
# So far ahead a clock was that was wrong; by more, it is now that it is wrong.
AHEAD_SECONDS: Final = 48 * 3600.0


class Gathered(Struct, frozen=True, gc=False):
    """One report as samples."""

    gpu_samples: GpuSamples | None
    host_sample: HostSample | None
    # Of the GPUs that are missing since the report before.
    missing: GpuSamples | None = None


class News(NamedTuple):
    """What is to be written besides samples."""

    places: list[Place]
    episodes: list[Episode]
    events: list[Event]
    memories: Left = Left({}, frozenset())


def read_news(history: History, now: float) -> News:
    """What an earlier run of the board left in a history, also where its clock was ahead."""
    return News(
        history.places(now, now + AHEAD_SECONDS),
        history.open_episodes(),
        history.open_events(),
        Left(history.memories(), frozenset()),
    )


class _Look(NamedTuple):
    """The last closer look at who is on a GPU."""

    people: tuple[Holder, ...] | None
    names: Names | None
    at: float


class Gatherer:
    """Knows of every GPU what the last sample said, in the order in which samples are written."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._whereabouts = Whereabouts()
        self._episodes = Episodes(self._seen_before)
        self._events = Events()
        self.hindsight = Hindsight()
        self._remembering = Remembering()
        self._crowds = KnownCrowds()
        self._late_judge = LateJudge(fleet, self._whereabouts)
        # The last tick.
        self._now = 0.0
        self._pasts: dict[str, Remembered] = {}
        self._looks: dict[str, _Look] = {}
        # By node, the GPUs of its last sample; and what stays the same as long as these do.
        self._present: dict[str, Names] = {}
        # Nodes that have lost GPUs since their last sample: who is in the next comes anew.
        self._turned: set[str] = set()
        self._steady: dict[str, Steady] = {}
        # Those that were heard since what outlives the board was asked for, and when.
        self._heard: dict[str, tuple[Node, float]] = {}
        self._remembered_at = float("-inf")

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return len(self._whereabouts)

    def restore(self, news: News, now: float) -> dict[str, float]:
        """Go on with the places, and what was open, of an earlier run; when it heard each node."""
        self._now, memories = now, read_memories(news.memories.memories)
        self._remembering.restore(memories)
        self._whereabouts.restore(news.places, now)
        heard = {node: memory.at for node, memory in memories.items()}
        self._episodes.restore(news.episodes, heard, now)
        self._events.restore(news.events, heard)
        self._events.set_back(now)
        for memory in memories.values():
            self._pasts.update(memory.gpus)
        self._fleet.restore_memories(memories)
        return heard

    def follow(self, change: Change) -> None:
        """Take in one tick of the fleet: who is where, and what is wrong."""
        if change.at < self._now - SET_BACK_SECONDS:
            self._set_back(change.at)
        self._now = change.at
        self._episodes.end(self._whereabouts.follow(change, self._seen_at))
        self._episodes.look_for_the_old(change.at)
        self._events.follow(change)
        self.hindsight.forget(change.gone_nodes)
        self._remembering.forget(change.gone_nodes, change.gone_gpus)
        for gpu in change.gone_gpus:
            self._pasts.pop(gpu, None)
            self._looks.pop(gpu, None)
            node = change.gpus_before[gpu].node
            self._turned.add(node)
            self._steady.pop(node, None)
        for node in change.gone_nodes:
            self._present.pop(node, None)
            self._turned.discard(node)
            self._steady.pop(node, None)
            self._heard.pop(node, None)

    def _set_back(self, now: float) -> None:
        """The clock was wrong: nothing of what goes on began, or was seen, after now."""
        self._whereabouts.set_back(now)
        self._episodes.set_back(now)
        self._events.set_back(now)
        self._remembering.set_back(now)
        self._heard = {name: (node, min(at, now)) for name, (node, at) in self._heard.items()}
        self._looks.clear()

    def take_news(self, *, is_last: bool = False, waiting: Container[str] = ()) -> News:
        """What has come to be known since the last time; of the last, also what has not changed.

        Nothing is remembered yet of nodes whose samples wait: after a crash those would seem to be known.
        """
        now = self._fleet.clock.now()
        if is_last or not 0 <= now - self._remembered_at < REMEMBER_SECONDS:
            self._remembered_at = now
            self._remember_heard()
        return News(
            self._whereabouts.take_news(),
            self._episodes.take_news(),
            [*self._events.take_news(), *self.hindsight.take_news()],
            self._remembering.take_news(is_last=is_last, but_not=waiting),
        )

    def _remember_heard(self) -> None:
        for name in list(self._heard):
            self._remember_node(name)

    def _remember_node(self, name: str) -> None:
        heard = self._heard.pop(name, None)
        if heard is not None:
            node, at = heard
            memories, present = node.gpus, self._present.get(name, ())
            pasts = {gpu: memories[gpu].remembered() for gpu in present if gpu in memories}
            self._remember(name, pasts, at, node.ecc_since)

    def _seen_at(self, place: Place) -> float | None:
        self._remember_node(place.node)
        return self._remembering.seen_at(place.node, place.gpu)

    def _seen_before(self, node: str, gpu: str) -> float | None:
        """When the sample of a GPU was taken before the one that is being looked at; None: there was none."""
        heard = self._heard.get(node)
        if heard is not None and gpu in self._present.get(node, ()):
            return heard[1]
        seen_at = self._remembering.seen_at(node, gpu)
        return None if seen_at is None or isinf(seen_at) else seen_at

    def tell_again(self, batch: Batch) -> Batch:
        """A batch for a history that has forgotten everything: with all that is as it was, too."""
        return replace(
            batch,
            places=[*self._whereabouts.tell_again(), *batch.places],
            episodes=[*self._episodes.tell_again(), *batch.episodes],
            events=[*self._events.tell_again(), *batch.events],
        )

    def _remember(self, node: str, pasts: dict[str, Remembered], at: float, errors: dict[str, float]) -> None:
        self._pasts.update(pasts)
        self._remembering.observe(node, pasts, at, errors)

    def live(self, node: Node, seen: Seen, report: NodeReport) -> list[Judged]:
        """A sample that has just come, with the verdicts that the fleet has just given."""
        gpus = report.gpus or ()
        if gpus is seen.gpus:
            return [
                Judged(gpu, memory.verdict, memory.people, claimant=_claimant(memory))
                for gpu, memory in zip(gpus, seen.remembered, strict=True)
            ]
        names = node.names
        told = {names.get(gpu.uuid, gpu.uuid): gpu for gpu in gpus}
        # One that is missing is shown all the same, and has no sample.
        return [
            Judged(
                _as_shown(told[shown.uuid], shown), memory.verdict, memory.people, claimant=_claimant(memory)
            )
            for shown, memory in zip(seen.gpus, seen.remembered, strict=True)
            if shown.uuid in told
        ]

    def late(self, node: Node, report: NodeReport, at: float) -> list[Judged]:
        """A sample that was missed, or that a newer one had overtaken."""
        return self._late_judge.judge(node, report, at, self._pasts)

    def record_live(self, node: Node, seen: Seen, report: NodeReport, told: Told, at: float) -> Gathered:
        """A sample that has just come, and before which none of its node waits, as samples."""
        steady = self._steady_of(node, told)
        if steady is None or not steady.goes_on(seen):
            gathered = self.record(node, report, self.live(node, seen, report), at)
            self._note_steady(node, seen, told.uuids, at)
            return gathered
        holds = holds_ms(report.interval_seconds or node.interval)
        if steady.hear(seen) or not 0 <= at - steady.looked_at < LOOK_SECONDS:
            people = steady.people_now()
            found = zip(steady.gpus, report.gpus or (), people, strict=True)
            names = [self._names_on(gpu, node.name, reading, who, at, holds) for gpu, reading, who in found]
            steady.look(people, self._admitted(node.name, steady.noted(names), at), at)
        return self._gather_steady(node, steady, told, at, holds)

    def record_overtaken(self, node: Node, report: NodeReport, told: Told, at: float) -> Gathered | None:
        """A sample that came right after the one that was judged last, with the verdicts of that one.

        None: it is another node than it was, and has to wait until it is judged.
        """
        steady, seen = self._steady_of(node, told), node.seen
        if steady is None or seen is None or not steady.is_fresh(seen, at):
            return None
        return self._gather_steady(node, steady, told, at, holds_ms(report.interval_seconds or node.interval))

    def _steady_of(self, node: Node, told: Told) -> Steady | None:
        """What is known of a node, if this is of the GPUs that its last sample was of."""
        steady = self._steady.get(node.name)
        if steady is None or steady.told != told.uuids or steady.gpus is not self._present.get(node.name):
            return None
        return steady

    def _gather_steady(self, node: Node, steady: Steady, told: Told, at: float, holds: int) -> Gathered:
        self._heard[node.name] = (node, at)
        return _gathered(node.name, steady.gpus, told, steady.codes, steady.holders, round(1000 * at), holds)

    def record(self, node: Node, report: NodeReport, judged: list[Judged], at: float) -> Gathered:
        """A report as samples; those of a node come in order."""
        name = node.name
        holds = holds_ms(report.interval_seconds or node.interval)
        missing = self._note_present(name, judged, at)
        on_it = [self._names_on(one.reading.uuid, name, one.reading, one.people, at, holds) for one in judged]
        noted = [names_noted(who, one.verdict, one.claimant) for who, one in zip(on_it, judged, strict=True)]
        holders = self._admitted(name, noted, at)
        self._note_heard(node, judged, at)
        told = told_of([one.reading for one in judged], report.host)
        codes, gpus = codes_of([one.verdict for one in judged]), self._present.get(name, ())
        made = _gathered(name, gpus, told, codes, tuple(holders), round(1000 * at), holds)
        return Gathered(made.gpu_samples, made.host_sample, missing)

    def _note_steady(self, node: Node, seen: Seen, told: Names, at: float) -> None:
        """Keep what the next sample has in common with this one, if it is of the same GPUs."""
        present = self._present.get(node.name, ())
        if present == tuple([node.names.get(uuid, uuid) for uuid in told]):
            steady = self._steady[node.name] = Steady(present, told, seen)
            names = steady.noted(self._looks[gpu].names for gpu in present)
            steady.look(steady.people_now(), self._admitted(node.name, names, at), at)
        else:
            self._steady.pop(node.name, None)

    def _names_on(  # noqa: PLR0917 - by position: asked of every GPU of every report
        self,
        gpu: str,
        node: str,
        reading: GpuReading,
        people: tuple[Holder, ...] | None,
        at: float,
        holds: int,
    ) -> Names | None:
        """Who is on a GPU; looked at closely when that has changed, and now and then."""
        known = self._looks.get(gpu)
        # Mostly the very same people as a moment ago. A clock may have been set back.
        if known is None or known.people is not people or not 0 <= at - known.at < LOOK_SECONDS:
            label = self._whereabouts.label_of(gpu) or str(reading.index)
            sighting = Sighting(gpu, node, label, reading, at, holds / 1000)
            known = self._looks[gpu] = self._look(sighting, people)
        return known.names

    def _look(self, seen: Sighting, people: tuple[Holder, ...] | None) -> _Look:
        """Look closer at who is on a GPU."""
        self._episodes.observe(seen, self._fleet.names.person_on(seen.node))
        return _Look(people, names_of(people), seen.at)

    def _admitted(self, node: str, names: list[Names | None], at: float) -> list[Names | None]:
        """The same people of each GPU, unless this node has named too many different ones."""
        return [self._crowds.admitted(node, who, at) if who else who for who in names]

    def _note_heard(self, node: Node, judged: list[Judged], at: float) -> None:
        """Keep what another sitting would go on with; of a live sample the fleet knows it until asked."""
        if all(one.past is None for one in judged[:1]):
            self._heard[node.name] = (node, at)
        else:
            pasts = {one.reading.uuid: one.past for one in judged if one.past is not None}
            self._remember(node.name, pasts, at, node.ecc_since)

    def _note_present(self, node: str, judged: list[Judged], at: float) -> GpuSamples | None:
        """Compare with the GPUs of the sample before; those that are missing now are absent."""
        present = tuple([one.reading.uuid for one in judged])
        before = self._present.get(node, ())
        is_other = before != present or node in self._turned
        self._turned.discard(node)
        if is_other or (judged and judged[0].past is not None):
            for one in judged:
                self._whereabouts.see(node, one, self._fleet.names, at)
        if not is_other:
            return None
        self._remember_node(node)
        self._remembering.turn(node, present)
        self._present[node] = present
        missing = tuple([gpu for gpu in before if gpu not in present])
        return absent(missing, round(1000 * at)) if missing else None


def _gathered(  # noqa: PLR0917 - by position: asked of every report
    node: str,
    gpus: Names,
    told: Told,
    codes: list[int | None],
    holders: tuple[Names | None, ...],
    at_ms: int,
    holds: int,
) -> Gathered:
    host = told.host
    return Gathered(
        GpuSamples(gpus, at_ms, holds, told.figures, told.throttled, codes, holders) if gpus else None,
        None if host is None else HostSample(node, at_ms, holds, host),
    )


def _claimant(memory: GpuMemory) -> str | None:
    return None if memory.claim is None else memory.claim.on_account_of


def _as_shown(told: GpuReading, shown: GpuReading) -> GpuReading:
    """What a GPU said, under the name and number by which it is shown."""
    # Nearly always the very same.
    if told is shown or (told.uuid == shown.uuid and told.index == shown.index):
        return told
    return replace(told, uuid=shown.uuid, index=shown.index, mig_parent_uuid=shown.mig_parent_uuid)
