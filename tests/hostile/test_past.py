"""Questions about the past that are meant to cost much: they are bounded, and end with whoever asks."""

import asyncio
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from litestar.exceptions import TooManyRequestsException

from gpuboard.history import questions
from gpuboard.history.base import READING_THREADS, Keep
from gpuboard.history.cells import empty_cells
from gpuboard.history.embedded import EmbeddedHistory, reading
from gpuboard.history.embedded.pieces import PIECE_CELLS
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import SERIES
from gpuboard.history.questions import Question
from gpuboard.history.records import Curves, CurvesQuery, Member
from gpuboard.model.errors import StorageError
from gpuboard.model.identity import Identity
from gpuboard.web import past
from gpuboard.web.limits import MAX_HISTORY_READ_FOR_ONE
from gpuboard.web.past import PastPace
from tests.history.fleets import DAY, HOUR, tidy, write_all
from tests.pushing import wait_until

GPUS = [f"GPU-{number}" for number in range(40)]
END = DAY + 3 * HOUR
YEAR_5000 = 95_617_584_000.0
MIB = 1024**2


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedHistory]:
    """Three hours of two blocks, of which some are sealed."""
    made = EmbeddedHistory(tmp_path_factory.mktemp("past") / "history.sqlite", Keep())
    made.open()
    write_all(made, GPUS, DAY, END, step=30.0)
    tidy(made, END)
    yield made
    made.close()


