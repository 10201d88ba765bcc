"""GPU-hours add up, whatever happens to a fleet."""

import contextlib
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuboard.history.base import History, Keep
from gpuboard.history.blocks import pack, unpack
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.figures import VERDICTS
from gpuboard.history.records import Batch, Episode, GpuSamples, Place
from gpuboard.history.usage import OWNED, USAGE_KINDS, Usage, kind_of, shares, total_of
from tests.history.fleets import DAY, GIB, HOUR, gpu_sample, place, tidy
from tests.history.naive import Said, hours_of

PEOPLE = st.none() | st.lists(st.sampled_from(["ana", "ben", "uid 1000", "unknown"]), max_size=3, unique=True)


@contextlib.contextmanager
def opened(folder: str) -> Iterator[History]:
    """A history in a folder, for a while."""
    history = EmbeddedHistory(Path(folder) / "history.sqlite", Keep())
    history.open()
    try:
        yield history
    finally:
        history.close()


def check_sums(found: Usage) -> None:
    """The six kinds of each GPU are its span, and people's shares are what is somebody's."""
    for one in found.places:
        times = one.times
        assert times.unobserved >= 0
        assert all(getattr(times, kind) >= 0 for kind in USAGE_KINDS)
        end = found.end if one.place.end is None else min(found.end, one.place.end)
        assert times.span == round(1000 * end) - round(1000 * max(found.start, one.place.start))
        for kind in OWNED:
            assert sum(getattr(part, kind) for part in one.people.values()) == getattr(times, kind)
        assert sum(part.memory or 0 for part in one.people.values()) == (times.memory or 0)
        assert sum(part.span for part in one.people.values()) == times.used + times.idle + times.booked


TABLES = ("usage", "usage_days")
CARD, INSTANCES, OTHER = "GPU-card", ("MIG-a", "MIG-b"), "GPU-other"


@st.composite
def happenings(draw: st.DrawFn) -> list[tuple[str, float, Batch | None]]:
    """Hours of two cards, one of which is cut into instances now and then, in samples and places.

    Boards restart and tidy up, clocks are set back, nodes are heard late, GPUs move, names change.
    """
    now, is_cut = DAY, False
    found: list[tuple[str, float, Batch | None]] = []
    for _ in range(draw(st.integers(1, 25))):
        now += draw(st.sampled_from([1.0, 7.3, 10.0, 600.0, 3600.0, 9000.0, -1800.0]))
        what = draw(st.sampled_from(["sample", "sample", "sample", "late", "move", "cut", "restart", "tidy"]))
        if what in {"sample", "late"}:
            late = draw(st.integers(0, 4000)) if what == "late" else 0
            gpu = draw(st.sampled_from([OTHER, *(INSTANCES if is_cut else (CARD,))]))
            found.append((what, now, Batch(gpu_samples=[draw(sample_of(gpu, now - late))])))
        elif what == "move":
            where = place(OTHER, node=draw(st.sampled_from(["n1", "n2"])), start=now)
            found.append((what, now, Batch(places=[replace(where, counted=draw(st.booleans()))])))
        elif what == "cut":
            is_cut = not is_cut
            found.append((what, now, Batch(places=_cut(now, is_cut=is_cut))))
        else:
            found.append((what, now, None))
    return found


@st.composite
def sample_of(
    draw: st.DrawFn, gpu: str, at: float, *, use: tuple[float | None, ...] = (0.0, 50.0, None)
) -> GpuSamples:
    """One GPU at one moment, with anybody on it."""
    people = draw(PEOPLE)
    return gpu_sample(
        gpu,
        at,
        utilization=draw(st.sampled_from(use)),
        holds=draw(st.sampled_from([0.0, 15.0, 30.0, 7200.0])),
        verdict=draw(st.sampled_from(VERDICTS)),
        holders=None if people is None else tuple(sorted(people)),
        memory_used_bytes=draw(st.sampled_from([None, 0.0, 5.0 * GIB])),
    )


def _cut(now: float, *, is_cut: bool) -> list[Place]:
    """A card becomes instances, and is not counted meanwhile; or a card again, and they are gone."""
    card = place(CARD, start=now, counted=not is_cut)
    ends = None if is_cut else now
    instances = [
        replace(place(name, index=at, start=now - (0 if is_cut else 60)), parent=CARD, end=ends)
        for at, name in enumerate(INSTANCES)
    ]
    return [card, *instances]


