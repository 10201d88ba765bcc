"""Who is behind a pid that a driver names: user, start, program, state and children."""

import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.report import GpuProcess, GpuReading, ProcessState
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.probes.process_table import STATES, ProcessTable, Stat, read_stat
from gpuboard.probes.program import program_of
from gpuboard.probes.scrub import scrub
from gpuboard.probes.user_names import UserNames
from gpuboard.wire.clean import clean_text

MAX_CHILDREN: Final = 64
MAX_PROGRAM: Final = 128
MAX_ARGUMENTS: Final = 1024
# Reading all processes of a machine takes a while, and children change seldom.
TABLE_SECONDS: Final = 15.0
# The kernel counts starts in ticks, so one may seem to lie a little after the moment we compare it with.
TICK_SECONDS: Final = 0.02
# The number that Linux gives the pid namespace of the machine itself.
_HOST_PID_NAMESPACE: Final = 0xEFFFFFFC


class _Person(Struct, frozen=True, kw_only=True):
    """What of a process stays the same while it lives."""

    started_at: float
    uid: int | None
    program: str | None
    arguments: str | None


def sees_host_pids() -> bool:
    """Whether the pids that a driver names are the ones we see; in a container they may not be."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino == _HOST_PID_NAMESPACE
    except OSError:
        return True


class ProcessReader:
    """Looks up the processes on GPUs; a process that vanishes meanwhile is an answer, not an error."""

    def __init__(
        self,
        *,
        names: UserNames | None = None,
        with_arguments: bool = False,
        host_pids: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = names or UserNames()
        self._with_arguments = with_arguments
        self._host_pids = sees_host_pids() if host_pids is None else host_pids
        self._clock = clock
        # By pid and start, so that a pid given away again is somebody else; and by name, which exec changes.
        self._known: dict[tuple[int, int, str], _Person] = {}
        self._last: dict[int, _Person] = {}
        self._table: ProcessTable | None = None
        self._table_due = 0.0
        self._table_is_new = False

    def describe(
        self, gpus: Sequence[GpuReading], *, listed_at: float | None = None
    ) -> tuple[GpuReading, ...]:
        """Return the same GPUs, with what can be known of each process on them.

        `listed_at` is when the driver named them (`boot_seconds`): whatever started later is not meant.
        """
        pids = {process.pid for gpu in gpus for process in gpu.processes or () if _is_nameless(process)}
        self._forget_all_but(pids)
        self._table_is_new = False
        facts = {pid: self._look_up(pid, listed_at) for pid in sorted(pids)}
        return tuple(_with_facts(gpu, facts) for gpu in gpus)

    def _look_up(self, pid: int, listed_at: float | None) -> GpuProcess:
        stat = read_stat(pid)
        if stat is None or (listed_at is not None and stat.start_seconds > listed_at + TICK_SECONDS):
            return self._absent(pid, reused=stat is not None)
        person = self._person(pid, stat)
        self._last[pid] = person
        state = STATES.get(stat.state)
        children = self._family(pid, dead=state in ("zombie", "gone"))
        return self._facts(pid, person, state=state, children=children)

    def _absent(self, pid: int, *, reused: bool) -> GpuProcess:
        """A pid that the driver still names but that we cannot see: dead, or hidden from us."""
        person = self._last.get(pid)
        if not reused and not (self._host_pids and _is_dead(pid)):
            return self._facts(pid, person, state=None, children=())
        children = () if reused else self._family(pid, dead=True)
        if person is None:
            # Whoever owns what it left behind owned it too.
            uid = next((uid for child in children if (uid := _uid(child)) is not None), None)
            return GpuProcess(pid=pid, uid=uid, user=self._user(uid), state="gone", children=children)
        return self._facts(pid, person, state="gone", children=children)

    def _facts(
        self, pid: int, person: _Person | None, *, state: ProcessState | None, children: tuple[int, ...]
    ) -> GpuProcess:
        if person is None:
            return GpuProcess(pid=pid, state=state, children=children)
        return GpuProcess(
            pid=pid,
            started_at=person.started_at,
            user=self._user(person.uid),
            uid=person.uid,
            program=person.program,
            arguments=person.arguments,
            state=state,
            children=children,
        )

    def _user(self, uid: int | None) -> str | None:
        return None if uid is None else self._names.name(uid)

    def _person(self, pid: int, stat: Stat) -> _Person:
        key = (pid, stat.start_ticks, stat.name)
        known = self._known.get(key)
        if known is not None:
            return known
        # The kernel may block whoever reads the command line of a process that is itself blocked.
        readable = stat.state not in ("D", "Z", "X")
        argv = _command_line(pid) if readable else []
        arguments = shlex.join(scrub(argv)[1:]) if argv and self._with_arguments else None
        person = _Person(
            started_at=round(time.time() - boot_seconds() + stat.start_seconds, 2),
            uid=_uid(pid),
            program=_clean(program_of(argv, name=stat.name), MAX_PROGRAM),
            arguments=_clean(arguments, MAX_ARGUMENTS),
        )
        # A program that is just being executed has its new name, and no command line yet: not for good.
        if argv:
            self._known[key] = person
        return person

    def _family(self, pid: int, *, dead: bool) -> tuple[int, ...]:
        if self._table is None or (self._clock() >= self._table_due if not dead else not self._table_is_new):
            self._table = ProcessTable.scan()
            self._table_is_new = True
            self._table_due = self._clock() + TABLE_SECONDS
        return (self._table.left_behind(pid) if dead else self._table.descendants(pid))[:MAX_CHILDREN]

    def _forget_all_but(self, pids: Iterable[int]) -> None:
        keep = set(pids)
        self._known = {key: person for key, person in self._known.items() if key[0] in keep}
        self._last = {pid: person for pid, person in self._last.items() if pid in keep}


def _is_nameless(process: GpuProcess) -> bool:
    """Whether the probe could not tell the owner itself."""
    return process.user is None and process.uid is None


def _with_facts(gpu: GpuReading, facts: dict[int, GpuProcess]) -> GpuReading:
    if not gpu.processes:
        return gpu
    return replace(
        gpu, processes=tuple(_joined(process, facts.get(process.pid)) for process in gpu.processes)
    )


def _joined(process: GpuProcess, facts: GpuProcess | None) -> GpuProcess:
    if facts is None or not _is_nameless(process):
        return process
    return replace(
        facts,
        memory_used_bytes=process.memory_used_bytes,
        kind=process.kind,
        program=facts.program or process.program,
    )


def _is_dead(pid: int) -> bool:
    """Whether no process has this pid; one that is hidden from us (hidepid) is not dead."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _clean(text: str | None, length: int) -> str | None:
    return None if text is None else clean_text(text)[:length]


def _uid(pid: int) -> int | None:
    with suppress(psutil.Error, OSError, ValueError, LookupError):
        return int(psutil.Process(pid).uids().real)
    return None


def _command_line(pid: int) -> list[str]:
    with suppress(psutil.Error, OSError, ValueError, LookupError):
        return psutil.Process(pid).cmdline()
    return []
