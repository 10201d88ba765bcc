"""What this process itself costs."""

from collections.abc import Iterator

import psutil

from gpuboard.metrics.text import Family


def own_families(process: psutil.Process) -> Iterator[Family]:
    """Memory and CPU time, under the names that every Prometheus knows."""
    times = process.cpu_times()
    yield Family(
        name="process_resident_memory_bytes",
        help="Memory of this process.",
        samples=[({}, process.memory_info().rss)],
    )
    yield Family(
        name="process_cpu_seconds_total",
        help="CPU time of this process.",
        kind="counter",
        samples=[({}, times.user + times.system)],
    )
