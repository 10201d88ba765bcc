"""The history in a file: what is done to it inside, and what may befall the file."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuboard.history.base import History, Keep
from gpuboard.history.embedded import EmbeddedHistory, notes, retention, sealing
from gpuboard.history.embedded.disk import Disk
from gpuboard.history.embedded.file import HistoryFile
from gpuboard.history.embedded.names import CROWDS_PER_NODE
from gpuboard.history.records import Batch, CurvesQuery, Episode, Event, Member
from gpuboard.model.errors import HistoryPausedError, StorageError
from gpuboard.outside import state_directory
from tests.history.fleets import DAY, HOUR, curve, gpu_sample, host_sample, place, tidy, write_all

MakeHistory = Callable[..., EmbeddedHistory]
FILE = "history.sqlite"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeHistory]:
    """Opens the history of one folder, and closes it afterwards."""
    made: list[History] = []

    def make_one(**kept: float) -> EmbeddedHistory:
        history = EmbeddedHistory(tmp_path / FILE, Keep(**kept))  # type: ignore[arg-type]
        history.open()
        made.append(history)
        return history

    yield make_one
    for history in made:
        history.close()


def rows_of(folder: Path, question: str) -> list[tuple[object, ...]]:
    """What stands in the file, asked from outside."""
    connection = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


def test_sealing_goes_block_by_block(make: MakeHistory, tmp_path: Path) -> None:
    """A batch that comes meanwhile waits for one block, not for the fleet."""
    history = make()
    gpus = [f"GPU-{number}" for number in range(100)]
    for at in range(0, 600, 60):
        samples = [gpu_sample(gpu, DAY + at, holds=60) for gpu in gpus]
        places = [place(gpu, index=index) for index, gpu in enumerate(gpus)] if not at else []
        history.write(Batch(places=places, gpu_samples=samples), now=DAY + at)
    tidy(history, DAY + 2 * HOUR)
    sealed = []
    while history.tidy(now=DAY + 3 * HOUR):
        sealed.append(rows_of(tmp_path, "SELECT count(DISTINCT block) FROM chunks")[0][0])
    assert sealed[:4] == [1, 2, 3, 4]
    assert rows_of(tmp_path, "SELECT count(*) FROM segments") == [(0,)]


def test_an_hour_is_not_sealed_before_agents_have_sent_theirs(make: MakeHistory, tmp_path: Path) -> None:
    """They keep an hour; a quarter more, and nothing can come any more."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 60)
    tidy(history, DAY + HOUR + 74 * 60)
    assert rows_of(tmp_path, "SELECT count(*) FROM chunks") == [(0,)]
    tidy(history, DAY + HOUR + 75 * 60)
    assert rows_of(tmp_path, "SELECT count(*) > 0 FROM chunks") == [(1,)]


def test_a_sample_that_holds_over_the_end_of_an_hour_is_in_both(make: MakeHistory) -> None:
    """A node that writes every quarter of an hour has no gap at the full one."""
    history = make()
    sample = gpu_sample("GPU-a", DAY + HOUR - 600, holds=2700)
    cut = gpu_sample("GPU-a", DAY + HOUR + 1200, utilization=90, holds=600)
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[sample]), now=DAY + HOUR - 600)
    # Sealed one after the other, each when it is due.
    tidy(history, DAY + 2 * HOUR + 1000)
    history.write(Batch(gpu_samples=[]), now=DAY + 2 * HOUR + 1000)
    history.write(Batch(gpu_samples=[cut]), now=DAY + 2 * HOUR + 1000)
    tidy(history, DAY + 12 * HOUR)
    found = curve(history, "GPU-a", DAY + HOUR - 600, DAY + HOUR + 1800, points=4)
    assert found == [50.0, 50.0, 50.0, 90.0]


