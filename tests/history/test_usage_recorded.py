"""GPU-hours add up, whatever happens to a board: from what nodes say, over its recorder, to the answer."""

import asyncio
import tempfile
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuboard.fleet.names import Names
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.figures import VERDICTS
from gpuboard.history.records import Batch, Place, Written
from gpuboard.history.usage import OWNED, Usage
from gpuboard.model.names import NODE_MARK
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading
from gpuboard.model.verdict import Claim
from tests.history.fleets import GIB, HOUR, tidy
from tests.history.lab import Lab, reading
from tests.history.naive import Said
from tests.history.test_usage import check_against_samples, check_sums

START: Final = 1_800_000_000.0
DAY: Final = 24 * HOUR
EVER: Final = START + 1000 * DAY
# An agent keeps an hour.
KEPT_SECONDS: Final = HOUR
# A killed board has not written so much, which is long for one.
WRITTEN_SECONDS: Final = 600.0
ALIASES: Final[tuple[dict[str, str], ...]] = (
    {},
    {"ana": "Ana Silva"},
    {"ana": "Ana Silva", "ben": "Ana Silva"},
)
INSTANCES: Final = ("MIG-a", "MIG-b")
# What happens to a node or to the board; and to its clock.
HAPPENINGS: Final = (
    *("say", "say", "say", "say", "miss", "wait", "change_people", "take_out", "put_in"),
    *("cut", "book", "break", "forget", "restart", "kill", "rename", "tidy"),
)
CLOCKS: Final = ("set_ahead", "set_back")
# Who does nothing is found to be idle only later; what two nodes have in turn has several names.
OTHERS: Final = ("doze", "move")


class NotedHistory(EmbeddedHistory):
    """Also notes what it has taken, sample by sample."""

    def __init__(self, path: Path, said: dict[str, list[Said]]) -> None:
        super().__init__(path, Keep())
        self.said = said

    def write(self, batch: Batch, *, now: float) -> Written:
        """Write, and note what is safe now."""
        written = super().write(batch, now=now)
        for one in batch.gpu_samples:
            for gpu, people, code in zip(one.gpus, one.holders, one.verdicts, strict=True):
                word = "unknown" if code is None else VERDICTS[code]
                self.said[gpu].append(Said(one.at_ms, one.holds_ms, word, people))
        return written


class Agent:
    """A node with cards; it keeps what was not called safe, for an hour."""

    def __init__(self, name: str, cards: list[int]) -> None:
        self.name = name
        self.cards = cards
        self.is_cut = False
        self.people: tuple[str, ...] = ()
        self.use = 50.0
        self.is_broken = False
        # When which GPUs were sampled that the board was told of.
        self.told: set[tuple[int, str]] = set()
        self._sequence = 0
        # By sequence: when it was sampled, by a clock that nobody sets, and what was seen.
        self._kept: dict[int, tuple[float, list[GpuReading]]] = {}

    def sample(self, time: float) -> None:
        """Look at the cards."""
        self._sequence += 1
        self._kept[self._sequence] = (time, self._gpus())

    def hand_over(self, lab: Lab[NotedHistory], time: float) -> None:
        """Tell the board what is not safe; the newest as it is, what is older as missed."""
        taken = lab.recorder.taken(self.name, "boot") or 0
        for number, (at, gpus) in list(self._kept.items()):
            if number <= taken or time - at > KEPT_SECONDS:
                del self._kept[number]
                if number > taken:
                    self.told -= told_by(at, gpus)
        problems = (problem("gpu-lost", gpu_uuid=f"GPU-{self.cards[0]}"),) if self.is_broken else ()
        for number, (at, gpus) in self._kept.items():
            self.told |= told_by(at, gpus)
            lab.say(
                gpus,
                node=self.name,
                sequence=number,
                age=time - at,
                is_backfill=number < self._sequence,
                problems=problems,
            )

    def _gpus(self) -> list[GpuReading]:
        cut = self.is_cut and 0 in self.cards
        gpus = [used_by(() if cut and card == 0 else self.people, card, use=self.use) for card in self.cards]
        if cut:
            gpus += [
                used_by(
                    self.people, at, uuid=uuid, use=self.use, mig_parent_uuid="GPU-0", mig_profile="1g.10gb"
                )
                for at, uuid in enumerate(INSTANCES)
            ]
        return gpus


def told_by(time: float, gpus: list[GpuReading]) -> set[tuple[int, str]]:
    """When these GPUs were sampled."""
    return {(round(1000 * (START + time)), gpu.uuid) for gpu in gpus}


