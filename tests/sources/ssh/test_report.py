"""Bodies of frames into reports."""

import contextlib
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.sources.ssh.frames import Frame
from gpuboard.sources.ssh.report import NodeReader
from gpuboard.wire.report import decode_report, encode_report
from tests.mutations import anything, mutated
from tests.probes.nvidia_smi import logs
from tests.sources.ssh.changing import next_frame

HEAD = (
    "interval 5\nbegun 100.00\nprocess\t21198\tR\t1700000000.25\t1000\tana\t5 6 \tpython\tpython train.py\n"
    "address lo 127.0.0.1/8\naddress eth0 10.0.0.5/24\naddress eth0 fe80::1/64\naddress eth0 2001:db8::1/64\n"
    "disk 1000 400 /\ndisk x 5 /data\nsent 100.50\ntime 1800000000\nboot 1234-abcd\nkernel 6.1\n"
    "hostname gpu01\nsystem Debian GNU/Linux 12\ncpus 64\nload 1.50 2.00 3.25 1/99 4\n"
    "total 1000\navailable 250\n"
)
WHOLE = HEAD.encode() + b"nvidia-smi 0\n" + logs.NEW


NEW_LINES = WHOLE.replace(
    b"process\t21198\tR\t1700000000.25\t1000\tana\t5 6 \tpython\tpython train.py",
    b"process\tpid=21198\tstate=R\tstarted=1700000000.25\tuid=1000\tuser=ana\tchildren=5 6 \tname=python"
    b"\tprogram=python train.py\tcontainer=of another day",
)


def reader() -> NodeReader:
    """A reader that has seen nothing yet."""
    return NodeReader("gpu01", interval=5, clock=lambda: 5000.0)


def frame(body: bytes, sequence: int = 1) -> Frame:
    """A sample."""
    return Frame(kind="sample", sequence=sequence, body=body)


def test_after_a_restart_of_the_node_no_gpu_is_remembered_here() -> None:
    """It may be another machine; the fleet knows which cards were there, and forgets them in time."""
    head = b"nvidia-smi 0\n"
    one = head + logs.log(logs.new_gpu(1))
    node = reader()
    found = []
    for boot, body in (("1", head + logs.NEW), ("1", one), ("2", one)):
        report = node.read_sample(frame(f"boot {boot}\n".encode() + body))
        found.append((len(report.gpus or ()), [problem.kind for problem in report.problems]))
    assert found == [(2, []), (2, ["gpu-lost"]), (1, [])]