def test_a_sample_at_the_full_hour_ends_the_one_before(make: MakeHistory) -> None:
    """Also when hours are sealed one by one: what held until then does not go on."""
    history = make()
    said = [
        gpu_sample("GPU-a", DAY, holds=2 * HOUR, verdict="booked"),
        gpu_sample("GPU-a", DAY + HOUR, holds=60, verdict="free", holders=()),
    ]
    history.write(Batch(places=[place("GPU-a")]), now=DAY)
    for sample in said:
        history.write(Batch(gpu_samples=[sample]), now=sample.at_ms / 1000)
    before = history.usage(DAY, DAY + 3 * HOUR)
    tidy(history, DAY + 10 * HOUR)
    assert history.usage(DAY, DAY + 3 * HOUR) == before
    (found,) = before.places
    assert (found.times.booked, found.times.free) == (3_600_000, 60_000)


def test_pieces_become_whole_chunks(make: MakeHistory, tmp_path: Path) -> None:
    """A month of hours must not be seven hundred rows a figure."""
    history = make()
    for hour in range(30):
        now = DAY + hour * HOUR
        history.write(
            Batch(
                places=[place("GPU-a")] if not hour else [], gpu_samples=[gpu_sample("GPU-a", now, holds=600)]
            ),
            now=now,
        )
        tidy(history, now)
    tidy(history, DAY + 40 * HOUR)
    query = "SELECT tier, cells, count(*) FROM chunks WHERE figure = -1 AND kind = 0 GROUP BY tier, cells"
    assert rows_of(tmp_path, query) == [(0, 360, 30), (1, 360, 5), (2, 1, 6), (2, 24, 1)]
    tidy(history, DAY + 20 * 24 * HOUR)
    query += " HAVING tier = 2"
    # The beginning of this day is not that of fifteen: they lie in one window or in two.
    assert {row[1] for row in rows_of(tmp_path, query)} == {360}
    seen = curve(history, "GPU-a", DAY, DAY + 30 * HOUR, points=30)
    assert seen == [50.0] * 30


def test_each_tier_is_kept_for_its_time(make: MakeHistory) -> None:
    """Full for days, minutes for months, hours for years; then the coarser one answers."""
    keep = {"full_seconds": 5 * HOUR, "minutes_seconds": 50 * HOUR, "hours_seconds": 500 * HOUR}
    history = make(**keep)
    write_all(history, ["GPU-a"], DAY, DAY + 7200, step=60)

    def tier(now: float) -> str | None:
        tidy(history, now)
        query = CurvesQuery(
            kind="gpu",
            groups=((Member("GPU-a"),),),
            figures=("utilization_percent",),
            start=DAY,
            end=DAY + 600,
        )
        found = history.curves(query)
        return found.tier if any(found.curves[0].mean) else None

    assert tier(DAY + 4 * HOUR) == "full"
    assert tier(DAY + 20 * HOUR) == "minutes"
    assert tier(DAY + 60 * HOUR) == "hours"
    # A chunk of hours is fifteen days: it goes when the last of them is too old.
    assert tier(DAY + (500 + 720) * HOUR) is None


