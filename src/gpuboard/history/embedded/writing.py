"""A batch, as part of one transaction: samples into the tail, everything else into its table."""

import sqlite3
from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec.structs import astuple

from gpuboard.history.base import OLDEST_SAMPLE_SECONDS
from gpuboard.history.embedded import notes
from gpuboard.history.embedded.chunks import HOLDERS, PLACES
from gpuboard.history.embedded.names import Names
from gpuboard.history.embedded.samples import columns
from gpuboard.history.embedded.tail import Tail
from gpuboard.history.figures import GPU_MEASURED, GPU_NUMBERS, NOTHING
from gpuboard.history.grid import Samples, join
from gpuboard.history.records import Batch, GpuSamples, HostSample, Written


def put_batch(
    connection: sqlite3.Connection, names: Names, tail: Tail, batch: Batch, *, now: float
) -> Written:
    """Write all of a batch."""
    overfull = set()
    for place in batch.places:
        if names.give_series(connection, "gpu", place.gpu, place.node, now=now) is None:
            overfull.add(place.node)
        else:
            notes.write_place(connection, place)
    gpus = _gpu_columns(connection, names, batch.gpu_samples, now)
    hosts = _host_columns(connection, names, batch.host_samples, now)
    tail.write(connection, {"gpu": gpus, "host": hosts}, now=now)
    notes.write_positions(connection, batch.positions, batch.positions_gone)
    notes.write_memories(connection, batch.memories, batch.memories_gone)
    notes.write_episodes(connection, batch.episodes)
    notes.write_events(connection, batch.events)
    handed = sum(len(one.gpus) for one in batch.gpu_samples) + len(batch.host_samples)
    return Written(overfull=frozenset(overfull), refused=handed - len(gpus) - len(hosts))


def _gpu_columns(
    connection: sqlite3.Connection, names: Names, samples: Sequence[GpuSamples], now: float
) -> Samples:
    if not samples:
        return join([], PLACES["gpu"])
    gpus, moments, holds, figures, throttled, verdicts, holders = zip(*map(astuple, samples), strict=True)
    counts = list(map(len, gpus))
    told = np.empty((len(GPU_NUMBERS), sum(counts)))
    measured = len(GPU_MEASURED)
    told[:measured] = np.frombuffer(b"".join(figures)).reshape(-1, measured).T
    # numpy makes a NaN of None by itself, and faster than anything else could.
    told[measured] = np.fromiter(chain.from_iterable(throttled), np.float64)
    told[measured + 1] = np.fromiter(chain.from_iterable(verdicts), np.float64)
    found = columns(
        "gpu",
        list(chain.from_iterable(map(names.gpu_numbers, gpus))),
        np.repeat(np.array(moments, np.int64), counts),
        np.repeat(np.array(holds, np.int64), counts),
        told,
    )
    found.figures[HOLDERS] = np.array(_crowds(connection, names, gpus, holders, now), np.int32)
    return _acceptable(found, now)


def _crowds(
    connection: sqlite3.Connection,
    names: Names,
    gpus: Sequence[tuple[str, ...]],
    holders: Sequence[tuple[tuple[str, ...] | None, ...]],
    now: float,
) -> list[int]:
    """The numbers of the people on each GPU."""
    known, people = names.crowds, list(chain.from_iterable(holders))
    found = [NOTHING if crowd is None else known.get(crowd, -1) for crowd in people]
    used = set(found)
    # Nearly all have been there before; only for the few others it is worth a look.
    if -1 in used:
        every = list(chain.from_iterable(gpus))
        for place in [place for place, number in enumerate(found) if number == -1]:
            found[place] = names.give_crowd(connection, people[place] or (), every[place], now=now)
        used = set(found)
    names.note_use(connection, used, now=now)
    return found


def _host_columns(
    connection: sqlite3.Connection, names: Names, samples: Sequence[HostSample], now: float
) -> Samples:
    if not samples:
        return join([], PLACES["host"])
    nodes, moments, holds, numbers = zip(*map(astuple, samples), strict=True)
    for node in set(nodes) - names.series["host"].keys():
        names.give_series(connection, "host", node, node, now=now)
    known = names.series["host"]
    told = np.array(numbers, np.float64).T
    return _acceptable(columns("host", [known[node] for node in nodes], moments, holds, told), now)


def _acceptable(samples: Samples, now: float) -> Samples:
    """Those of known series that are not too old; what is in the future is now."""
    now_ms = int(now * 1000)
    is_wanted = (samples.series >= 0) & (samples.at_ms >= now_ms - int(OLDEST_SAMPLE_SECONDS * 1000))
    np.minimum(samples.at_ms, now_ms, out=samples.at_ms)
    return samples if is_wanted.all() else samples.take(is_wanted)
