"""How long programs used GPUs: each hour's time of a person, divided among what they ran in it."""

import math
from collections import defaultdict
from typing import Final

import numpy as np

from gpuboard.history.embedded import notes
from gpuboard.history.embedded.accounting import Ledger, open_ledger
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import WINDOW_MS
from gpuboard.history.embedded.usage import BEGIN, CROWD, HELD, KIND, MEMORY, Cut, Longs
from gpuboard.history.questions import go_on
from gpuboard.history.records import Episode
from gpuboard.history.usage import OWNED, USAGE_KINDS, PlaceUsage, Usage, shares

_NO_LIMIT: Final = -1
# It cannot be told which, or none runs.
UNKNOWN: Final = ""

# Hour and person → program → for how many milliseconds of that hour.
_Ran = dict[tuple[int, str], dict[str, int]]


def read_programs(look: Look, names: Names, start: float, end: float, *, quiet_percent: float) -> Usage:
    """How long each GPU was what, and of which program."""
    ledger = open_ledger(look, names, start, end, quiet_percent=quiet_percent)
    episodes = _episodes(look, ledger.cut)
    answer = ledger.blank()
    for place, table in _by_place(ledger):
        go_on()
        ran = _ran(episodes.get(answer[place].place.gpu, []), ledger.cut)
        for entry in table.T.tolist():
            _count(answer[place], entry, ran, names)
    return ledger.answer(answer)


def _by_place(ledger: Ledger) -> list[tuple[int, Longs]]:
    parts = [(table, place) for table, place in ledger.tables if len(place)]
    if not parts:
        return []
    table = np.concatenate([part for part, _ in parts], axis=1)
    places = np.concatenate([place for _, place in parts])
    order = np.argsort(places, kind="stable")
    table, places = table[:, order], places[order]
    found, firsts = np.unique(places, return_index=True)
    return list(zip(found.tolist(), np.split(table, firsts[1:], axis=1), strict=True))


def _episodes(look: Look, cut: Cut) -> dict[str, list[Episode]]:
    found: dict[str, list[Episode]] = defaultdict(list)
    for one in notes.read_episodes(look.connection, cut.start_ms / 1000, cut.end_ms / 1000, limit=_NO_LIMIT):
        found[one.gpu].append(one)
    return found


def _ran(episodes: list[Episode], cut: Cut) -> _Ran:
    """What ran on one GPU, hour by hour."""
    ran: _Ran = {}
    for one in episodes:
        start = max(cut.start_ms, round(1000 * one.start))
        end = cut.end_ms if one.end is None else min(cut.end_ms, round(1000 * one.end))
        for hour in range(start // WINDOW_MS, math.ceil(end / WINDOW_MS)) if start <= end else ():
            held = min(end, (hour + 1) * WINDOW_MS) - max(start, hour * WINDOW_MS)
            # One that began and ended between two samples is not nothing.
            programs = ran.setdefault((hour, one.person), {})
            programs[one.program or UNKNOWN] = programs.get(one.program or UNKNOWN, 0) + max(1, held)
    return ran


def _count(place: PlaceUsage, entry: list[int], ran: _Ran, names: Names) -> None:
    kind, held = entry[KIND], entry[HELD]
    if not 0 <= kind < len(USAGE_KINDS):
        return
    word, parts = USAGE_KINDS[kind], dict[str, int]()
    if word in OWNED:
        hour = entry[BEGIN] // WINDOW_MS
        for person, part in shares(held, names.people(entry[CROWD]) or ()).items():
            for program, time in _divided(
                part, ran.get((hour, person)) if word != "booked" else None
            ).items():
                parts[program] = parts.get(program, 0) + time
    place.count(word, parts, held)
    place.hold(entry[MEMORY] if entry[MEMORY] >= 0 else None, parts)


def _divided(milliseconds: int, programs: dict[str, int] | None) -> dict[str, int]:
    """Time divided by how long each ran; the remainder to the first by name."""
    if not programs:
        return {UNKNOWN: milliseconds}
    whole = sum(programs.values())
    parts = {program: milliseconds * held // whole for program, held in programs.items()}
    parts[min(parts)] += milliseconds - sum(parts.values())
    return parts
