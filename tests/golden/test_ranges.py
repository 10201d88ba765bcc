"""A range of hosts is the same to the board and to the page: one table, which the page's tests read too."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuboard.model.ranges import expand

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "ranges.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["pattern"]))
def test_a_range_means_these_hosts(case: dict[str, Any]) -> None:
    """Zeros keep their width; what makes no sense, or means too many, is refused."""
    if case["hosts"] is None:
        with pytest.raises(ValueError, match=r"gpu"):
            expand(case["pattern"])
    else:
        assert expand(case["pattern"]) == case["hosts"]