# Each is a history with a file of its own, and asked after every step.
@settings(max_examples=settings().max_examples // 4)
@given(happenings())
def test_the_six_kinds_are_the_span_whatever_happens(steps: list[tuple[str, float, Batch | None]]) -> None:
    """Outages, restarts, late samples, shared GPUs, instances, moves, and clocks that are set."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        history = stack.enter_context(opened(folder))
        first = [place(CARD), place(OTHER, node="n1", index=1)]
        ran = Episode(gpu=OTHER, node="n1", label="1", person="ana", program="train", start=DAY)
        history.write(Batch(places=first, episodes=[ran]), now=DAY)
        latest = DAY
        for what, now, batch in steps:
            latest = max(now, latest)
            if batch is not None:
                history.write(batch, now=now)
            elif what == "tidy":
                tidy(history, now)
            else:
                stack.close()
                history = stack.enter_context(opened(folder))
            check_sums(history.usage(DAY - HOUR, max(now, DAY + 1)))
        tidy(history, latest + 10 * HOUR)
        whole = history.usage(DAY - HOUR, latest + 10 * HOUR)
        programs = history.usage_of_programs(DAY - HOUR, latest + 10 * HOUR)
        check_sums(whole)
        check_sums(programs)
        assert [one.times for one in programs.places] == [one.times for one in whole.places]


# What has been over for so long is sealed. Nothing that is told here is older, whatever the clock did.
SEALED_SECONDS = 4500.0


@st.composite
def tellings(draw: st.DrawFn) -> list[tuple[float, Batch | None]]:
    """The same without anything that is found idle later, or comes when its hour was sealed."""
    found: list[tuple[float, Batch | None]] = []
    now = latest = DAY
    is_cut, known = False, set[tuple[str, int]]()
    for _ in range(draw(st.integers(1, 25))):
        now = max(
            now + draw(st.sampled_from([1.0, 7.25, 10.0, 600.0, 3600.0, 9000.0, -1800.0])), latest - HOUR
        )
        latest = max(now, latest)
        what = draw(st.sampled_from(["sample"] * 5 + ["move", "cut", "nothing"]))
        if what == "sample":
            at = now - draw(st.sampled_from([0.0, 0.0, 3.25, 1000.0, 3999.75]))
            gpu = draw(st.sampled_from([OTHER, *(INSTANCES if is_cut else (CARD,))]))
            sample = draw(sample_of(gpu, max(at, latest - SEALED_SECONDS + 1), use=(50.0, None)))
            # Of two for the same moment one counts, and which is nobody's promise.
            if (gpu, sample.at_ms) not in known:
                known.add((gpu, sample.at_ms))
                found.append((now, Batch(gpu_samples=[sample])))
        elif what == "move":
            where = place(OTHER, node=draw(st.sampled_from(["n1", "n2"])), start=now)
            found.append((now, Batch(places=[replace(where, counted=draw(st.booleans()))])))
        elif what == "cut":
            is_cut = not is_cut
            found.append((now, Batch(places=_cut(now, is_cut=is_cut))))
        else:
            found.append((now, None))
    return found


def check_against_samples(found: Usage, said: dict[str, list[Said]]) -> None:
    """Every kind of every GPU, and of everybody on it, is what its samples say."""
    for one in found.places:
        end = found.end if one.place.end is None else min(found.end, one.place.end)
        begin = max(found.start, one.place.start)
        expected = hours_of(said.get(one.place.gpu, ()), round(1000 * begin), round(1000 * end))
        told = Counter({(kind, ""): getattr(one.times, kind) for kind in USAGE_KINDS if kind not in OWNED})
        for person, times in one.people.items():
            told.update({(kind, person): getattr(times, kind) for kind in OWNED})
        assert +told == +expected, one.place


@settings(max_examples=settings().max_examples // 4)
@given(tellings())
def test_each_kind_is_what_samples_say_one_by_one(steps: list[tuple[float, Batch | None]]) -> None:
    """Sealed or not; also of instances, of a GPU that moves, and with a clock that is set back."""
    said: dict[str, list[Said]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        history = stack.enter_context(opened(folder))
        history.write(Batch(places=[place(CARD), place(OTHER, node="n1", index=1)]), now=DAY)
        latest = DAY
        for now, batch in steps:
            latest = max(now, latest)
            if batch is None:
                tidy(history, now)
                stack.close()
                history = stack.enter_context(opened(folder))
                continue
            history.write(batch, now=now)
            for one in batch.gpu_samples:
                (gpu,), (people,), (code,) = one.gpus, one.holders, one.verdicts
                said[gpu].append(Said(one.at_ms, one.holds_ms, VERDICTS[code or 0], people))
        span = DAY - HOUR, latest + 10 * HOUR
        check_against_samples(history.usage(*span), said)
        tidy(history, latest + 10 * HOUR)
        check_against_samples(history.usage(*span), said)


@given(st.integers(0, 10**9), st.lists(st.sampled_from(["ana", "ben", "uid 1000", "zoe"]), unique=True))
def test_shares_are_equal_and_add_up(milliseconds: int, people: list[str]) -> None:
    """Only the first by name may have more, and by less than there are people."""
    parts = shares(milliseconds, people)
    assert sum(parts.values()) == milliseconds
    assert set(parts) == set(people or ["unknown"])
    assert max(parts.values()) - min(parts.values()) < len(parts)
    assert parts[min(parts)] == max(parts.values())


def test_what_cannot_be_told_is_not_observed() -> None:
    """A stale GPU is nobody's, and neither used nor free."""
    assert [kind_of(word) for word in ("stale", "unknown", None)] == [None, None, None]


def test_hours_are_the_same_before_and_after_they_are_sealed(tmp_path: Path) -> None:
    """Also idle time that was found out only in the hour after."""
    with opened(str(tmp_path)) as history:
        history.write(Batch(places=[place("GPU-a")]), now=DAY)
        for number in range(int(2.5 * 360)):
            at = DAY + number * 10
            hours = (at - DAY) / HOUR
            sample = gpu_sample(
                "GPU-a",
                at,
                holds=30,
                utilization=80.0 if hours < 0.75 else 0.0,
                verdict="busy" if hours < 1.25 else "idle",
                holders=("ana", "ben"),
            )
            history.write(Batch(gpu_samples=[sample]), now=at)
            tidy(history, at)
        before = history.usage(DAY, DAY + 3 * HOUR)
        tidy(history, DAY + 10 * HOUR)
        after = history.usage(DAY, DAY + 3 * HOUR)
    assert after == before
    whole = total_of(one.times for one in after.places)
    assert (whole.span, whole.used) == (3 * 3_600_000, 2_700_000)
    assert whole.idle == 2_700_000 + 3_600_000 + 20_000
    assert {name: part.used for name, part in after.places[0].people.items()} == {
        "ana": 1_350_000,
        "ben": 1_350_000,
    }


def test_memory_is_counted_as_long_as_it_was_held(tmp_path: Path) -> None:
    """By what each held where that is known, else equally; nothing is said where no sample tells."""
    with opened(str(tmp_path)) as history:
        ran = [
            Episode(
                gpu="GPU-a",
                node="gpu01",
                label="0",
                person=person,
                program="train",
                start=DAY,
                memory_peak_bytes=peak * GIB,
            )
            for person, peak in (("ana", 1), ("ben", 3))
        ]
        gpus = ("GPU-a", "GPU-b", "GPU-c")
        history.write(Batch(places=[place(gpu, index=at) for at, gpu in enumerate(gpus)]), now=DAY)
        both = ("ana", "ben")
        told = [
            gpu_sample("GPU-a", DAY, holds=3600, holders=both, memory_used_bytes=8.0 * GIB),
            gpu_sample("GPU-b", DAY, holds=3600, holders=both, memory_used_bytes=8.0 * GIB),
            gpu_sample("GPU-c", DAY, holds=3600, holders=("chen",)),
        ]
        history.write(Batch(gpu_samples=told, episodes=ran), now=DAY)
        tidy(history, DAY + 10 * HOUR)
        found = history.usage(DAY, DAY + HOUR).places
    hours = [{name: part.memory for name, part in one.people.items()} for one in found]
    an_hour = 1024 * 3600
    assert hours == [
        {"ana": 2 * an_hour, "ben": 6 * an_hour},
        {"ana": 4 * an_hour, "ben": 4 * an_hour},
        {"chen": None},
    ]
    assert [one.times.memory for one in found] == [8 * an_hour, 8 * an_hour, None]


def test_memory_of_a_shared_hour_is_of_those_who_held_it_then(tmp_path: Path) -> None:
    """Whoever was alone on the GPU for the rest of the day held no more of it; hours add up to the day."""
    with opened(str(tmp_path)) as history:
        ran = [
            Episode(
                gpu="GPU-a",
                node="gpu01",
                label="0",
                person=person,
                program="train",
                start=start,
                end=DAY + 24 * HOUR,
                memory_peak_bytes=10 * GIB,
            )
            for person, start in (("ana", DAY), ("ben", DAY + 23 * HOUR))
        ]
        history.write(Batch(places=[place("GPU-a")], episodes=ran), now=DAY)
        for hour in range(24):
            both = hour == 23
            told = gpu_sample(
                "GPU-a",
                DAY + hour * HOUR,
                holds=3600,
                holders=("ana", "ben") if both else ("ana",),
                memory_used_bytes=(20.0 if both else 10.0) * GIB,
            )
            history.write(Batch(gpu_samples=[told]), now=DAY + hour * HOUR)
        hours = [held_in(history.usage(DAY + at * HOUR, DAY + (at + 1) * HOUR)) for at in range(24)]
        day = held_in(history.usage(DAY, DAY + 24 * HOUR))
    assert hours[-1] == {"ana": 10.0, "ben": 10.0}
    assert day == sum(hours, Counter[str]()) == {"ana": 240.0, "ben": 10.0}


def held_in(usage: Usage) -> Counter[str]:
    """Person → GiB times hours."""
    found = Counter[str]()
    for one in usage.places:
        found.update({name: (part.memory or 0) / 1024 / HOUR for name, part in one.people.items()})
    return found


def test_memory_of_an_hour_in_which_somebody_came_is_divided_by_what_each_held(tmp_path: Path) -> None:
    """Not by how long: what was before is not what is shared. Programs side by side count together."""
    ran = [
        ("ana", "train", DAY, DAY + HOUR, 6),
        ("ben", "train", DAY + 1800, DAY + HOUR, 1),
        ("ben", "eval", DAY + 1800, DAY + HOUR, 1),
        # One after the other.
        ("ana", "early", DAY - HOUR, DAY, 9),
        ("ben", "later", DAY + HOUR, DAY + 2 * HOUR, 9),
    ]
    episodes = [
        Episode(
            gpu="GPU-a",
            node="gpu01",
            label="0",
            person=person,
            program=program,
            start=start,
            end=end,
            memory_peak_bytes=gib * GIB,
        )
        for person, program, start, end, gib in ran
    ]
    told = [
        gpu_sample("GPU-a", DAY, holds=1800, holders=("ana",), memory_used_bytes=6.0 * GIB),
        gpu_sample("GPU-a", DAY + 1800, holds=1800, holders=("ana", "ben"), memory_used_bytes=8.0 * GIB),
    ]
    with opened(str(tmp_path)) as history:
        history.write(Batch(places=[place("GPU-a")], gpu_samples=told, episodes=episodes), now=DAY + 1800)
        whole = history.usage(DAY, DAY + HOUR)
        assert held_in(whole) == {"ana": 6.0, "ben": 1.0}
        # Who asks for no memory hears the same of everything else.
        plain = history.usage(DAY, DAY + HOUR, with_memory=False)
        for one in whole.places:
            for times in (one.times, *one.people.values()):
                times.memory = None
        assert plain == whole


def test_memory_of_people_is_all_that_was_held(tmp_path: Path) -> None:
    """The rest of a division is the first one's, and so it is of programs."""
    with opened(str(tmp_path)) as history:
        ran = [
            Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program=name, start=DAY + start)
            for name, start in (("eval", 1), ("train", 0))
        ]
        held = gpu_sample(
            "GPU-a", DAY, holds=100, holders=("ana", "ben", "chen"), memory_used_bytes=7.0 * 1024**2
        )
        history.write(Batch(places=[place("GPU-a")], episodes=ran, gpu_samples=[held]), now=DAY)
        (by_person,) = history.usage(DAY, DAY + 100).places
        (by_program,) = history.usage_of_programs(DAY, DAY + 100).places
    assert {name: part.memory for name, part in by_person.people.items()} == {
        "ana": 234, "ben": 233, "chen": 233,
    }  # fmt: skip
    assert by_program.times.memory == 700
    assert sum(part.memory or 0 for part in by_program.people.values()) == 700


