"""Why a GPU's clocks are held back: NVIDIA's names and bits, and the words that the verdict knows."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple


class ThrottleReason(NamedTuple):
    """One reason; an idle GPU lowers its clocks too, but nothing holds it back, so it is not here."""

    bit: int
    nvidia_name: str
    word: str


REASONS: Final = (
    ThrottleReason(0x002, "applications_clocks_setting", "application-clocks"),
    ThrottleReason(0x004, "sw_power_cap", "power-cap"),
    ThrottleReason(0x008, "hw_slowdown", "hardware-slowdown"),
    ThrottleReason(0x010, "sync_boost", "sync-boost"),
    ThrottleReason(0x020, "sw_thermal_slowdown", "thermal"),
    ThrottleReason(0x040, "hw_thermal_slowdown", "hardware-thermal"),
    ThrottleReason(0x080, "hw_power_brake_slowdown", "power-brake"),
    ThrottleReason(0x100, "display_clocks_setting", "display-clocks"),
)


def reasons_in_mask(mask: int) -> tuple[str, ...]:
    """The words for a mask of bits, as NVML gives it."""
    return tuple(reason.word for reason in REASONS if mask & reason.bit)


def reasons_by_name(active: Iterable[str]) -> tuple[str, ...]:
    """The words for the names that nvidia-smi calls active."""
    names = set(active)
    return tuple(reason.word for reason in REASONS if reason.nvidia_name in names)


def with_states(words: Iterable[str], states: Mapping[str, bool]) -> tuple[str, ...]:
    """The same words after some of nvidia-smi's names became active or ceased to be."""
    before = set(words)
    return tuple(reason.word for reason in REASONS if states.get(reason.nvidia_name, reason.word in before))
