"""Idle counts from when work stopped, not from when that was found. Pure."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import Ints
from gpuboard.history.cells import Cells
from gpuboard.history.figures import GPU_FIGURES, NOTHING, VERDICT_CODES, place_of

VERDICT: Final = place_of("gpu", "verdict")
USE: Final = place_of("gpu", "utilization_percent")
# At most so far back.
IDLE_BACK_SECONDS: Final = 3600.0


class Stretch(NamedTuple):
    """Cells of one tier, one after the other from a moment on."""

    start_ms: int
    cell_ms: int
    is_seen: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    verdicts: Ints
    holders: Ints
    use: Ints


def is_quiet_at_end(cells: Cells, quiet_percent: float) -> bool:
    """Whether what comes behind these cells may tell that somebody was idle in them."""
    verdicts, use = (cells.values[place].mean[:, -1] for place in (VERDICT, USE))
    return bool(_is_quiet(cells.observed[:, -1] > 0, verdicts, use, quiet_percent).any())


def _is_quiet(
    is_seen: NDArray[np.bool_], verdicts: Ints, use: Ints, quiet_percent: float
) -> NDArray[np.bool_]:
    """Where somebody was on a GPU and did nothing."""
    line = quiet_percent / GPU_FIGURES[USE].step
    found: NDArray[np.bool_] = (
        is_seen & (verdicts == VERDICT_CODES["busy"]) & (use != NOTHING) & (use <= line)
    )
    return found


def count_idle_back(stretch: Stretch, quiet_percent: float) -> None:
    """Count as idle, too, the quiet time of the same people right before they were found idle."""
    idle = VERDICT_CODES["idle"]
    most = int(IDLE_BACK_SECONDS * 1000) // stretch.cell_ms
    is_quiet = _is_quiet(stretch.is_seen, stretch.verdicts, stretch.use, quiet_percent)
    begins = np.flatnonzero((stretch.verdicts[1:] == idle) & is_quiet[:-1]) + 1
    for begin in begins.tolist():
        place = begin - 1
        while (
            place >= max(0, begin - most)
            and is_quiet[place]
            and stretch.holders[place] == stretch.holders[begin]
        ):
            stretch.verdicts[place] = idle
            place -= 1