def test_what_is_too_much_goes_oldest_and_finest_first(
    make: MakeHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is somebody's: no more than they allowed."""
    monkeypatch.setattr(retention, "STEP_ROWS", 5)
    history = make()
    dice = random.Random(1)
    gpus = [f"GPU-{number}" for number in range(96)]
    history.write(Batch(places=[place(gpu, index=index) for index, gpu in enumerate(gpus)]), now=DAY)
    for at in range(0, 6 * 3600, 60):
        samples = [gpu_sample(gpu, DAY + at, utilization=dice.uniform(0, 100), holds=60) for gpu in gpus]
        history.write(Batch(gpu_samples=samples), now=DAY + at)
        tidy(history, DAY + at)
    tidy(history, DAY + 30 * HOUR)
    whole = history.size_bytes()
    history.close()
    kept = "SELECT start_ms FROM chunks WHERE tier = 0 AND figure = 0 AND block = 0 ORDER BY start_ms"
    starts = rows_of(tmp_path, kept)
    smaller = make(max_bytes=int(whole * 0.9))
    tidy(smaller, DAY + 31 * HOUR)
    assert smaller.size_bytes() <= whole * 0.9
    left = rows_of(tmp_path, kept)
    assert 0 < len(left) < len(starts)
    assert left == starts[-len(left) :]
    assert rows_of(tmp_path, "SELECT count(*) FROM chunks WHERE tier = 1 AND figure = 0") == [(3,)]


@pytest.mark.parametrize("allowed", [0.5, 0.01])
def test_a_node_that_invents_programs_takes_nobodys_figures(
    make: MakeHistory, tmp_path: Path, allowed: float
) -> None:
    """What ran goes first, the oldest of it, as far as it is more than its share; else the file grows on."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 2 * HOUR, step=60)
    ran = [
        Episode(
            gpu="GPU-a",
            node="gpu01",
            label="0",
            person="ana",
            program=f"invented-{number}",
            start=DAY + number,
            end=DAY + number + 1,
        )
        for number in range(5000)
    ]
    goes_on = Episode(
        gpu="GPU-a",
        node="gpu01",
        label="0",
        person="ana",
        program="train",
        start=DAY,
        # It was there in the first sample.
        began_before=True,
    )
    befell = [Event(node="gpu01", start=one.start, kind="late", end=one.end) for one in ran]
    history.write(Batch(episodes=[*ran, goes_on], events=befell), now=DAY + 2 * HOUR)
    tidy(history, DAY + 10 * HOUR)
    chunks = rows_of(tmp_path, "SELECT count(*) FROM chunks")
    whole = history.size_bytes()
    history.close()
    smaller = make(max_bytes=int(whole * allowed))
    tidy(smaller, DAY + 11 * HOUR)
    left = smaller.episodes(DAY, DAY + HOUR * 2, limit=9999)
    assert goes_on in left
    if allowed == 0.5:
        assert smaller.size_bytes() <= whole * allowed
        assert rows_of(tmp_path, "SELECT count(*) FROM chunks") == chunks
        assert left[0] == ran[-1]
    else:
        # No figure is left, and nothing that has ended.
        assert (left, smaller.events(DAY, DAY + HOUR * 2)) == ([goes_on], [])


def test_names_are_forgotten_before_figures(make: MakeHistory, tmp_path: Path) -> None:
    """Who it was is nobody's business after that; that it was used stays."""
    history = make(names_seconds=10 * HOUR)
    ran = [
        Episode(gpu="GPU-a", node="gpu01", label="0", person=who, program="ana.py", start=DAY, end=DAY + 9)
        for who in ("ana", "somebody")
    ]
    befell = Event(node="gpu01", kind="error", start=DAY, end=DAY + 9, detail="no such file: /home/ana/x")
    said = gpu_sample("GPU-a", DAY)
    batch = Batch(places=[place("GPU-a")], gpu_samples=[said], episodes=ran, events=[befell])
    history.write(batch, now=DAY)
    tidy(history, DAY + 4 * HOUR)
    assert history.states("GPU-a", DAY, DAY + 10)[0].holders == ("ana",)
    tidy(history, DAY + 40 * HOUR)
    assert history.states("GPU-a", DAY, DAY + 10)[0].holders == ("somebody",)
    assert [(one.person, one.program) for one in history.episodes(DAY, DAY + 10)] == [("somebody", None)]
    assert [(one.kind, one.detail) for one in history.events(DAY, DAY + 10)] == [("error", None)]
    history.close()
    for file in tmp_path.glob("history.sqlite*"):
        assert b"ana" not in file.read_bytes()


@pytest.mark.parametrize("jump", [-24 * HOUR, 24 * HOUR])
def test_a_clock_that_was_set_wrong_for_a_while_costs_nothing(make: MakeHistory, jump: float) -> None:
    """Somebody set it wrong and, ten minutes later, right: the hours around it are whole."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 3 * HOUR)
    wrong = DAY + 3 * HOUR + jump
    for at in range(0, 600, 10):
        history.write(Batch(gpu_samples=[gpu_sample("GPU-a", wrong + at, utilization=99.0)]), now=wrong + at)
        tidy(history, wrong + at)
    for at in range(600, 7200, 10):
        now = DAY + 3 * HOUR + at
        history.write(Batch(gpu_samples=[gpu_sample("GPU-a", now, utilization=20.0)]), now=now)
        tidy(history, now)
    for now in (DAY + 5 * HOUR, DAY + 60 * HOUR):
        tidy(history, now)
        seen = curve(history, "GPU-a", DAY, DAY + 5 * HOUR, points=1800)
        assert seen[:1080] == [float(cell % 101) for cell in range(1080)]
        assert seen[1140:] == [20.0] * 660


def test_a_clock_that_was_set_far_forward_forgets_nothing_for_an_hour(make: MakeHistory) -> None:
    """Somebody sets it right until then; whoever slept for weeks loses what is old an hour later."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 2 * HOUR)
    tidy(history, DAY + 5 * HOUR)
    told = curve(history, "GPU-a", DAY, DAY + 2 * HOUR, points=720)
    wrong = DAY + 6 * 365 * 24 * HOUR
    for now in (wrong, wrong + 3000, DAY + 5 * HOUR + 60):
        while history.tidy(now=now):
            pass
        assert curve(history, "GPU-a", DAY, DAY + 2 * HOUR, points=720) == told
    for now in (wrong, wrong + 3600):
        while history.tidy(now=now):
            pass
    assert set(curve(history, "GPU-a", DAY, DAY + 2 * HOUR, points=720)) == {None}


def test_a_clock_that_is_set_back_leaves_what_has_ended_as_it_was(make: MakeHistory) -> None:
    """Yesterday was as it was, whether the clock is wrong now or was wrong for weeks."""
    history = make()
    last = DAY + 24 * HOUR

    def told() -> tuple[object, ...]:
        span = (DAY, last)
        programs = history.usage_of_programs(*span).places[0].people
        return history.episodes(*span), history.events(*span), programs

    for hour in range(24):
        start, end = DAY + hour * HOUR, DAY + (hour + 1) * HOUR
        ran = Episode(gpu="GPU-a", node="gpu01", label="0", person="ana", program="x", start=start, end=end)
        event = Event(node="gpu01", start=start, kind="late", end=end - 60)
        sample = gpu_sample("GPU-a", start, holds=HOUR)
        places = [] if hour else [place("GPU-a")]
        batch = Batch(places=places, gpu_samples=[sample], episodes=[ran], events=[event])
        history.write(batch, now=end)
        tidy(history, end)
    before = told()
    # Set back, right again, and set back once more.
    for now in (DAY + 10.0, DAY + 20.0, last, DAY + 30.0):
        history.write(Batch(), now=now)
        tidy(history, now)
    assert told() == before


@pytest.mark.parametrize(
    ("grid", "expected"), [(30, [1.0, 4.0, 7.0]), (15, [1.0, 4.0, 7.0]), (20, [0.5, 2.5])]
)
def test_a_grid_that_was_changed_goes_on(make: MakeHistory, grid: int, expected: list[float]) -> None:
    """What was kept on another is shown on one that both fit on; nothing is lost."""
    fine = make()
    write_all(fine, ["GPU-a"], DAY, DAY + 2 * HOUR)
    tidy(fine, DAY + 5 * HOUR)
    fine.close()
    coarse = make(grid_seconds=grid)
    coarse.write(Batch(gpu_samples=[gpu_sample("GPU-a", DAY + 6 * HOUR, holds=60)]), now=DAY + 6 * HOUR)
    assert curve(coarse, "GPU-a", DAY, DAY + 90, points=9)[: len(expected)] == expected
    tidy(coarse, DAY + 30 * HOUR)
    assert set(curve(coarse, "GPU-a", DAY + 6 * HOUR, DAY + 6 * HOUR + 60, points=9)) == {50.0}


@pytest.mark.parametrize("grid", [1, 10, 30, 60])
def test_a_peak_of_one_sample_is_the_most_of_its_hour(make: MakeHistory, grid: int) -> None:
    """Wherever it lies on the grid, sealed or not; so is the least of it."""
    history = make(grid_seconds=grid)
    history.write(Batch(places=[place("GPU-a")]), now=DAY)
    for number in range(360):
        at = DAY + 10 * number + 6.25
        use = {100: 100.0, 200: 0.0}.get(number, 50.0)
        history.write(Batch(gpu_samples=[gpu_sample("GPU-a", at, utilization=use)]), now=at)
    query = CurvesQuery(
        kind="gpu",
        groups=((Member("GPU-a"),),),
        figures=("utilization_percent",),
        start=DAY,
        end=DAY + HOUR,
        points=6,
    )
    unsealed = history.curves(query).curves[0]
    tidy(history, DAY + 20 * HOUR)
    found = history.curves(query).curves[0]
    assert found.most == [50.0, 100.0, *[50.0] * 4]
    assert found.least == [*[50.0] * 3, 0.0, 50.0, 50.0]
    assert (unsealed.least, unsealed.most) == (found.least, found.most)


@pytest.mark.parametrize("grid", [1, 2, 5, 15, 20, 30, 60])
def test_every_grid_gives_the_same_hours(make: MakeHistory, grid: int) -> None:
    """However finely it is kept, an hour is an hour."""
    history = make(grid_seconds=grid)
    write_all(history, ["GPU-a"], DAY, DAY + 2 * HOUR, step=60)
    tidy(history, DAY + 30 * HOUR)
    found = curve(history, "GPU-a", DAY, DAY + 2 * HOUR, points=2)
    assert found == [29.5, pytest.approx(56.5, abs=1.0)]


@pytest.mark.parametrize("harm", ["text", "cut", "page", "empty"])
def test_a_damaged_file_is_set_aside(make: MakeHistory, tmp_path: Path, harm: str) -> None:
    """The past is lost or somebody's to rescue; the board goes on, and says so."""
    history = make()
    write_all(history, [f"GPU-{number}" for number in range(40)], DAY, DAY + 600)
    tidy(history, DAY + 10 * HOUR)
    history.close()
    path = tmp_path / FILE
    whole = path.read_bytes()
    harmed = {
        "text": b"nonsense " * 1000,
        "cut": whole[: len(whole) // 2 // 4096 * 4096 + 100],
        "page": whole[:4096] + b"\x00" * (len(whole) - 4096),
        "empty": b"",
    }[harm]
    path.write_bytes(harmed)
    again = make()
    # What is harmed further behind is met when it is read or written.
    for _ in range(2):
        try:
            write_all(again, ["GPU-new"], DAY + 11 * HOUR, DAY + 11 * HOUR + 60)
            tidy(again, DAY + 14 * HOUR)
        except StorageError:
            continue
    assert curve(again, "GPU-new", DAY + 11 * HOUR, DAY + 11 * HOUR + 10, points=1) == [0.0]
    aside = list(tmp_path.glob("history.sqlite.damaged-*"))
    if harm == "empty":
        # SQLite takes an empty file for a new one, and so do we: nothing is in it to rescue.
        assert not aside
    elif harm != "cut" or aside:
        assert aside
        assert again.trouble is not None
        assert again.trouble.code == "history-damaged"
        assert aside[0].name in again.trouble.text


def test_a_file_that_was_deleted_is_begun_anew(make: MakeHistory, tmp_path: Path) -> None:
    """Somebody made room by hand: what comes next must not go where nobody finds it."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 60)
    for file in tmp_path.glob("history.sqlite*"):
        file.unlink()
    tidy(history, DAY + 60)
    assert history.trouble is not None
    assert history.lives == 1
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY + 60)]), now=DAY + 60)
    assert curve(history, "GPU-a", DAY + 60, DAY + 70, points=1) == [50.0]
    assert rows_of(tmp_path, "SELECT count(*) FROM tail") == [(1,)]


def test_what_goes_to_a_deleted_file_is_not_safe(make: MakeHistory, tmp_path: Path) -> None:
    """Whether it went before the batch or while that was written: whoever wrote it hears so."""
    history = make()
    batch = Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)])
    for lives in (1, 2):
        history.write(batch, now=DAY)
        (tmp_path / FILE).unlink()
        with pytest.raises(StorageError, match="deleted"):
            history.write(batch, now=DAY)
        assert history.lives == lives


def test_room_is_given_back_in_steps_of_many_pages(tmp_path: Path) -> None:
    """One page a step would take a sync for every 4 kB."""
    file = HistoryFile(tmp_path / FILE)
    file.open()
    with file.write() as connection:
        rows = [(number, bytes(100_000)) for number in range(100)]
        connection.executemany("INSERT INTO memories VALUES (?, ?)", rows)
    with file.write() as connection:
        connection.execute("DELETE FROM memories")
    before = (tmp_path / FILE).stat().st_size
    steps = 0
    while file.outside_transaction(retention.give_back):
        steps += 1
    file.close()
    after = (tmp_path / FILE).stat().st_size
    assert 0 < steps <= before / 4096 / retention.STEP_PAGES + 1
    assert after <= before / 2


def test_a_forgotten_number_of_people_is_not_given_again(make: MakeHistory) -> None:
    """An old hour that still has it must not be somebody else's."""
    history = make(names_seconds=10 * HOUR)
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)]), now=DAY)
    before = history._names.crowds[("ana",)]
    tidy(history, DAY + 40 * HOUR)
    assert ("ana",) not in history._names.crowds
    history.close()
    again = make()
    now = DAY + 41 * HOUR
    again.write(Batch(gpu_samples=[gpu_sample("GPU-a", now, holders=("chen",))]), now=now)
    assert again._names.crowds[("chen",)] > before