def test_what_is_booked_is_the_claimants_and_nobody_is_on_it(tmp_path: Path) -> None:
    """Where it was not noted who had booked it, nobody knows."""
    with opened(str(tmp_path)) as history:
        said = [
            gpu_sample("GPU-a", DAY + at * HOUR, holds=HOUR, verdict="booked", holders=people)
            for at, people in enumerate([("ana",), ()])
        ]
        history.write(Batch(places=[place("GPU-a")], gpu_samples=said), now=DAY + HOUR)
        (found,) = history.usage(DAY, DAY + 2 * HOUR).places
        states = history.states("GPU-a", DAY, DAY + 2 * HOUR)
        (then,) = history.moment(DAY + 60).gpus
    assert {name: part.booked for name, part in found.people.items()} == dict.fromkeys(
        ("ana", "unknown"), 3_600_000
    )
    assert {(one.verdict, one.holders) for one in states} == {("booked", ())}
    assert (then.verdict, then.holders) == ("booked", ())


def test_an_hour_of_a_person_is_divided_among_what_ran_in_it(tmp_path: Path) -> None:
    """By how long each ran; what nobody knows has no name."""
    with opened(str(tmp_path)) as history:
        ran = [
            Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program=name, start=start, end=end)
            for name, start, end in (
                ("train", DAY, DAY + 2700),
                ("eval", DAY + 2700, DAY + HOUR),
                ("serve", DAY + HOUR, DAY + 2 * HOUR),
            )
        ]
        history.write(Batch(places=[place("GPU-a")], episodes=ran), now=DAY)
        held = [
            gpu_sample("GPU-a", DAY, holds=2 * HOUR, holders=("ana",)),
            gpu_sample("GPU-a", DAY + 2 * HOUR, holds=HOUR, holders=("ben",)),
        ]
        for sample in held:
            history.write(Batch(gpu_samples=[sample]), now=sample.at_ms / 1000)
        (found,) = history.usage_of_programs(DAY, DAY + 3 * HOUR).places
    assert {name: part.used for name, part in found.people.items()} == {
        "train": 2_700_000,
        "eval": 900_000,
        "serve": 3_600_000,
        "": 3_600_000,
    }


