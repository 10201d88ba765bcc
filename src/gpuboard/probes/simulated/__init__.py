"""A believable fleet without hardware: jobs that come and go, idle holders, a hot and a lost GPU.

What a simulated node says depends only on seed, name and time, so that any moment, past ones too, can be
asked for, two runs agree, and a thousand nodes cost little.
"""

from gpuboard.probes.simulated.jobs import Job
from gpuboard.probes.simulated.node import (
    LOST_DETAIL,
    LOST_KIND,
    Hardware,
    hardware_of,
    lost_gpu,
    lost_since,
    moved,
    node_names,
    past_jobs,
    simulate,
)
from gpuboard.probes.simulated.probe import SimulatedProbe

__all__ = [
    "LOST_DETAIL",
    "LOST_KIND",
    "Hardware",
    "Job",
    "SimulatedProbe",
    "hardware_of",
    "lost_gpu",
    "lost_since",
    "moved",
    "node_names",
    "past_jobs",
    "simulate",
]
