"""The probe contract: one way of reading the devices of this machine."""

from typing import Final, Protocol

from msgspec import Struct

from gpuboard.model.report import GpuReading, Problem

_PLACE: Final = "index:"


class Devices(Struct, frozen=True, kw_only=True):
    """What one probe read in one round."""

    gpus: tuple[GpuReading, ...]
    problems: tuple[Problem, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None


class Touch(Protocol):
    """Hears which device a probe is about to ask, so that a hang has a name."""

    def __call__(self, gpu_uuid: str | None, /) -> bool:
        """Note the device (None: the driver as a whole); False means "leave this one out".

        A device whose UUID is not known yet is named by `place(index)`.
        """


def place(index: int, /) -> str:
    """The name by which a device is touched as long as its UUID is not known."""
    return f"{_PLACE}{index}"


def index_at(name: str, /) -> int | None:
    """The index in a name that `place` made; None for a UUID."""
    number = name.removeprefix(_PLACE)
    return int(number) if number != name and number.isdecimal() else None


def touch_all(_gpu_uuid: str | None, /) -> bool:
    """Leave nothing out; for one-shot reads and tests."""
    return True


class Probe(Protocol):
    """One way of reading the devices of this machine; long-lived, used by one thread at a time."""

    name: str

    def read(self, touch: Touch = touch_all) -> Devices:
        """Return one reading per device, in the driver's order.

        A device that cannot be read whole is still returned, its unknown fields None, with a problem
        that says why. A device that was there before and is missing now is a problem too.

        Raises:
            ProbeUnavailable: this machine lacks what the probe needs.
            ProbeFailed: the tool is here but misbehaved.
        """

    def close(self) -> None:
        """Give the driver back; a later read opens it again."""
