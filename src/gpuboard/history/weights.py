"""What an hour of a GPU is worth: weights of models, and a price. Pure."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gpuboard.history.usage import Times
from gpuboard.model.names import compute_slices, is_part_of_model

# Of a card that is cut into instances.
SLICES: Final = 7


class Worth(Struct, frozen=True, kw_only=True):
    """What the settings say of worth; without anything said, nothing is weighed."""

    # A model as it is shown, or a part of its name → what an hour of it counts for.
    weights: Mapping[str, float] = {}
    # Of a weighted GPU-hour.
    price: float | None = None
    currency: str = ""

    @property
    def is_set(self) -> bool:
        """Whether weighted time is told at all."""
        return bool(self.weights) or self.price is not None

    def weight_of(self, model: str | None) -> float:
        """What an hour of a GPU counts for: of several parts of its name that are weighed, the longest.

        An instance counts for as much of its card as it has compute slices, unless it is weighed itself.
        """
        name = model or ""
        parts = [part for part in self.weights if is_part_of_model(part, name)]
        part = max(parts, key=lambda one: (len(one), one), default=None)
        weight = 1.0 if part is None else self.weights[part]
        slices = compute_slices(name)
        if slices is None or (part is not None and compute_slices(part) is not None):
            return weight
        return weight * slices / SLICES


def weighed(times: Times) -> int:
    """The time that is somebody's, whether or not they worked: nobody else could have the GPU."""
    return times.used + times.idle + times.booked
