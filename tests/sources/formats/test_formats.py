import json
from contextlib import suppress

import pytest
from hypothesis import given

from gpuboard.model.errors import WireError
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.sources.formats import FORMATS, is_meant_for, read_file
from gpuboard.sources.formats.node_info import decode_node_info
from gpuboard.wire.drop import encode_drop
from gpuboard.wire.report import decode_report, encode_report
from tests.mutations import anything, mutated
from tests.probes.nvidia_smi.logs import BUSY, MIG, NEW, OLD, log, new_gpu
from tests.probes.nvidia_smi.test_tables import HEADER, WITH_UNITS
from tests.sources.formats import test_gpu_monitor, test_gpustat_json, test_gpustat_text, test_node_info

APPS = b"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-a, 7, /usr/bin/python, 500 MiB\n"
SENTENCE = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure\n"
DROP = encode_drop(NodeReport(node="elsewhere", gpus=(GpuReading(uuid="GPU-a", index=0),)))
SAMPLES = {
    "drop": (DROP,),
    "gpustat-json": tuple(
        test_gpustat_json.encode(each) for each in (test_gpustat_json.OLD, test_gpustat_json.NEW)
    ),
    "nvidia-smi-xml": (NEW, OLD, MIG),
    "nvidia-smi-csv": (HEADER + WITH_UNITS, HEADER + WITH_UNITS + APPS),
    "gpustat-text": (test_gpustat_text.OLD, test_gpustat_text.NEW),
    "nvidia-smi-words": (SENTENCE, b"No devices were found\n"),
}
EVERY = tuple(sample for samples in SAMPLES.values() for sample in samples)


def check(report: NodeReport) -> None:
    """Whatever comes out is a report that an agent might have sent."""
    assert report.node == "node1"
    assert decode_report(encode_report(report)) == report


@pytest.mark.parametrize("name", [form.name for form in FORMATS])
def test_each_format_is_recognised_by_its_own_reader_alone(name: str) -> None:
    """The order of the table is then a matter of taste."""
    for sample in SAMPLES[name]:
        assert [form.name for form in FORMATS if form.sniff(sample)] == [name]
        check(read_file(sample, "node1"))


def test_a_file_cannot_speak_for_another_node() -> None:
    """Its name says whose it is, whatever stands inside."""
    assert read_file(DROP, "node1").node == "node1"


def test_tables_of_gpus_and_processes_may_follow_each_other() -> None:
    """One crontab line with two commands; without the second, processes are unknown."""
    both = read_file(HEADER + WITH_UNITS + APPS, "node1")
    assert both.gpus is not None
    assert [p.program for p in both.gpus[0].processes or ()] == ["python"]
    alone = read_file(HEADER + WITH_UNITS, "node1")
    assert alone.gpus is not None
    assert alone.gpus[0].processes is None
    with pytest.raises(WireError, match="--query-gpu"):
        read_file(APPS, "node1")


def test_what_the_driver_says_is_wrong_is_a_fact_about_the_node() -> None:
    """A live node with a broken driver is not a broken file."""
    report = read_file(SENTENCE, "node1")
    assert report.gpus is None
    assert [found.kind for found in report.problems] == ["no-driver"]
    assert read_file(b"No devices were found\n", "node1").gpus == ()


@pytest.mark.parametrize("name", [form.name for form in FORMATS if form.name != "nvidia-smi-words"])
def test_half_a_file_is_never_taken_for_a_whole_one(name: str) -> None:
    """A shared folder shows files while they are written; half a list of GPUs would lose the rest."""
    for sample in SAMPLES[name]:
        whole = read_file(sample, "node1")
        for length in range(1, len(sample) - 1, max(1, len(sample) // 97)):
            if sample[:length].endswith(b"\n"):
                continue
            with suppress(WireError):
                assert read_file(sample[:length], "node1").gpus == whole.gpus


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"\x7fELF\x02\x01\x01" + bytes(500), "no known kind"),
        (b"{}", "no known kind"),
        (b"hello world\n", "no known kind"),
        (b"x" * (5 * 1024 * 1024), "refused"),
        (log(new_gpu(0), new_gpu(0)), "twice"),
    ],
    ids=["empty", "blank", "binary", "other JSON", "words", "huge", "one GPU twice"],
)
def test_a_foreign_or_broken_file_is_refused_in_words(data: bytes, words: str) -> None:
    """Whoever put it there should know why it does not show."""
    with pytest.raises(WireError, match=words):
        read_file(data, "node1")


def test_a_file_with_more_gpus_than_a_report_holds_is_shown_in_part_and_says_so() -> None:
    """Refusing it would lose them all."""
    many = log(*(new_gpu(0).replace("GPU-0", f"GPU-{n}") for n in range(300)))
    report = read_file(many, "node1")
    assert len(report.gpus or ()) <= 256
    assert report.problems[0].kind == "too-many-gpus"
    assert f"{len(report.gpus or ())} of 300" in report.problems[0].text


def test_hostile_names_come_out_harmless() -> None:
    """What a process calls itself is up to its owner."""
    name = "a\x1b[31m\u202egnp.exe<script>"
    text = f"[0] V100 | 64'C, 98 % | 10 / 20 MB | ev\u200bil:{name}/7(5M)\n"
    document = log(new_gpu(inside=BUSY)).replace(b"/usr/bin/python3", name.encode())
    for report in (read_file(text.encode(), "node1"), read_file(document, "node1")):
        assert report.gpus is not None
        for process in report.gpus[0].processes or ():
            assert (process.program or "").isprintable()
            assert (process.user or "").isprintable()


