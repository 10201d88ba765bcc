"""A size asked for is the size on the box: one table of real cards, which the page's tests read too."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuboard.model.units import MIB, fits_size, parse_size

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "sizes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['card']} as {case['memory']}")
def test_a_card_is_of_the_size_on_its_box(case: dict[str, Any]) -> None:
    """An H100 has 81,559 MiB and is an 80G card all the same; a card of 11,264 MiB is none of 12G."""
    total = None if case["total_mib"] is None else case["total_mib"] * MIB
    assert fits_size(total, parse_size(case["memory"])) is case["fits"]
