"""Sums over the fleet's rows. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from math import inf
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.names import is_part_of_model, place_key
from gpuboard.model.units import fits_size
from gpuboard.model.verdict import Claim, GpuPlace, VerdictWord, is_just_freed
from gpuboard.wire.summary import FreeAnswer, FreeBlock, Holding, ModelSummary, People, Person, Summary
from gpuboard.wire.tally import tally_rows
from gpuboard.wire.views import GpuRow, HolderView, NodeRow

WORDS: Final[tuple[str, ...]] = get_args(VerdictWord)


def summarize(
    nodes: Iterable[NodeRow], gpus: Iterable[GpuRow], *, at: float, sources_unknown: int = 0
) -> Summary:
    """Add up the fleet: of its GPUs those that are counted."""
    nodes = list(nodes)
    rows = [row for row in gpus if row.counted]
    tally = tally_rows(nodes, rows, sources_unknown=sources_unknown)
    models = Counter(row.model for row in rows)
    free = Counter(row.model for row in rows if row.verdict == "free")
    powers = [row.power_watts for row in rows if row.power_watts is not None and row.verdict != "stale"]
    return Summary(
        at=at,
        nodes=len(nodes),
        nodes_live=sum(node.state == "live" for node in nodes),
        nodes_unknown=tally.nodes_unknown,
        sources_unknown=sources_unknown,
        gpus_known=tally.is_known,
        gpus=tally.gpus,
        by_verdict={word: tally.verdicts[word] for word in WORDS},
        by_model=tuple(
            ModelSummary(model=model, gpus=count, free=free[model])
            for model, count in sorted(models.items(), key=lambda item: (-free[item[0]], item[0] or ""))
        ),
        memory_used_bytes=sum(row.memory_used_bytes or 0 for row in rows if not row.memory_unified),
        memory_total_bytes=sum(row.memory_total_bytes or 0 for row in rows if not row.memory_unified),
        power_watts=round(sum(powers), 1),
        gpus_with_power=len(powers),
    )


class _Sum:
    """What adds up for one person."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: list[GpuRow] = []
        self.booked: list[GpuRow] = []
        self.memory = 0
        self.processes = 0

    def hold(self, row: GpuRow, holder: HolderView) -> None:
        """Add one GPU, or one more account on it."""
        if not self.held or self.held[-1] is not row:
            self.held.append(row)
        self.memory += holder.memory_used_bytes or 0
        self.processes += holder.processes

    def person(self, called: "_Called") -> Person:
        """All of it."""
        used = {row.uuid for row in self.held}
        return Person(
            user=self.name,
            gpus=len(self.held),
            idle_gpus=sum(row.verdict == "idle" for row in self.held),
            memory_bytes=self.memory,
            processes=self.processes,
            holdings=_holdings(self.held, called),
            booked_gpus=len(self.booked),
            booked=_holdings(self.booked, called),
            held_gpus=len(used | {row.uuid for row in self.booked if not _is_taken(row)}),
            total_gpus=len(used | {row.uuid for row in self.booked}),
        )


def people_of(gpus: Iterable[GpuRow], *, at: float, nodes: Iterable[NodeRow] = ()) -> People:
    """Everybody who holds a GPU that is counted, on a live node, or has booked one; the heaviest first."""
    sums: dict[str, _Sum] = {}
    rows = [row for row in gpus if row.counted]
    for row in rows:
        for user in _users(row):
            sums.setdefault(user.name.casefold(), _Sum(user.name)).hold(row, user)
    for row in rows:
        if row.claim is not None and row.claim.who is not None and not row.claim.is_unverified:
            sums.setdefault(row.claim.who.casefold(), _Sum(row.claim.who)).booked.append(row)
    called = _called(nodes)
    people = [one.person(called) for one in sums.values()]
    people.sort(key=lambda person: (-person.held_gpus, -person.gpus, -person.memory_bytes, person.user))
    return People(at=at, tier="names", people=tuple(people))


def _users(row: GpuRow) -> tuple[HolderView, ...]:
    """Who is on a GPU: what a silent node said last is no news of it; a booking holds all the same."""
    return () if row.verdict == "stale" else row.users or ()


def _is_taken(row: GpuRow) -> bool:
    """Whether somebody uses what is booked; a display server there leaves it booked."""
    return row.verdict != "booked" and bool(_users(row))


# What people call nodes, by the nodes' own names.
_Called = Mapping[str, str | None]


def _called(nodes: Iterable[NodeRow]) -> _Called:
    return {node.name: node.display_name for node in nodes}


