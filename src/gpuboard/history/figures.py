"""Which figures are kept of a GPU and of a host, in which order and how finely.

Inside, every figure is a whole number of its own steps: half percents, MiB, tenths of a watt. What cannot be
told is `NOTHING`, a number outside every range, and never zero. The order is that of the file: a new figure
comes at the end of its table, and none ever changes its place.
"""

from typing import Final, Literal, get_args

from msgspec import Struct

from gpuboard.model.verdict import VerdictWord

Kind = Literal["gpu", "host"]
# "Cannot tell", in place of a whole number.
NOTHING: Final = -(2**31)
LARGEST: Final = 2**31 - 1
MIB: Final = 1024**2


class Figure(Struct, frozen=True, kw_only=True):
    """One figure: its name, what one step of it is worth, and whether it is a state.

    Of a figure the mean over a span is kept; of a state the last one.
    """

    name: str
    step: float = 1.0
    is_state: bool = False


GPU_FIGURES: Final = (
    Figure(name="utilization_percent", step=0.5),
    Figure(name="memory_used_bytes", step=MIB),
    Figure(name="memory_utilization_percent", step=0.5),
    Figure(name="power_watts", step=0.1),
    Figure(name="power_limit_watts", step=0.1),
    Figure(name="temperature_celsius"),
    Figure(name="fan_percent", step=0.5),
    Figure(name="graphics_clock_mhz"),
    Figure(name="memory_clock_mhz"),
    # 0 or 1.
    Figure(name="throttled", is_state=True),
    # The place of the word in VERDICTS.
    Figure(name="verdict", is_state=True),
    # The number of a set of people; the store gives it, and nobody else knows it.
    Figure(name="holders", is_state=True),
)
HOST_FIGURES: Final = (
    Figure(name="load_percent", step=0.5),
    Figure(name="memory_used_bytes", step=MIB),
    Figure(name="memory_total_bytes", step=MIB),
    Figure(name="disk_used_percent", step=0.5),
)
FIGURES: Final[dict[Kind, tuple[Figure, ...]]] = {"gpu": GPU_FIGURES, "host": HOST_FIGURES}
# What a sample of a GPU carries as numbers: figures, then states; its holders are told by name beside them.
GPU_NUMBERS: Final = tuple(figure.name for figure in GPU_FIGURES[:-1])
GPU_MEASURED: Final = tuple(figure.name for figure in GPU_FIGURES if not figure.is_state)
HOST_NUMBERS: Final = tuple(figure.name for figure in HOST_FIGURES)

# The code of a verdict is its place here: a new word comes at the end.
VERDICTS: Final[tuple[VerdictWord, ...]] = ("free", "busy", "idle", "booked", "stale", "broken", "unknown")
if set(VERDICTS) != set(get_args(VerdictWord)):
    raise AssertionError("a verdict has no code")
VERDICT_CODES: Final = {word: code for code, word in enumerate(VERDICTS)}


def place_of(kind: Kind, name: str) -> int:
    """Which column a figure is.

    Raises:
        KeyError: there is no such figure.
    """
    return _PLACES[kind][name]


_PLACES: Final = {
    kind: {figure.name: place for place, figure in enumerate(figures)} for kind, figures in FIGURES.items()
}
