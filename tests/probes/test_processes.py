"""Real processes, of several users, as they live and die."""

import os
import pwd
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from gpuboard.model.report import GpuProcess, GpuReading
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.probes.processes import ProcessReader
from gpuboard.probes.user_names import UserNames
from tests.clock import Clock
from tests.parts import require_root
from tests.started import eventually, orphans, started, zombie

NAMES = {4_242: "a-long-name-from-the-directory", os.getuid(): "me"}
GIB = 1 << 30


@pytest.fixture
def reader() -> ProcessReader:
    """A reader that knows two users and sees the machine's own pids."""
    return ProcessReader(names=UserNames(NAMES.get), host_pids=True)


def look(reader: ProcessReader, pid: int, *, listed_at: float | None = None) -> GpuProcess:
    """What the reader makes of one pid that a driver names."""
    named = GpuProcess(pid=pid, memory_used_bytes=GIB, kind="compute")
    gpu = GpuReading(uuid="GPU-1", index=0, processes=(named,))
    (described,) = reader.describe([gpu], listed_at=listed_at)
    assert described.processes is not None
    (process,) = described.processes
    assert (process.pid, process.memory_used_bytes, process.kind) == (pid, GIB, "compute")
    return process


def test_a_process_has_an_owner_a_start_and_a_name(reader: ProcessReader) -> None:
    """What people want to know about whoever has the GPU."""
    with started() as sleeper:
        eventually(lambda: look(ProcessReader(), sleeper.pid).program == "sleep")
        process = look(reader, sleeper.pid)
        assert (process.user, process.uid, process.state) == ("me", os.getuid(), "sleeping")
        assert process.started_at == pytest.approx(psutil.Process(sleeper.pid).create_time(), abs=2)
        assert process.started_at == pytest.approx(time.time(), abs=30)
        assert process.arguments is None


def test_processes_belong_to_their_users(reader: ProcessReader) -> None:
    """Long names are whole; a user whom no directory knows still has a number."""
    require_root()
    with started(uid=4_242) as known, started(uid=4_243) as unknown:
        assert (look(reader, known.pid).user, look(reader, known.pid).uid) == (NAMES[4_242], 4_242)
        assert (look(reader, unknown.pid).user, look(reader, unknown.pid).uid) == (None, 4_243)


def test_the_systems_own_users_are_known() -> None:
    """Without anything given, the system is asked."""
    with started() as sleeper:
        assert look(ProcessReader(), sleeper.pid).user == pwd.getpwuid(os.getuid()).pw_name


def test_arguments_stay_here() -> None:
    """Only the program and its script are told, unless the node's owner wants more."""
    program = "import time; print(1, flush=True); time.sleep(300)"
    with started(sys.executable, "-c", program, "--password", "canary", "--lr", "1") as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        quiet = look(ProcessReader(), trainer.pid)
        open_minded = look(ProcessReader(with_arguments=True), trainer.pid)
    assert (quiet.arguments, (quiet.program or "").endswith(" -c")) == (None, True)
    assert (open_minded.arguments or "").endswith("--password '***' --lr 1")


def test_a_zombie_is_a_zombie(reader: ProcessReader) -> None:
    """It may still hold memory; it does not compute."""
    with zombie() as pid:
        process = look(reader, pid)
    assert (process.state, process.uid) == ("zombie", os.getuid())


def test_a_pid_that_is_not_there_is_gone(reader: ProcessReader) -> None:
    """The driver still names it."""
    with started() as sleeper:
        pid = sleeper.pid
        alive = look(reader, pid)
    gone = look(reader, pid)
    assert (gone.state, gone.user, gone.program, gone.started_at) == (
        "gone",
        "me",
        alive.program,
        alive.started_at,
    )


def test_a_pid_of_another_world_is_not_called_gone() -> None:
    """In a container the driver may name pids of the host, of which we know nothing."""
    with started() as sleeper:
        pid = sleeper.pid
    process = look(ProcessReader(host_pids=False), pid)
    assert (process.state, process.user, process.uid) == (None, None, None)


