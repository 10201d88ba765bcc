"""A table of figures: ours, each peer's with the ratio, and whether the goal is met."""

from collections.abc import Sequence

NAME_WIDTH = 54


class Sheet:
    """Rows are printed as they come."""

    def __init__(self, peers: Sequence[str]) -> None:
        self._peers = len(peers)
        columns = "".join(f"{name:>18}{'ratio':>7}" for name in peers)
        print(f"{'':{NAME_WIDTH}}{'gpuboard':>10}{columns}  goal")

    def row(
        self,
        name: str,
        ours: float,
        theirs: Sequence[float | None] = (),
        *,
        goal: float | None = None,
        goal_ratio: float | None = None,
    ) -> None:
        """One figure; the goal is of ours, or of its ratio to the first peer's."""
        beside = "".join(map(_beside, (ours,) * self._peers, [*theirs, *[None] * self._peers]))
        line = f"{name:{NAME_WIDTH}}{ours:10.2f}{beside}"
        first = theirs[0] if theirs else None
        if goal is not None:
            line += f"  <= {goal:g}: {_is_met(ours, goal)}"
        elif goal_ratio is not None and first:
            line += f"  ratio <= {goal_ratio:g}: {_is_met(ours / first, goal_ratio)}"
        print(line.rstrip(), flush=True)


def _beside(ours: float, theirs: float | None) -> str:
    return " " * 25 if not theirs else f"{theirs:18.2f}{ours / theirs:7.2f}"


def _is_met(found: float, goal: float) -> str:
    return "met" if found <= goal else "missed"
