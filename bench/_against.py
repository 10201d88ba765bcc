"""Another commit's program under the same load, for comparing with this one in the same run."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
MICRO: Final = 1e6

# What runs in the other tree: its own board, its own load, and the one figure that is compared.
_MEASURE: Final = """
import inspect, json, sys
from bench._server import load_board
order = json.load(sys.stdin)
known = inspect.signature(load_board).parameters
figures, cost = load_board(**{name: value for name, value in order.items() if name in known})
found = {"cpu_seconds": cost.cpu_seconds, "peak_bytes": cost.peak_bytes, "measured": figures.measured}
print(json.dumps(found))
"""


# Builds the page of the other tree by its own rules.
_BUILD: Final = """
from pathlib import Path
from hatch_build import UI, build
build(Path("frontend"), Path(UI))
"""

# What was measured, by what people call it: below one is better than before.
Measured = Mapping[str, float]
GOAL: Final = 1.10


def compare(
    commit: str, rounds: int, measure: Callable[[Path], Measured], *, with_page: bool = False
) -> None:
    """This program and that of another commit, in turn: each figure's medians, and their ratio."""
    found: dict[str, list[Measured]] = {commit: [], "here": []}
    with checkout(commit) as other:
        if with_page:
            run_in(other, [sys.executable, "-c", _BUILD])
        for _ in range(rounds):
            for name, tree in ((commit, other), ("here", ROOT)):
                found[name].append(measure(tree))
                told = ", ".join(f"{what} {value:.1f}" for what, value in found[name][-1].items())
                print(f"  {name}: {told}", flush=True)
    print(f"\n{'medians of ' + str(rounds):58}{commit[:12]:>12}{'here':>12}{'ratio':>8}")
    for what in found["here"][0]:
        before, now = (statistics.median(one[what] for one in found[name]) for name in (commit, "here"))
        ratio = f"{now / before:8.2f}" if before else f"{'-':>8}"
        print(f"{what:58}{before:12.1f}{now:12.1f}{ratio}")
    print(f"goal: no ratio above {GOAL:.2f}")


def environment_of(tree: Path) -> dict[str, str]:
    """The surroundings in which a tree's own sources run, with the packages that are installed here."""
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def run_in(tree: Path, command: list[str], order: bytes = b"") -> bytes:
    """Run a command on a tree's own sources; what it says."""
    return subprocess.run(
        command, input=order, cwd=tree, env=environment_of(tree), stdout=subprocess.PIPE, check=True
    ).stdout


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The tree of a commit, beside this one, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)


def report_cost(tree: Path, *, nodes: int, interval: float, seconds: float) -> Measured:
    """What a report costs the board of this tree, and its peak memory; without a history, like with like."""
    order: dict[str, float] = {"nodes": nodes, "viewers": 1, "interval": interval, "has_history": False}
    order |= {"warm_up": 5, "seconds": seconds}
    found = json.loads(run_in(tree, [sys.executable, "-c", _MEASURE], json.dumps(order).encode()))
    cost = found["cpu_seconds"] / found["measured"] * MICRO
    return {"CPU a report, us": cost, "peak memory, MB": found["peak_bytes"] / 1e6}
