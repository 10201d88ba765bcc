"""The command itself, in every shell and awk that nodes may have."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import psutil
import pytest

from gpuboard.model.report import NodeReport
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.probes.program import program_of
from gpuboard.sources.ssh.command import NAME, SCRIPT, forced_command
from gpuboard.sources.ssh.frames import Frame, Framer
from gpuboard.sources.ssh.report import NodeReader
from tests.fakes import nvidia_smi, nvml
from tests.parts import require
from tests.probes.nvidia_smi import logs

SHELLS = ["dash", "bash --posix", "busybox sh"]
AWKS = ["mawk", "gawk", "busybox awk", "original-awk"]
CANARY = "hunter2-canary"


class Node:
    """A folder that stands for a machine: its shell, its awk, its nvidia-smi."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()

    def program(self, name: str, text: str) -> None:
        """Put a program on this machine."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def stand_in(self, name: str, words: str) -> None:
        """Let a program be another one."""
        require(words.split(maxsplit=1)[0])
        self.program(name, f'#!/bin/sh\nexec {words} "$@"\n')

    def has_log(self, log: str) -> None:
        """Let nvidia-smi print this."""
        (self.bin / "log").write_text(log)
        self.program("nvidia-smi", f'#!/bin/sh\n[ "$1" = -L ] || cat {self.bin}/log\n')

    def run(self, shell: str = "sh", script: str = SCRIPT) -> subprocess.CompletedProcess[bytes]:
        """Run the command once."""
        return subprocess.run(
            [*shlex.split(shell), "-s", NAME],
            input=script.encode(),
            capture_output=True,
            env={"PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "de_DE.UTF-8"},
            check=True,
            timeout=20,
            start_new_session=True,
        )

    def report(self, shell: str = "sh") -> NodeReport:
        """Run the command once and read what it says."""
        (frame,) = Framer().feed(self.run(shell).stdout)
        return NodeReader("node", interval=5).read_sample(frame)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A machine with one GPU."""
    machine = Node(tmp_path)
    machine.has_log(logs.NEW_HEAD + logs.new_gpu(0) + logs.TAIL)
    return machine


def log_with(*pids: int, name: str = "python") -> str:
    """What nvidia-smi prints when these processes are on its GPU."""
    inside = "".join(logs.process(pid, name) for pid in pids)
    return logs.NEW_HEAD + logs.new_gpu(0, inside=f"<processes>{inside}\n\t\t</processes>") + logs.TAIL


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_will_do(node: Node, shell: str) -> None:
    """Nothing but POSIX is asked of it; and host facts come on stderr all the while."""
    require(shell.split(maxsplit=1)[0])
    done = node.run(shell)
    (sample,) = Framer().feed(done.stdout)
    (host,) = Framer().feed(done.stderr)
    assert (sample.kind, host.kind) == ("sample", "host")
    assert len(NodeReader("node", interval=5).read_sample(sample).gpus or ()) == 1


@pytest.mark.parametrize("awk", AWKS)
def test_every_awk_will_do(node: Node, awk: str) -> None:
    """The same sample comes from all of them."""
    node.stand_in("awk", awk)
    node.has_log(log_with(os.getpid()))
    report = node.report()
    assert report.host is not None
    assert report.host.cpu_count == os.cpu_count()
    assert report.host.memory_used_bytes
    assert report.host.disks
    (holder,) = (report.gpus or ())[0].processes or ()
    assert holder.uid == os.getuid()
    assert holder.user
    started = psutil.Process().create_time()
    assert abs((holder.started_at or 0) - started) < 3


