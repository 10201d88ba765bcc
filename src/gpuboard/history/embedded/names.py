"""Small numbers for GPUs, hosts and sets of people, for ever; in memory, and from their first use on file."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from gpuboard.history.base import GPUS_PER_NODE
from gpuboard.history.embedded.schema import KIND_CODES, KINDS
from gpuboard.history.figures import NOTHING, VERDICT_CODES, Kind

# Sets of people that one node may bring up before all of its further ones are "unknown".
CROWDS_PER_NODE: Final = 4096
# More are on no GPU; the rest is left out.
PEOPLE_PER_CROWD: Final = 64
# For so long a GPU of a node counts against the limit of that node.
COUNTED_SECONDS: Final = 30 * 86_400.0

# Nodes that tell their GPUs one way or another; beyond that all are looked up anew.
MOST_SIDE_BY_SIDE: Final = 20_000

_USE_NOTED_SECONDS: Final = 86_400.0

NOBODY: Final = 0
UNKNOWN: Final = 1
SOMEBODY: Final = 2
_FIXED: Final[dict[int, tuple[str, ...]]] = {NOBODY: (), UNKNOWN: ("unknown",), SOMEBODY: ("somebody",)}
_BOOKED: Final = VERDICT_CODES["booked"]
_PEOPLE: Final = msgspec.json.Decoder(tuple[str, ...])


class Names:
    """What has which number. One who reads while another is given sees it or not, and nothing else.

    After a transaction that failed it is read anew: what was numbered there has no number.
    """

    def __init__(self) -> None:
        self.series: dict[Kind, dict[str, int]] = {kind: {} for kind in KINDS}
        self.crowds: dict[tuple[str, ...], int] = {}
        self._people: dict[int, tuple[str, ...]] = {}
        self._next: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self._next_crowd = len(_FIXED)
        self._used_at: dict[int, float] = {}
        self._crowds_of: Counter[str] = Counter()
        # Node → when each of its GPUs was first seen.
        self._seen: dict[str, list[float]] = {}
        self._node_of: dict[str, str] = {}
        # GPUs that are told together, and their numbers.
        self._side_by_side: dict[tuple[str, ...], list[int]] = {}

    @classmethod
    def load(cls, connection: sqlite3.Connection) -> "Names":
        """Read what has been given so far."""
        names = cls()
        for code, number, name, node, seen_at in connection.execute(
            "SELECT kind, number, name, node, seen_at FROM series"
        ):
            names._note_series(KINDS[code], name, number, node, seen_at)
        for number, people, node, seen_at in connection.execute(
            "SELECT number, people, node, seen_at FROM crowds"
        ):
            names._note_crowd(_PEOPLE.decode(people), number, node, seen_at)
        # Not even those of sets that were forgotten are given again: old hours may still have them.
        given = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'crowds'").fetchone()
        names._next_crowd = max(names._next_crowd, given[0] + 1 if given else 0)
        for number, fixed in _FIXED.items():
            names.crowds[fixed], names._people[number] = number, fixed
        return names

    def give_series(
        self, connection: sqlite3.Connection, kind: Kind, name: str, node: str, *, now: float
    ) -> int | None:
        """The number of a GPU or host, a new one if need be; None: its node has too many."""
        found = self.series[kind].get(name)
        if found is not None:
            return found
        if kind == "gpu" and self._is_overfull(node, now):
            return None
        number = self._next[kind]
        connection.execute(
            "INSERT INTO series VALUES (?, ?, ?, ?, ?)", (KIND_CODES[kind], number, name, node, now)
        )
        self._note_series(kind, name, number, node, now)
        return number

    def gpu_numbers(self, gpus: tuple[str, ...]) -> list[int]:
        """The numbers of several GPUs, mostly those of a node; -1 for one that has none."""
        found = self._side_by_side.get(gpus)
        if found is None:
            known = self.series["gpu"]
            found = self._side_by_side[gpus] = [known.get(gpu, -1) for gpu in gpus]
            if len(self._side_by_side) > MOST_SIDE_BY_SIDE:
                self._side_by_side = {}
        return found

    def give_crowd(
        self, connection: sqlite3.Connection, people: tuple[str, ...], gpu: str, *, now: float
    ) -> int:
        """The number of a set of people, a new one if need be."""
        people = people[:PEOPLE_PER_CROWD]
        found = self.crowds.get(people)
        if found is not None:
            return found
        node = self._node_of.get(gpu, "")
        if self._crowds_of[node] >= CROWDS_PER_NODE:
            return UNKNOWN
        number = self._next_crowd
        written = msgspec.json.encode(people).decode()
        connection.execute("INSERT INTO crowds VALUES (?, ?, ?, ?)", (number, written, node, now))
        self._note_crowd(people, number, node, now)
        return number

    def people(self, number: int) -> tuple[str, ...] | None:
        """Who is meant by a number; None: cannot tell."""
        return None if number == NOTHING else self._people.get(number, _FIXED[UNKNOWN])

    def on_it(self, verdict: int, number: int) -> tuple[str, ...] | None:
        """Who is on a GPU of this verdict; of a booked one it is noted who has claimed it, and nobody is."""
        return _FIXED[NOBODY] if verdict == _BOOKED else self.people(number)

    def claimant(self, verdict: int, number: int) -> str | None:
        """Who has claimed a booked GPU; None: nobody was noted."""
        noted = self.people(number) if verdict == _BOOKED and number > SOMEBODY else None
        return noted[0] if noted else None

    def note_use(self, connection: sqlite3.Connection, numbers: Iterable[int], *, now: float) -> None:
        """Note once a day that a set of people is still met with."""
        for number in numbers:
            if number > SOMEBODY and now - self._used_at.get(number, 0.0) > _USE_NOTED_SECONDS:
                connection.execute("UPDATE crowds SET seen_at = ? WHERE number = ?", (now, number))
                self._used_at[number] = now

    def forget(self, connection: sqlite3.Connection, before: float) -> bool:
        """Forget sets of people that were not met with since; whether there were any."""
        old = connection.execute(
            "SELECT number, node FROM crowds WHERE seen_at < ? AND number > ?", (before, SOMEBODY)
        ).fetchall()
        connection.executemany("DELETE FROM crowds WHERE number = ?", [(number,) for number, _ in old])
        for number, node in old:
            people = self._people.pop(number, ())
            self.crowds.pop(people, None)
            self._crowds_of[node] -= 1
        return bool(old)

    def _is_overfull(self, node: str, now: float) -> bool:
        seen = [at for at in self._seen.get(node, ()) if at > now - COUNTED_SECONDS]
        self._seen[node] = seen
        return len(seen) >= GPUS_PER_NODE

    def _note_series(self, kind: Kind, name: str, number: int, node: str, seen_at: float) -> None:
        self.series[kind][name] = number
        self._next[kind] = max(self._next[kind], number + 1)
        if kind == "gpu":
            self._side_by_side = {}
            self._seen.setdefault(node, []).append(seen_at)
            self._node_of[name] = node

    def _note_crowd(self, people: tuple[str, ...], number: int, node: str, seen_at: float) -> None:
        self._used_at[number] = seen_at
        self.crowds[people] = number
        self._people[number] = people
        self._next_crowd = max(self._next_crowd, number + 1)
        self._crowds_of[node] += 1
