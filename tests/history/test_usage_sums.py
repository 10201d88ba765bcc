"""GPU-hours by group, printed and as a table, against a plain sum over the samples as they were said."""

import csv
import io
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from gpuboard.export.usage import NO_GROUP, usage_to_csv, usage_to_text
from gpuboard.history.base import Keep
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.reckoning import UsageWanted, ask_usage
from gpuboard.history.usage import OWNED, USAGE_KINDS, UsageKind, kind_of
from gpuboard.wire.usage import UsageAnswer
from tests.history.fleets import DAY, HOUR
from tests.history.month import PER_NODE, Month

# Those whom no sample names are in no group.
GROUPS = {"vision": ("ana", "Chen"), "language": ("weber",)}
GROUP_OF = {"ana": "vision", "chen": "vision", "weber": "language"}


# Group, or "" for what is nobody's, and kind.
Sums = Counter[tuple[str, UsageKind]]


def said_by_group(month: Month, start_ms: int, end_ms: int) -> tuple[Sums, int]:
    """Milliseconds by group and kind, one held sample after the other, and all that GPUs were there.

    What is of nobody known is of nobody in a group.
    """
    told: Sums = Counter()
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place in month.places():
        end = end_ms if place.end is None else round(1000 * place.end)
        if place.counted:
            places[place.gpu].append((max(start_ms, round(1000 * place.start)), min(end_ms, end)))
    for gpu in range(month.nodes * PER_NODE):
        for begin, end, word, people in month.said(gpu):
            kind = kind_of(word)
            assert kind is not None
            for since, until in places[month.name(gpu)]:
                held = max(0, min(end, until) - max(begin, since))
                for person in people if kind in OWNED else ("",):
                    # Tens of seconds divide evenly among two.
                    group = GROUP_OF.get(person, NO_GROUP) if person else ""
                    told[group, kind] += held // max(1, len(people))
    return told, sum(until - since for spans in places.values() for since, until in spans)


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
    expected, span = said_by_group(month, round(1000 * answer.start), round(1000 * answer.end))
    assert {group for group, _ in expected} == {"vision", "language", NO_GROUP, ""}
    *rows, total = csv.DictReader(io.StringIO(usage_to_csv(answer)))
    for kind in OWNED:
        told = {row["name"]: int(row[f"{kind}_ms"]) for row in rows}
        assert told == {group: expected[group, kind] for group in told}, kind
    sums = {kind: sum(time for (_, one), time in expected.items() if one == kind) for kind in USAGE_KINDS}
    sums_told = {kind: int(total[f"{kind}_ms"]) for kind in USAGE_KINDS}
    assert sums_told == sums
    assert min(sums.values()) > 0
    assert int(total["unobserved_ms"]) == span - sum(sums.values()) > 0
    used = {group: time for (group, kind), time in expected.items() if kind == "used"}
    # A name may be of several words; columns are two spaces apart at least.
    printed = {
        words[0]: words[1]
        for line in usage_to_text(answer).splitlines()[3:]
        if len(words := re.split(" {2,}", line)) > 1
    }
    hours = {name: float(words.replace(",", "")) for name, words in printed.items()}
    shown = {**used, "total": sums["used"]}
    # Rounded so that they add up, which may move one of them by a tenth.
    assert hours == {name: pytest.approx(time / 3_600_000, abs=0.1) for name, time in shown.items()}
    assert round(sum(hours[name] for name in used), 1) == hours["total"]


def test_a_day_by_group_is_the_sum_of_what_was_said(tmp_path: Path) -> None:
    """With outages, shared GPUs, back-fill, instances, moves, and a clock that is set forward and back."""
    check(Month(6, 24 * 60, is_set_back=True), tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_month_of_160_gpus_by_group_is_the_sum_of_what_was_said(tmp_path: Path) -> None:
    """The same at the size of a lab."""
    check(Month(20, 30 * 24 * 60, is_set_back=True), tmp_path)
