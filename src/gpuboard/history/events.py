"""What befalls nodes and GPUs: states that are trouble, and problems, from when to when."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from gpuboard.fleet.changes import Change
from gpuboard.history.bounds import EVENTS_AN_HOUR, EVENTS_AT_ONCE, Allowance
from gpuboard.history.hindsight import OF_THE_RECORD
from gpuboard.history.records import Event
from gpuboard.wire.views import NodeRow

# Live is as it should be, and of one that was never heard nothing is known.
STATES: Final = frozenset({"late", "lost", "refused", "error"})
# What nodes write, no longer than this.
MAX_KIND_LETTERS: Final = 64
MAX_DETAIL_LETTERS: Final = 300
# What a node says to last for longer is believed from here on.
OLDEST_SECONDS: Final = 30 * 86400.0
# So many things at once are told of one node.
MAX_OPEN: Final = 64

# Which GPU, if it is about one, and what.
Key = tuple[str | None, str]


class Events:
    """Follows the rows of the fleet; what begins and ends waits here to be written."""

    def __init__(self) -> None:
        self._open: dict[str, dict[Key, Event]] = {}
        # When an earlier run of the board heard of each node last that has not been heard since.
        self._heard: dict[str, float] = {}
        self._allowance = Allowance(EVENTS_AT_ONCE, EVENTS_AN_HOUR)
        self._news: list[Event] = []

    def restore(self, events: Iterable[Event], heard: Mapping[str, float]) -> None:
        """Go on with what lasted when an earlier run of the board ended, which heard of each node then."""
        self._heard = dict(heard)
        for event in events:
            self._open.setdefault(event.node, {})[event.gpu, event.kind] = event

    def follow(self, change: Change) -> None:
        """Take in one tick."""
        for row in change.nodes:
            # Most differ by their figures alone.
            if (
                row.name in change.nodes_before
                or row.problems
                or row.name in self._open
                or row.state in STATES
            ):
                self._compare(row, change.nodes_before.get(row.name), change.at)
        for name in change.gone_nodes:
            self._heard.pop(name, None)
            for event in self._open.pop(name, {}).values():
                self._news.append(replace(event, end=max(event.start, change.at)))

    def take_news(self) -> list[Event]:
        """What is to be written, in order."""
        news, self._news = self._news, []
        return news

    def set_back(self, now: float) -> None:
        """What lasts since a moment that has not been yet lasts since now."""
        for here in self._open.values():
            for key, event in here.items():
                if event.start > now:
                    here[key] = replace(event, start=now)
                    self._news += [replace(event, end=event.start), here[key]]

    def tell_again(self) -> list[Event]:
        """All that lasts, for a history that has forgotten it."""
        return [event for here in self._open.values() for event in here.values()]

    def _compare(self, row: NodeRow, row_before: NodeRow | None, at: float) -> None:
        if row.state == "never":
            # After a restart of the board: whether it lasts still, nobody can tell yet.
            return
        before = self._open.get(row.name, {})
        now = dict(_found(row, self._seen_before(row, row_before, at), at))
        for key in before.keys() - now.keys():
            event = before.pop(key)
            self._news.append(replace(event, end=max(event.start, at)))
        for key, event in now.items():
            if key not in before and len(before) < MAX_OPEN and self._allowance.admits(row.name, at):
                before[key] = event
                self._news.append(event)
        if before:
            self._open[row.name] = before
        else:
            self._open.pop(row.name, None)

    def _seen_before(self, row: NodeRow, row_before: NodeRow | None, at: float) -> float:
        """When a node was observed before it is as it is now; of one that is new, when it was first."""
        heard = self._heard.pop(row.name, None)
        seen = heard if row_before is None or row_before.sampled_at is None else row_before.sampled_at
        if seen is None:
            seen = row.sampled_at
        return at if seen is None else seen


def _found(row: NodeRow, seen_before: float, at: float) -> Iterator[tuple[Key, Event]]:
    if row.state in STATES:
        detail = None if row.reason is None else row.reason.text[:MAX_DETAIL_LETTERS]
        yield (None, row.state), Event(node=row.name, kind=row.state, start=at, detail=detail)
    for problem in row.problems:
        kind, detail = problem.kind[:MAX_KIND_LETTERS], problem.detail
        if kind in OF_THE_RECORD:
            continue
        # Whatever its node says: when it was looked at before, nothing was wrong yet.
        oldest = max(seen_before, at - OLDEST_SECONDS)
        since = at if problem.since is None else min(at, max(problem.since, oldest))
        event = Event(
            node=row.name,
            gpu=problem.gpu_uuid,
            kind=kind,
            start=since,
            detail=None if detail is None else detail[:MAX_DETAIL_LETTERS],
        )
        yield (problem.gpu_uuid, kind), event
