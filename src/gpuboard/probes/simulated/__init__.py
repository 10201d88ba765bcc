"""A believable fleet without hardware: jobs that come and go, idle holders, a hot and a lost GPU.

What a simulated node says depends only on seed, name and time, so that any moment, past ones too, can be
asked for, two runs agree, and a thousand nodes cost little.
"""

from gpuboard.probes.simulated.node import moved, node_names, simulate
from gpuboard.probes.simulated.probe import SimulatedProbe

__all__ = ["SimulatedProbe", "moved", "node_names", "simulate"]
