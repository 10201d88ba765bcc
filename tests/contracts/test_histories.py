"""What every history promises, whichever keeps it."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuboard.history.base import GPUS_PER_NODE, History, Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.records import Batch, CurvesQuery, Episode, Event, Member, Place, Taken
from gpuboard.model.errors import StorageError
from tests.history.fleets import (
    DAY,
    GIB,
    HOUR,
    curve,
    gpu_sample,
    host_sample,
    place,
    tidy,
    write_all,
)

MakeHistory = Callable[[], History]


def embedded(folder: Path) -> History:
    """The one in a file."""
    return EmbeddedHistory(folder / "history.sqlite", Keep())


HISTORIES: dict[str, Callable[[Path], History]] = {"embedded": embedded}


@pytest.fixture(params=HISTORIES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> MakeHistory:
    """Makes a history at one and the same place, not opened yet."""
    kind: str = request.param
    return lambda: HISTORIES[kind](tmp_path)


@contextlib.contextmanager
def open_history(made: History) -> Iterator[History]:
    """Open it for a while."""
    made.open()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def history(make: MakeHistory) -> Iterator[History]:
    """An open history."""
    with open_history(make()) as made:
        yield made


def test_what_was_written_can_be_read_at_once(history: History) -> None:
    """The plot of the last hour ends now, not where the last tidying was."""
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)]), now=DAY)
    assert curve(history, "GPU-a", DAY, DAY + 30, points=3) == [50.0, 50.0, None]


def test_the_past_is_the_same_before_and_after_it_was_tidied(history: History) -> None:
    """Whatever is done to it inside, nobody who looks can tell."""
    write_all(history, ["GPU-a", "GPU-b"], DAY, DAY + 2.5 * HOUR)
    spans = [(DAY, DAY + 2.5 * HOUR, 50), (DAY + 1000, DAY + 2000, 100), (DAY, DAY + 2 * HOUR, 2)]
    before = [curve(history, gpu, *span[:2], points=span[2]) for span in spans for gpu in ("GPU-a", "GPU-b")]
    moments = [history.moment(DAY + at) for at in (5, 3605, 7205)]
    # A day later all of it has been sealed, and everything has been joined.
    assert tidy(history, DAY + 30 * HOUR) > 0
    after = [curve(history, gpu, *span[:2], points=span[2]) for span in spans for gpu in ("GPU-a", "GPU-b")]
    assert after == before
    assert [history.moment(DAY + at) for at in (5, 3605, 7205)] == moments


@pytest.mark.parametrize("kind", HISTORIES)
@given(data=st.data())
@settings(max_examples=20)
def test_any_past_is_what_its_samples_say(kind: str, data: st.DataObject) -> None:
    """Late or in time, tidied in between or not, with gaps and without, short spans and long ones."""
    moments = data.draw(st.lists(st.integers(0, 10_000), min_size=1, max_size=30, unique=True))
    arrivals = data.draw(st.lists(st.integers(0, 4000), min_size=len(moments), max_size=len(moments)))
    written = sorted((at + late, at) for at, late in zip(moments, arrivals, strict=True))
    firsts = data.draw(st.lists(st.integers(0, 1450), min_size=3, max_size=3))
    with tempfile.TemporaryDirectory() as folder, open_history(HISTORIES[kind](Path(folder))) as history:
        history.write(Batch(places=[place("GPU-a")]), now=DAY)
        for now, at in written:
            sample = gpu_sample("GPU-a", DAY + at, utilization=float(at % 100), holds=15)
            history.write(Batch(gpu_samples=[sample]), now=DAY + now)
            tidy(history, DAY + now)
        expected = _cells(sorted(moments), 1500)
        for now, first in zip((14_000, 20_000, 200_000), firsts, strict=True):
            tidy(history, DAY + now)
            assert curve(history, "GPU-a", DAY, DAY + 15_000, points=1500) == expected
            near = curve(history, "GPU-a", DAY + 10 * first, DAY + 10 * first + 300, points=30)
            assert near == expected[first : first + 30]


def _cells(moments: list[int], count: int) -> list[float | None]:
    """What samples that hold for 15 s say, ten seconds at a time; in steps of half a percent."""
    found: list[float | None] = []
    ends = [min(at + 15, after) for at, after in zip(moments, [*moments[1:], 10**9], strict=True)]
    for cell in range(count):
        shares = [
            (min(end, 10 * cell + 10) - max(at, 10 * cell), at % 100)
            for at, end in zip(moments, ends, strict=True)
        ]
        held = [(share, value) for share, value in shares if share > 0]
        total = sum(share for share, _ in held)
        mean = sum(share * value for share, value in held) / total if total else None
        found.append(None if mean is None else round(mean * 2) / 2)
    return found


def test_it_goes_on_after_a_restart(history: History, make: MakeHistory) -> None:
    """Figures, positions, places, and what had not ended."""
    episode = Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program="train.py", start=DAY)
    event = Event(node="gpu01", kind="late", start=DAY, detail="no word")
    batch = Batch(
        places=[place("GPU-a")],
        gpu_samples=[gpu_sample("GPU-a", DAY)],
        positions={"gpu01": Taken("boot-1", 7)},
        episodes=[episode],
        events=[event],
    )
    history.write(batch, now=DAY)
    history.close()
    again = make()
    again.open()
    try:
        assert again.positions() == {"gpu01": Taken("boot-1", 7)}
        assert again.places(DAY, DAY) == [place("GPU-a")]
        assert again.open_episodes() == [episode]
        assert again.open_events() == [event]
        assert curve(again, "GPU-a", DAY, DAY + 10, points=1) == [50.0]
        again.write(Batch(gpu_samples=[gpu_sample("GPU-a", DAY + 10, utilization=70)]), now=DAY + 10)
        assert curve(again, "GPU-a", DAY, DAY + 20, points=2) == [50.0, 70.0]
    finally:
        again.close()


def test_a_batch_that_is_written_twice_is_the_same_as_once(history: History) -> None:
    """Whoever was not told that it is safe sends it again."""
    batch = Batch(
        places=[place("GPU-a")],
        gpu_samples=[gpu_sample("GPU-a", DAY), gpu_sample("GPU-a", DAY + 5, utilization=90)],
        episodes=[Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program=None, start=DAY)],
    )
    for _ in range(2):
        history.write(batch, now=DAY + 5)
    assert curve(history, "GPU-a", DAY, DAY + 10, points=1) == [70.0]
    assert len(history.episodes(DAY, DAY + 10)) == 1


def test_what_cannot_be_told_stays_so(history: History) -> None:
    """Never a zero, never in a mean."""
    samples = [gpu_sample("GPU-a", DAY, utilization=None), gpu_sample("GPU-b", DAY, utilization=40.0)]
    history.write(Batch(places=[place("GPU-a"), place("GPU-b", index=1)], gpu_samples=samples), now=DAY)
    assert curve(history, "GPU-a", DAY, DAY + 10, points=1) == [None]
    both = CurvesQuery(
        kind="gpu",
        groups=((Member("GPU-a"), Member("GPU-b")),),
        figures=("utilization_percent",),
        start=DAY,
        end=DAY + 10,
        points=1,
    )
    assert history.curves(both).curves[0].mean == [40.0]
    seen = history.moment(DAY)
    assert [one.numbers["utilization_percent"] for one in seen.gpus] == [None, 40.0]


def test_a_peak_survives_in_the_most(history: History) -> None:
    """A mean over hours hides it; the most does not."""
    write_all(history, ["GPU-a"], DAY, DAY + HOUR)
    peak = gpu_sample("GPU-a", DAY + HOUR, utilization=100.0, holds=10.0)
    history.write(Batch(gpu_samples=[peak]), now=DAY + HOUR)
    tidy(history, DAY + 12 * HOUR)
    query = CurvesQuery(
        kind="gpu",
        groups=((Member("GPU-a"),),),
        figures=("utilization_percent",),
        start=DAY,
        end=DAY + 2 * HOUR,
        points=2,
    )
    found = history.curves(query)
    assert (found.tier, found.step_seconds) == ("hours", HOUR)
    assert found.curves[0].most == [100.0, 100.0]
    assert found.curves[0].least == [0.0, 100.0]


def test_a_card_counts_for_a_node_only_while_it_was_there(history: History) -> None:
    """It moved; its old node's plot ends, and the new one's begins."""
    write_all(history, ["GPU-a"], DAY, DAY + 60)
    query = CurvesQuery(
        kind="gpu",
        groups=((Member("GPU-a", DAY, DAY + 20),), (Member("GPU-a", DAY + 20, DAY + 60),)),
        figures=("utilization_percent",),
        start=DAY,
        end=DAY + 40,
        points=4,
    )
    old, new = history.curves(query).curves
    assert old.mean == [0.0, 1.0, None, None]
    assert new.mean == [None, None, 2.0, 3.0]


def test_places_follow_each_other(history: History) -> None:
    """Where a card was ends where it is next."""
    first = place("GPU-a", node="gpu01", start=DAY)
    second = place("GPU-a", node="gpu02", start=DAY + 100)
    history.write(Batch(places=[first]), now=DAY)
    history.write(Batch(places=[second]), now=DAY + 100)
    assert [one.node for one in history.places(DAY + 50, DAY + 50)] == ["gpu01"]
    assert [one.node for one in history.places(DAY + 100, DAY + 100)] == ["gpu02"]
    assert [one.end for one in history.places(DAY, DAY + 200, gpu="GPU-a")] == [DAY + 100, None]


def test_a_place_has_all_that_was_said_of_it(history: History) -> None:
    """An instance keeps its card and its model, for when both are long gone."""
    whole = Place(
        gpu="MIG-1",
        node="gpu01",
        index=0,
        label="0:1",
        parent="GPU-a",
        model="A100",
        memory_total_bytes=10 * GIB,
        counted=False,
        start=DAY,
        end=DAY + 5,
    )
    history.write(Batch(places=[whole]), now=DAY + 5)
    assert history.places(DAY, DAY + 1, node="gpu01") == [whole]
    assert history.places(DAY, DAY + 1, node="gpu02") == []


def test_states_are_spans_and_gaps_are_missing(history: History) -> None:
    """Who had it when, and when nobody looked."""
    samples = [
        gpu_sample("GPU-a", DAY, holds=20, holders=("ana",)),
        gpu_sample("GPU-a", DAY + 20, holds=20, holders=("ana", "chen")),
        gpu_sample("GPU-a", DAY + 60, holds=20, verdict="free", holders=()),
        gpu_sample("GPU-a", DAY + 80, holds=10, verdict="unknown", holders=None),
    ]
    history.write(Batch(places=[place("GPU-a")], gpu_samples=samples), now=DAY + 100)
    for now in (DAY + 100, DAY + 30 * HOUR):
        tidy(history, now)
        spans = history.states("GPU-a", DAY, DAY + 100)
        assert [(one.start - DAY, one.end - DAY, one.verdict, one.holders) for one in spans] == [
            (0, 20, "busy", ("ana",)),
            (20, 40, "busy", ("ana", "chen")),
            (60, 80, "free", ()),
            (80, 90, "unknown", None),
        ]


def test_idle_counts_from_when_work_stopped(history: History) -> None:
    """Found idle after a while, it was idle all that while, and not at work."""
    samples = [
        gpu_sample("GPU-a", DAY, holds=20, utilization=90.0),
        gpu_sample("GPU-a", DAY + 20, holds=20, utilization=0.0),
        gpu_sample("GPU-a", DAY + 40, holds=20, utilization=0.0, verdict="idle"),
        gpu_sample("GPU-a", DAY + 60, holds=20, utilization=0.0, holders=("chen",)),
        gpu_sample("GPU-a", DAY + 80, holds=20, utilization=0.0, holders=("ana",), verdict="idle"),
    ]
    history.write(Batch(places=[place("GPU-a")], gpu_samples=samples), now=DAY + 100)
    spans = history.states("GPU-a", DAY, DAY + 100, quiet_percent=2.0)
    assert [(one.start - DAY, one.end - DAY, one.verdict) for one in spans] == [
        (0, 20, "busy"),
        (20, 60, "idle"),
        # Another person's quiet is not theirs.
        (60, 80, "busy"),
        (80, 100, "idle"),
    ]
    # Also where one looks at the time before it was found.
    spans = history.states("GPU-a", DAY, DAY + 40, quiet_percent=2.0)
    assert [(one.end - DAY, one.verdict) for one in spans] == [(20, "busy"), (40, "idle")]


def test_idle_goes_back_an_hour_and_no_further(history: History) -> None:
    """Longer nobody can have been watched before they were found idle."""
    minutes = [
        gpu_sample("GPU-a", DAY + 60 * at, holds=60, utilization=0.0, verdict="idle" if at >= 90 else "busy")
        for at in range(100)
    ]
    history.write(Batch(places=[place("GPU-a")], gpu_samples=minutes), now=DAY + 6000)
    busy, idle = history.states("GPU-a", DAY, DAY + 6000, quiet_percent=2.0)
    assert (busy.verdict, idle.verdict, idle.start - DAY) == ("busy", "idle", 30 * 60)


def test_a_moment_shows_gpus_that_were_there_and_not_observed(history: History) -> None:
    """The node was lost: its GPUs are still shown, with nothing known of them."""
    history.write(
        Batch(
            places=[place("GPU-a"), place("GPU-b", index=1)],
            gpu_samples=[gpu_sample("GPU-a", DAY, memory_used_bytes=3 * GIB)],
            host_samples=[host_sample("gpu01", DAY, load_percent=12.5)],
            events=[Event(node="gpu01", kind="late", start=DAY - 5, end=DAY + 5)],
        ),
        now=DAY,
    )
    seen = history.moment(DAY + 3)
    first, second = seen.gpus
    assert (first.verdict, first.holders, first.numbers["memory_used_bytes"]) == ("busy", ("ana",), 3 * GIB)
    assert (second.verdict, second.holders, second.numbers) == (None, None, {})
    assert seen.hosts["gpu01"]["load_percent"] == 12.5
    assert [event.kind for event in seen.events] == ["late"]


def test_the_track_counts_only_gpus_that_count(history: History) -> None:
    """A card that is cut into instances is not one more."""
    samples = [
        gpu_sample("GPU-a", DAY, verdict="busy"),
        gpu_sample("GPU-b", DAY, verdict="free"),
        gpu_sample("GPU-c", DAY, verdict="free"),
    ]
    places = [place("GPU-a"), place("GPU-b", index=1), place("GPU-c", index=2, counted=False)]
    history.write(Batch(places=places, gpu_samples=samples), now=DAY)
    found = history.track(DAY, DAY + 30, 3)
    assert found.observed == [2, 2, None]
    assert (found.verdicts["busy"], found.verdicts["free"]) == ([1, 1, None], [1, 1, None])
    assert found.verdicts["idle"] == [0, 0, None]


def test_a_sample_that_is_too_old_or_of_a_gpu_without_a_place_is_refused(history: History) -> None:
    """Its hour may be sealed; and what is where nobody knows where."""
    samples = [gpu_sample("GPU-a", DAY - 2 * HOUR), gpu_sample("GPU-x", DAY), gpu_sample("GPU-a", DAY)]
    assert history.write(Batch(places=[place("GPU-a")], gpu_samples=samples), now=DAY).refused == 2


def test_a_sample_of_the_future_is_of_now_and_one_of_last_year_is_none(history: History) -> None:
    """Whatever a clock says: nothing stands where nobody has been yet, nor in hours that are final."""
    at = (DAY + 365 * 24 * HOUR, DAY - 365 * 24 * HOUR)
    samples = [gpu_sample("GPU-a", moment) for moment in at]
    places = [place("GPU-a", start=DAY - 400 * 24 * HOUR)]
    assert history.write(Batch(places=places, gpu_samples=samples), now=DAY).refused == 1
    (seen,) = history.states("GPU-a", DAY - HOUR, DAY + HOUR)
    assert (seen.start, seen.end <= DAY + 60) == (DAY, True)
    assert [history.states("GPU-a", moment - HOUR, moment + HOUR) for moment in at] == [[], []]


def test_a_place_that_ends_as_it_begins_is_taken_back(history: History) -> None:
    """With what was told of its GPU since that end; what was before stays until then."""
    first, second = place("GPU-a"), place("GPU-a", start=DAY + HOUR, index=1)
    history.write(Batch(places=[first, second]), now=DAY + HOUR)
    history.write(Batch(places=[replace(second, end=DAY + 60)]), now=DAY + HOUR)
    (found,) = history.places(DAY, DAY + 10 * HOUR)
    assert found == replace(first, end=DAY + 60)


def test_late_samples_are_in_the_past_as_if_they_had_come_in_time(history: History) -> None:
    """An agent that was cut off for an hour sends it afterwards."""
    history.write(
        Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY + HOUR)]), now=DAY + HOUR
    )
    tidy(history, DAY + HOUR + 700)
    late = [gpu_sample("GPU-a", DAY + 10 * place, utilization=80.0) for place in range(360)]
    history.write(Batch(gpu_samples=late), now=DAY + HOUR + 710)
    tidy(history, DAY + 30 * HOUR)
    assert curve(history, "GPU-a", DAY, DAY + HOUR + 10, points=361) == [80.0] * 360 + [50.0]


def test_a_node_that_invents_gpus_fills_nothing(history: History) -> None:
    """So many different ones are recorded of a node; the rest is a problem of that node, and of no other."""
    many = [place(f"GPU-{number}", node="liar") for number in range(GPUS_PER_NODE + 3)]
    assert history.write(Batch(places=many), now=DAY).overfull == {"liar"}
    honest = place("GPU-honest", node="gpu01")
    sample = gpu_sample("GPU-honest", DAY)
    written = history.write(Batch(places=[honest], gpu_samples=[sample]), now=DAY)
    assert (written.overfull, written.refused) == (frozenset(), 0)
    assert len(history.places(DAY, DAY)) == GPUS_PER_NODE + 1


def test_episodes_and_events_are_found_by_what_they_are_of(history: History) -> None:
    """The newest first, and no more than were asked for."""
    episodes = [
        Episode(
            gpu=f"GPU-{number % 2}",
            node=f"gpu0{number % 2}",
            label="0",
            person=("ana", "chen")[number % 2],
            program="train.py",
            start=DAY + number,
            end=DAY + number + 10,
            memory_peak_bytes=GIB,
            utilization_mean_percent=42.5,
        )
        for number in range(4)
    ]
    events = [Event(node=f"gpu0{number % 2}", kind="lost", start=DAY + number) for number in range(4)]
    history.write(Batch(episodes=episodes, events=events), now=DAY)
    newest = episodes[::-1]
    assert history.episodes(DAY, DAY + 100) == newest
    assert history.episodes(DAY, DAY + 100, limit=1) == newest[:1]
    for wanted in ({"gpu": "GPU-1"}, {"node": "gpu01"}, {"person": "chen"}):
        assert history.episodes(DAY, DAY + 100, **wanted) == [episodes[3], episodes[1]]  # type: ignore[arg-type]
    assert history.episodes(DAY + 13, DAY + 100) == []
    assert history.events(DAY, DAY + 100, node="gpu01") == [events[3], events[1]]


def test_what_began_and_ended_around_a_moment_is_found_however_much_began_later(history: History) -> None:
    """The end of a long job is not behind a hundred short ones."""

    def ran(number: int, start: float, end: float | None) -> Episode:
        facts = {
            "gpu": f"GPU-{number}",
            "node": "gpu01",
            "label": str(number),
            "person": "ana",
            "program": "a",
        }
        return Episode(**facts, start=DAY + start, end=None if end is None else DAY + end)  # type: ignore[arg-type]

    long, before, after = ran(0, -9000, 490), ran(1, 400, None), ran(2, -9000, 520)
    crowd = [ran(number, 600 + number, 700 + number) for number in range(3, 103)]
    events = [Event(node="gpu01", kind="lost", start=DAY + at) for at in (300, 510, *range(600, 700))]
    history.write(Batch(episodes=[long, before, after, *crowd], events=events), now=DAY)
    found = history.episodes(DAY, DAY + 3600, around=DAY + 500, limit=1)
    assert found == [crowd[0], before, long, after]
    assert history.events(DAY, DAY + 3600, around=DAY + 500, limit=1) == [events[1], events[0]]
    assert history.episodes(DAY, DAY + 3600, around=DAY + 500, limit=1, gpu="GPU-1") == [before]


def test_an_episode_that_is_written_again_is_replaced(history: History) -> None:
    """It is written when it begins, every few minutes, and when it ends."""
    open_one = Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program="a", start=DAY)
    ended = Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program="a", start=DAY, end=DAY + 60)
    for one in (open_one, ended):
        history.write(Batch(episodes=[one]), now=DAY)
    assert history.episodes(DAY, DAY + 10) == [ended]
    assert history.open_episodes() == []


def test_a_position_can_be_forgotten(history: History) -> None:
    """The node was removed; one of that name may come again."""
    history.write(Batch(positions={"gpu01": Taken("b", 1), "gpu02": Taken("b", 1)}), now=DAY)
    history.write(Batch(positions_gone=frozenset({"gpu01"})), now=DAY)
    assert history.positions() == {"gpu02": Taken("b", 1)}


@pytest.mark.usefixtures("history")
def test_two_boards_cannot_have_one_history(make: MakeHistory) -> None:
    """They would seal what the other still writes."""
    with pytest.raises(StorageError, match="another board"):
        make().open()


def test_it_knows_since_when(history: History) -> None:
    """Nothing is known of the time before."""
    assert history.since() is None
    write_all(history, ["GPU-a"], DAY, DAY + 60)
    assert history.since() == DAY


def test_a_figure_that_does_not_exist_is_none(history: History) -> None:
    """Nor is the inner number of a set of people a figure."""
    for figure in ("speed", "holders"):
        with pytest.raises(KeyError):
            curve(history, "GPU-a", DAY, DAY + 10, figure=figure)


async def test_calls_run_in_threads(history: History) -> None:
    """Nothing of it ever blocks the event loop."""
    batch = Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)])
    await history.run(lambda: history.write(batch, now=DAY), is_write=True)
    assert await history.run(lambda: curve(history, "GPU-a", DAY, DAY + 10, points=1)) == [50.0]


def test_hours_of_gpus_add_up_to_the_time_that_passed(history: History) -> None:
    """Also where nothing was observed, and before and after it was tidied."""
    write_all(history, ["GPU-a", "GPU-b"], DAY, DAY + 2.5 * HOUR)
    before = history.usage(DAY, DAY + 4 * HOUR)
    tidy(history, DAY + 30 * HOUR)
    after = history.usage(DAY, DAY + 4 * HOUR)
    assert after == before
    total = after.total()
    assert total.span == 2 * 4 * 3_600_000
    assert total.used + total.unobserved == total.span
    assert sum(one.people["ana"].used for one in after.places) == total.used
    # The last sample of each held for five seconds longer than the next would have been away.
    assert total.used == 2 * (9_000_000 + 5_000)


def test_nobody_has_used_anything_before_anything_was_written(history: History) -> None:
    """No GPU, no hours."""
    found = history.usage(DAY, DAY + HOUR)
    assert (found.places, found.total().span) == ([], 0)