def test_a_node_that_invents_people_fills_nothing(make: MakeHistory) -> None:
    """Beyond so many sets of names, all of its further ones are unknown; those of others are not."""
    history = make()
    places = [place("GPU-liar", node="liar"), place("GPU-a")]
    samples = [
        gpu_sample("GPU-liar", DAY + number / 100, holders=(f"name{number}",))
        for number in range(CROWDS_PER_NODE + 2)
    ]
    history.write(Batch(places=places, gpu_samples=samples), now=DAY + 100)
    history.write(Batch(gpu_samples=[gpu_sample("GPU-a", DAY + 100, holders=("chen",))]), now=DAY + 100)
    last = history.states("GPU-liar", DAY + 40, DAY + 50)
    assert [one.holders for one in last][-1] == ("unknown",)
    assert history.states("GPU-a", DAY + 100, DAY + 110)[0].holders == ("chen",)


def test_a_node_may_name_people_again_when_older_ones_are_forgotten(make: MakeHistory) -> None:
    """A lab of many years has had very many; those of today are known without a restart of the board."""
    history = make(names_seconds=10 * HOUR)
    samples = [
        gpu_sample("GPU-a", DAY + number / 100, holders=(f"name{number}",))
        for number in range(CROWDS_PER_NODE)
    ]
    history.write(Batch(places=[place("GPU-a")], gpu_samples=samples), now=DAY + 100)
    later = DAY + 40 * HOUR
    tidy(history, later)
    history.write(Batch(gpu_samples=[gpu_sample("GPU-a", later, holders=("chen",))]), now=later)
    assert history.states("GPU-a", later, later + 10)[0].holders == ("chen",)


