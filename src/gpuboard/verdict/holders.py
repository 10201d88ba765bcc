"""Who is on a GPU: its processes added up per person."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from gpuboard.model.identity import is_system_account
from gpuboard.model.report import GpuProcess, GpuReading
from gpuboard.model.verdict import Claim
from gpuboard.verdict.thresholds import Thresholds

# The person behind an account; the account itself where the admin says nothing of it.
PersonOf = Callable[[str], str]
# Below are accounts of the system.
FIRST_PERSON_UID: Final = 1000
_DEFAULTS: Final = Thresholds()


class Holder(Struct, frozen=True, gc=False):
    """One person on one GPU; user None means that no name is known."""

    user: str | None
    uid: int | None
    memory_used_bytes: int | None
    since: float | None
    processes: int
    # Those of them whose memory is known: the sum is of these.
    measured: int
    # The account behind a name that the admin gave, the first of several; None where it is the name itself.
    account: str | None = None
    # Whether one of them lives, and is more than a display server that holds next to nothing.
    is_on: bool = True


def is_alive(process: GpuProcess) -> bool:
    """Whether a process still runs; where the state is unknown it counts as running."""
    return process.state not in ("gone", "zombie")


def is_working(process: GpuProcess) -> bool:
    """Whether a process makes its GPU a used one; a display server does not, an unknown kind may."""
    # Both in one: asked of every process at every tick.
    return process.state not in ("gone", "zombie") and process.kind != "graphics"


def is_worked_on(gpu: GpuReading) -> bool | None:
    """Whether somebody computes on a GPU; None where processes are unknown."""
    if gpu.processes is None:
        return None
    for process in gpu.processes:
        # As above, and not asked there: this is about every GPU of every report.
        if process.state not in ("gone", "zombie") and process.kind != "graphics":
            return True
    return False


def is_somebody(holder: Holder) -> bool:
    """Whether a holder is a person; a container often runs as root or as a number without a name."""
    is_system = holder.uid is not None and is_system_account(holder.uid, FIRST_PERSON_UID)
    return holder.user is not None and holder.user != "root" and not is_system


def is_same(one: str, other: str) -> bool:
    """Whether two names are one person's; case says nothing."""
    return one == other or one.casefold() == other.casefold()


def people_on(people: Sequence[Holder] | None) -> tuple[str, ...]:
    """The persons on a GPU, by name: not whose processes are all dead, nor who is nobody."""
    return tuple([one.user for one in people or () if one.is_on and one.user and is_somebody(one)])


def has_claim(person: str, claim: Claim | None) -> bool:
    """Whether somebody has, or may have, a claim on a GPU: by the claim on it or by one of those behind."""
    return claim is not None and any(
        one.is_by_anybody or is_same(person, one.who) for one in (claim, *claim.behind)
    )


def holders(
    gpu: GpuReading, person_of: PersonOf | None = None, *, thresholds: Thresholds = _DEFAULTS
) -> tuple[Holder, ...] | None:
    """The people on a GPU, the one with the most memory first; None where processes are unknown.

    One person is one holder, whatever accounts the processes run under.
    """
    processes = gpu.processes
    if not processes:
        return None if processes is None else ()
    if len(processes) == 1:
        return (_alone(gpu, processes[0], person_of, thresholds),)
    by_person: dict[str | int | None, list[GpuProcess]] = {}
    names: dict[str | int | None, str] = {}
    for process in processes:
        key: str | int | None = process.uid
        if process.user is not None:
            name = process.user if person_of is None else person_of(process.user)
            key = name.casefold()
            names.setdefault(key, name)
        by_person.setdefault(key, []).append(process)
    found = [
        _add_up(names.get(key), theirs, is_on=_are_on(gpu, theirs, thresholds))
        for key, theirs in by_person.items()
    ]
    return tuple(sorted(found, key=lambda holder: (-(holder.memory_used_bytes or 0), holder.user or "~")))


def _are_on(gpu: GpuReading, processes: Sequence[GpuProcess], thresholds: Thresholds) -> bool:
    """Whether somebody with these processes is on the GPU: the one place that decides it."""
    if any(map(is_working, processes)):
        return True
    displays = [p.memory_used_bytes or 0 for p in processes if is_alive(p)]
    if not displays or gpu.memory_unified:
        return False
    return sum(displays) >= thresholds.memory_held_bytes(gpu.memory_total_bytes)


def _alone(
    gpu: GpuReading, process: GpuProcess, person_of: PersonOf | None, thresholds: Thresholds
) -> Holder:
    user = process.user
    name = user if user is None or person_of is None else person_of(user)
    held = process.memory_used_bytes
    # By position, in the order of its fields: asked of every GPU at every tick.
    return Holder(
        name,
        process.uid,
        held,
        process.started_at,
        1,
        int(held is not None),
        None if name == user else user,
        is_working(process) or _are_on(gpu, (process,), thresholds),
    )


def _add_up(user: str | None, processes: list[GpuProcess], *, is_on: bool) -> Holder:
    sizes = [p.memory_used_bytes for p in processes if p.memory_used_bytes is not None]
    starts = [p.started_at for p in processes if p.started_at is not None]
    return Holder(
        user=user,
        account=None if processes[0].user == user else processes[0].user,
        uid=next((p.uid for p in processes if p.uid is not None), None),
        memory_used_bytes=sum(sizes) if sizes else None,
        since=min(starts) if starts else None,
        processes=len(processes),
        measured=len(sizes),
        is_on=is_on,
    )
