"""What NVML's numbers mean; garbage, of which drivers give plenty, means "cannot tell"."""

import re
from typing import Final

_LAST_PERFORMANCE_STATE: Final = 15
# Rounding lets a full memory exceed its size a little; more is garbage.
_MEMORY_SLACK: Final = 1.01
_LARGEST_MEMORY: Final = 1 << 50
_PROFILE: Final = re.compile(r"\bMIG\s+(\S+)\s*\Z")
_MODULE_VERSION: Final = re.compile(r"Kernel Module\s+(?:for\s+\S+\s+)?(\d+(?:\.\d+)+)")
_LIBRARY_VERSION: Final = re.compile(r"\d{1,2}\.(\d{3,}(?:\.\d+)+)\Z")


def within(value: float | None, low: float, high: float) -> float | None:
    """The value if it can be true, else None."""
    return value if value is not None and low <= value <= high else None


def whole_within(value: int | None, low: int, high: int) -> int | None:
    """The same for whole numbers."""
    return value if value is not None and low <= value <= high else None


def memory_within(used: int | None, total: int | None) -> tuple[int | None, int | None]:
    """Used and total bytes; a size that cannot be leaves both unknown, a use beyond it only itself."""
    if total is None or not 0 < total <= _LARGEST_MEMORY:
        return None, None
    if used is None or not 0 <= used <= total * _MEMORY_SLACK:
        return None, total
    return used, total


def performance_state(number: int | None) -> str | None:
    """`P0` (fastest) to `P15`."""
    return f"P{number}" if number is not None and 0 <= number <= _LAST_PERFORMANCE_STATE else None


def cuda_version(number: int | None) -> str | None:
    """12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None and number > 0 else None


def mig_profile(name: str | None, *, slices: int | None, megabytes: int | None) -> str | None:
    """What an instance is cut to, `1g.5gb`: from its name, or from its slices and memory in older drivers."""
    match = _PROFILE.search(name or "")
    if match is not None:
        return match[1]
    if not slices or not megabytes:
        return None
    return f"{slices}g.{-(-megabytes // 1024)}gb"


def module_version(text: str) -> str | None:
    """The version of the loaded kernel module, from its own /proc file."""
    match = _MODULE_VERSION.search(text)
    return match[1] if match else None


def library_version(text: str) -> str:
    """The driver's version that NVML's own version ends with: `12.535.104.05` is of driver 535.104.05."""
    match = _LIBRARY_VERSION.match(text)
    return match[1] if match else text
