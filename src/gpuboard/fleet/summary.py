"""Sums over the fleet's rows. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final, get_args

from msgspec import Struct

from gpuboard.model.verdict import Word
from gpuboard.wire.summary import FreeAnswer, FreeBlock, Holding, ModelSummary, People, Person, Summary
from gpuboard.wire.views import GpuRow, NodeRow

WORDS: Final[tuple[str, ...]] = get_args(Word)


def summarize(nodes: Iterable[NodeRow], gpus: Iterable[GpuRow], *, at: float) -> Summary:
    """Add up the fleet: of its GPUs those that are counted."""
    nodes = list(nodes)
    rows = [row for row in gpus if row.counted]
    verdicts = Counter[str](row.verdict for row in rows)
    models = Counter(row.model for row in rows)
    free = Counter(row.model for row in rows if row.verdict == "free")
    powers = [row.power_watts for row in rows if row.power_watts is not None and row.verdict != "stale"]
    return Summary(
        at=at,
        nodes=len(nodes),
        nodes_live=sum(node.state == "live" for node in nodes),
        gpus=len(rows),
        by_verdict={word: verdicts[word] for word in WORDS},
        by_model=tuple(
            ModelSummary(model=model, gpus=count, free=free[model])
            for model, count in sorted(models.items(), key=lambda item: (-free[item[0]], item[0] or ""))
        ),
        memory_used_bytes=sum(row.memory_used_bytes or 0 for row in rows if not row.memory_unified),
        memory_total_bytes=sum(row.memory_total_bytes or 0 for row in rows if not row.memory_unified),
        power_watts=round(sum(powers), 1),
        gpus_with_power=len(powers),
    )


def people_of(gpus: Iterable[GpuRow], *, at: float) -> People:
    """Everybody who holds a GPU on a live node, the heaviest first."""
    held: dict[str, list[GpuRow]] = defaultdict(list)
    memory: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    for row in gpus:
        if row.verdict == "stale":
            continue
        for user in row.users or ():
            name = user.name
            if not held[name] or held[name][-1] is not row:
                held[name].append(row)
            memory[name] += user.memory_used_bytes or 0
            processes[name] += user.processes
    people = [
        Person(
            user=name,
            gpus=len(rows),
            idle_gpus=sum(row.verdict == "idle" for row in rows),
            memory_bytes=memory[name],
            processes=processes[name],
            holdings=_holdings(rows),
        )
        for name, rows in held.items()
    ]
    people.sort(key=lambda person: (-person.gpus, -person.memory_bytes, person.user))
    return People(at=at, tier="names", people=tuple(people))


def _holdings(rows: list[GpuRow]) -> tuple[Holding, ...]:
    by_node: dict[str, list[GpuRow]] = defaultdict(list)
    for row in rows:
        by_node[row.node].append(row)
    return tuple(
        Holding(
            node=node,
            labels=tuple(row.label for row in sorted(mine, key=lambda row: row.index)),
            indexes=tuple(row.index for row in sorted(mine, key=lambda row: row.index)),
            uuids=tuple(row.uuid for row in sorted(mine, key=lambda row: row.index)),
        )
        for node, mine in sorted(by_node.items())
    )


class Wish(Struct, frozen=True, kw_only=True):
    """What somebody looks for."""

    gpus: int = 1
    memory_bytes: int = 0
    model: str | None = None
    same_node: bool = False

    def fits(self, row: GpuRow) -> bool:
        """Whether a GPU is of the wanted kind; unknown memory does not fit a wish for memory."""
        if self.model and self.model.lower() not in (row.model or "").lower():
            return False
        return self.memory_bytes <= 0 or (row.memory_total_bytes or 0) >= self.memory_bytes


def find_free(gpus: Iterable[GpuRow], wish: Wish, *, at: float) -> FreeAnswer:
    """Where the wish can be met now: the largest blocks of one node first."""
    blocks: dict[tuple[str, str | None], list[GpuRow]] = defaultdict(list)
    cannot_tell = 0
    for row in gpus:
        if not wish.fits(row):
            continue
        if row.verdict == "free":
            blocks[row.node, row.model].append(row)
        elif row.verdict in ("stale", "unknown"):
            cannot_tell += 1
    found = sorted(blocks.items(), key=lambda item: (-len(item[1]), item[0][0], item[0][1] or ""))
    free = sum(len(rows) for _, rows in found)
    largest = max((len(rows) for _, rows in found), default=0)
    return FreeAnswer(
        at=at,
        enough=(largest if wish.same_node else free) >= wish.gpus,
        wanted=wish.gpus,
        free=free,
        cannot_tell=cannot_tell,
        blocks=tuple(_block(node, model, rows) for (node, model), rows in found),
    )


def _block(node: str, model: str | None, rows: list[GpuRow]) -> FreeBlock:
    rows = sorted(rows, key=lambda row: row.index)
    sizes = [row.memory_total_bytes for row in rows if row.memory_total_bytes is not None]
    return FreeBlock(
        node=node,
        model=model,
        labels=tuple(row.label for row in rows),
        indexes=tuple(row.index for row in rows),
        uuids=tuple(row.uuid for row in rows),
        memory_total_bytes=min(sizes) if sizes else None,
    )
