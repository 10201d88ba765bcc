"""Rows beside the figures: positions, places, episodes and events."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gpuboard.history.records import Episode, Event, Place, Taken

_PLACE: Final = "gpu, start, stop, node, number, label, parent, model, memory_total_bytes, counted"
_EPISODE: Final = (
    "gpu, person, program, start, stop, node, label, memory_peak_bytes, utilization_mean_percent"
)
# Its first sample is the first of its GPU there, and none came right before: nobody saw it begin.
_BEGAN_BEFORE: Final = (
    "EXISTS (SELECT 1 FROM places AS one WHERE one.gpu = episodes.gpu AND one.start = episodes.start) "
    "AND NOT EXISTS (SELECT 1 FROM places AS one WHERE one.gpu = episodes.gpu AND one.stop = episodes.start)"
)
_READ_EPISODE: Final = f"{_EPISODE}, {_BEGAN_BEFORE}"
_EVENT: Final = "node, start, kind, gpu, stop, detail"


def write_positions(
    connection: sqlite3.Connection, positions: Mapping[str, Taken], gone: Iterable[str]
) -> None:
    """Note how far nodes have come, and forget those that are gone."""
    connection.executemany("DELETE FROM positions WHERE node = ?", [(node,) for node in gone])
    connection.executemany(
        "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
        [(node, taken.boot_id, taken.sequence) for node, taken in positions.items()],
    )


def read_positions(connection: sqlite3.Connection) -> dict[str, Taken]:
    """How far each node has come."""
    return {
        node: Taken(boot_id, sequence)
        for node, boot_id, sequence in connection.execute("SELECT node, boot_id, sequence FROM positions")
    }


def write_memories(
    connection: sqlite3.Connection, memories: Mapping[str, bytes], gone: Iterable[str]
) -> None:
    """Note what is to be remembered of nodes, and forget those that are gone."""
    connection.executemany("DELETE FROM memories WHERE node = ?", [(node,) for node in gone])
    connection.executemany("INSERT OR REPLACE INTO memories VALUES (?, ?)", list(memories.items()))


def read_memories(connection: sqlite3.Connection) -> dict[str, bytes]:
    """What is to be remembered of each node."""
    return dict(connection.execute("SELECT node, memory FROM memories"))


def write_place(connection: sqlite3.Connection, place: Place) -> None:
    """Note where a GPU is; where it was before ends there, and it ends where it was next.

    What ends no later than it begins is forgotten, with what was told of the time in between.
    """
    if place.end is not None and place.end <= place.start:
        span = (place.gpu, place.end, place.start)
        connection.execute("DELETE FROM places WHERE gpu = ? AND start BETWEEN ? AND ?", span)
        connection.execute(
            "UPDATE places SET stop = ? WHERE gpu = ? AND start < ? AND stop > ?",
            (place.end, place.gpu, place.end, place.end),
        )
        return
    connection.execute(
        "UPDATE places SET stop = ? WHERE gpu = ? AND start < ? AND (stop IS NULL OR stop > ?)",
        (place.start, place.gpu, place.start, place.start),
    )
    following = connection.execute(
        "SELECT min(start) FROM places WHERE gpu = ? AND start > ?", (place.gpu, place.start)
    ).fetchone()[0]
    ends = [end for end in (place.end, following) if end is not None]
    connection.execute(
        "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(place.gpu, place.start, min(ends, default=None), place.node, place.index, place.label),
            *(place.parent, place.model, place.memory_total_bytes, place.counted),
        ),
    )


def read_places(
    connection: sqlite3.Connection, start: float, end: float, *, node: str | None, gpu: str | None
) -> list[Place]:
    """Where GPUs were in a span."""
    where, values = _touching(start, end)
    where, values = _only(where, values, node=node, gpu=gpu)
    rows = connection.execute(
        f"SELECT {_PLACE} FROM places WHERE {where} ORDER BY node, number, label, start",  # noqa: S608
        values,
    )
    return [
        Place(
            gpu=row[0],
            start=row[1],
            end=row[2],
            node=row[3],
            index=row[4],
            label=row[5],
            parent=row[6],
            model=row[7],
            memory_total_bytes=row[8],
            counted=bool(row[9]),
        )
        for row in rows
    ]


def write_episodes(connection: sqlite3.Connection, episodes: Iterable[Episode]) -> None:
    """Write episodes, in place of what stands there of them."""
    connection.executemany(
        "INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(one.gpu, one.person, one.program or "", one.start, one.end, one.node, one.label),
                *(one.memory_peak_bytes, one.utilization_mean_percent),
            )
            for one in episodes
        ],
    )


def read_episodes(
    connection: sqlite3.Connection,
    start: float,
    end: float,
    *,
    gpu: str | None = None,
    node: str | None = None,
    person: str | None = None,
    around: float | None = None,
    limit: int,
) -> list[Episode]:
    """Episodes that touch a span, or turn nearest to a moment in it; the newest first."""
    if around is not None:
        looked = _Nearest("episodes", _READ_EPISODE, ("start", "stop"), start, around, end, limit)
        found = looked.read(connection, gpu=gpu, node=node, person=person)
        return sorted(map(_episode, found), key=lambda one: one.start, reverse=True)
    where, values = _touching(start, end)
    where, values = _only(where, values, gpu=gpu, node=node, person=person)
    rows = connection.execute(
        f"SELECT {_READ_EPISODE} FROM episodes WHERE {where} ORDER BY start DESC LIMIT ?",  # noqa: S608
        (*values, limit),
    )
    return [_episode(row) for row in rows]


def read_held(
    connection: sqlite3.Connection, gpu: str, start: float, end: float
) -> Iterable[tuple[str, float, float | None, int | None]]:
    """What people ran on a GPU in a span: whose, from when to when, and how much memory it held at most."""
    where, values = _only(*_touching(start, end), gpu=gpu)
    return connection.execute(
        f"SELECT person, start, stop, memory_peak_bytes FROM episodes WHERE {where}",  # noqa: S608
        values,
    )


def read_open_episodes(connection: sqlite3.Connection) -> list[Episode]:
    """Episodes that have no end yet."""
    rows = connection.execute(f"SELECT {_EPISODE} FROM episodes WHERE stop IS NULL")  # noqa: S608
    return [_episode(row) for row in rows]


def write_events(connection: sqlite3.Connection, events: Iterable[Event]) -> None:
    """Write events, in place of what stands there of them."""
    connection.executemany(
        "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?)",
        [(one.node, one.start, one.kind, one.gpu or "", one.end, one.detail) for one in events],
    )


def read_events(
    connection: sqlite3.Connection,
    start: float,
    end: float,
    *,
    node: str | None = None,
    kind: str | None = None,
    around: float | None = None,
    limit: int,
) -> list[Event]:
    """Events that touch a span, or begin nearest to a moment in it; the newest first."""
    if around is not None:
        looked = _Nearest("events", _EVENT, ("start",), start, around, end, limit)
        return sorted(
            map(_event, looked.read(connection, node=node, kind=kind)),
            key=lambda one: one.start,
            reverse=True,
        )
    where, values = _touching(start, end)
    where, values = _only(where, values, node=node, kind=kind)
    rows = connection.execute(
        f"SELECT {_EVENT} FROM events WHERE {where} ORDER BY start DESC LIMIT ?",  # noqa: S608
        (*values, limit),
    )
    return [_event(row) for row in rows]


def read_open_events(connection: sqlite3.Connection) -> list[Event]:
    """Events that have no end yet."""
    return [_event(row) for row in connection.execute(f"SELECT {_EVENT} FROM events WHERE stop IS NULL")]  # noqa: S608


def end_by(connection: sqlite3.Connection, moment: float) -> None:
    """Nothing has ended after a moment: what seemed to, did so then. What began after it has not lasted."""
    connection.execute("DELETE FROM places WHERE start > ?", (moment,))
    connection.execute("UPDATE places SET stop = ? WHERE stop > ?", (moment, moment))
    for table in ("episodes", "events"):
        connection.execute(f"UPDATE {table} SET stop = max(start, ?) WHERE stop > ?", (moment, moment))  # noqa: S608


class _Nearest(NamedTuple):
    """Which rows turn nearest to a moment: so many up to it and after it, by each of some columns."""

    table: str
    columns: str
    turns: tuple[str, ...]
    start: float
    around: float
    end: float
    limit: int

    def read(self, connection: sqlite3.Connection, **wanted: str | None) -> list[tuple[Any, ...]]:
        """Those of what is wanted, each once."""
        found: dict[tuple[Any, ...], None] = {}
        for turn in self.turns:
            for first, last, order in ((self.start, self.around, "DESC"), (self.around, self.end, "ASC")):
                where, values = _only(f"{turn} > ? AND {turn} <= ?", (first, last), **wanted)
                rows = connection.execute(
                    f"SELECT {self.columns} FROM {self.table} WHERE {where} ORDER BY {turn} {order} LIMIT ?",  # noqa: S608
                    (*values, self.limit),
                )
                found.update(dict.fromkeys(rows))
        return list(found)


def _touching(start: float, end: float) -> tuple[str, tuple[object, ...]]:
    # A moment is a span too: what begins or has begun there touches it.
    last = end if end > start else float(start)
    sign = "<" if end > start else "<="
    return f"start {sign} ? AND (stop IS NULL OR stop > ?)", (last, start)


def _only(where: str, values: tuple[object, ...], **wanted: str | None) -> tuple[str, tuple[object, ...]]:
    """Names of our own; what they must be is handed over beside."""
    chosen = {name: value for name, value in wanted.items() if value is not None}
    return " AND ".join([where, *(f"{name} = ?" for name in chosen)]), (*values, *chosen.values())


def _episode(row: tuple[Any, ...]) -> Episode:
    gpu, person, program, start, stop, node, label, memory, utilization, *began_before = row
    return Episode(
        gpu=gpu,
        person=person,
        program=program or None,
        start=start,
        end=stop,
        node=node,
        label=label,
        memory_peak_bytes=memory,
        utilization_mean_percent=utilization,
        began_before=any(began_before),
    )


def _event(row: tuple[Any, ...]) -> Event:
    node, start, kind, gpu, stop, detail = row
    return Event(node=node, start=start, kind=kind, gpu=gpu or None, end=stop, detail=detail)