@pytest.fixture
def laid(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cells were laid out, each time."""
    found: list[int] = []
    make: Callable[..., Any] = empty_cells

    def counted(*args: Any, count: int, **more: Any) -> Any:  # noqa: ANN401
        found.append(count)
        return make(*args, count=count, **more)

    monkeypatch.setattr(reading, "empty_cells", counted)
    return found


def ask(history: EmbeddedHistory, start: float, end: float, *, points: int) -> Curves:
    """The mean of the fleet."""
    members = tuple(Member(gpu, DAY) for gpu in GPUS)
    query = CurvesQuery(
        kind="gpu",
        groups=(members,),
        figures=("utilization_percent",),
        start=start,
        end=end,
        points=points,
    )
    return history.curves(query)


@pytest.mark.parametrize("points", [1, 300, 2000])
@pytest.mark.parametrize("end", [END, YEAR_5000])
def test_a_question_costs_what_is_known_and_not_what_is_asked_for(
    history: EmbeddedHistory, laid: list[int], points: int, end: float
) -> None:
    """From the year 1970 on as little as for these hours; and never more at once than a piece."""
    tracemalloc.start()
    try:
        found = ask(history, 0.0, end, points=points)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(laid) <= PIECE_CELLS
    assert sum(laid) <= 2 * PIECE_CELLS
    assert peak < 32 * MIB
    assert len(found.times) <= max(points, 2)


def test_a_long_point_says_the_same_as_a_short_one(history: EmbeddedHistory) -> None:
    """Years in one point are read in pieces, and nothing overflows."""
    (whole,) = ask(history, 0.0, END, points=1).curves
    (short,) = ask(history, DAY, END, points=1).curves
    known = [value for value in whole.mean if value is not None]
    assert known == pytest.approx([value for value in short.mean if value is not None], abs=0.5)
    assert max(value for value in whole.most if value is not None) == 100.0


@pytest.mark.parametrize("points", [1, 2000])
def test_counting_and_states_cost_what_is_known(
    history: EmbeddedHistory, laid: list[int], points: int
) -> None:
    """Over all times, as the figures do."""
    track = history.track(0.0, YEAR_5000, points)
    assert max(filter(None, track.observed)) == len(GPUS)
    (busy, *_) = history.states(GPUS[0], 0.0, YEAR_5000)
    assert (busy.verdict, busy.start) == ("busy", DAY)
    assert sum(laid) <= 4 * PIECE_CELLS


def somebody(address: str) -> Identity:
    """A visitor from there."""
    return Identity(tier="counts", address=address, counted_as=address)


class Slow:
    """A history whose every piece waits to be let go, and is counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pieces = 0
        self.goes_on = threading.Event()
        read = Look._piece

        def slow(look: Look, *args: Any) -> Any:  # noqa: ANN401
            self.pieces += 1
            self.goes_on.wait(60)
            return read(look, *args)

        monkeypatch.setattr(Look, "_piece", slow)


async def until(is_so: Callable[[], object]) -> None:
    """Wait for a thread."""
    await asyncio.to_thread(wait_until, is_so)


async def all_at_rest(history: EmbeddedHistory) -> None:
    """Wait until no thread reads any more."""
    await until(lambda: not history._readers._under_way)


async def test_a_question_ends_when_nobody_waits_for_it(
    history: EmbeddedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the piece at which it is; its thread is free for others."""
    slow = Slow(monkeypatch)
    asked = [
        asyncio.create_task(history.run(lambda: ask(history, DAY, END, points=2000)))
        for _ in range(READING_THREADS)
    ]
    await until(lambda: slow.pieces == READING_THREADS)
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    slow.goes_on.set()
    await all_at_rest(history)
    assert slow.pieces == READING_THREADS


async def test_a_question_that_hangs_is_told_and_ended(
    history: EmbeddedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked is told that there is no answer; the work does not go on behind it."""
    slow = Slow(monkeypatch)
    # Long enough for its first piece to begin on a busy machine.
    monkeypatch.setattr(history._readers, "_patience", 2.0)
    with pytest.raises(StorageError, match="does not answer"):
        await history.run(lambda: ask(history, DAY, END, points=2000))
    slow.goes_on.set()
    await all_at_rest(history)
    assert slow.pieces == 1


async def test_a_search_in_the_file_ends_with_its_question(history: EmbeddedHistory) -> None:
    """Also where SQLite itself is at work."""
    question = Question()

    def search() -> int:
        def count(connection: Any) -> int:  # noqa: ANN401
            question.is_given_up = True
            endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
            return int(connection.execute(endless).fetchone()[0])

        return history._read(count)

    with pytest.raises(StorageError, match="interrupted"):
        await history.run(search, question=question)


def test_one_question_has_its_share_of_the_processor(
    history: EmbeddedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes longer ends, with what to ask instead; and it rests in between."""
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    monkeypatch.setattr(questions, "WORK_SECONDS", 0.0)
    question = Question()
    question.answer(lambda: ask(history, DAY, END, points=2000))
    assert rests
    assert question.cpu_seconds > 0
    monkeypatch.setattr(questions, "MOST_CPU_SECONDS", 0.0)
    with pytest.raises(StorageError, match="shorter span"):
        Question().answer(lambda: ask(history, DAY, END, points=2000))


async def test_whoever_takes_much_time_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the questions cost, not by how many they are; others do not wait."""
    monkeypatch.setattr(past, "HISTORY_CPU_SECONDS_BURST", 1.0)
    monkeypatch.setattr(past, "HISTORY_CPU_SECONDS_PER_SECOND", 0.001)
    pace, costly = PastPace(), Question()
    costly.cpu_seconds = 2.0
    here, other = somebody("203.0.113.1"), somebody("203.0.113.2")
    async with pace.turn(here, costly):
        pass
    async with pace.turn(other, Question()):
        pass
    with pytest.raises(TooManyRequestsException):
        await pace.turn(here, Question()).__aenter__()


async def test_one_address_leaves_a_thread_to_others() -> None:
    """However many it asks at once."""
    pace, running, most = PastPace(), 0, 0
    here = somebody("203.0.113.1")
    let_go = asyncio.Event()

    async def one() -> None:
        nonlocal running, most
        async with pace.turn(here, Question()):
            running += 1
            most = max(most, running)
            await let_go.wait()
            running -= 1

    asked = [asyncio.create_task(one()) for _ in range(6)]
    await until(lambda: running == MAX_HISTORY_READ_FOR_ONE)
    async with pace.turn(somebody("203.0.113.2"), Question()):
        assert most == MAX_HISTORY_READ_FOR_ONE < READING_THREADS
    let_go.set()
    await asyncio.gather(*asked)
    assert not pace._reading


def test_a_piece_is_small() -> None:
    """What is laid out of a block at once, of one figure with its least and most."""
    assert PIECE_CELLS * SERIES * 4 * 4 <= 2 * MIB


def test_together_they_leave_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more are at work, the longer each of them rests."""
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    monkeypatch.setattr(questions, "WORK_SECONDS", 0.0)
    clock = iter(range(1000))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock) / 1000)
    Question().answer(lambda: Question().answer(questions.go_on))
    assert sorted({round(rest, 3) for rest in rests}) == [0.001, 0.003]
