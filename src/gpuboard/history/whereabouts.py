"""Where each GPU is, told to the history when it is first seen, when that changes and when it is gone."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from gpuboard.fleet.changes import Change
from gpuboard.fleet.counting import GpuTag
from gpuboard.fleet.names import Names
from gpuboard.history.base import OLDEST_SAMPLE_SECONDS
from gpuboard.history.judged import Judged
from gpuboard.history.records import Place
from gpuboard.wire.views import GpuRow

# As long as a node that is away is remembered by default; then what an earlier run knew is over.
STRANGERS_SECONDS: Final = 24 * 3600.0
# GPUs that are told of afterwards only; so many are kept in mind.
MOST_PASSING: Final = 4096

# When a GPU was seen last where it is; None: nobody can tell.
SeenAt = Callable[[Place], float | None]

_start: Final = attrgetter("start")
_told: Final = attrgetter(
    "node", "index", "label", "counted", "model", "mig_parent_uuid", "memory_total_bytes"
)


class Whereabouts:
    """Follows the rows of the fleet; what is new waits here to be written."""

    def __init__(self) -> None:
        # By GPU, where it is now; and since when in that node, where that is earlier.
        self._here: dict[str, Place] = {}
        self._earlier: dict[str, float] = {}
        # GPUs that were told of afterwards only, and that no row shows.
        self._passing: dict[str, Place] = {}
        # GPUs that an earlier run of the board had and that have not come since.
        self._strangers: set[str] = set()
        self._started_at = 0.0
        # What waits to be written; and of GPUs that came anew, where in it.
        # By GPU, what its row said of that last.
        self._rows: dict[str, tuple[object, ...]] = {}
        self._news: list[Place] = []
        self._new: dict[str, int] = {}

    def restore(self, places: Iterable[Place], now: float) -> None:
        """Go on with what an earlier run of the board knew."""
        for place in sorted(places, key=_start):
            if place.start > now:
                self._take_back(place)
            # An end that is still to come was told by a clock that was ahead, too.
            here = self._here[place.gpu] = replace(place, start=min(place.start, now), end=None)
            if here != place:
                self._news.append(here)
        self._strangers, self._started_at = set(self._here), now

    def __len__(self) -> int:
        return len(self._here)

    def node_of(self, gpu: str) -> str | None:
        """The node in which a GPU is now, or was when it was told of last."""
        place = self._here.get(gpu) or self._passing.get(gpu)
        return None if place is None else place.node

    def label_of(self, gpu: str) -> str | None:
        """The number that people say of a GPU."""
        place = self._here.get(gpu)
        return None if place is None else place.label

    def follow(self, change: Change, seen_at: SeenAt) -> list[str]:
        """Take in one tick; return the GPUs that are gone: these were there until they were seen last."""
        known = self._rows
        for row in change.gpus:
            told = _told(row)
            # Nearly all are where they were.
            if known.get(row.uuid) != told:
                known[row.uuid] = told
                self._see(row, change.at)
        gone = [gpu for gpu in change.gone_gpus if gpu in self._here]
        if self._strangers and change.at - self._started_at >= STRANGERS_SECONDS:
            gone += self._strangers
        elif self._strangers and change.gone_nodes:
            left = set(change.gone_nodes)
            gone += [gpu for gpu in self._strangers if self._here[gpu].node in left]
        for gpu in gone:
            self._end(gpu, change.at, seen_at)
        if self._passing:
            self._forget_passing(change.at)
        return gone

    def _forget_passing(self, now: float) -> None:
        # Nothing that is older is taken any more; nor anything from a future that a clock has left.
        for gpu, place in list(self._passing.items()):
            if abs(now - place.start) > 2 * OLDEST_SAMPLE_SECONDS:
                del self._passing[gpu]

    def see(self, node: str, one: Judged, names: Names, at: float) -> None:
        """Hear of a GPU by its sample, which may be older than all that is known of it."""
        gpu = one.reading.uuid
        here = self._here.get(gpu)
        if here is None:
            self._see_passing(node, one, names, at)
        elif here.node != node or self._earlier.get(gpu, here.start) <= at:
            return
        elif gpu in self._new:
            self._here[gpu] = self._news[self._new[gpu]] = replace(here, start=at)
        else:
            self._earlier[gpu] = at
            self._news.append(replace(here, start=at, end=here.start))

    def _see_passing(self, node: str, one: Judged, names: Names, at: float) -> None:
        """Hear of a GPU that the fleet has never shown: it was there from its first sample to its last."""
        reading, tag = one.reading, one.tag or GpuTag(str(one.reading.index), counted=True)
        known = self._passing.get(reading.uuid)
        if known is not None and known.node == node and known.start <= at:
            place = replace(known, end=max(at, known.end or at))
        else:
            place = Place(
                gpu=reading.uuid,
                node=node,
                index=reading.index,
                label=tag.label,
                parent=reading.mig_parent_uuid,
                model=names.model(reading),
                memory_total_bytes=reading.memory_total_bytes,
                counted=tag.counted,
                start=at,
                end=at,
            )
        # Told of again it is the newest; of very many, those told of first are forgotten.
        self._passing.pop(reading.uuid, None)
        self._passing[reading.uuid] = place
        if len(self._passing) > MOST_PASSING:
            del self._passing[next(iter(self._passing))]
        if place.start < at:
            self._news.append(place)

    def take_news(self) -> list[Place]:
        """What is to be written, in order."""
        news, self._news, self._new = self._news, [], {}
        return news

    def set_back(self, now: float) -> None:
        """What is somewhere since a moment that has not been yet is there since now."""
        for gpu, place in self._here.items():
            if place.start > now:
                self._take_back(place)
                self._here[gpu] = replace(place, start=now)
                self._news.append(self._here[gpu])
        self._earlier = {gpu: at for gpu, at in self._earlier.items() if at <= now}
        self._started_at = min(self._started_at, now)

    def _take_back(self, place: Place) -> None:
        """Nothing was there: it ends as it begins."""
        self._new.pop(place.gpu, None)
        self._news.append(replace(place, end=place.start))

    def tell_again(self) -> list[Place]:
        """Where all GPUs are, for a history that has forgotten it."""
        return list(self._here.values())

    def _see(self, row: GpuRow, at: float) -> None:
        here = self._here.get(row.uuid)
        if self._strangers:
            self._strangers.discard(row.uuid)
        if here is not None and _is_same(here, row):
            return
        place = Place(
            gpu=row.uuid,
            node=row.node,
            index=row.index,
            label=row.label,
            parent=row.mig_parent_uuid,
            model=row.model,
            # A card that says nothing at the moment has not lost its memory.
            memory_total_bytes=row.memory_total_bytes or (here.memory_total_bytes if here else None),
            counted=row.counted,
            start=at,
        )
        passing = self._passing.pop(row.uuid, None)
        if here is None and passing is not None and passing.node == row.node:
            place = replace(place, start=min(at, passing.start))
        self._here[row.uuid] = place
        if here is None or here.node != row.node:
            self._earlier.pop(row.uuid, None)
        if here is None and passing is None:
            self._new[row.uuid] = len(self._news)
        else:
            self._new.pop(row.uuid, None)
        self._news.append(place)

    def _end(self, gpu: str, now: float, seen_at: SeenAt) -> None:
        self._strangers.discard(gpu)
        self._new.pop(gpu, None)
        self._rows.pop(gpu, None)
        self._earlier.pop(gpu, None)
        place = self._here.pop(gpu, None)
        if place is not None:
            at = seen_at(place)
            self._news.append(replace(place, end=now if at is None else min(now, at)))


def _is_same(place: Place, row: GpuRow) -> bool:
    return (
        place.node == row.node
        and place.label == row.label
        and place.index == row.index
        and place.counted == row.counted
        and place.model == row.model
        and place.parent == row.mig_parent_uuid
        and (row.memory_total_bytes is None or place.memory_total_bytes == row.memory_total_bytes)
    )
