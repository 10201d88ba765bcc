"""What the table of `gpuboard status` says of each GPU."""

from io import StringIO

from rich.console import Console

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.terminal.table import print_fleet
from gpuboard.verdict import Thresholds


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
    fleet.settle()
    out = StringIO()
    print_fleet(Console(file=out, width=140), fleet_view(fleet))
    lines = out.getvalue().splitlines()
    assert ["not counted" in line for line in lines if "○ free" in line] == [True, False]
