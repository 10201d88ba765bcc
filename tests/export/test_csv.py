"""CSV that no spreadsheet can be hurt by."""

import csv
import io

import pytest

from gpuboard.export.csv import COLUMNS, guard, to_csv
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.names import Names
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport


def rows_of(*gpus: GpuReading, names: Names = Names()) -> list[dict[str, str]]:  # noqa: B008 - a frozen value
    """The lines that these GPUs make."""
    fleet = Fleet(SteadyClock(), names=names)
    fleet.sink("local").report("a", NodeReport(node="a", gpus=gpus))
    fleet.settle()
    return list(csv.DictReader(io.StringIO(to_csv(fleet_view(fleet)))))


def test_every_gpu_is_a_line_with_all_columns() -> None:
    """And unknown values are empty, not zero."""
    (row,) = rows_of(GpuReading(uuid="GPU-1", index=0, memory_used_bytes=7))
    assert tuple(row) == COLUMNS
    assert (row["memory_used_bytes"], row["power_watts"], row["verdict"]) == ("7", "", "unknown")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "＝1", "＋1", "－1", "＠x"])  # noqa: RUF001 - these very characters
def test_a_cell_that_would_be_a_formula_is_made_text(text: str) -> None:
    """Whoever can name a process can otherwise run code in a PI's spreadsheet."""
    assert guard(text) == "'" + text.replace("\r", "\n")


HOSTILE = [
    "x;=cmd()", "x\t=cmd()", "x; =cmd()",
    'x;"=cmd()', 'x";=cmd()', "x;\t;+1", "x\r=cmd()", "x\n=cmd()", ";;;@x",
    "x\r\n=cmd()", "a,b;=c", '"";""=1', "x;'=1", "x;\uff1d1",
]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("text", HOSTILE)
def test_whichever_separator_it_is_opened_with_no_cell_is_a_formula(text: str, separator: str) -> None:
    """Half of Europe's spreadsheets take semicolons; then what stands behind one is a cell of its own."""
    fleet = Fleet(SteadyClock())
    gpu = GpuReading(uuid="u", index=0, model=text, processes=(GpuProcess(pid=1, user=text),))
    fleet.sink("local").report("a", NodeReport(node="a", gpus=(gpu,)))
    fleet.settle()
    written = to_csv(fleet_view(fleet))
    assert "\r" not in written
    cells = [cell for row in csv.reader(io.StringIO(written), delimiter=separator) for cell in row]
    naive = [cell for line in written.splitlines() for cell in line.split(separator)]
    dangerous = tuple("=+-@＝＋－＠")  # noqa: RUF001 - these very characters
    assert [cell for cell in (*cells, *naive) if cell.strip(' \t"').startswith(dangerous)] == []


def test_the_guard_works_where_users_choose_the_text() -> None:
    """A user name that is a formula."""
    (row,) = rows_of(GpuReading(uuid="u", index=0, model="=cmd()", processes=(GpuProcess(pid=1, user="=1"),)))
    assert (row["model"], row["users"]) == ("'=cmd()", "'=1")


def test_numbers_keep_their_sign() -> None:
    """A negative temperature is a number."""
    assert guard(-3.0) == -3.0


def test_a_model_is_called_as_everywhere_else() -> None:
    """By the name that the admin gave it."""
    gpu = GpuReading(uuid="GPU-1", index=0, model="NVIDIA A100-SXM4-80GB")
    (row,) = rows_of(gpu, names=Names(models={"NVIDIA A100-SXM4-80GB": "Big one"}))
    assert row["model"] == "Big one"