def test_a_damaged_chunk_is_a_gap_and_no_more(make: MakeHistory, tmp_path: Path) -> None:
    """One bad hour must not take the month with it."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 2 * HOUR, step=30)
    tidy(history, DAY + 10 * HOUR)
    history.close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute(
        "UPDATE chunks SET blob = zeroblob(50) WHERE tier = 0 AND figure = 0 AND start_ms = ?", (DAY * 1000,)
    )
    connection.commit()
    connection.close()
    again = make()
    seen = curve(again, "GPU-a", DAY, DAY + 2 * HOUR, points=720)
    assert set(seen[:360]) == {None}
    assert seen[360] == 19.0


def test_a_file_on_a_network_file_system_is_refused(
    make: MakeHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks there do not hold, and a database is lost sooner or later."""
    monkeypatch.setattr(
        state_directory, "_read_mounts", lambda: f"1 1 0:1 / {tmp_path} rw - nfs4 filer:/home rw"
    )
    with pytest.raises(StorageError, match="network file system"):
        make()


def test_a_history_of_a_newer_version_is_left_alone(make: MakeHistory, tmp_path: Path) -> None:
    """It is not damaged: the program is too old for it."""
    make().close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="another version"):
        make()
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_batch_that_failed_left_nothing_behind(make: MakeHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither samples nor numbers: what it brought up gets its number when it is written."""
    history = make()
    batch = Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)])

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("the disk has gone")

    with monkeypatch.context() as broken:
        broken.setattr(notes, "write_events", fail)
        with pytest.raises(StorageError, match="the disk has gone"):
            history.write(batch, now=DAY)
    assert history.places(DAY, DAY) == []
    history.write(batch, now=DAY)
    assert curve(history, "GPU-a", DAY, DAY + 10, points=1) == [50.0]


def test_hosts_are_kept_beside_gpus(make: MakeHistory) -> None:
    """Their numbers are their own: host 0 and GPU 0 are two."""
    history = make()
    batch = Batch(
        places=[place("GPU-a")],
        gpu_samples=[gpu_sample("GPU-a", DAY)],
        host_samples=[
            host_sample("gpu01", DAY, load_percent=80.0),
            host_sample("gpu02", DAY, load_percent=20.0),
        ],
    )
    history.write(batch, now=DAY)
    query = CurvesQuery(
        kind="host",
        groups=((Member("gpu01"),), (Member("gpu01"), Member("gpu02"))),
        figures=("load_percent",),
        start=DAY,
        end=DAY + 10,
        points=1,
    )
    for now in (DAY, DAY + 30 * HOUR):
        tidy(history, now)
        assert [one.mean for one in history.curves(query).curves] == [[80.0], [50.0]]


def test_readers_and_the_writer_do_not_wait_for_each_other(make: MakeHistory) -> None:
    """Somebody who looks at a year must not hold a sample up, nor the other way round."""
    history = make()
    write_all(history, ["GPU-a"], DAY, DAY + 60)
    file: HistoryFile = history._file
    with file.read() as connection:
        connection.execute("SELECT count(*) FROM tail").fetchone()
        history.write(Batch(gpu_samples=[gpu_sample("GPU-a", DAY + 60)]), now=DAY + 60)
    with file.write() as connection:
        connection.execute("DELETE FROM tail")
        assert curve(history, "GPU-a", DAY + 60, DAY + 70, points=1) == [50.0]


def test_a_low_disk_pauses_and_resumes(make: MakeHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others need the last gigabyte more."""
    history = make()
    history.write(Batch(places=[place("GPU-a")], gpu_samples=[gpu_sample("GPU-a", DAY)]), now=DAY)
    sample = Batch(gpu_samples=[gpu_sample("GPU-a", DAY + 10, utilization=70)])
    with monkeypatch.context() as low:
        low.setattr(Disk, "is_low", lambda _: True)
        with pytest.raises(HistoryPausedError):
            history.write(sample, now=DAY + 10)
        assert history.is_paused
        assert history.trouble is not None
        assert history.trouble.code == "history-paused"
        assert curve(history, "GPU-a", DAY, DAY + 10, points=1) == [50.0]
    history.write(sample, now=DAY + 10)
    assert not history.is_paused
    assert history.trouble is None
    assert curve(history, "GPU-a", DAY, DAY + 20, points=2) == [50.0, 70.0]


def test_a_history_on_a_full_disk_says_so_from_the_start(
    make: MakeHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when the first batch was refused."""
    monkeypatch.setattr(Disk, "is_low", lambda _: True)
    history = make()
    assert history.is_paused
    assert history.trouble is not None
    assert history.trouble.code == "history-paused"


def test_a_large_fleet_is_gathered_in_steps(make: MakeHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much has piled up, a step takes only so many samples."""
    monkeypatch.setattr(sealing, "STEP_SAMPLES", 50)
    history = make()
    for at in range(0, 610, 10):
        samples = [gpu_sample(f"GPU-{number}", DAY + at) for number in range(10)]
        places = [place(f"GPU-{number}", index=number) for number in range(10)] if not at else []
        history.write(Batch(places=places, gpu_samples=samples), now=DAY + at)
    assert tidy(history, DAY + 1600) >= 12
    assert curve(history, "GPU-9", DAY, DAY + 610, points=61) == [50.0] * 61
