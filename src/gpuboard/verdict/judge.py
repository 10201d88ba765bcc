"""The verdict as a pure function: the first rule that matches wins."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from gpuboard.model.codes import plain_reason
from gpuboard.model.node import NodeState
from gpuboard.model.problems import BREAKING
from gpuboard.model.report import GpuReading, Problem
from gpuboard.model.units import format_duration, format_size
from gpuboard.model.verdict import Claim, Flag, Reason, Verdict
from gpuboard.verdict.holders import Holder, has_claim, holders, is_alive, is_working, people_on
from gpuboard.verdict.thresholds import Thresholds

# Power capping is how a GPU works at full load; these are not.
SLOWDOWNS: Final = frozenset({"thermal", "hardware-slowdown", "hardware-thermal", "power-brake"})


class Activity(Struct, frozen=True, gc=False):
    """The short memory of one GPU."""

    # Utilisation in the last three samples, newest last; unknown ones are left out.
    recent_percent: tuple[float, ...] = ()
    # Since when utilisation has been at or below the idle line without a break; None: it is not, or unknown.
    quiet_since: float | None = None
    # Since when nobody computes on it, without a break; None: somebody does, or unknown.
    empty_since: float | None = None
    # Since when at least: the first look at which nobody did, where none was seen to leave.
    seen_empty_since: float | None = None
    # The newest sample that showed it quiet: what came after nobody has seen.
    quiet_until: float | None = None


class Freshness(Struct, frozen=True, kw_only=True, gc=False):
    """How much the newest sample of a node can be trusted."""

    state: NodeState = "live"
    reason: Reason | None = None


LIVE: Final = Freshness()
# A look without a past: it never says idle.
ONE_SHOT: Final = Activity()
_DEFAULTS: Final = Thresholds()
Users = tuple[str | None, ...]
_MIG_EMPTY: Final = plain_reason(code="mig-empty")
_NOBODY: Final = plain_reason(code="free")
# Thousands of GPUs are in use for few different reasons: so many of them are made once and shared. Nodes
# choose the names: only reasons with few and short ones are kept, so that all stay below some megabytes.
_REMEMBERED: Final = 4096
_REMEMBERED_USERS: Final = 4
_REMEMBERED_LETTERS: Final = 32
# No cache that keeps an order: to bring it up to date takes longer than to make the reason.
_remembered: dict[tuple[Callable[[Any, Users], Reason], float, Users], Reason] = {}


def judge(  # noqa: PLR0911 - one return per word
    gpu: GpuReading,
    *,
    now: float,
    people: tuple[Holder, ...] | None = None,
    problems: Sequence[Problem] = (),
    freshness: Freshness = LIVE,
    claim: Claim | None = None,
    doubt: Reason | None = None,
    is_cut: bool = True,
    activity: Activity = ONE_SHOT,
    thresholds: Thresholds = _DEFAULTS,
) -> Verdict:
    """Say the one word for a GPU, with its evidence.

    `people` are those on it, if they have been added up already; `problems` are those of its node, of which
    only those of this GPU or of the whole node count; `doubt` is why it may be held though it looks free;
    `is_cut` says whether a card with MIG on has instances.
    """
    if freshness.state != "live":
        reason = freshness.reason or Reason(code=freshness.state, text=f"the node is {freshness.state}")
        return Verdict(word="stale", reason=reason)
    fault = _fault(gpu, problems) if problems else None
    if fault is not None:
        return Verdict(word="broken", reason=fault, since=_fault_since(gpu, problems))
    if gpu.mig_enabled and not is_cut:
        return Verdict(word="unknown", reason=_MIG_EMPTY)
    if people is None:
        people = holders(gpu, thresholds=thresholds)
    claim = claim if claim is not None and claim.holds_at(now) else None
    flags = _flags(gpu, people, claim, thresholds)
    use = _use(gpu, people, activity, thresholds)
    if use is not None:
        quiet = None if use.code in ("utilization", "divided") else _idle_since(gpu, activity)
        # Up to the newest sample, not to now: one old sample shows nobody idle.
        seconds = 0.0 if quiet is None or activity.quiet_until is None else activity.quiet_until - quiet
        if quiet is not None and seconds >= thresholds.idle_after_seconds:
            return Verdict(word="idle", reason=_idle(gpu, people, seconds), since=quiet, flags=flags)
        # By position, in the order of its fields: what most GPUs are, at every tick.
        return Verdict("busy", use, _oldest_start(gpu), flags)
    missing = _missing(gpu)
    if missing is not None:
        return Verdict(word="unknown", reason=missing, flags=flags)
    if claim is not None:
        return Verdict(word="booked", reason=_booked(claim, now), flags=flags)
    if doubt is not None:
        return Verdict(word="unknown", reason=doubt, flags=flags)
    return Verdict(word="free", reason=_free(activity), since=activity.empty_since, flags=flags)


def stray(card: GpuReading, people: tuple[Holder, ...] | None) -> Reason | None:
    """Why no instance of a card is surely free: somebody computes on the card, nobody can tell on which."""
    computing = [p for p in card.processes or () if is_working(p)]
    if not computing:
        return None
    found = _shared(_present, len(computing), _users(people))
    text = f"{found.text.removesuffix(' on it')} on its card, of no known instance: it may be this one"
    return Reason(code="stray-process", text=text, values=found.values)


def _free(activity: Activity) -> Reason:
    """Nobody is on it; where nobody was seen to leave, since when at least."""
    if activity.empty_since is not None or activity.seen_empty_since is None:
        return _NOBODY
    return _shared(_seen_free, round(activity.seen_empty_since), ())


def _seen_free(since: float, _: Users) -> Reason:
    return Reason(code="free", text=_NOBODY.text, values={"seen_since": since})


def _concerns(problem: Problem, gpu: GpuReading) -> bool:
    own = problem.gpu_uuid in (gpu.uuid, gpu.mig_parent_uuid) and problem.gpu_uuid is not None
    return problem.kind in BREAKING and (own or problem.gpu_uuid is None)


def _fault(gpu: GpuReading, problems: Sequence[Problem]) -> Reason | None:
    found = next((one for one in problems if _concerns(one, gpu)), None)
    if found is None:
        return None
    return Reason(code=found.kind, text=found.text, values={"remedy": found.remedy, "detail": found.detail})


def _fault_since(gpu: GpuReading, problems: Sequence[Problem]) -> float | None:
    return next((problem.since for problem in problems if _concerns(problem, gpu)), None)


def _use(
    gpu: GpuReading, people: tuple[Holder, ...] | None, activity: Activity, thresholds: Thresholds
) -> Reason | None:
    """The evidence that somebody uses the GPU; None when there is none."""
    if gpu.mig_enabled:
        return plain_reason(code="divided")
    line = thresholds.busy_utilization_percent
    percent = gpu.utilization_percent
    if percent is not None and percent >= line:
        return _shared(_working, percent, _users(people))
    computing = [p for p in gpu.processes or () if is_working(p)]
    if computing:
        return _shared(_present, len(computing), _users(people))
    if _holds_memory(gpu, thresholds):
        held = _held_bytes(gpu)
        visible = any(is_alive(p) for p in gpu.processes or ())
        code = "memory" if visible or gpu.processes is None else "orphaned-memory"
        whose = f"held by {_names(_users(people))}" if visible else "held, no process visible"
        return Reason(
            code=code, text=f"{format_size(held)} {whose}", values=_values(_users(people), memory_bytes=held)
        )
    recent = max(activity.recent_percent, default=0.0)
    if recent >= line:
        return Reason(
            code="recent-utilization", text=f"{recent:.0f} % a moment ago", values={"percent": recent}
        )
    return None


def _oldest_start(gpu: GpuReading) -> float | None:
    """Since when somebody has been on it: its oldest process knows better than who looks at it."""
    if not gpu.processes:
        return None
    if len(gpu.processes) == 1:
        process = gpu.processes[0]
        return process.started_at if is_alive(process) else None
    starts = [p.started_at for p in gpu.processes if p.started_at is not None and is_alive(p)]
    return min(starts, default=None)


def _idle_since(gpu: GpuReading, activity: Activity) -> float | None:
    """Since when whoever is on it has not worked: nobody idles longer than he is there."""
    quiet, began = activity.quiet_since, _oldest_start(gpu)
    return quiet if quiet is None or began is None else max(quiet, began)


def _missing(gpu: GpuReading) -> Reason | None:
    if gpu.processes is None:
        return plain_reason(code="unknown-processes")
    if gpu.memory_used_bytes is None and not gpu.memory_unified:
        return plain_reason(code="unknown-memory")
    return None


def _idle(gpu: GpuReading, people: tuple[Holder, ...] | None, seconds: float) -> Reason:
    held = _held_bytes(gpu)
    users = _users(people)
    by = f" by {_names(users)}" if users else ""
    text = f"{format_size(held)} held{by}, no work for {format_duration(seconds)}"
    return Reason(code="idle", text=text, values=_values(users, memory_bytes=held, seconds=seconds))


def _booked(claim: Claim, now: float) -> Reason:
    left = "" if claim.until is None else f" for {format_duration(claim.until - now)} more"
    doubt = " (not verified)" if claim.is_unverified else ""
    text = f"booked by {claim.who}{left}{doubt}"
    return Reason(code="booked", text=text, values={"who": claim.who, "until": claim.until})


def _flags(
    gpu: GpuReading, people: tuple[Holder, ...] | None, claim: Claim | None, thresholds: Thresholds
) -> tuple[Flag, ...]:
    # No list: most have none of them.
    flags: tuple[Flag, ...] = ()
    if claim is not None:
        if not all(has_claim(person, claim) for person in people_on(people)):
            flags = ("trespass",)
        if claim.is_no_show:
            flags = (*flags, "no_show")
    if gpu.temperature_celsius is not None and gpu.temperature_celsius >= thresholds.hot_celsius:
        flags = (*flags, "hot")
    if gpu.throttle_reasons and SLOWDOWNS.intersection(gpu.throttle_reasons):
        flags = (*flags, "throttled")
    if not _has_somebody(gpu) and not gpu.mig_enabled and _holds_memory(gpu, thresholds):
        flags = (*flags, "orphaned_memory")
    return flags


def _has_somebody(gpu: GpuReading) -> bool:
    """Whether a process runs on it, or may: where processes are unknown, nobody can say that none does."""
    if not gpu.processes:
        return gpu.processes is None
    for process in gpu.processes:  # noqa: SIM110 - half the time of any(), for every GPU at every tick
        if is_alive(process):
            return True
    return False


def _holds_memory(gpu: GpuReading, thresholds: Thresholds) -> bool:
    """Whether more of its own memory is in use than an unused GPU needs."""
    held = _held_bytes(gpu)
    if held is None or gpu.memory_unified:
        return False
    return held >= thresholds.memory_held_bytes(gpu.memory_total_bytes)


def _held_bytes(gpu: GpuReading) -> int | None:
    """How much of its memory is in use: where it and its processes contradict each other, the larger."""
    if not gpu.processes:
        return gpu.memory_used_bytes
    of_processes = sum([p.memory_used_bytes or 0 for p in gpu.processes if is_alive(p)])
    return max(gpu.memory_used_bytes or 0, of_processes) or gpu.memory_used_bytes


def _working(percent: float, users: Users) -> Reason:
    by = f" by {_names(users)}" if users else ""
    text = f"{percent:.0f} % in use{by}"
    return Reason(code="utilization", text=text, values=_values(users, percent=percent))


def _present(processes: int, users: Users) -> Reason:
    verb = "have" if len(users) > 1 else "has"
    what = "a process" if processes == 1 else f"{processes} processes"
    text = f"{_names(users)} {verb} {what} on it"
    return Reason(code="process", text=text, values=_values(users, processes=processes))


def _shared(make: Callable[[Any, Users], Reason], figure: float, users: Users) -> Reason:
    """The reason, made once for all GPUs that have the same."""
    known = _remembered.get((make, figure, users))
    if known is not None:
        return known
    reason = make(figure, users)
    if len(users) <= _REMEMBERED_USERS and all(len(user or "") <= _REMEMBERED_LETTERS for user in users):
        if len(_remembered) >= _REMEMBERED:
            _remembered.clear()
        _remembered[make, figure, users] = reason
    return reason


def _users(people: tuple[Holder, ...] | None) -> Users:
    if people and len(people) == 1:
        return (people[0].user,)
    return tuple([holder.user for holder in people or ()])


def _names(users: Users) -> str:
    return ", ".join([user or "somebody unknown" for user in users]) or "somebody unknown"


def _values(users: Users, **values: float | None) -> dict[str, object]:
    return {"users": [*users], **values}
