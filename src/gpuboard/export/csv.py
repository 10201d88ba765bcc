"""The fleet as CSV, a line per GPU; cells cannot become formulas."""

import csv
import io
import re
from typing import Final

from gpuboard.wire.views import FleetView, GpuView, NodeView

COLUMNS: Final = (
    "node", "state", "gpu", "counted", "uuid", "model", "verdict", "reason", "utilization_percent",
    "memory_utilization_percent", "memory_used_bytes", "memory_total_bytes", "temperature_celsius",
    "power_watts", "users", "processes", "booked_by", "booked_until", "sampled_at",
    "display_name",
)  # fmt: skip
# Where a cell begins for one that reads semicolons or tabs as separators too, or loses its way in the quotes;
# there, what would be run. Full-width forms are taken for the plain ones by some spreadsheets.
_DANGEROUS: Final = re.compile(r"(^|[;\t\n])(?=[\s\"']*[=+\-@＝＋－＠]|[\t\n])")  # noqa: RUF001 - these are meant


def to_csv(fleet: FleetView) -> str:
    """Write all GPUs; unknown values are empty cells."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for node in fleet.nodes:
        for gpu in node.gpus:
            writer.writerow([guard(cell) for cell in _cells(node, gpu)])
    return out.getvalue()


def guard(cell: object) -> object:
    """Make text harmless that a spreadsheet would run; numbers stay as they are."""
    if isinstance(cell, str):
        # A bare carriage return would end the line for some readers; a line feed makes the writer quote.
        return _DANGEROUS.sub(r"\1'", cell.replace("\r\n", "\n").replace("\r", "\n"))
    return "" if cell is None else cell


def _cells(node: NodeView, gpu: GpuView) -> list[object]:
    reading, claim = gpu.reading, gpu.claim
    users = None if gpu.users is None else " ".join(user.name for user in gpu.users)
    return [
        node.name,
        node.state,
        gpu.label,
        str(gpu.counted).lower(),
        gpu.uuid,
        gpu.model,
        gpu.verdict.word,
        gpu.verdict.reason.text,
        reading.utilization_percent,
        reading.memory_utilization_percent,
        reading.memory_used_bytes,
        reading.memory_total_bytes,
        reading.temperature_celsius,
        reading.power_watts,
        users,
        None if reading.processes is None else len(reading.processes),
        None if claim is None else claim.who,
        None if claim is None else claim.until,
        node.sampled_at,
        node.display_name,
    ]
