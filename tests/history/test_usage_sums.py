"""GPU-hours by group, printed and as a table, against a plain sum over the samples as they were said."""

import csv
import io
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from gpuboard.export.usage import usage_to_csv, usage_to_text
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.reckoning import UsageWanted, ask_usage
from gpuboard.wire.usage import UsageAnswer
from tests.history.fleets import DAY, HOUR
from tests.history.month import PER_NODE, Month

# Those whom no sample names are in no group.
GROUPS = {"vision": ("ana", "Chen"), "language": ("weber",)}
GROUP_OF = {"ana": "vision", "chen": "vision", "weber": "language"}


def said_by_group(month: Month, start_ms: int, end_ms: int) -> Counter[str]:
    """Milliseconds used by group, one held sample after the other; those of nobody known are "(none)"."""
    used: Counter[str] = Counter()
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place in month.places():
        end = end_ms if place.end is None else round(1000 * place.end)
        if place.counted:
            places[place.gpu].append((max(start_ms, round(1000 * place.start)), min(end_ms, end)))
    for gpu in range(month.nodes * PER_NODE):
        for begin, end, people in month.said(gpu):
            for since, until in places[month.name(gpu)]:
                held = max(0, min(end, until) - max(begin, since))
                for person in people:
                    # Minutes divide evenly among two.
                    used[GROUP_OF.get(person, "(none)")] += held // len(people)
    return used


def asked(month: Month, folder: Path) -> UsageAnswer:
    """What a board would say of the whole time, by group."""
    history = EmbeddedHistory(folder / "history.sqlite", Keep())
    history.open()
    try:
        month.write(history)
        end = month.time(month.minutes - 1) + 2 * HOUR
        return ask_usage(history, UsageWanted(by="group", start=DAY, end=end, now=end, groups=GROUPS))
    finally:
        history.close()


def check(month: Month, folder: Path) -> None:
    """Compare what is printed, and what a spreadsheet gets, with the plain sum."""
    answer = asked(month, folder)
    expected = said_by_group(month, round(1000 * answer.start), round(1000 * answer.end))
    assert set(expected) == {"vision", "language", "(none)"}
    *rows, total = csv.DictReader(io.StringIO(usage_to_csv(answer)))
    assert {row["name"] or "(none)": int(row["used_ms"]) for row in rows} == dict(expected)
    assert int(total["used_ms"]) == expected.total()
    printed = {
        words[0]: words[1] for line in usage_to_text(answer).splitlines()[3:] if (words := line.split())
    }
    hours = {name: float(words.replace(",", "")) for name, words in printed.items()}
    shown = {**expected, "total": expected.total()}
    # Rounded so that they add up, which may move one of them by a tenth.
    assert hours == {name: pytest.approx(time / 3_600_000, abs=0.1) for name, time in shown.items()}
    assert round(sum(hours[name] for name in expected), 1) == hours["total"]


def test_a_day_by_group_is_the_sum_of_what_was_said(tmp_path: Path) -> None:
    """With outages, shared GPUs, back-fill, instances, GPUs that come and go, and a clock that is set."""
    check(Month(6, 24 * 60), tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_month_of_160_gpus_by_group_is_the_sum_of_what_was_said(tmp_path: Path) -> None:
    """The same at the size of a lab."""
    check(Month(20, 30 * 24 * 60), tmp_path)
