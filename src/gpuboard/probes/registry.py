"""All probes, in one visible table, and the choice among them."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

from gpuboard.model.errors import ProbeUnavailable, UsageError
from gpuboard.model.report import Problem
from gpuboard.probes.base import Devices, Probe, Touch, touch_all

# Order is preference: the first probe that answers wins. The names are imported only when it is their turn.
PROBES: Final = {
    "nvml": "gpuboard.probes.nvml:NvmlProbe",
    "nvidia-smi": "gpuboard.probes.nvidia_smi.probe:NvidiaSmiProbe",
    "simulated": "gpuboard.probes.simulated:SimulatedProbe",
}
# Never chosen unless named: it would answer everywhere.
ONLY_BY_NAME: Final = frozenset({"simulated"})

Load = Callable[[str], Probe]


def load(name: str) -> Probe:
    """Make the probe of this name.

    Raises:
        UsageError: there is no such probe.
    """
    place = PROBES.get(name)
    if place is None:
        raise UsageError(f"there is no probe {name!r}; choose one of {', '.join(PROBES)}")
    module, _, part = place.partition(":")
    probe: Probe = getattr(import_module(module), part)()
    return probe


def choose(name: str | None = None) -> Probe:
    """Return the probe of this name, or one that reads with the best probe that this machine has.

    Nothing is asked here: drivers are touched only when the probe is read.

    Raises:
        UsageError: there is no such probe.
    """
    return load(name) if name is not None else FirstThatAnswers()


class FirstThatAnswers:
    """Reads with the first probe that this machine has what it needs for, and then stays with it."""

    name = "automatic"

    def __init__(self, names: Sequence[str] | None = None, *, load: Load = load) -> None:
        self._names = tuple(name for name in PROBES if name not in ONLY_BY_NAME) if names is None else names
        self._load = load
        self._chosen: Probe | None = None

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return what the chosen probe reads.

        Raises:
            ProbeUnavailable: this machine lacks what any of the probes needs.
            ProbeFailed: the chosen one misbehaved.
        """
        if self._chosen is not None:
            return self._chosen.read(touch)
        problems: list[Problem] = []
        for name in self._names:
            probe = self._load(name)
            try:
                devices = probe.read(touch)
            except ProbeUnavailable as error:
                probe.close()
                problems.append(error.problem)
                continue
            self._chosen = probe
            self.name = probe.name
            return devices
        # The first is the one that people would want to work.
        raise ProbeUnavailable(problems[0])

    def close(self) -> None:
        """Give the driver back; a later read chooses anew."""
        if self._chosen is not None:
            self._chosen.close()
        self._chosen = None
