"""What the table of `gpuboard status` says of each GPU."""

from io import StringIO

from rich.console import Console

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.verdict import Claim
from gpuboard.probes.inventory import name_of
from gpuboard.terminal.table import print_fleet
from gpuboard.verdict import Thresholds


def printed(fleet: Fleet) -> list[str]:
    """The lines of the table."""
    fleet.settle()
    out = StringIO()
    print_fleet(Console(file=out, width=140), fleet_view(fleet))
    return out.getvalue().splitlines()


def test_a_process_without_a_figure_is_not_said_to_have_one() -> None:
    """Two of three are known: the sum is of these, and the third is told apart."""
    fleet = Fleet(SteadyClock())
    sizes = (200 << 20, 300 << 20, None)
    processes = tuple(
        GpuProcess(pid=pid, user="ana", memory_used_bytes=size) for pid, size in enumerate(sizes, start=1)
    )
    gpu = GpuReading(uuid="GPU-0", index=0, model="A100", memory_total_bytes=40 << 30, processes=processes)
    fleet.sink("local").report("a", NodeReport(node="a", gpus=(gpu,)))
    (line,) = [line for line in printed(fleet) if "ana" in line]
    assert "ana 500 MiB x2 +1 of unknown memory" in line


def test_what_is_wrong_with_a_gpu_is_said_beside_who_is_on_it() -> None:
    """Who sits on what others have booked reads it in the terminal, too."""
    fleet = Fleet(SteadyClock())
    process = GpuProcess(pid=1, user="ana", memory_used_bytes=1 << 30)
    gpu = GpuReading(uuid="GPU-0", index=0, model="A100", memory_total_bytes=40 << 30, processes=(process,))
    fleet.sink("local").report("a", NodeReport(node="a", gpus=(gpu,)))
    fleet.set_claims("booking", {("a", 0): Claim(who="ben", is_no_show=True)})
    (line,) = [line for line in printed(fleet) if "ana" in line]
    assert line.rstrip().endswith("ana 1.0 GiB  ! trespass  ! no show")


def test_a_free_gpu_that_is_not_offered_is_not_counted() -> None:
    """The display card of a machine; the page says the same."""
    fleet = Fleet(SteadyClock(), thresholds=Thresholds(ignore=("GT 710",)))
    gpus = [
        GpuReading(
            uuid=f"GPU-{index}", index=index, model=model, utilization_percent=0.0, memory_used_bytes=0,
            memory_total_bytes=2 << 30, processes=(),
        )
        for index, model in enumerate(("GT 710", "A100"))
    ]  # fmt: skip
    fleet.sink("local").report("a", NodeReport(node="a", gpus=tuple(gpus)))
    lines = printed(fleet)
    assert ["not counted" in line for line in lines if "○ free" in line] == [True, False]


def test_where_all_gpus_are_of_ignored_models_none_counts() -> None:
    """Not "no GPU": their rows stand above."""
    fleet = Fleet(SteadyClock(), thresholds=Thresholds(ignore=("GT 710",)))
    gpus = tuple(GpuReading(uuid=f"GPU-{index}", index=index, model="GT 710") for index in range(2))
    fleet.sink("local").report("a", NodeReport(node="a", gpus=gpus))
    assert printed(fleet)[-1].strip() == "no GPU that counts (2 ignored)"


def test_a_problem_says_which_gpu_it_is_about() -> None:
    """On a terminal it does not stand beside its GPU; what an older agent says is printed as it is."""
    fleet = Fleet(SteadyClock())
    gpu = GpuReading(uuid="GPU-0", index=0, model="A100")
    lost = problem("gpu-lost", gpu_uuid="GPU-0", place=name_of(gpu))
    older = problem("xid", "GPU 0 (A100, GPU-0): 79", gpu_uuid="GPU-0")
    fleet.sink("local").report("a", NodeReport(node="a", gpus=(gpu,), problems=(lost, older)))
    told = [line.strip() for line in printed(fleet) if "!" in line]
    assert f"! GPU 0 (A100, GPU-0): {problem('gpu-lost').text}" in told
    assert f"! {older.text}" in told