@contextmanager
def looping(node: Node, *words: str, script: str = SCRIPT) -> Iterator[subprocess.Popen[bytes]]:
    """The command in its loop, until nobody listens."""
    with subprocess.Popen(
        ["sh", "-s", NAME, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": f"{node.bin}:/usr/bin:/bin"},
        start_new_session=True,
    ) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        running.stdin.write(script.encode())
        running.stdin.close()
        try:
            yield running
        finally:
            running.stdout.close()
            running.stderr.close()
        running.wait(20)


def frames_of(stream: IO[bytes] | None, count: int) -> list[Frame]:
    """The next frames of a running command."""
    assert stream
    framer = Framer()
    found: list[Frame] = []
    while len(found) < count:
        data = os.read(stream.fileno(), 65536)
        assert data
        found += framer.feed(data)
    # On a busy machine several may come at once.
    return found[:count]


@pytest.mark.parametrize("awk", AWKS)
def test_the_loop_ends_when_nobody_listens(node: Node, awk: str) -> None:
    """Closing the pipe ends everything within a round."""
    node.stand_in("awk", awk)
    with looping(node, "0.1") as running:
        assert {frame.kind for frame in frames_of(running.stdout, 2)} == {"sample"}


@pytest.mark.parametrize("awk", AWKS)
def test_every_awk_says_what_changed(node: Node, awk: str) -> None:
    """After a first whole sample only some lines come, and they add up to what nvidia-smi printed."""
    node.stand_in("awk", awk)
    log = logs.NEW_HEAD + logs.new_gpu(0).replace("98 %", "@util %") + logs.new_gpu(1) + logs.TAIL
    (node.bin / "log").write_text(log.replace("<gpu_temp>53 C", "<gpu_temp>0@temperature C"))
    count = f"echo >> {node.bin}/count; n=$(wc -l < {node.bin}/count)"
    node.program(
        "nvidia-smi", f'#!/bin/sh\n{count}\nsed "s/@util/$n/; s/@temp[a-z]*/$((n / 2))/" {node.bin}/log\n'
    )
    reader = NodeReader("node", interval=5)
    with looping(node, "0.1", "changes") as running:
        frames = frames_of(running.stdout, 5)
    assert [frame.kind for frame in frames] == ["sample", *["change"] * 4]
    assert len(frames[1].body) < len(frames[0].body) / 4
    seen = [(reader.read_sample(frame).gpus or ())[0] for frame in frames]
    assert [gpu.utilization_percent for gpu in seen] == [1, 2, 3, 4, 5]
    assert [gpu.temperature_celsius for gpu in seen] == [0, 1, 1, 2, 2]


def test_another_number_of_lines_is_sent_whole(node: Node) -> None:
    """A process that came or went moves all lines behind it."""
    reader = NodeReader("node", interval=5)
    with looping(node, "0.1", "changes") as running:
        frames_of(running.stdout, 2)
        # At once, so that no nvidia-smi sees half of it.
        (node.bin / "new").write_text(log_with(os.getpid()))
        (node.bin / "new").replace(node.bin / "log")
        frames = frames_of(running.stdout, 30)
    (whole,) = [frame for frame in frames if frame.kind == "sample"]
    found = [reader.read_sample(frame) for frame in frames[frames.index(whole) :]]
    assert {len((report.gpus or ())[0].processes or ()) for report in found} == {1}


@pytest.mark.parametrize("awk", AWKS)
def test_the_host_speaks_when_the_other_part_is_silent(node: Node, tmp_path: Path, awk: str) -> None:
    """What the board hears anyway needs no second voice."""
    node.stand_in("awk", awk)
    io = tmp_path / "io"
    script = SCRIPT.replace('proc "/" other "/io"', f'"{io}"')
    # Only the host's part runs here; as far as it can see, the other one writes.
    script = "\n".join(line for line in script.splitlines() if "part=gpus" not in line) + "\n"
    assert script.count(str(io)) == 2
    written = 0
    with looping(node, "0.3", script=script) as running:
        assert running.stderr
        frames_of(running.stderr, 1)
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            written += 1
            (tmp_path / "new").write_text(f"rchar: 5\nwchar: {written}\n")
            (tmp_path / "new").replace(io)
            time.sleep(0.02)
        os.set_blocking(running.stderr.fileno(), False)
        heard = running.stderr.read() or b""
        os.set_blocking(running.stderr.fileno(), True)
        assert heard.count(b"gpuboard end") <= 1
        assert [frame.kind for frame in frames_of(running.stderr, 3)] == ["host"] * 3


SECRET_ARGUMENTS = [
    ("python3", "train.py", "--token", CANARY),
    ("python3", "-u", "-W", f"ignore:{CANARY}", "train.py", f"--token={CANARY}"),
    ("python3", "-c", f"password = '{CANARY}'"),
    ("python3", "-Bc", f"password = '{CANARY}'"),
    ("python3", "-m", "trainer.main", CANARY),
    ("python3", "-mtrainer", CANARY),
    ("python3", "--key", CANARY, "x"),
    ("bash", "-c", f"curl -H 'X: {CANARY}'"),
    ("bash", "-x", CANARY),
    ("node", "--require", CANARY, "app.js"),
    ("perl", "-e", f"print '{CANARY}'"),
    ("train", CANARY),
    (f"ray::train {CANARY}",),
    (f"python3\n{CANARY}", "-c", CANARY),
    (f"worker\t{CANARY}",),
    ("python3", f"https://user:{CANARY}@example.org/?a={CANARY}"),
    ("python3", f"two words {CANARY}"),
    ("torchrun", "--rdzv-endpoint", CANARY, "train.py", CANARY),
    ("-bash", f"\n{CANARY}"),
    ("python3", "-", CANARY),
]


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("driver_tells", [False, True], ids=["quiet driver", "driver with command lines"])
def test_no_argument_leaves_the_node(node: Node, tmp_path: Path, awk: str, *, driver_tells: bool) -> None:
    """Neither from /proc nor from a driver that prints whole command lines: not a byte of it."""
    node.stand_in("awk", awk)
    machine = Machine(tmp_path / "proc")
    inside = ""
    for pid, arguments in enumerate(SECRET_ARGUMENTS, start=100):
        machine.has_process(pid, *arguments)
        inside += logs.process(pid, " ".join(arguments) if driver_tells else "python")
    gpu = logs.new_gpu(0, inside=f"<processes>{inside}\n\t\t</processes>")
    node.has_log(logs.NEW_HEAD + gpu + logs.TAIL)
    done = node.run(script=machine.script)
    assert CANARY.encode() not in done.stdout + done.stderr
    (frame,) = Framer().feed(done.stdout)
    report = NodeReader("node", interval=5).read_sample(frame)
    assert len((report.gpus or ())[0].processes or ()) == len(SECRET_ARGUMENTS)


def test_no_argument_of_a_real_process_leaves_the_node(node: Node, tmp_path: Path) -> None:
    """The same with a process that runs, under a name that the driver tells too."""
    script = tmp_path / "train.py"
    script.write_text("import time\nprint(flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-u", str(script), "--token", CANARY]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as training:
        assert training.stdout
        training.stdout.readline()
        node.has_log(log_with(training.pid, name=" ".join(command)))
        done = node.run()
        training.kill()
    assert CANARY.encode() not in done.stdout + done.stderr
    (frame,) = Framer().feed(done.stdout)
    ((holder,),) = [
        gpu.processes or () for gpu in NodeReader("node", interval=5).read_sample(frame).gpus or ()
    ]
    assert holder.program == f"{Path(sys.executable).name} train.py"


NAMES = [
    (("/usr/bin/python3.11", "/home/ana/train.py", "--lr", "1"), "python3.11 train.py"),
    (("python", "-u", "-W", "ignore", "train.py"), "python train.py"),
    (("python", "-m", "torch.distributed.run", "--nproc=8", "x.py"), "python -m torch.distributed.run"),
    (("python", "-um", "pkg"), "python -m pkg"),
    (("python", "-c", "import x"), "python -c"),
    (
        ("python", "/opt/bin/torchrun", "--nproc-per-node", "8", "/home/ana/train.py", "a.py"),
        "torchrun train.py",
    ),
    (("accelerate", "launch", "--config", "x", "train.py"), "accelerate launch train.py"),
    (("/bin/bash", "./run.sh", "now"), "bash run.sh"),
    (("bash", "-c", "anything"), "bash -c"),
    (("-zsh",), "zsh"),
    (("node", "--inspect", "app.js"), "node app.js"),
    (("/opt/blender/blender", "-b", "scene.blend"), "blender"),
    (("ray::IDLE",), "ray::IDLE"),
    (("julia", "--project=.", "fit.jl"), "julia fit.jl"),
    (("",), "comm-100"),
    (("/opt/my app/bin/tool", "x"), "my"),
]


@pytest.mark.parametrize("awk", AWKS)
def test_processes_are_called_after_program_and_script(node: Node, tmp_path: Path, awk: str) -> None:
    """As people say it, and no more."""
    node.stand_in("awk", awk)
    machine = Machine(tmp_path / "proc")
    for pid, (arguments, _) in enumerate(NAMES, start=100):
        machine.has_process(pid, *arguments)
    node.has_log(log_with(*range(100, 100 + len(NAMES))))
    (frame,) = Framer().feed(node.run(script=machine.script).stdout)
    (gpu,) = NodeReader("node", interval=5).read_sample(frame).gpus or ()
    names = {process.pid: process.program for process in gpu.processes or ()}
    expected = {pid: name.replace("100", str(pid)) for pid, (_, name) in enumerate(NAMES, start=100)}
    assert names == expected


def test_facts_of_a_process(node: Node, tmp_path: Path) -> None:
    """State, start, owner and children, whatever the process calls itself."""
    machine = Machine(tmp_path / "proc")
    machine.has_process(7, "python", "x.py", comm="a) R 1 (\nb", state="D", uid=4_000_123, children="8 9 ")
    machine.has_process(10, "python", "y.py", state="Z")
    node.program("getent", "#!/bin/sh\nprintf '%s\\n' 'CORP\\ana maria:x:4000123:4::/home:/bin/sh'\n")
    ended = subprocess.Popen(["true"])
    ended.wait()
    # One that is not shown to us but lives, and one that is no more.
    node.has_log(log_with(7, 10, os.getpid(), ended.pid))
    (frame,) = Framer().feed(node.run(script=machine.script).stdout)
    (gpu,) = NodeReader("node", interval=5).read_sample(frame).gpus or ()
    first, second, third, fourth = gpu.processes or ()
    assert (first.state, first.uid, first.user) == ("disk-wait", 4_000_123, "CORP\\ana maria")
    assert first.started_at == 1_000_000 + 500
    assert first.children == (8, 9)
    # Its command line is left alone: reading it could hang as the process does.
    assert first.program == "a) R 1 (\\nb"
    assert second.state == "zombie"
    assert (third.state, third.user, third.program) == (None, None, "python")
    assert (fourth.state, fourth.user, fourth.program) == ("gone", None, "python")


@pytest.mark.parametrize("shell", SHELLS)
def test_in_a_container_no_pid_is_called_dead(node: Node, tmp_path: Path, shell: str) -> None:
    """The driver may name pids of the machine around it, which nobody can see here."""
    require(shell.split(maxsplit=1)[0])
    machine = Machine(tmp_path / "proc", is_container=True)
    ended = subprocess.Popen(["true"])
    ended.wait()
    node.has_log(log_with(ended.pid))
    (frame,) = Framer().feed(node.run(shell, script=machine.script).stdout)
    (gpu,) = NodeReader("node", interval=5).read_sample(frame).gpus or ()
    assert [process.state for process in gpu.processes or ()] == [None]


def test_disks_are_local_and_named_once(node: Node, tmp_path: Path) -> None:
    """A network disk could hang, and a picture of a disk is always full."""
    machine = Machine(tmp_path / "proc")
    (machine.root / "mounts").write_text(
        "/dev/sda1 / ext4 rw 0 0\n/dev/sda1 /bind ext4 rw 0 0\n/dev/sdb1 /data xfs rw 0 0\n"
        "nas:/home /home nfs4 rw 0 0\n/dev/loop3 /snap/x squashfs ro 0 0\n/dev/sdc1 /$(reboot) ext4 rw 0 0\n"
        "/dev/fuse /run/user fuse.portal rw 0 0\npool/a /tank zfs rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
    )
    node.program("df", f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    node.run(script=machine.script)
    assert (tmp_path / "asked").read_text() == "-P -k / /data /tank\n"


def test_the_forced_command_is_one_line_that_works(node: Node) -> None:
    """As sshd reads it: one escape inside of the quotes, then the login shell."""
    line = forced_command()
    assert "\n" not in line
    assert len(line) < 16_000
    prefix, _, quoted = line.partition('command="')
    assert prefix == "restrict,"
    command = quoted.removesuffix('"').replace('\\"', '"')
    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": f"{node.bin}:/usr/bin:/bin", "SSH_ORIGINAL_COMMAND": "reboot"},
        capture_output=True,
        check=True,
        timeout=20,
    )
    (frame,) = Framer().feed(done.stdout)
    assert len(NodeReader("node", interval=5).read_sample(frame).gpus or ()) == 1


def test_a_document_without_line_ends_gives_nothing_away(node: Node) -> None:
    """No driver writes like this; if one did, we would rather know less."""
    log = log_with(1, name=f"python3 --token {CANARY}").replace("\n", "").replace("\t", "")
    node.has_log(log)
    done = node.run()
    assert CANARY.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize(("arguments", "name"), NAMES)
def test_an_agent_says_the_same(arguments: tuple[str, ...], name: str) -> None:
    """A process has one name, whichever way it is read."""
    assert program_of(arguments, name="comm-100") == name


@pytest.mark.parametrize("style", [None, "old", "newest"])
@pytest.mark.parametrize("shape", [nvml.eight_busy_datacenter, nvml.four_consumer_cards, nvml.mig_a100])
def test_the_stand_in_driver_of_three_generations(
    node: Node, tmp_path: Path, style: Literal["old", "newest"] | None, shape: Callable[[], nvml.Scenario]
) -> None:
    """What the node leaves out is not missed there either; the real command reads the same."""
    shape().write(tmp_path / "scenario")
    environment = os.environ | nvidia_smi.environment(tmp_path / "scenario", style=style)
    said = {}
    for query in ("-q -x", "-L"):
        command = ["nvidia-smi", *query.split()]
        said[query] = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        (node.bin / query.replace(" ", "")).write_bytes(said[query])
    node.program("nvidia-smi", f'#!/bin/sh\ncat "{node.bin}/$1$2"\n')
    (frame,) = Framer().feed(node.run(script=Machine(tmp_path / "proc", is_container=True).script).stdout)
    report = NodeReader("node", interval=5).read_sample(frame)
    expected = NvidiaSmiProbe(run=lambda command: said[" ".join(command[1:])], node="node").read()
    assert report.gpus == expected.gpus
    assert report.problems == expected.problems
    assert len(frame.body) < len(said["-q -x"])


@pytest.mark.parametrize("name", ["NEW", "MIG", "OLD"])
def test_what_is_left_out_of_the_document_is_not_missed(node: Node, tmp_path: Path, name: str) -> None:
    """The node sends less than the driver says; the readings are the same."""
    log: bytes = getattr(logs, name)
    node.has_log(log.decode())
    (frame,) = Framer().feed(node.run(script=Machine(tmp_path / "proc", is_container=True).script).stdout)
    assert b"supported_clocks" not in frame.body
    assert b"accounted_processes" not in frame.body
    report = NodeReader("node", interval=5).read_sample(frame)
    assert report.gpus == parse_xml(log, node="node").gpus


def test_a_process_whose_type_is_unknown_keeps_it_so(node: Node, tmp_path: Path) -> None:
    """Other values that a driver cannot tell are left out; without a type it would count as computing."""
    process = logs.process(4_000_000, "python", kind="N/A")
    node.has_log(logs.log(logs.new_gpu(inside=f"<processes>{process}\n\t\t</processes>")).decode())
    (frame,) = Framer().feed(node.run(script=Machine(tmp_path / "proc", is_container=True).script).stdout)
    assert frame.body.count(b">N/A<") == 1
    (gpu,) = NodeReader("node", interval=5).read_sample(frame).gpus or ()
    assert [one.kind for one in gpu.processes or ()] == [None]


class Machine:
    """A recorded /proc."""

    def __init__(self, root: Path, *, is_container: bool = False) -> None:
        self.root = root
        self.script = SCRIPT.replace('proc = "/proc"', f'proc = "{root}"')
        (root / "sys/kernel/random").mkdir(parents=True)
        (root / "self").mkdir()
        (root / "self/status").write_text("Name:\tawk\nUid:\t0\t0\t0\t0\n")
        (root / "1/task/1").mkdir(parents=True)
        (root / "1/task/1/children").write_text("")
        files = {
            "uptime": "9000.50 1.0\n",
            "loadavg": "0.5 0.4 0.3 1/2 3\n",
            "stat": "cpu 1\nbtime 1000000\n",
        }
        for name, text in files.items():
            (root / name).write_text(text)
        if is_container:
            # So that pids which nobody has are not called dead.
            (root / "self/ns").mkdir()
            (root / "self/ns/pid").symlink_to("pid:[4026532001]")

    def has_process(
        self,
        pid: int,
        *arguments: str,
        comm: str | None = None,
        state: str = "S",
        uid: int = 0,
        children: str = "",
    ) -> None:
        """Add a process."""
        folder = self.root / str(pid)
        (folder / f"task/{pid}").mkdir(parents=True)
        name = comm or f"comm-{pid}"
        fields = [state, "1", *["0"] * 17, "50000", *["0"] * 30]
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
        escaped = name.replace("\n", "\\n")
        (folder / "status").write_text(f"Name:\t{escaped}\nState:\t{state}\nUid:\t{uid}\t0\t0\t0\n")
        (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in arguments))
        (folder / f"task/{pid}/children").write_text(children)
