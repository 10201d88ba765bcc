from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.probes.fit import fit, fit_processes
from gpuboard.probes.problems import problem
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
                    GpuProcess(pid=pid, memory_used_bytes=pid, arguments=arguments)
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
    assert min(process.pid for process in kept) == 372
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


def test_more_gpus_and_problems_than_a_report_holds_are_cut() -> None:
    """The rest still arrives."""
    many = NodeReport(node="n1", gpus=report(0, gpus=70).gpus, problems=(problem("gpu-lost"),) * 200)
    fitted = fit(many)
    assert (len(fitted.gpus or ()), len(fitted.problems)) == (64, 128)


def test_a_busy_gpu_never_loses_its_last_process() -> None:
    """Its processes may all be smaller than those of the others, but it is not free."""
    crowded = GpuReading(
        uuid="GPU-0",
        index=0,
        processes=tuple(GpuProcess(pid=pid, memory_used_bytes=10**9) for pid in range(600)),
    )
    small = GpuReading(uuid="GPU-1", index=1, processes=(GpuProcess(pid=1), GpuProcess(pid=2)))
    empty = GpuReading(uuid="GPU-2", index=2, processes=())
    unknown = GpuReading(uuid="GPU-3", index=3)
    fitted = fit_processes(NodeReport(node="n1", gpus=(crowded, small, empty, unknown)))
    kept = [gpu.processes if gpu.processes is None else len(gpu.processes) for gpu in fitted.gpus or ()]
    assert kept == [MAX_PROCESSES - 1, 1, 0, None]
    assert "512 of 602" in fitted.problems[0].text