def used_by(people: tuple[str, ...], index: int, *, use: float, **more: Any) -> GpuReading:  # noqa: ANN401
    """A GPU with these people on it, each with a bit more than the one before."""
    processes = tuple(
        GpuProcess(
            pid=at,
            user=user,
            uid=at,
            program=f"train-{user}",
            kind="compute",
            memory_used_bytes=(at + 1) * GIB,
            started_at=None,
        )
        for at, user in enumerate(people)
    )
    held = sum(one.memory_used_bytes or 0 for one in processes)
    return reading(
        index, use=use if people else 0.0, **{"processes": processes, "memory_used_bytes": held, **more}
    )


class World:
    """A board that is restarted and killed, two nodes, and time."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / "history.sqlite"
        self.said: dict[str, list[Said]] = defaultdict(list)
        self.agents = [Agent("n1", [0, 1]), Agent("n2", [2])]
        self.time = 0.0
        self._aliases = ALIASES[0]
        self._written_at = 0.0
        self._begin(START)

    def _begin(self, now: float) -> None:
        self.history = NotedHistory(self._path, self.said)
        self.history.open()
        self.lab = Lab(self.history, time=now)
        self.lab.fleet.judge_by(self.lab.fleet.thresholds, Names(people=self._aliases))

    def close(self) -> None:
        """End the board, whatever it has not written."""
        self.history.close()

    def pass_time(self, seconds: float) -> None:
        """Let time go by, in which the board judges; it never keeps what it was told for long."""
        if self.time + seconds - self._written_at > WRITTEN_SECONDS:
            self.write()
        self.time += seconds
        self.lab.tick(seconds)

    def happen(self, what: str, agent: Agent, seconds: float) -> None:
        """Let one thing happen."""
        getattr(self, f"_{what}")(agent, seconds)
        # What was just said may wait: a board that is killed then has not written it.
        if what not in {"say", "change_people"}:
            self.write()

    def _say(self, agent: Agent, seconds: float) -> None:
        for _ in range(3):
            agent.sample(self.time)
            agent.hand_over(self.lab, self.time)
            self.pass_time(seconds)

    def _miss(self, agent: Agent, seconds: float) -> None:
        for _ in range(6):
            self.pass_time(seconds / 2)
            agent.sample(self.time)
        agent.hand_over(self.lab, self.time)
        self.pass_time(1.0)

    def _wait(self, agent: Agent, seconds: float) -> None:
        del agent
        self.pass_time(40 * seconds)

    def _change_people(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.people = {(): ("ana",), ("ana",): ("ana", "ben")}.get(agent.people, ())

    def _take_out(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.cards = agent.cards[:1]

    def _put_in(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.cards = [0, 1] if agent.name == "n1" else [2, 3]

    def _move(self, agent: Agent, seconds: float) -> None:
        del seconds
        (other,) = [one for one in self.agents if one is not agent]
        if len(agent.cards) > 1:
            other.cards = sorted({*other.cards, agent.cards[1]})
            agent.cards = [card for card in agent.cards if card not in other.cards]

    def _book(self, agent: Agent, seconds: float) -> None:
        now = self.lab.clock.time
        claim = Claim(who="ben", start=now + seconds / 2, until=now + 50 * seconds)
        self.lab.fleet.set_claims("booking", {(agent.name, 0): claim, (agent.name, 2): claim})

    def _break(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.is_broken = not agent.is_broken

    def _doze(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.use = 50.0 - agent.use

    def _cut(self, agent: Agent, seconds: float) -> None:
        del seconds
        agent.is_cut = not agent.is_cut

    def _forget(self, agent: Agent, seconds: float) -> None:
        del seconds
        self.lab.fleet.forget(agent.name)
        self.pass_time(1.0)

    def _restart(self, agent: Agent, seconds: float) -> None:
        asyncio.run(self.lab.recorder.finish())
        self._kill(agent, seconds)

    def _kill(self, agent: Agent, seconds: float) -> None:
        del agent, seconds
        self.close()
        self._begin(self.lab.clock.time)

    def _rename(self, agent: Agent, seconds: float) -> None:
        del agent, seconds
        self._aliases = ALIASES[(ALIASES.index(self._aliases) + 1) % len(ALIASES)]
        self.lab.fleet.judge_by(self.lab.fleet.thresholds, Names(people=self._aliases))

    def _tidy(self, agent: Agent, seconds: float) -> None:
        del agent, seconds
        tidy(self.history, self.lab.clock.time)

    def _set_ahead(self, agent: Agent, seconds: float) -> None:
        del agent, seconds
        self._set_clock(DAY)

    def _set_back(self, agent: Agent, seconds: float) -> None:
        del agent, seconds
        self._set_clock(-DAY)

    def _set_clock(self, seconds: float) -> None:
        self.lab.clock.time += seconds
        self.lab.fleet.shift(seconds)
        self.pass_time(1.0)

    def write(self) -> None:
        """Write what is ready."""
        self._written_at = self.time
        asyncio.run(self.lab.write())

    def ask(self) -> Usage:
        """GPU-hours of all times that were, by whatever clock; the six kinds and people's shares add up."""
        found = self.history.usage(START - 10 * DAY, max(self.lab.clock.time, START + 1))
        check_sums(found)
        return found

    def places(self) -> dict[str, list[Place]]:
        """Where each GPU was, ever."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place in self.history.places(START - 100 * DAY, EVER):
            found[place.gpu].append(place)
        return {gpu: sorted(places, key=lambda one: one.start) for gpu, places in found.items()}


def check_places(world: World) -> None:
    """No GPU is in two places at once, nor in one that it has yet to come to."""
    for places in world.places().values():
        for one, following in pairwise(places):
            assert one.end is not None
            assert one.end <= following.start
        assert all(one.start <= world.lab.clock.time for one in places if one.end is None)


def steps(*kinds: str) -> st.SearchStrategy[list[tuple[str, int, float]]]:
    """What happens to which node, and how fast time goes by."""
    one = st.tuples(
        st.sampled_from(kinds), st.integers(0, 1), st.sampled_from([5.0, 10.0, 14.5, 90.0, 700.0])
    )
    return st.lists(one, min_size=1, max_size=20)


def end_all(world: World) -> None:
    """Write what is left; then no node is ever heard again, and all is sealed."""
    world.write()
    for agent in world.agents:
        world.lab.fleet.sink("push").expect(())
        world.lab.fleet.forget(agent.name)
    world.pass_time(1.0)
    world.pass_time(DAY + 1.0)
    world.write()
    tidy(world.history, world.lab.clock.time)


def lived(happened: list[tuple[str, int, float]], folder: str) -> World:
    """A world in which all of this has happened; it has added up all the time."""
    world = World(folder)
    for what, number, seconds in happened:
        world.happen(what, world.agents[number], seconds)
        world.ask()
    return world


def by_person(found: Usage) -> Counter[tuple[str, str, str]]:
    """All that is somebody's, by GPU, person and kind, and the memory that they held."""
    told: Counter[tuple[str, str, str]] = Counter()
    for one in found.places:
        for person, times in one.people.items():
            told.update({(one.place.gpu, person, kind): getattr(times, kind) for kind in OWNED})
            told[one.place.gpu, person, "memory"] += times.memory or 0
    return +told


