import pytest
from msgspec.structs import replace

from gpuboard.model.problems import problem
from gpuboard.model.report import MAX_GPUS, Disk, GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.probes.fit import fit
from gpuboard.wire.report import MAX_PROCESSES, MAX_REPORT_BYTES, decode_report, encode_report


def report(processes: int, *, gpus: int = 4, arguments: str | None = None) -> NodeReport:
    """A node with this many processes on each GPU, the later ones larger."""
    return NodeReport(
        node="n1",
        gpus=tuple(
            GpuReading(
                uuid=f"GPU-{index}",
                index=index,
                processes=tuple(
                    GpuProcess(pid=1 + pid, memory_used_bytes=pid, arguments=arguments)
                    for pid in range(processes)
                ),
            )
            for index in range(gpus)
        ),
    )


def test_an_ordinary_report_stays_as_it_is() -> None:
    """The very same object: nothing is copied for nothing."""
    ordinary = report(16)
    assert fit(ordinary) is ordinary


def test_of_too_many_processes_the_largest_stay() -> None:
    """A report that the board refuses would show nothing at all."""
    fitted = fit(report(500))
    kept = [process for gpu in fitted.gpus or () for process in gpu.processes or ()]
    assert len(kept) == MAX_PROCESSES
    assert min(process.memory_used_bytes or 0 for process in kept) == 372
    assert fitted.problems[0].kind == "too-many-processes"
    assert decode_report(encode_report(fitted)) == fitted


def test_too_many_words_are_left_out() -> None:
    """Processes matter more than their arguments."""
    fitted = fit(report(120, arguments="x" * 1024))
    assert len(encode_report(fitted)) < MAX_REPORT_BYTES
    assert {process.arguments for gpu in fitted.gpus or () for process in gpu.processes or ()} == {None}


def test_text_is_clean_before_it_leaves() -> None:
    """Bytes that are no text cannot even be written."""
    dirty = NodeReport(node="n1", gpus=(GpuReading(uuid="GPU-0", index=0, model="a\udc80\n"),))
    assert (fit(dirty).gpus or ())[0].model == "a\\udc80\\x0a"


def test_more_gpus_and_problems_than_a_report_holds_are_cut_in_words() -> None:
    """The rest still arrives, and nobody takes it for all."""
    many = NodeReport(node="n1", gpus=report(0, gpus=300).gpus, problems=(problem("gpu-lost"),) * 400)
    fitted = fit(many)
    assert len(fitted.gpus or ()) == MAX_GPUS
    assert [each.kind for each in fitted.problems][:3] == ["too-many-gpus", "report-too-large", "gpu-lost"]
    assert f"{MAX_GPUS} of 300" in fitted.problems[0].text
    assert f"{400 - (len(fitted.problems) - 2)} of 400 problems" in fitted.problems[1].text
    assert decode_report(encode_report(fitted)) == fitted


def test_sixteen_cards_of_seven_instances_fit_as_they_are() -> None:
    """With somebody on each of them, and everything lost besides."""
    lost = tuple(problem("gpu-lost", f"GPU {at}", gpu_uuid=f"GPU-{at}") for at in range(128))
    crowd = replace(report(1, gpus=128), problems=lost)
    assert fit(crowd) is crowd


LONG = "\U0001f642" * 4096
DISKS = tuple(Disk(mount=LONG[:4000] + str(number)) for number in range(64))
LOUD = Problem(kind="driver-error", text=LONG, remedy="reboot")


def long_named(gpus: int, processes: int) -> NodeReport:
    """A node on which somebody gives all programs the longest names there are."""
    short = report(processes, gpus=gpus)
    return replace(
        short,
        gpus=tuple(
            replace(gpu, processes=tuple(replace(p, program=LONG) for p in gpu.processes or ()))
            for gpu in short.gpus or ()
        ),
    )


@pytest.mark.parametrize(
    ("large", "told"),
    [
        (long_named(8, 64), "the ends of long texts"),
        (replace(report(1), host=HostFacts(disks=DISKS)), "disks and addresses"),
        (replace(report(1), problems=(LOUD,) * 200), "the ends of long texts"),
        (long_named(256, 2), "the ends of long texts"),
        (replace(report(3, gpus=256), host=HostFacts(disks=DISKS), problems=(LOUD,) * 300), "problems"),
    ],
    ids=["programs", "disks", "problems", "many GPUs", "everything"],
)
def test_a_report_never_grows_beyond_what_a_board_accepts(large: NodeReport, told: str) -> None:
    """Otherwise any user of a node could take it off the board by the names of files."""
    fitted = fit(large)
    for encoding in ("json", "msgpack"):
        assert decode_report(encode_report(fitted, encoding), encoding) == fitted
    assert any(told in each.text for each in fitted.problems if each.kind == "report-too-large")


def test_gpus_are_given_up_last_and_each_that_stays_keeps_a_process() -> None:
    """A busy GPU must not look free because its node has much to say."""
    fitted = fit(long_named(256, 2))
    assert {len(gpu.processes or ()) for gpu in fitted.gpus or ()} == {1}
    kept = len(fitted.gpus or ())
    assert [each.kind for each in fitted.problems][:2] == ["too-many-gpus", "too-many-processes"]
    assert (f"{kept} of 256" in fitted.problems[0].text, kept > 128) == (True, True)


def test_a_busy_gpu_never_loses_its_last_process() -> None:
    """Its processes may all be smaller than those of the others, but it is not free."""
    crowded = GpuReading(
        uuid="GPU-0",
        index=0,
        processes=tuple(GpuProcess(pid=1 + pid, memory_used_bytes=10**9) for pid in range(600)),
    )
    small = GpuReading(uuid="GPU-1", index=1, processes=(GpuProcess(pid=1), GpuProcess(pid=2)))
    empty = GpuReading(uuid="GPU-2", index=2, processes=())
    unknown = GpuReading(uuid="GPU-3", index=3)
    fitted = fit(NodeReport(node="n1", gpus=(crowded, small, empty, unknown)))
    kept = [gpu.processes if gpu.processes is None else len(gpu.processes) for gpu in fitted.gpus or ()]
    assert kept == [MAX_PROCESSES - 1, 1, 0, None]
    assert "512 of 602" in fitted.problems[0].text