def test_what_a_document_declares_in_itself_is_refused_and_makes_nothing() -> None:
    """Defaults of attributes let a small frame fill the memory, on the event loop."""
    defaults = " ".join(f"a{number} CDATA 'x'" for number in range(500))
    declared = f"<!DOCTYPE nvidia_smi_log [<!ATTLIST a {defaults}>]>".encode()
    bomb = re.sub(rb"<!DOCTYPE[^>]*>", declared, logs.NEW).replace(b"<gpu ", b"<a/>" * 1000 + b"<gpu ")
    node = reader()
    node.read_sample(frame(WHOLE))
    tracemalloc.start()
    report = node.read_sample(frame(HEAD.encode() + b"nvidia-smi 0\n" + bomb, 2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [problem.kind for problem in report.problems][-1:] == ["unreadable-output"]
    assert {gpu.memory_used_bytes for gpu in report.gpus or ()} == {None}
    assert most < 5_000_000


def test_a_whole_sample() -> None:
    """Every line finds its place."""
    report = reader().read_sample(frame(WHOLE))
    assert (report.node, report.boot_id, report.sequence) == ("gpu01", "1234-abcd", 10050)
    assert (report.age_seconds, report.interval_seconds) == (0.5, 5.0)
    assert report.taken_at == 1_800_000_000 - 0.5
    host = report.host
    assert host is not None
    assert (host.load_1, host.load_15, host.cpu_count) == (1.5, 3.25, 64)
    assert (host.memory_total_bytes, host.memory_used_bytes) == (1000 * 1024, 750 * 1024)
    assert [address.address for address in host.addresses] == ["10.0.0.5", "2001:db8::1"]
    assert [(disk.mount, disk.used_bytes, disk.total_bytes) for disk in host.disks] == [
        ("/", 400 * 1024, 1000 * 1024),
        ("/data", 5 * 1024, None),
    ]
    first, second = (report.gpus or ())[0].processes or ()
    assert (first.user, first.program, first.state, first.children) == (
        "ana",
        "python train.py",
        "running",
        (5, 6),
    )
    assert first.memory_used_bytes
    assert (second.pid, second.user, second.program) == (900, None, "Xorg")


def test_hostile_names_are_made_harmless() -> None:
    """What a process calls itself cannot move a cursor or turn a line around."""
    hostile = WHOLE.replace(b"python train.py", b"x\x1b[2J\xe2\x80\xae<script>")
    ((program, *_), *_) = [
        [process.program for process in gpu.processes or ()]
        for gpu in reader().read_sample(frame(hostile)).gpus or ()
    ]
    assert program == "x\\x1b[2J\\u202e<script>"


def test_an_nvidia_smi_of_before_that_still_waits() -> None:
    """The driver is hung since then, by our clock; the GPUs keep their names."""
    node = reader()
    node.read_sample(frame(WHOLE))
    for age in (30, 35):
        report = node.read_sample(frame(HEAD.encode() + f"waiting 77 {age} D\n".encode()))
        (problem,) = report.problems
        assert problem.kind == "driver-hung"
        assert "pid 77" in problem.text
        assert problem.since == 5000 - 30
        assert [gpu.utilization_percent for gpu in report.gpus or ()] == [None, None]
    assert not node.read_sample(frame(WHOLE)).problems


def test_a_disk_that_hangs_is_not_held_against_the_driver() -> None:
    """The words name what does not answer."""
    host = Frame(kind="host", sequence=1, body=HEAD.encode())
    node = reader()
    assert node.read_hung(host, seconds=12, doing="df").problems[0].kind == "disk-hung"
    assert node.read_hung(host, seconds=12, doing="processes").problems[0].kind == "processes-hung"
    hung = node.read_hung(host, seconds=12, doing="nvidia-smi")
    assert hung.problems[0].kind == "driver-hung"
    assert hung.gpus is None


@given(
    anything(
        [WHOLE, HEAD.encode() + b"waiting 77 30 D\n", HEAD.encode() + b"nvidia-smi 127\nsh: not found\n"]
    )
)
def test_every_report_is_one_that_the_border_lets_in(body: bytes) -> None:
    """Whatever a node sends: a report within all limits, or a refusal in words."""
    node = reader()
    with contextlib.suppress(WireError):
        report = node.read_sample(frame(body))
        assert decode_report(encode_report(report)) == report
        host = Frame(kind="host", sequence=2, body=body)
        report = node.read_hung(host, seconds=3, doing=None)
        assert decode_report(encode_report(report)) == report


OTHERS = (
    WHOLE.replace(b"98 %", b"7 %").replace(b"433.78", b"90.10").replace(b"sent 100.50", b"sent 105.50"),
    WHOLE.replace(b"7484 MiB", b"7000 MiB").replace(b"\tR\t", b"\tD\t").replace(b"load 1.50", b"load 9.00"),
    WHOLE.replace(b"98 %", b"[Unknown Error]").replace(b"available 250", b"available 1"),
    WHOLE.replace(b"<pid>21198<", b"<pid>21199<").replace(b"process\t21198", b"process\t21199"),
    WHOLE.replace(b"nvidia-smi 0", b"nvidia-smi 126"),
    WHOLE.replace(b"disk 1000 400 /\n", b"waiting 77 30 D\n"),
    HEAD.encode() + b"waiting 77 30 D\n",
    HEAD.encode() + b"nvidia-smi 9\nNVIDIA-SMI has failed\n",
)


@given(st.lists(st.one_of(st.sampled_from([WHOLE, *OTHERS]), mutated([WHOLE, *OTHERS])), max_size=6))
def test_changes_say_what_whole_samples_say(bodies: list[bytes]) -> None:
    """The reports are the same, and so is what is refused."""
    ours, theirs = reader(), reader()
    before = None
    for sequence, body in enumerate(bodies):
        now = body + b"\n"
        sent = frame(now, sequence) if before is None else next_frame(before, now, sequence)
        assert outcome(ours, sent) == outcome(theirs, frame(now))
        before = now


def outcome(node: NodeReader, sent: Frame) -> NodeReport | str:
    """A report, or why there is none."""
    try:
        return node.read_sample(sent)
    except WireError as error:
        return str(error)


def test_changes_of_a_sample_that_did_not_come_are_refused() -> None:
    """Nothing is guessed."""
    with pytest.raises(WireError, match="did not come"):
        reader().read_sample(Frame(kind="change", sequence=2, body=b""))


def test_a_node_with_more_processes_than_a_report_holds_is_still_shown() -> None:
    """The largest ones, and a problem that says so; before, one crowded node told nothing at all."""
    many = "".join(logs.process(pid, "python", memory=f"{pid} MiB") for pid in range(1, 601))
    gpu_of_all = logs.new_gpu(0, inside=f"<processes>{many}</processes>")
    document = (logs.NEW_HEAD + gpu_of_all + logs.TAIL).encode()
    report = reader().read_sample(frame(HEAD.encode() + b"nvidia-smi 0\n" + document))
    (gpu,) = report.gpus or ()
    assert sorted(process.pid for process in gpu.processes or ()) == list(range(89, 601))
    assert [problem.kind for problem in report.problems] == ["too-many-processes"]
    assert decode_report(encode_report(report)) == report


def test_process_lines_have_keys_and_older_ones_have_none() -> None:
    """Forced commands of an older day are still read, and keys of a later day do no harm."""
    assert NEW_LINES != WHOLE
    assert reader().read_sample(frame(NEW_LINES)) == reader().read_sample(frame(WHOLE))


def test_of_a_process_that_is_gone_its_owner_is_remembered() -> None:
    """The driver names it as long as it holds memory, and nobody else can say whose it was."""
    one = reader()
    before = one.read_sample(frame(NEW_LINES))
    gone = re.sub(rb"process\tpid=21198[^\n]*", b"process\tpid=21198\tstate=X", NEW_LINES)
    for sequence in (2, 3):
        after = one.read_sample(frame(gone, sequence))
        (was, *_), (now, *_) = ((report.gpus or ())[0].processes or () for report in (before, after))
        assert (was.state, now.state, now.user, now.program) == ("running", "gone", "ana", was.program)
    assert next(p.state for p in (reader().read_sample(frame(gone)).gpus or ())[0].processes or ()) == "gone"