@pytest.mark.parametrize("character", ["\x01", "\u202e", "\U000e0001", "\ufeff"])
def test_a_long_name_that_must_be_escaped_still_fits_a_report(character: str) -> None:
    """Escaping makes it ten times longer; else one process could keep its node off the board."""
    long = character * 5000
    text = f"{long} Sun Nov 15\n[0] V100 | 64'C, 98 % | 10 / 20 MB | {long}:{long}/7(5M)\n"
    check(read_file(text.encode(), "node1"))
    check(read_file(log(new_gpu(inside=BUSY)).replace(b"/usr/bin/python3", long.encode()), "node1"))
    users = test_gpu_monitor.USERS.replace(b"alice", long[:250].encode())
    check(test_gpu_monitor.read({**test_gpu_monitor.FILES, "users": users}, node="node1"))


@given(anything(EVERY))
def test_no_file_breaks_the_readers(data: bytes) -> None:
    """A report or a sentence; nothing else."""
    for form in FORMATS:
        form.sniff(data)
        with suppress(WireError):
            check(form.read(data, "node1"))
    with suppress(WireError):
        check(read_file(data, "node1"))


@given(anything(EVERY))
def test_whether_a_file_was_meant_for_a_node_can_be_asked_of_any(data: bytes) -> None:
    """Cut off at any place, what a node writes still is a node's."""
    assert is_meant_for(data, "node1", "README.md") is False
    assert isinstance(is_meant_for(data, "node1", "node1"), bool)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 4096,
        b" \n",
        b'{"gpuboard_drop":1,"length":99',
        b"node1  Sun Nov 1",
        b"sh: 1: gpustat: not found\n",
        b'Traceback (most recent call last):\n  File "gpustat", line 1\n',
        b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    ],
)
def test_an_empty_a_cut_off_and_a_failed_file_are_a_nodes(content: bytes) -> None:
    """So that the node is missed."""
    assert is_meant_for(content, "node1", "node1")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("hosts.json", b'{"gpu1": "gpu1.lab.example"}'),
        ("notes", b"Hello, this folder is for status files.\n"),
        ("README", b""),
        ("index.html", b""),
        ("cml10.bak", b"sh: 1: gpustat: not found\n"),
        ("picture", b"\x89PNG\r\n\x1a\n"),
    ],
)
def test_what_people_put_beside_them_is_not(name: str, content: bytes) -> None:
    """Nobody wants a node called readme."""
    assert not is_meant_for(content, name.partition(".")[0].lower(), name)


@given(mutated([json.dumps(test_node_info.STATUS).encode()]))
def test_no_old_nodes_answer_breaks_the_reader(data: bytes) -> None:
    """It comes over the network."""
    with suppress(WireError):
        check(decode_node_info(data, "node1"))


@given(*(mutated([data]) for data in test_gpu_monitor.FILES.values()))
def test_no_family_of_files_breaks_the_reader(
    gpus: bytes, processes: bytes, users: bytes, status: bytes
) -> None:
    """Each of the files may be damaged in its own way."""
    whole = test_gpu_monitor.FILES
    for files in (
        {"gpus": gpus, "processes": processes, "users": users, "status": status, "disks": status},
        {**whole, "processes": processes, "users": users},
        {**whole, "status": status},
    ):
        with suppress(WireError):
            check(test_gpu_monitor.read(files, node="node1"))


def test_an_xml_that_ends_before_its_first_element_is_half_written() -> None:
    """Within its declaration, its document type, or the element's name; a page of somebody's is none."""
    head = b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log'
    for end in range(len(b"<?xml"), len(head)):
        assert is_meant_for(head[:end], "node1", "node1"), head[:end]
        with pytest.raises(WireError, match="half-written"):
            read_file(head[:end], "node1")
    for other in (b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">\n', b'<?xml version="1.0"?>\n<list'):
        assert not is_meant_for(other, "node1", "node1")


GPUSTAT_FILE = test_gpustat_text.NEW


@pytest.mark.parametrize("node", ["node1", GPUSTAT_FILE.split()[0].decode()])
def test_a_gpustat_file_is_half_written_wherever_after_its_header_it_ends(node: str) -> None:
    """It is a node's even if the host was never read, and has another name than its file."""
    header = GPUSTAT_FILE.index(b"\n")
    for end in (*range(header, header + 60), header + 1):
        assert is_meant_for(GPUSTAT_FILE[:end], node, node)
        with pytest.raises(WireError, match="half-written"):
            read_file(GPUSTAT_FILE[:end], node)


def test_a_gpustat_file_that_ends_within_its_header_is_half_written() -> None:
    """The host's own name is known."""
    node = GPUSTAT_FILE.split()[0].decode()
    for end in range(len(node), GPUSTAT_FILE.index(b"\n")):
        with pytest.raises(WireError, match="half-written"):
            read_file(GPUSTAT_FILE[:end], node)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"bash: gpustat: command not found\n", "bash: gpustat: command not found"),
        (b"\n/bin/sh: 1: gpustat: not found\n", "/bin/sh: 1: gpustat: not found"),
        (
            b"Error on querying NVIDIA devices. Use --debug flag to see more details.\nMore\n",
            "Error on querying NVIDIA devices. Use --debug flag to see more details.",
        ),
        (b"Traceback (most recent call last):\n  x\nImportError: no pynvml\n", "ImportError: no pynvml"),
        (b"sh: \x1b[31m not found\n", r"sh: \x1b[31m not found"),
        (b"not found " + b"x" * 9000, "not found " + "x" * 190),
    ],
)
def test_a_file_with_a_failed_command_says_what_the_command_said(content: bytes, said: str) -> None:
    """In one line, short and harmless."""
    with pytest.raises(WireError) as caught:
        read_file(content, "node1")
    assert str(caught.value) == f"the command that writes it failed: {said}"
    assert is_meant_for(content, "node1", "node1")
