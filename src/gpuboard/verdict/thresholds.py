"""Where the lines between the words are drawn."""

from msgspec import Struct

from gpuboard.model.units import MIB


class Thresholds(Struct, frozen=True, kw_only=True):
    """Where the lines between the words are drawn."""

    busy_utilization_percent: float = 5.0
    idle_utilization_percent: float = 2.0
    idle_after_seconds: float = 30 * 60
    memory_floor_bytes: int = 500 * MIB
    memory_share: float = 0.05
    hot_celsius: float = 85.0
    # Parts of names of models that are shown, but neither counted nor offered.
    ignore: tuple[str, ...] = ()

    def memory_held_bytes(self, total: int | None) -> int:
        """From how many bytes on memory counts as held by somebody."""
        return max(self.memory_floor_bytes, int((total or 0) * self.memory_share))
