"""What is known of kinds of chips by their names."""

import re
from typing import Final

# These share the host's memory and so cannot tell one of their own.
_UNIFIED: Final = re.compile(r"\b(?:GB10|N1X|Orin|Xavier|Thor|Tegra|Jetson|nvgpu)\b", re.IGNORECASE)


def shares_host_memory(model: str | None) -> bool:
    """Whether this kind of chip has no memory of its own."""
    return model is not None and _UNIFIED.search(model) is not None