def test_people_who_share_a_gpu_may_run_the_same_and_more(tmp_path: Path) -> None:
    """Each has half of the hour; what both ran has a part of either, and memory goes by time."""
    with opened(str(tmp_path)) as history:
        ran = [
            Episode(gpu="GPU-a", node="gpu01", label="0", person=person, program=name, start=start, end=end)
            for person, name, start, end in (
                ("ana", "train", DAY, DAY + HOUR),
                ("ana", "eval", DAY, DAY + 1200),
                ("ben", "train", DAY - HOUR, DAY + 60),
                ("ben", None, DAY + 70, DAY + 130),
                ("chen", "other", DAY, DAY + HOUR),
            )
        ]
        held = gpu_sample("GPU-a", DAY, holds=HOUR, holders=("ana", "ben"), memory_used_bytes=8.0 * GIB)
        history.write(Batch(places=[place("GPU-a")], episodes=ran, gpu_samples=[held]), now=DAY)
        (found,) = history.usage_of_programs(DAY, DAY + HOUR).places
    times = {"eval": 450_000, "train": 1_350_000 + 900_000, "": 900_000}
    assert {name: part.used for name, part in found.people.items()} == times
    memory = 8 * 1024 * 3600
    assert {name: part.memory for name, part in found.people.items()} == {
        name: memory * time // 3_600_000 for name, time in times.items()
    }


