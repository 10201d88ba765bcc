"""Invented figures as samples of nodes: so is told what of a demo's past is no whole hour. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpuboard.history.figures import GPU_MEASURED, HOST_NUMBERS
from gpuboard.history.records import GpuSamples, HostSample, packed

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
STEP_SECONDS: Final = 60
_STEP_MS: Final = STEP_SECONDS * 1000


def gpu_samples(
    gpus: Sequence[str], columns: Sequence[Columns], times: Floats, crowds: Sequence[tuple[str, ...]]
) -> Iterator[GpuSamples]:
    """The GPUs of one node at each of these moments; the holders are numbers of crowds."""
    for at, moment in enumerate(times.tolist()):
        throttled = [_at(told, "throttled", at) for told in columns]
        holders = [_at(told, "holders", at) for told in columns]
        yield GpuSamples(
            gpus=tuple(gpus),
            at_ms=round(moment * 1000),
            holds_ms=_STEP_MS,
            figures=packed(_at(told, name, at) for told in columns for name in GPU_MEASURED),
            throttled=[None if one is None else one > 0 for one in throttled],
            verdicts=[int(told["verdict"][at]) for told in columns],
            holders=tuple(None if one is None else crowds[int(one)] for one in holders),
        )


def host_samples(node: str, columns: Columns, times: Floats) -> Iterator[HostSample]:
    """One host at each of these moments."""
    for at, moment in enumerate(times.tolist()):
        numbers = tuple(_at(columns, name, at) for name in HOST_NUMBERS)
        yield HostSample(node, round(moment * 1000), _STEP_MS, numbers)


def _at(columns: Columns, name: str, at: int) -> float | None:
    """A figure at a moment; what is no number cannot be told."""
    if name not in columns:
        return None
    value = float(columns[name][at])
    return None if np.isnan(value) else value
