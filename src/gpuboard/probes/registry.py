"""All probes, in one visible table, and the choice among them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from gpuboard.model.errors import ProbeUnavailable, UsageError
from gpuboard.model.report import Problem
from gpuboard.probes.base import Devices, Probe, Touch, touch_all
from gpuboard.probes.presence import Signs, is_here


class Vendor(NamedTuple):
    """The probes of one vendor, and how its devices are recognised without asking a driver."""

    signs: Signs
    # Order is preference: the first that answers wins. Each is imported only when it is its turn.
    probes: Mapping[str, str]


NVIDIA: Final = Vendor(
    # Jetson has no card on a bus, and Linux under Windows only a library.
    Signs(pci="0x10de", files=("dev/nvidia*", "dev/nvmap", "usr/lib/wsl/lib/libnvidia-ml.so*")),
    {
        "nvml": "gpuboard.probes.nvml:NvmlProbe",
        "nvidia-smi": "gpuboard.probes.nvidia_smi.probe:NvidiaSmiProbe",
    },
)
# In the order of their numbers on a node that has several vendors' GPUs: the first keeps its driver's.
VENDORS: Final = {"nvidia": NVIDIA}
# Never chosen unless named: they would answer everywhere.
ONLY_BY_NAME: Final = {"simulated": "gpuboard.probes.simulated:SimulatedProbe"}
PROBES: Final = {
    **{name: place for vendor in VENDORS.values() for name, place in vendor.probes.items()},
    **ONLY_BY_NAME,
}
PROBE_NAMES: Final = ", ".join(PROBES)

LoadProbe = Callable[[str], Probe]
MakeProbe = Callable[[], Probe]


def load(name: str, probes: Mapping[str, str] = PROBES, *, node: str | None = None) -> Probe:
    """Make the probe of this name; one that invents its devices has those of this node.

    Raises:
        UsageError: there is no such probe.
    """
    place = probes.get(name)
    if place is None:
        raise UsageError(f"there is no probe {name!r}; choose one of {', '.join(probes)}")
    module, _, part = place.partition(":")
    make = getattr(import_module(module), part)
    probe: Probe = make(node) if node is not None and name in ONLY_BY_NAME else make()
    return probe


def choose(
    name: str | None = None,
    *,
    node: str | None = None,
    vendors: Mapping[str, Vendor] = VENDORS,
    root: Path = Path("/"),
) -> dict[str, MakeProbe]:
    """How to read this machine, for each vendor that it has devices of; or the probe of this name alone.

    Nothing is asked here: drivers are touched only when a probe is read. Where there is no device of any
    vendor the first is asked all the same: its driver says best what is missing.

    Raises:
        UsageError: there is no such probe.
    """
    if name is not None:
        load(name).close()
        of = (vendor for vendor, its in vendors.items() if name in its.probes)
        return {next(of, next(iter(vendors))): partial(load, name, node=node)}
    here = [vendor for vendor, its in vendors.items() if is_here(its.signs, root)]
    return {
        vendor: partial(FirstThatAnswers, tuple(its.probes), load=partial(load, probes=its.probes))
        for vendor, its in vendors.items()
        if vendor in (here or [next(iter(vendors))])
    }


class FirstThatAnswers:
    """Reads with the first probe that this machine has what it needs for, and then stays with it."""

    name = "automatic"

    def __init__(self, names: Sequence[str], *, load: LoadProbe = load) -> None:
        self._names = names
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
