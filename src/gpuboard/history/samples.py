"""What nodes say as samples of the history. Pure."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Final

from msgspec import Struct

from gpuboard.fleet.views import fullest_percent, load_percent
from gpuboard.history.figures import GPU_MEASURED, VERDICT_CODES
from gpuboard.history.records import GpuSamples, packed
from gpuboard.model.names import holder_name
from gpuboard.model.node import LATE_AFTER_INTERVALS
from gpuboard.model.report import GpuReading, HostFacts
from gpuboard.model.verdict import Verdict
from gpuboard.verdict import Holder
from gpuboard.verdict.judge import SLOWDOWNS

# Of longer names so many letters are kept, and of more people on one GPU so many: nodes may say anything.
MAX_NAME_LETTERS: Final = 64
MAX_PEOPLE: Final = 16
OTHERS: Final = "others"

Names = tuple[str, ...]
HostNumbers = tuple[float | None, ...]

# A GPU's reading has them under the same names.
_measured: Final = attrgetter(*GPU_MEASURED)
_uuid: Final = attrgetter("uuid")
_reasons: Final = attrgetter("throttle_reasons")


class Told(Struct, frozen=True, gc=False):
    """The figures of one report: taken out while it is at hand, since by the next tick it is far away."""

    # What the node calls its GPUs.
    uuids: Names
    # As in `GpuSamples`.
    figures: bytes
    throttled: tuple[bool | None, ...]
    # As in `HostSample`.
    host: HostNumbers | None


def told_of(readings: Sequence[GpuReading], host: HostFacts | None) -> Told:
    """The figures of these GPUs and of the machine around them."""
    return Told(
        tuple(map(_uuid, readings)),
        packed(chain.from_iterable(map(_measured, readings)), len(GPU_MEASURED) * len(readings)),
        _throttled(list(map(_reasons, readings))),
        None if host is None else host_numbers(host),
    )


def _throttled(reasons: list[tuple[str, ...] | None]) -> tuple[bool | None, ...]:
    # Most have no reason at all.
    if not any(reasons) and None not in reasons:
        return _never(len(reasons))
    return tuple([None if one is None else not SLOWDOWNS.isdisjoint(one) for one in reasons])


@cache
def _never(count: int) -> tuple[bool, ...]:
    # One for all: what waits in thousands is looked through for cycles.
    return (False,) * count


def codes_of(verdicts: Iterable[Verdict | None]) -> list[int | None]:
    """Verdicts as numbers."""
    return [None if verdict is None else VERDICT_CODES[verdict.word] for verdict in verdicts]


def absent(gpus: Names, at_ms: int) -> GpuSamples:
    """That GPUs are missing in a report: what was known of them holds no longer."""
    nothing = (None,) * len(gpus)
    return GpuSamples(gpus, at_ms, 0, packed(nothing * len(GPU_MEASURED)), nothing, nothing, nothing)


def host_numbers(host: HostFacts) -> HostNumbers:
    """What the machine around the GPUs said, in the order of `figures.HOST_NUMBERS`."""
    return load_percent(host), host.memory_used_bytes, host.memory_total_bytes, fullest_percent(host)


def holds_ms(interval_seconds: float) -> int:
    """For how long a sample of a node holds if no other follows."""
    return round(1000 * LATE_AFTER_INTERVALS * interval_seconds)


def names_of(people: Iterable[Holder] | None) -> Names | None:
    """The people on a GPU, each once, in order; None where they are unknown."""
    if people is None:
        return None
    names = [short_name(holder_name(one.user, one.uid)) for one in people]
    # Nearly always: nobody, or one.
    if len(names) <= 1:
        return tuple(names)
    found = dict.fromkeys(names)
    if len(found) > MAX_PEOPLE:
        # Whoever holds the most comes first.
        found = dict.fromkeys([*list(found)[: MAX_PEOPLE - 1], OTHERS])
    return tuple(sorted(found))


def names_noted(names: Names | None, verdict: Verdict | None, claimant: str | None) -> Names | None:
    """Who is noted of a GPU: the people on it; of one that is booked and unused, who has claimed it."""
    if verdict is None or verdict.word != "booked" or claimant is None:
        return names
    return (short_name(claimant),)


def short_name(name: str) -> str:
    """A name no longer than it is kept."""
    return name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…"