@settings(max_examples=max(15, settings().max_examples // 8))
@given(steps(*HAPPENINGS, *CLOCKS, *OTHERS))
def test_usage_adds_up_whatever_happens_to_a_board(happened: list[tuple[str, int, float]]) -> None:
    """Also with a clock that is a day ahead for a while; in the end nothing is left of GPUs that are gone."""
    with tempfile.TemporaryDirectory() as folder:
        world = lived(happened, folder)
        check_places(world)
        end_all(world)
        whole = world.ask()
        check_places(world)
        now = world.lab.clock.time
        assert world.history.places(now, EVER) == []
        programs = world.history.usage_of_programs(START - 10 * DAY, now)
        check_sums(programs)
        assert [one.times for one in programs.places] == [one.times for one in whole.places]
        world.close()


@settings(max_examples=max(15, settings().max_examples // 8))
@given(steps(*HAPPENINGS))
def test_usage_is_what_nodes_have_said(happened: list[tuple[str, int, float]]) -> None:
    """Sample by sample, and hour by hour; GPUs are there from their first sample to the last."""
    with tempfile.TemporaryDirectory() as folder:
        world = lived([*happened, ("say", 0, 5.0), ("say", 1, 5.0)], folder)
        check_against_samples(world.ask(), world.said)
        end_all(world)
        whole = world.ask()
        written = {
            (one.at_ms, gpu.partition(NODE_MARK)[0])
            for gpu, said in world.said.items()
            for one in said
            if one.holds_ms
        }
        assert written == world.agents[0].told | world.agents[1].told
        for gpu, places in world.places().items():
            times = sorted(one.at_ms for one in world.said[gpu] if one.holds_ms)
            assert round(1000 * places[0].start) == times[0]
            assert round(1000 * (places[-1].end or 0)) == times[-1]
            for at in times:
                assert any(round(1000 * one.start) <= at <= round(1000 * (one.end or 0)) for one in places)
        hours = int((whole.end - whole.start) / HOUR) + 1
        parts = [
            world.history.usage(whole.start + at * HOUR, min(whole.end, whole.start + (at + 1) * HOUR))
            for at in range(hours)
        ]
        assert sum((by_person(part) for part in parts), Counter()) == by_person(whole)
        assert sum(part.total().span for part in parts) == whole.total().span
        world.close()
