"""The board's own parts as metrics. No names: paths and services tell about the site."""

from collections.abc import Iterable, Iterator

from gpuboard.metrics.text import Family
from gpuboard.wire.component import ComponentView


def component_families(components: Iterable[ComponentView]) -> Iterator[Family]:
    """Whether each part of the board works."""
    yield Family(
        name="gpuboard_component_up",
        help="Whether a part of the board works; 0 while it is in trouble.",
        samples=[({"component": one.component}, float(one.state == "ok")) for one in components],
    )
