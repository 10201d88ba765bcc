"""Samples as they are handed over, as columns of whole numbers, and as bytes."""

import logging
import struct
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.blocks import QUICK, BlockError, Ints, pack, unpack
from gpuboard.history.figures import FIGURES, GPU_NUMBERS, LARGEST, NOTHING, Kind
from gpuboard.history.grid import Samples

log = logging.getLogger(__name__)

_BASE: Final = struct.Struct("<q")
# Of which series, when, how long; then the figures.
_LEADING: Final = 3
_STEPS: Final[dict[Kind, NDArray[np.float64]]] = {
    "gpu": np.array([[figure.step] for figure in FIGURES["gpu"][: len(GPU_NUMBERS)]]),
    "host": np.array([[figure.step] for figure in FIGURES["host"]]),
}


def columns(
    kind: Kind,
    series: Sequence[int],
    moments: Sequence[int] | NDArray[np.int64],
    holds: Sequence[int] | NDArray[np.int64],
    told: NDArray[np.float64],
) -> Samples:
    """Samples as columns of whole numbers, of what was told figure by figure, NaN where nothing was.

    What cannot be told is `NOTHING`, what is beyond reason the most there is.
    """
    steps = told / _STEPS[kind]
    np.rint(steps, out=steps)
    np.clip(steps, -LARGEST, LARGEST, out=steps)
    # Of a NaN and a number it takes the number, and no other is as small.
    np.fmax(steps, NOTHING, out=steps)
    return Samples(
        np.array(series, np.int32),
        np.array(moments, np.int64),
        np.clip(np.array(holds, np.int64), 0, LARGEST).astype(np.int32),
        dict(enumerate(steps.astype(np.int32))),
    )


def to_bytes(samples: Samples) -> bytes:
    """Write samples down, with all their figures."""
    base = int(samples.at_ms.min()) if len(samples) else 0
    # Further apart than three weeks they are in no honest batch: then the latest moment that fits.
    moments = np.minimum(samples.at_ms - base, LARGEST).astype(np.int32)
    figures = [samples.figures[place] for place in range(len(samples.figures))]
    return _BASE.pack(base) + pack(
        np.stack([samples.series, moments, samples.holds_ms, *figures]), level=QUICK
    )


def from_bytes(blob: bytes, places: Iterable[int]) -> Samples:
    """Read samples back, with these of their figures.

    Raises:
        BlockError: the bytes are damaged.
    """
    if len(blob) < _BASE.size:
        raise BlockError("it is too short")
    (base,) = _BASE.unpack_from(blob)
    wanted = sorted(places)
    rows = unpack(blob[_BASE.size :], [0, 1, 2, *(place + _LEADING for place in wanted)])
    figures: dict[int, Ints] = dict(zip(wanted, rows[_LEADING:], strict=True))
    return Samples(rows[0], rows[1].astype(np.int64) + base, rows[2], figures)


def read_tables(blobs: Iterable[bytes | None], places: list[int]) -> list[Samples]:
    """Samples as they were written, with these figures; what cannot be read is left out."""
    tables = []
    for blob in blobs:
        if blob is None:
            continue
        try:
            tables.append(from_bytes(blob, places))
        except BlockError as error:
            log.warning("samples cannot be read: reason=%s", error)
    return tables
