"""Figures of GPU-hours are rounded alike on the page, in the terminal and on the sheet: one table for all."""

import json
from pathlib import Path

import pytest

from gpuboard.export.usage import usage_to_text
from gpuboard.history.reckoning import observed_words
from gpuboard.wire.usage import UsageAnswer, UsageRow, UsageTotal

CASES = json.loads((Path(__file__).parent / "shares.json").read_text())


def total_of(span_ms: int, unobserved_ms: int) -> UsageTotal:
    """A time of which only this is known."""
    return UsageTotal(
        span_ms=span_ms, used_ms=span_ms - unobserved_ms, idle_ms=0, booked_ms=0, free_ms=0, broken_ms=0,
        unobserved_ms=unobserved_ms,
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES["observed"])
def test_only_all_of_the_time_is_100_percent(case: dict[str, str]) -> None:
    """What is not whole does not look so."""
    words = observed_words(total_of(int(case["span_ms"]), int(case["unobserved_ms"])), 1)
    assert words.endswith(f"; {case['percent']} % of the time observed.")


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        *(("price", case["price"], case["text"]) for case in CASES["prices"]),
        *(("reserved_ms", case["ms"], case["text"]) for case in CASES["reserved"]),
    ],
)
def test_a_half_is_rounded_up(column: str, value: float, text: str) -> None:
    """Not to the even figure."""
    row = UsageRow(name="ana", used_ms=0, idle_ms=0, booked_ms=0, **{column: value})  # type: ignore[arg-type] # one of two
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=100.0, text="t",
        total=total_of(3_600_000, 3_600_000), rows=[row],
    )  # fmt: skip
    (line,) = (line for line in usage_to_text(answer).splitlines() if line.startswith("ana"))
    assert line.split()[-1] == text
