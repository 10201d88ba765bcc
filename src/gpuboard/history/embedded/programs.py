"""How long programs used GPUs: each hour's time of a person, divided among what they ran in it."""

from typing import Final, NamedTuple

import numpy as np

from gpuboard.history.embedded import notes
from gpuboard.history.embedded.accounting import open_ledger
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.ran import Ran, Spots, spread
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.schema import WINDOW_MS
from gpuboard.history.embedded.sums import Crowds, Sums, added_up
from gpuboard.history.embedded.usage import BEGIN, CROWD, HELD, KIND, MEMORY, SLOT, Longs
from gpuboard.history.usage import OWNED, UNKNOWN, USAGE_KINDS, PlaceUsage, Usage

_NO_LIMIT: Final = -1
_BOOKED: Final = USAGE_KINDS.index("booked")
# The number of the program that has no name: the first by name.
_NO_PROGRAM: Final = 0
_PROGRAM_BITS: Final = 32


class _Parts(NamedTuple):
    """Parts of the time of entries: of which entry, whose, and how many milliseconds."""

    entry: Longs
    whose: Longs
    time: Longs


def read_programs(look: Look, names: Names, start: float, end: float, *, quiet_percent: float) -> Usage:
    """How long each GPU was what, and of which program."""
    ledger = open_ledger(look, names, start, end, quiet_percent=quiet_percent)
    first, last = ledger.cut.start_ms / 1000, ledger.cut.end_ms / 1000
    episodes = notes.read_episodes(look.connection, first, last, limit=_NO_LIMIT)
    programs = _Programs(Crowds(names), Ran(episodes, names.series["gpu"].get, ledger.cut))
    for table, place in ledger.tables:
        programs.add(table, place)
    answer = ledger.blank()
    programs.tell(answer)
    return ledger.answer(answer)


class _Programs:
    """Milliseconds by place, kind and program."""

    def __init__(self, crowds: Crowds, ran: Ran) -> None:
        self._crowds = crowds
        self._ran = ran
        # Both with milliseconds, memory, and whether any is known.
        self._times = Sums()
        self._parts = Sums()

    def add(self, table: Longs, place: Longs) -> None:
        is_known = table[MEMORY] >= 0
        memory = np.where(is_known, table[MEMORY], 0)
        self._times.add(place, table[KIND], np.zeros_like(place), table[HELD], memory, is_known)
        owned = np.flatnonzero(table[KIND] < len(OWNED))
        table, place, memory = table[:, owned], place[owned], memory[owned]
        parts = self._by_program(table, self._by_person(table))
        held = table[HELD, parts.entry]
        is_known = is_known[owned][parts.entry] & (held > 0)
        shares = np.where(is_known, memory[parts.entry] * parts.time // np.maximum(1, held), 0)
        # The remainder of each entry to the first by name, as of its time.
        told = np.bincount(parts.entry, weights=shares, minlength=len(memory)).astype(np.int64)
        is_first = np.diff(parts.entry, prepend=-1) != 0
        shares += np.where(is_first & is_known, (memory - told)[parts.entry], 0)
        self._parts.add(
            place[parts.entry], table[KIND, parts.entry], parts.whose, parts.time, shares, is_known
        )

    def tell(self, answer: list[PlaceUsage]) -> None:
        """Count it all."""
        for place, kind, _, held, memory, is_known in self._times.rows():
            answer[place].count(USAGE_KINDS[kind], {}, held)
            answer[place].times.add_memory(memory if is_known else None)
        for place, kind, program, time, memory, is_known in self._parts.rows():
            name = self._ran.programs[program]
            answer[place].give(USAGE_KINDS[kind], name, time)
            answer[place].people[name].add_memory(memory if is_known else None)

    def _by_person(self, table: Longs) -> _Parts:
        """Divided equally, the remainder to the first by name."""
        crowds, which = self._crowds.of(table[CROWD])
        people = [names or [UNKNOWN] for names in crowds]
        counts = np.array([len(names) for names in people], np.int64)
        codes = np.array([self._ran.person(name) for names in people for name in names], np.int64)
        entry, step = spread(counts[which])
        each, rest = np.divmod(table[HELD], counts[which])
        whose = codes[(np.cumsum(counts) - counts)[which][entry] + step]
        return _Parts(entry, whose, each[entry] + np.where(step, 0, rest[entry]))

    def _by_program(self, table: Longs, people: _Parts) -> _Parts:
        """Each person's by how long what they ran has run, the remainder to the first by name."""
        entry = people.entry
        # What is booked is used by no program.
        whose = np.where(table[KIND, entry] == _BOOKED, -1, people.whose)
        shares = self._ran.shares(Spots(table[SLOT, entry], table[BEGIN, entry] // WINDOW_MS, whose))
        time = people.time[shares.spot] * shares.held // shares.whole
        told = np.bincount(shares.spot, weights=time, minlength=len(entry)).astype(np.int64)
        rest = people.time - told
        is_first = np.diff(shares.spot, prepend=-1) != 0
        time[is_first] += rest[shares.spot[is_first]]
        none = np.flatnonzero(np.bincount(shares.spot, minlength=len(entry)) == 0)
        entries = np.concatenate([entry[shares.spot], entry[none]])
        programs = np.concatenate([shares.program, np.full(len(none), _NO_PROGRAM)])
        # Several people may have run the same.
        keys = (entries << _PROGRAM_BITS) | programs
        keys, time = added_up(np.stack((keys, np.concatenate([time, rest[none]]))))
        return _Parts(keys >> _PROGRAM_BITS, keys & ((1 << _PROGRAM_BITS) - 1), time)