def _holdings(rows: list[GpuRow], called: _Called) -> tuple[Holding, ...]:
    by_node: dict[str, list[GpuRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.node, *place_key(row.label))):
        by_node[row.node].append(row)
    return tuple(
        Holding(
            node=node,
            display_name=called.get(node),
            labels=tuple(row.label for row in mine),
            indexes=tuple(row.index for row in mine),
            uuids=tuple(row.uuid for row in mine),
        )
        for node, mine in by_node.items()
    )


# Why a GPU is unknown that nobody is on, as its node says: it may be booked.
_BOOKINGS_UNREAD: Final = frozenset({"bookings-unread", "number-unread"})


class Wish(Struct, frozen=True, kw_only=True):
    """What somebody looks for."""

    gpus: int = 1
    # The size on the box, of each GPU.
    memory_bytes: int = 0
    model: str | None = None
    same_node: bool = False

    def fits(self, row: GpuRow) -> bool:
        """Whether a GPU is of the wanted kind and one of those that are counted."""
        if not row.counted or not self._is_of_model(row):
            return False
        return fits_size(row.memory_total_bytes, self.memory_bytes)

    def _is_of_model(self, row: GpuRow) -> bool:
        """Whether its model has the wanted part in its name, as people or as the driver says it."""
        return not self.model or is_part_of_model(self.model, row.model, row.driver_model)


# When the first booking to come of a GPU begins; None: none is to come.
BookedFrom = Callable[[GpuPlace], float | None]
# Whoever takes a GPU that is booked sooner has hardly begun: others are offered first.
BOOKED_SOON_SECONDS: Final = 4 * 3600.0


def find_free(
    nodes: Iterable[NodeRow],
    gpus: Iterable[GpuRow],
    wish: Wish,
    *,
    at: float,
    booked_from: BookedFrom = lambda _: None,
    sources_unknown: int = 0,
) -> FreeAnswer:
    """Where the wish can be met now: best fit first.

    That is the smallest block that suffices, so that small jobs leave whole nodes whole; then what is too
    small alone, the largest first. What was just freed or is booked soon comes last, and counts only where
    nothing else is.
    """
    nodes = list(nodes)
    blocks: dict[tuple[str, str | None], list[GpuRow]] = defaultdict(list)
    unsure: Counter[tuple[str, str | None]] = Counter()
    unread = 0
    for row in filter(wish.fits, gpus):
        if row.verdict == "free":
            blocks[row.node, row.model].append(row)
        elif row.verdict in ("stale", "unknown"):
            unsure[row.node, row.model] += 1
            unread += row.reason.code in _BOOKINGS_UNREAD
    soon = {row.uuid for block in blocks.values() for row in block if _is_booked_soon(row, booked_from, at)}
    ranked = sorted(
        blocks, key=lambda block: (*_rank(blocks[block], wish, at, soon), block[0], block[1] or "")
    )
    rows = {node.name: node for node in nodes}
    found = [
        _of_node(_block(node, model, blocks[node, model], at, soon), rows.get(node)) for node, model in ranked
    ]
    free = sum(len(block.uuids) for block in found)
    best = max((len(block.uuids) for block in found), default=0)
    unknown = sum(not node.gpus_known for node in nodes)
    is_enough = (best if wish.same_node else free) >= wish.gpus
    most = _most(found, unsure, same_node=wish.same_node)
    could_be_enough = unknown + sources_unknown > 0 or most >= wish.gpus
    if wish.same_node and is_enough:
        # Whoever takes one of the list has what he wants; only where there is none the rest is told.
        found = [block for block in found if len(block.uuids) >= wish.gpus]
    return FreeAnswer(
        at=at,
        enough=is_enough,
        wanted=wish.gpus,
        free=free,
        cannot_tell=unsure.total(),
        bookings_unread=unread,
        nodes_unknown=unknown,
        sources_unknown=sources_unknown,
        could_be_enough=could_be_enough,
        blocks=tuple(_chosen(found, wish.gpus)),
    )


def with_ends(blocks: Iterable[FreeBlock], booked_from: BookedFrom) -> tuple[FreeBlock, ...]:
    """Blocks with until when nobody has booked what is to be taken of them, as `booked_from` knows."""
    return tuple(replace(block, free_until=_first_booking(block, booked_from)) for block in blocks)


def _is_booked_soon(row: GpuRow, booked_from: BookedFrom, at: float) -> bool:
    # Who books an instance books its card, whose number comes first.
    start = booked_from((row.node, place_key(row.label)[0]))
    return start is not None and start < at + BOOKED_SOON_SECONDS


