"""Another commit's program under the same load, for comparing with this one in the same run."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
MICRO: Final = 1e6

# What runs in the other tree: its own board, its own load, and the one figure that is compared.
_MEASURE: Final = """
import json, sys
from bench._server import load_board
figures, cost = load_board(**json.load(sys.stdin))
found = {"cpu_seconds": cost.cpu_seconds, "peak_bytes": cost.peak_bytes, "measured": figures.measured}
print(json.dumps(found))
"""


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


def report_cost(tree: Path, *, nodes: int, interval: float, seconds: float) -> tuple[float, int]:
    """Microseconds of CPU a report costs the board of this tree, and its peak memory in bytes."""
    order = {"nodes": nodes, "viewers": 1, "interval": interval, "warm_up": 5, "seconds": seconds}
    # Its own sources, with the packages that are installed here.
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE],
        input=json.dumps(order).encode(),
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    return found["cpu_seconds"] / found["measured"] * MICRO, found["peak_bytes"]
