"""GPU-hours of a large fleet: what it costs to ask for them, and what a year of them takes on the disk."""

import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from bench._past import CROWDS, START, Fleet
from gpuboard.history.base import Keep
from gpuboard.history.cells import Cells, Values
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.embedded.inventing import Invented
from gpuboard.history.embedded.schema import MINUTE_MS
from gpuboard.history.figures import GPU_FIGURES, NOTHING, VERDICT_CODES, place_of
from gpuboard.history.reckoning import UsageWanted, ask_usage
from gpuboard.history.records import Batch, Episode
from gpuboard.history.spans import as_long_before
from gpuboard.wire.usage import UsageBy

MILLI: Final = 1e3
DAYS: Final = 30
LIVE_HOURS: Final = 3
# Jobs are half an hour to a day long.
JOB_MINUTES: Final = (30, 1440)
ROUNDS: Final = 5
# So many GPUs are counted at once: all of them would fill the memory.
AT_ONCE: Final = 64


def cells_of(gpus: int, days: int, dice: np.random.Generator) -> Cells:
    """Days of jobs by the minute."""
    minutes = days * 24 * 60
    who = np.zeros((gpus, minutes), np.int32)
    for row in range(gpus):
        at = 0
        while at < minutes:
            length = int(dice.integers(*JOB_MINUTES))
            who[row, at : at + length] = dice.integers(1, len(CROWDS)) if dice.random() < 0.6 else 0
            at += length
    is_busy = who > 0
    told = {
        "utilization_percent": np.where(is_busy, dice.integers(2, 200, who.shape), 0),
        "memory_used_bytes": np.where(is_busy, dice.integers(1000, 80_000, who.shape), 4),
        "verdict": np.where(is_busy, VERDICT_CODES["busy"], VERDICT_CODES["free"]),
        "holders": who,
    }
    values = {}
    for place, figure in enumerate(GPU_FIGURES):
        table = told.get(figure.name, np.full(who.shape, NOTHING)).astype(np.int32)
        values[place] = Values(table, table, table)
    return Cells(START * 1000, MINUTE_MS, np.full(who.shape, MINUTE_MS, np.int32), values)


def episodes_of(names: list[str], cells: Cells) -> list[Episode]:
    """What ran for each job; every third person looks at it meanwhile."""
    who, found = cells.values[place_of("gpu", "holders")].mean, list[Episode]()
    for name, row in zip(names, who, strict=True):
        borders = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for first, last in pairwise(borders):
            number, start, end = int(row[first]), START + 60.0 * first, START + 60.0 * last
            for program in ("train", "watch")[: 0 if not number else 1 if number % 3 else 2]:
                found.append(
                    Episode(
                        gpu=name,
                        node="",
                        label="",
                        person=CROWDS[number][0],
                        program=f"{program}-{number % 7}",
                        start=start,
                        end=end,
                    )
                )
    return found


def fill(history: EmbeddedHistory, fleet: Fleet, days: int) -> None:
    """Count so many days of a fleet."""
    dice, now = np.random.default_rng(3), START + days * 86_400.0
    history.write(Batch(places=fleet.places()), now=float(START))
    for first in range(0, fleet.gpus, AT_ONCE):
        names = fleet.uuids[first : first + AT_ONCE]
        cells = cells_of(len(names), days, dice)
        history.invent([Invented("gpu", None, names, cells, CROWDS)], now=now)
        history.write(Batch(episodes=episodes_of(names, cells)), now=now)
    # What is told live is in no hour that is over: it is added up whenever somebody asks.
    for one in fleet.rounds(LIVE_HOURS, START + days * 86_400):
        history.write(fleet.batch(one), now=one.now)
        while history.tidy(now=one.now):
            pass


def asked(history: EmbeddedHistory, by: UsageBy, days: int) -> tuple[float, float]:
    """CPU seconds of the first question, and of later ones."""
    end = START + 2 * days * 86_400.0 + LIVE_HOURS * 3600.0
    start = end - days * 86_400.0
    # As the page and the API ask: compared with the span before.
    wanted = UsageWanted(by=by, start=start, end=end, now=end, before=as_long_before(start, end))
    costs = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        answer = ask_usage(history, wanted)
        costs.append(time.process_time() - begun)
    if not answer.rows or answer.total.previous_used_ms is None:
        raise AssertionError("nothing was counted")
    return costs[0], sorted(costs)[len(costs) // 2]


def year_bytes(history: EmbeddedHistory, days: int) -> float:
    """What the rows of a year take."""
    with history._file.read() as connection:  # noqa: SLF001 - a bench looks inside
        size, counted = connection.execute(
            "SELECT sum(length(blob)), count(DISTINCT day) FROM usage_days"
        ).fetchone()
    if counted < days - 1:
        raise AssertionError(f"{counted} days were counted")
    return float(size) * 365 / int(counted)


def tell(gpus: int) -> None:
    """Print it all."""
    fleet = Fleet(gpus)
    with tempfile.TemporaryDirectory() as name:
        history = EmbeddedHistory(Path(name) / "history.sqlite", Keep())
        history.open()
        fill(history, fleet, 2 * DAYS)
        print(f"{gpus:,} GPUs, {DAYS} days and those before, {len(CROWDS) - 1} people")
        for by in ("person", "node", "program"):
            first, later = asked(history, by, DAYS)
            print(f"{f'GPU-hours by {by}, CPU ms, first':52}{first * MILLI:10.2f}")
            print(f"{'  and later':52}{later * MILLI:10.2f}")
        print(f"{'rows of a year, MB':52}{year_bytes(history, 2 * DAYS) / 1e6:10.2f}")
        history.close()
