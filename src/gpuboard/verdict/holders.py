"""Who is on a GPU: its processes added up per person."""

from msgspec import Struct

from gpuboard.model.report import GpuProcess, GpuReading


class Holder(Struct, frozen=True, kw_only=True, gc=False):
    """One person on one GPU; user None means that the owner is unknown."""

    user: str | None
    uid: int | None
    memory_used_bytes: int | None
    since: float | None
    processes: int


def is_alive(process: GpuProcess) -> bool:
    """Whether a process still runs; where the state is unknown it counts as running."""
    return process.state not in ("gone", "zombie")


def is_compute(process: GpuProcess) -> bool:
    """Whether a process computes; a display server does not, an unknown kind may."""
    return process.kind != "graphics"


def is_working(process: GpuProcess) -> bool:
    """Whether a process makes its GPU a used one."""
    return is_alive(process) and is_compute(process)


def holders(gpu: GpuReading) -> tuple[Holder, ...] | None:
    """The people on a GPU, the one with the most memory first; None where processes are unknown."""
    if not gpu.processes:
        return None if gpu.processes is None else ()
    if len(gpu.processes) == 1:
        (process,) = gpu.processes
        return (_alone(process),)
    by_owner: dict[tuple[str | None, int | None], list[GpuProcess]] = {}
    for process in gpu.processes:
        by_owner.setdefault((process.user, process.uid), []).append(process)
    found = [_add_up(user, uid, processes) for (user, uid), processes in by_owner.items()]
    return tuple(sorted(found, key=lambda holder: (-(holder.memory_used_bytes or 0), holder.user or "~")))


def _alone(process: GpuProcess) -> Holder:
    return Holder(
        user=process.user,
        uid=process.uid,
        memory_used_bytes=process.memory_used_bytes,
        since=process.started_at,
        processes=1,
    )


def _add_up(user: str | None, uid: int | None, processes: list[GpuProcess]) -> Holder:
    sizes = [p.memory_used_bytes for p in processes if p.memory_used_bytes is not None]
    starts = [p.started_at for p in processes if p.started_at is not None]
    return Holder(
        user=user,
        uid=uid,
        memory_used_bytes=sum(sizes) if sizes else None,
        since=min(starts) if starts else None,
        processes=len(processes),
    )