def test_hours_say_how_full_the_gpus_were(tmp_path: Path) -> None:
    """Used or held idle, of what was observed; sealed or not."""
    with opened(str(tmp_path)) as history:
        history.write(Batch(places=[place("GPU-a"), place("GPU-b", index=1)]), now=DAY)
        said = [
            gpu_sample("GPU-a", DAY, holds=2 * HOUR),
            gpu_sample("GPU-b", DAY, holds=HOUR, verdict="free", holders=()),
        ]
        history.write(Batch(gpu_samples=said), now=DAY)
        before = history.usage_by_hour(DAY, DAY + 3 * HOUR)
        tidy(history, DAY + 10 * HOUR)
        after = history.usage_by_hour(DAY, DAY + 3 * HOUR)
    assert after == before
    assert [(one.start, one.taken, one.observed, one.seen) for one in after] == [
        (DAY, 3_600_000, 7_200_000, 3_600_000),
        (DAY + HOUR, 3_600_000, 3_600_000, 3_600_000),
    ]


def test_days_are_the_same_when_their_hours_stand_side_by_side(tmp_path: Path) -> None:
    """Also where they are asked for in part, and where one hour was sealed again."""
    with opened(str(tmp_path)) as history:
        history.write(Batch(places=[place("GPU-a"), place("GPU-b", index=1)]), now=DAY)
        for hour in range(30):
            at = DAY + hour * HOUR
            held = [
                gpu_sample("GPU-a", at, holds=2000 + hour, holders=("ana", "ben", "chen")),
                gpu_sample("GPU-b", at, holds=1000, verdict="booked", holders=("dora",)),
            ]
            history.write(Batch(gpu_samples=held), now=at)
        tidy(history, DAY + 24.5 * HOUR)
        spans = [(DAY, DAY + 31 * HOUR), (DAY + 5 * HOUR, DAY + 7 * HOUR), (DAY + 23 * HOUR, DAY + 25 * HOUR)]
        before = [history.usage(*span) for span in spans]
        assert rows_of(tmp_path) == (23, 0)
        tidy(history, DAY + 29 * HOUR)
        assert rows_of(tmp_path) == (3, 1)
        assert [history.usage(*span) for span in spans] == before
        with contextlib.closing(sqlite3.connect(tmp_path / "history.sqlite")) as file, file:
            entries = pack(np.array([[0], [0], [0], [1], [1234], [-1]], np.int32), level=3)
            file.execute("INSERT INTO usage VALUES (?, 0, 0, ?)", (round(1000 * (DAY + HOUR)), entries))
        again = history.usage(DAY + HOUR, DAY + 2 * HOUR)
        assert again.total().used == 1234
        tidy(history, DAY + 50 * HOUR)
        assert history.usage(DAY + HOUR, DAY + 2 * HOUR) == again


