"""Which devices this machine has, seen without a driver: one that hangs or is missing hides nothing."""

from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

# Display controllers of all kinds, those without an outlet too.
_DISPLAY: Final = "0x03"


class Signs(NamedTuple):
    """How a vendor's devices are recognised."""

    pci: str
    # Where something lies on a machine that has its devices or its driver, below the root.
    files: tuple[str, ...] = ()


def is_here(signs: Signs, root: Path = Path("/")) -> bool:
    """Whether this machine has a device or a driver of this kind."""
    return has_card(signs, root) or any(any(root.glob(pattern)) for pattern in signs.files)


def has_card(signs: Signs, root: Path = Path("/")) -> bool:
    """Whether a card of this kind is in a slot."""
    for device in (root / "sys/bus/pci/devices").glob("*"):
        with suppress(OSError):
            is_display = (device / "class").read_text().startswith(_DISPLAY)
            if is_display and (device / "vendor").read_text().strip() == signs.pci:
                return True
    return False