def test_what_a_dead_process_left_behind_is_what_to_kill(reader: ProcessReader) -> None:
    """Its children go on in its session; their owner was its owner."""
    with orphans() as (leader, child):
        process = look(reader, leader)
        assert (process.state, process.children, process.uid) == ("gone", (child,), os.getuid())


def test_a_process_has_its_children_and_theirs(reader: ProcessReader) -> None:
    """A data loader's workers belong to the training."""
    with started("sh", "-c", "sh -c 'sleep 300 & echo $! $$; wait' & wait") as parent:
        assert parent.stdout is not None
        grandchild, child = (int(word) for word in parent.stdout.readline().split())
        assert look(reader, parent.pid).children == tuple(sorted((child, grandchild)))
        os.kill(grandchild, 9)


def test_a_pid_given_to_another_process_is_not_the_same(reader: ProcessReader) -> None:
    """What started after the driver named its pid cannot be what it meant."""
    listed_at = boot_seconds() - 60
    with started() as stranger:
        process = look(reader, stranger.pid, listed_at=listed_at)
    assert (process.state, process.user, process.program) == ("gone", None, None)


def test_a_name_changes_with_what_is_executed(reader: ProcessReader, tmp_path: Path) -> None:
    """A shell that becomes another program keeps its pid and start."""
    sign = tmp_path / "go"
    with started("sh", "-c", f"until [ -e {sign} ]; do sleep 0.05; done; exec sleep 300") as shell:
        eventually(lambda: look(reader, shell.pid).program == "sh -c")
        sign.touch()
        eventually(lambda: look(reader, shell.pid).program == "sleep")


def test_a_look_in_the_midst_of_exec_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a moment the kernel has the new name and no command line: whoever looks again sees all of it."""
    reader = ProcessReader(with_arguments=True)
    with started() as sleeper:
        with monkeypatch.context() as moment:
            moment.setattr(psutil.Process, "cmdline", lambda _process: [])
            assert look(reader, sleeper.pid).arguments is None
        assert look(reader, sleeper.pid).arguments == "300"


def test_owners_that_a_probe_knows_are_left_alone(reader: ProcessReader) -> None:
    """A simulated node has its own people."""
    gpu = GpuReading(uuid="GPU-1", index=0, processes=(GpuProcess(pid=1, user="ana", program="x"),))
    assert reader.describe([gpu]) == (gpu,)


def test_unknown_processes_stay_unknown(reader: ProcessReader) -> None:
    """None is not an empty list."""
    gpu = GpuReading(uuid="GPU-1", index=0)
    assert reader.describe([gpu]) == (gpu,)


def test_no_pid_can_break_the_look(reader: ProcessReader) -> None:
    """Drivers name pids that no kernel would give."""
    for pid in (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40):
        look(reader, pid)


def test_processes_that_come_and_go_never_break_the_look(reader: ProcessReader) -> None:
    """Whatever moment they vanish at."""
    for _ in range(30):
        with started("true") as process:
            for _ in range(3):
                look(reader, process.pid)


def test_a_slow_directory_delays_nobody() -> None:
    """The number is there at once, the name when it comes; and nobody asks twice meanwhile."""
    asked: list[int] = []
    answers = threading.Event()

    def slow(uid: int) -> str:
        asked.append(uid)
        answers.wait()
        return f"user{uid}"

    clock = Clock()
    names = UserNames(slow, patience_seconds=0.05, clock=clock)
    assert [names.name(1), names.name(1), names.name(2)] == [None, None, None]
    assert asked == [1]
    answers.set()
    eventually(lambda: names.name(1) == "user1")


def test_names_are_asked_again_after_a_while() -> None:
    """People join; and while the directory is down, the old name is better than none."""
    known: dict[int, str] = {}
    clock = Clock()
    names = UserNames(known.get, clock=clock)
    assert names.name(7) is None
    known[7] = "ana"
    assert names.name(7) is None
    clock.now += 61
    assert names.name(7) == "ana"

    known.clear()
    clock.now += 601
    assert names.name(7) == "ana"