def rows_of(folder: Path) -> tuple[int, int]:
    """How many hours stand by themselves, and how many days."""
    with contextlib.closing(sqlite3.connect(folder / "history.sqlite")) as file:
        hours, days = (file.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES)
    return hours, days


def test_names_of_days_are_forgotten_as_those_of_hours(tmp_path: Path) -> None:
    """People of long ago are somebody; their time stays."""
    history = EmbeddedHistory(tmp_path / "history.sqlite", Keep(names_seconds=2 * 24 * HOUR))
    history.open()
    sample = gpu_sample("GPU-a", DAY, holds=HOUR)
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[sample]), now=DAY)
    tidy(history, DAY + 30 * HOUR)
    assert rows_of(tmp_path) == (0, 1)
    assert set(history.usage(DAY, DAY + HOUR).places[0].people) == {"ana"}
    tidy(history, DAY + 74 * HOUR)
    (found,) = history.usage(DAY, DAY + HOUR).places
    assert {name: part.used for name, part in found.people.items()} == {"somebody": 3_600_000}
    history.close()


def test_hours_that_were_counted_without_memory_are_still_read(tmp_path: Path) -> None:
    """By an earlier version: what it did not count is not known."""
    with opened(str(tmp_path)) as history:
        sample = gpu_sample("GPU-a", DAY, holds=HOUR, memory_used_bytes=1.0 * GIB)
        history.write(Batch(places=[place("GPU-a")], gpu_samples=[sample]), now=DAY)
        tidy(history, DAY + 10 * HOUR)
        expected = history.usage(DAY, DAY + HOUR)
    with contextlib.closing(sqlite3.connect(tmp_path / "history.sqlite")) as file, file:
        (blob,) = file.execute("SELECT blob FROM usage").fetchone()
        file.execute("UPDATE usage SET blob = ?", (pack(unpack(blob)[:5], level=3),))
    with opened(str(tmp_path)) as history:
        (found,) = history.usage(DAY, DAY + HOUR).places
    assert expected.places[0].times == replace(found.times, memory=1024 * 3600)
    assert found.people["ana"].used == 3_600_000