def _first_booking(block: FreeBlock, booked_from: BookedFrom) -> float | None:
    # Who books an instance books its card, whose number comes first.
    places = [(block.node, place_key(label)[0]) for label in block.labels[: block.chosen]]
    starts = map(booked_from, dict.fromkeys(places))
    return min((start for start in starts if start is not None), default=None)


def fits_next(
    gpus: Iterable[GpuRow], wish: Wish, claims_on: Callable[[GpuPlace], Iterable[Claim]], *, at: float
) -> tuple[float, str | None] | None:
    """When bookings that end leave enough for a wish, and on which node, None if on several.

    Only what is free or booked counts, by all its claims, now and later: when others leave, nobody knows.
    """
    changes: dict[tuple[str, str | None], Counter[float]] = defaultdict(Counter)
    for row in filter(wish.fits, gpus):
        if row.verdict in ("free", "booked"):
            for moment, change in _changes(claims_on((row.node, place_key(row.label)[0])), at):
                changes[row.node, row.model][moment] += change
    moments = [(first_with(each, wish.gpus), node) for (node, _), each in changes.items()]
    on_one = min(moments, default=(inf, ""))
    together: Counter[float] = Counter()
    for each in () if wish.same_node else changes.values():
        together.update(each)
    on_several = first_with(together, wish.gpus)
    if on_several < on_one[0]:
        return on_several, None
    return None if on_one[0] == inf else on_one


def _changes(claims: Iterable[Claim], at: float) -> Iterator[tuple[float, int]]:
    """When a GPU with these claims is there to be taken (1), and when no longer (-1)."""
    free_from = at
    for claim in sorted(claims, key=lambda claim: claim.start or 0.0):
        start = claim.start or 0.0
        if start > free_from:
            yield free_from, 1
            yield start, -1
        if claim.until is None:
            return
        free_from = max(free_from, claim.until)
    yield free_from, 1


def first_with(changes: Mapping[float, int], wanted: int) -> float:
    """The first moment at which so many are there; `inf`: there is none."""
    there = 0
    for moment in sorted(changes):
        there += changes[moment]
        if there >= wanted:
            return moment
    return inf


def _of_node(block: FreeBlock, node: NodeRow | None) -> FreeBlock:
    """A block with what its node says of all of its GPUs."""
    if node is None:
        return block
    return replace(block, display_name=node.display_name, numbers_known=node.numbers_known)


def _rank(
    rows: list[GpuRow], wish: Wish, at: float, soon: Container[str]
) -> tuple[bool, bool, int, float, float]:
    """The best fit first: by number, then by memory, then the longest free."""
    settled = [row for row in rows if not is_just_freed(row.since, at) and row.uuid not in soon]
    offered = settled or rows
    is_short = len(offered) < wish.gpus
    size = -len(offered) if is_short else len(offered)
    memory = min((row.memory_total_bytes for row in rows if row.memory_total_bytes is not None), default=inf)
    return not settled, is_short, size, memory, max(row.since or 0.0 for row in offered)


def _chosen(blocks: list[FreeBlock], wanted: int) -> Iterator[FreeBlock]:
    """How many to take of each: all that is wanted, or what those before have left of it."""
    left = wanted
    for block in blocks:
        size = len(block.uuids)
        if size >= wanted:
            yield replace(block, chosen=wanted)
            continue
        taken = min(size, left)
        left -= taken
        yield replace(block, chosen=taken)


def _most(blocks: list[FreeBlock], unsure: Counter[tuple[str, str | None]], *, same_node: bool) -> int:
    """How many GPUs it would be if all that cannot be judged were free."""
    possible = Counter(unsure)
    for block in blocks:
        possible[block.node, block.model] += len(block.uuids)
    if not same_node:
        return possible.total()
    # What is taken together is of one model, as offers are; one that is not known may be any.
    return max(
        (
            count + (unsure[node, None] if model is not None else 0)
            for (node, model), count in possible.items()
        ),
        default=0,
    )


def _block(node: str, model: str | None, rows: list[GpuRow], at: float, soon: Container[str]) -> FreeBlock:
    fresh = {row.uuid for row in rows if is_just_freed(row.since, at)}
    rows = sorted(rows, key=lambda row: (row.uuid in fresh, row.uuid in soon, *place_key(row.label)))
    sizes = [row.memory_total_bytes for row in rows if row.memory_total_bytes is not None]
    return FreeBlock(
        node=node,
        model=model,
        labels=tuple(row.label for row in rows),
        indexes=tuple(row.index for row in rows),
        uuids=tuple(row.uuid for row in rows),
        memory_total_bytes=min(sizes) if sizes else None,
        just_freed=len(fresh),
    )
