"""A small fleet to write down: nodes with GPUs whose figures can be told from their names and the time."""

from collections.abc import Iterator
from typing import Final

from gpuboard.history.base import History
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.embedded.clock_jumps import JUMP_SECONDS
from gpuboard.history.figures import GPU_MEASURED, HOST_NUMBERS, VERDICT_CODES
from gpuboard.history.records import (
    Batch,
    CurvesQuery,
    GpuSamples,
    HostSample,
    Member,
    Place,
    Taken,
    packed,
)
from gpuboard.model.verdict import VerdictWord

# The beginning of a day, so that windows of any length begin there.
DAY: Final = 1_699_920_000.0
HOUR: Final = 3600.0
GIB: Final = 1024**3


def gpu_sample(
    gpu: str,
    at: float,
    *,
    utilization: float | None = 50.0,
    holds: float = 15.0,
    verdict: VerdictWord = "busy",
    holders: tuple[str, ...] | None = ("ana",),
    **numbers: float | None,
) -> GpuSamples:
    """One GPU at one moment; figures that are not named cannot be told."""
    told = {"utilization_percent": utilization, **numbers}
    figures = packed(told.get(name) for name in GPU_MEASURED)
    times = (round(at * 1000), round(holds * 1000))
    return GpuSamples((gpu,), *times, figures, (None,), (VERDICT_CODES[verdict],), (holders,))


def host_sample(node: str, at: float, **numbers: float) -> HostSample:
    """One host at one moment."""
    return HostSample(node, round(at * 1000), 15_000, tuple(numbers.get(name) for name in HOST_NUMBERS))


def place(
    gpu: str, *, node: str = "gpu01", start: float = DAY, index: int = 0, counted: bool = True
) -> Place:
    """Where a GPU is."""
    return Place(gpu=gpu, node=node, index=index, label=str(index), start=start, counted=counted)


def batches(
    gpus: list[str], start: float, end: float, *, step: float = 10.0
) -> Iterator[tuple[float, Batch]]:
    """Every step a sample of each GPU, with the moment at which it is written; figures rise with the time."""
    places = [place(gpu, start=start, index=index) for index, gpu in enumerate(gpus)]
    for number in range(int((end - start) / step)):
        at = start + number * step
        samples = [
            gpu_sample(
                gpu,
                at,
                utilization=float((number + 7 * index) % 101),
                memory_used_bytes=float((index + 1) * GIB),
                power_watts=100.0 + number % 10 if index % 2 else None,
            )
            for index, gpu in enumerate(gpus)
        ]
        hosts = [host_sample("gpu01", at, load_percent=float(number % 50), memory_total_bytes=GIB)]
        yield (
            at + 1.0,
            Batch(
                gpu_samples=samples,
                host_samples=hosts,
                places=places if not number else (),
                positions={"gpu01": Taken("boot-1", number)},
            ),
        )


def write_all(history: History, gpus: list[str], start: float, end: float, *, step: float = 10.0) -> None:
    """Write them one after the other, and let the history do in between what is due."""
    for now, batch in batches(gpus, start, end, step=step):
        history.write(batch, now=now)
        tidy(history, now)


def tidy(history: History, now: float) -> int:
    """Let a history do all that is due; how many steps that took.

    A clock that jumped is believed an hour later: it is looked at then, too.
    """
    steps = 0
    if isinstance(history, EmbeddedHistory) and now - history._clock._latest > JUMP_SECONDS:
        steps += history.tidy(now=now - JUMP_SECONDS)
    while history.tidy(now=now):
        steps += 1
    return steps


def curve(
    history: History,
    gpu: str,
    start: float,
    end: float,
    *,
    points: int = 300,
    figure: str = "utilization_percent",
) -> list[float | None]:
    """The mean of one figure of one GPU, point by point."""
    query = CurvesQuery(
        kind="gpu", groups=((Member(gpu),),), figures=(figure,), start=start, end=end, points=points
    )
    return history.curves(query).curves[0].mean
