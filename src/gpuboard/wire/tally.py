"""How many GPUs are free, of how many: one count, for every output that says it in words."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from gpuboard.wire.views import FleetView, GpuRow, NodeRow


class Tally(Struct, frozen=True, kw_only=True):
    """The counted GPUs by verdict, and the nodes of which nobody knows what they have."""

    verdicts: Counter[str]
    nodes_unknown: int
    # Sources that have not named their nodes yet.
    sources_unknown: int = 0
    # GPUs that are shown and not counted; where none is counted, those of ignored models.
    uncounted: int = 0

    @property
    def gpus(self) -> int:
        """How many GPUs are counted."""
        return self.verdicts.total()

    @property
    def free(self) -> int:
        """How many of them are free."""
        return self.verdicts["free"]

    @property
    def is_known(self) -> bool:
        """Whether there is anything to count: what was never read may have any number of GPUs."""
        return self.gpus > 0 or self.nodes_unknown + self.sources_unknown == 0

    def answer(self) -> str:
        """The answer in one line."""
        if not self.is_known:
            return "not known yet"
        if self.gpus == 0:
            return f"no GPU that counts ({self.uncounted} ignored)" if self.uncounted else "no GPU"
        return f"{self.free} of {self.gpus} GPUs free"


def tally_rows(nodes: Iterable[NodeRow], gpus: Iterable[GpuRow], *, sources_unknown: int = 0) -> Tally:
    """Count rows."""
    return Tally(
        verdicts=Counter(row.verdict for row in gpus if row.counted),
        nodes_unknown=sum(not node.gpus_known for node in nodes),
        sources_unknown=sources_unknown,
    )


def tally_view(fleet: FleetView) -> Tally:
    """Count a whole view."""
    gpus = [gpu for node in fleet.nodes for gpu in node.gpus]
    return Tally(
        verdicts=Counter(gpu.verdict.word for gpu in gpus if gpu.counted),
        nodes_unknown=sum(not node.gpus_known for node in fleet.nodes),
        sources_unknown=fleet.sources_unknown,
        uncounted=sum(not gpu.counted for gpu in gpus),
    )
