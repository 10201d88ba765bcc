"""GPU-hours by GET: what they tell, and to whom."""

import csv
import io
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuboard.export.rounding import rounded_parts
from gpuboard.export.usage import MORE, PART_OF_WEEK, usage_to_csv, usage_to_html, usage_to_text
from gpuboard.history.reckoning import _Sum, _Worths
from gpuboard.history.spans import month_of
from gpuboard.history.usage import Times
from gpuboard.history.weights import Worth
from gpuboard.wire.usage import UsageAnswer, UsageBy, UsageRow, UsageTotal
from tests.web.test_history import CANARY, Past, history, told

__all__ = ["history", "told"]
KINDS = ("used_ms", "idle_ms", "booked_ms", "free_ms", "broken_ms", "unobserved_ms")
TOTAL = UsageTotal(span_ms=21, used_ms=1, idle_ms=2, booked_ms=3, free_ms=4, broken_ms=5, unobserved_ms=6)


async def test_six_kinds_are_the_span_by_whatever_is_asked(told: Past) -> None:
    """Row by row for models, nodes and weeks; and all together."""
    for by in ("person", "group", "program", "model", "node", "week"):
        found = await told.get("usage", by=by)
        total = found["total"]
        assert total["span_ms"] > 0
        assert sum(total[kind] for kind in KINDS) == total["span_ms"]
        for kind in KINDS[: 3 if by in {"person", "group", "program"} else 6]:
            assert sum(row[kind] for row in found["rows"]) == total[kind], (by, kind)
        assert "of the time observed" in found["text"]
        assert found["gpus"] == 3


async def test_whoever_computed_has_used_it(told: Past) -> None:
    """By name, for those who see names."""
    found = await told.get("usage")
    assert [row["name"] for row in found["rows"]] == [CANARY]
    assert found["rows"][0]["used_ms"] == found["total"]["used_ms"] > 0


async def test_who_sees_no_names_sees_totals(told: Past) -> None:
    """Neither people nor groups, in no form; but nodes."""
    for by in ("person", "group", "program"):
        found = await told.get("usage", "counts", by=by)
        assert (found["rows"], found["total"]["used_ms"] > 0) == ([], True)
    assert {row["name"] for row in (await told.get("usage", "counts", by="node"))["rows"]} == {"dgx", "other"}
    async with told.client("counts") as client:
        for path in ("usage.csv", "usage?by=group", "usage/hours", "usage/averages"):
            assert CANARY not in (await client.get(path)).text
    means = await told.get("usage/averages", "counts")
    assert (means["people"], means["total"][0]["used"] > 0) == ([], True)


async def test_programs_have_used_what_their_people_have(told: Past) -> None:
    """By what it is called on the nodes."""
    found = await told.get("usage", by="program")
    assert [(row["name"], row["used_ms"]) for row in found["rows"]] == [("train", found["total"]["used_ms"])]


async def test_nothing_is_compared_with_a_time_before_anything_was_counted(told: Past) -> None:
    """Nobody knows whether anything was used then; nor is there a weight, a price or a booking."""
    found = await told.get("usage")
    for row in (found["total"], *found["rows"]):
        unknown = ("previous_used_ms", "weighted_ms", "price", "reserved_ms", "reserved_used_ms")
        assert {row[name] for name in unknown} == {None}
    assert found["rows"][0]["memory_gib_hours"] > 0


async def test_hours_of_the_week_say_when_gpus_are_full(told: Past) -> None:
    """Seven days of 24 hours; where nothing was observed, nothing is said."""
    found = await told.get("usage/hours")
    assert [len(day) for day in found["percent"]] == [24] * 7
    seen = [percent for day in found["percent"] for percent in day if percent is not None]
    assert 1 <= len(seen) <= 2
    fullest = found["fullest"]
    assert found["percent"][fullest["weekday"]][fullest["hour"]] == max(seen) > 0
    assert found["emptiest"]["percent"] == min(seen)


async def test_averages_say_how_many_gpus_somebody_uses(told: Past) -> None:
    """Over whole hours, as far as anything was counted."""
    found = await told.get("usage/averages")
    (person,) = found["people"]
    assert (person["name"], [mean["hours"] for mean in person["means"]]) == (CANARY, [2, 24, 168])
    # What nobody saw is no time in which nothing was used.
    assert person["means"][0]["used"] == pytest.approx(1.0, rel=0.05)
    assert [mean["trend"] for mean in person["means"]] == ["level", "level", None]


async def test_the_days_of_somebody_are_what_they_used(told: Past) -> None:
    """In whatever case their name is written; nobody else's, and nothing to who sees no names."""
    used = (await told.get("usage"))["rows"][0]["used_ms"]
    for name in (CANARY, CANARY.upper()):
        found = await told.get("usage/days", person=name)
        assert sum(day["used_ms"] or 0 for day in found["days"]) == found["used_ms"] == used
        assert [day["day"] for day in found["days"]] == sorted({day["day"] for day in found["days"]})
    nobody = await told.get("usage/days", person="nobody-at-all")
    assert (nobody["used_ms"], "Nobody of this name" in nobody["hint"]) == (0, True)
    assert (await told.get("usage/days", person=CANARY))["hint"] is None
    # Before anything was counted nobody knows.
    assert nobody["days"][0]["used_ms"] is None
    async with told.client("counts") as client:
        assert (await client.get("usage/days", params={"person": CANARY})).status_code == 401
        assert (await client.get("usage/days")).status_code == 400


async def test_too_many_days_at_once_are_refused(told: Past) -> None:
    """Each is a look of its own."""
    async with told.client() as client:
        answer = await client.get("usage/days", params={"person": CANARY, "from": "0", "to": "20000000"})
    assert (answer.status_code, "days" in answer.text) == (400, True)


async def test_a_spreadsheet_gets_the_same_sums(told: Past) -> None:
    """A line for each, and the total as the last; times are RFC 3339."""
    async with told.client() as client:
        answer = await client.get("usage.csv", params={"by": "node"})
    assert answer.headers["content-type"].startswith("text/csv")
    *rows, total = csv.DictReader(io.StringIO(answer.text))
    for kind in KINDS:
        assert sum(int(row[kind]) for row in rows) == int(total[kind])
    assert datetime.fromisoformat(total["from"]).tzinfo is not None


async def test_the_spreadsheet_of_a_month_is_called_by_it(told: Past) -> None:
    """Several lie in one folder of downloads; who is in no group has a line with words."""
    async with told.client() as client:
        month, days = [
            await client.get("usage.csv", params={"by": "group", **asked})
            for asked in ({"month": "1970-01"}, {})
        ]
    assert 'filename="usage-1970-01.csv"' in month.headers["content-disposition"]
    assert 'filename="usage.csv"' in days.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(days.text)))
    assert "in no group" in [row["name"] for row in rows[:-1]]


async def test_what_is_no_span_is_refused(told: Past) -> None:
    """With words that say what to write."""
    assert "2026-10" in await told.refused("usage", month="2026-13")
    assert "by itself" in await told.refused("usage", month="last", **{"from": 1})
    assert await told.refused("usage", by="shoe size")


async def test_without_a_history_there_are_no_hours(told: Past) -> None:
    """It says so, like for all other questions about the past."""
    async with told.client(has_history=False) as client:
        assert (await client.get("usage")).status_code == 404


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("2026-10", (2026, 10), (2026, 11)), ("last", (2025, 12), (2026, 1)), ("this", (2026, 1), (2026, 2))],
)
def test_months_are_those_of_the_calendar(text: str, first: tuple[int, int], last: tuple[int, int]) -> None:
    """Also over the end of a year."""
    now = datetime(2026, 1, 20, 12, tzinfo=UTC).timestamp()
    expected = tuple(datetime(*month, 1, tzinfo=UTC).timestamp() for month in (first, last))
    assert month_of(text, now=now, zone=UTC) == expected


def test_names_do_no_harm_on_paper_and_in_spreadsheets() -> None:
    """Whatever people call themselves."""
    rows = [UsageRow(name=name, used_ms=1, idle_ms=2, booked_ms=3) for name in ("=1+1", "<script>", None)]
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t", total=TOTAL, rows=rows
    )
    assert "'=1+1" in usage_to_csv(answer)
    assert "<script>" not in usage_to_html(answer)
    assert "(none)" in usage_to_text(answer)


def test_rounded_hours_add_up_to_their_total() -> None:
    """Three thirds of an hour and a bit are an hour in all that people read."""
    third = 1_200_000
    rows = [UsageRow(name=name, used_ms=third, idle_ms=0, booked_ms=0) for name in ("ana", "ben", "chen")]
    total = replace(TOTAL, span_ms=3 * third + 10, used_ms=3 * third, idle_ms=0, booked_ms=0, free_ms=10)
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t",
        total=replace(total, broken_ms=0, unobserved_ms=0), rows=rows,
    )  # fmt: skip
    lines = [line.split() for line in usage_to_text(answer).splitlines()[3:7]]
    assert [line[1] for line in lines] == ["0.4", "0.3", "0.3", "1.0"]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_parts_are_rounded_by_less_than_a_unit_and_add_up(parts: list[int]) -> None:
    """Whatever they are."""
    whole = round(sum(parts) / 1000)
    found = rounded_parts(parts, whole, 1000)
    assert sum(found) == whole
    assert all(abs(one * 1000 - part) < 1000 for one, part in zip(found, parts, strict=True))


# What has a row a person: those kinds of time that are somebody's, and all that stands beside them.
COLUMNS = ("used_ms", "idle_ms", "booked_ms", "previous_used_ms", "reserved_ms", "reserved_used_ms")
WORTH = ("weighted_ms", "memory_gib_hours", "price")


@st.composite
def answers(draw: st.DrawFn) -> UsageAnswer:
    """Hours of anybody, with all columns, as the API tells them."""
    milliseconds = st.lists(st.integers(0, 10**8), min_size=len(COLUMNS), max_size=len(COLUMNS))
    worth = Worth(weights={}, price=draw(st.floats(0.0, 20.0)), currency="EUR")
    sums, rows = _Worths(worth), []
    for number, (parts, memory) in enumerate(
        draw(st.lists(st.tuples(milliseconds, st.integers(0, 10**9)), max_size=9))
    ):
        times = Times(span=sum(parts), used=parts[0], idle=parts[1], booked=parts[2], memory=memory)
        told = sums.add(_Sum(times, weighted=draw(st.floats(0.0, 3.0)) * parts[0]))
        kinds: dict[str, Any] = dict(zip(COLUMNS, parts, strict=True))
        rows.append(UsageRow(name=f"p{number}", **kinds, **told._asdict()))
    whole: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in (*COLUMNS, *WORTH)}
    whole["price"] = round(whole["price"], 4)
    whole["memory_gib_hours"] = round(whole["memory_gib_hours"], 3)
    others = {"free_ms": draw(st.integers(0, 10**8)), "broken_ms": 77_777, "unobserved_ms": 0}
    span = sum(whole[name] for name in COLUMNS[:3]) + sum(others.values())
    return UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t", currency="EUR",
        total=UsageTotal(span_ms=span, **whole, **others), rows=rows,
    )  # fmt: skip


def cells_of(text: str) -> list[list[Decimal]]:
    """The figures of a table of text, row by row; what is nobody's is left out."""
    lines = [line.split() for line in text.splitlines()[3:] if line]
    return [[Decimal(cell.replace(",", "")) for cell in line[1:]] for line in lines]


@given(answers())
def test_rows_add_up_to_the_total_in_every_column_of_every_output(answer: UsageAnswer) -> None:
    """Terminal, sheet and spreadsheet: nobody who adds up what is printed finds another sum."""
    *rows, total = csv.DictReader(io.StringIO(usage_to_csv(answer)))
    for name in (*COLUMNS, *WORTH):
        if name in total:
            # To the digits that are told: what a spreadsheet adds up has those of its floats.
            assert sum(round(Decimal(row[name]), 4) for row in rows) == round(Decimal(total[name]), 4)
    *lines, last = cells_of(usage_to_text(answer))
    # A kind of time that is nobody's has no cell in a row.
    del last[3:6]
    for at, whole in enumerate(last):
        assert sum(line[at] for line in lines) == whole
    body = usage_to_html(answer).partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [re.findall(r"<td>([^<]*)</td>", line) for line in body.split("</tr>") if line]
    printed = [line.split() for line in usage_to_text(answer).splitlines()[3:] if line]
    assert [[cell for cell in line if cell] for line in cells] == printed


@pytest.mark.parametrize(
    ("start", "end", "is_said"),
    [(3600.0, 10_800.0, False), (3661.0, 10_800.0, True), (0.0, 10_800.0, True), (3600.0, 14_400.0, True)],
)
def test_what_was_counted_is_said_where_it_is_not_what_was_asked_for(
    start: float, end: float, *, is_said: bool
) -> None:
    """Whole hours: also where these are more."""
    answer = UsageAnswer(
        start=3600.0, end=10_800.0, asked_from=start, asked_to=end, by="person", gpus=1,
        observed_percent=50.0, text="t", total=TOTAL, rows=[],
    )  # fmt: skip
    counted = "(counted from 1970-01-01T01:00:00Z to 1970-01-01T03:00:00Z)"
    for output in (usage_to_text(answer), usage_to_html(answer)):
        assert (counted in output) is is_said


def test_a_weight_of_1_changes_no_figure() -> None:
    """Whoever has used 0.3 hours is told 0.3 of them weighted, however the rest is rounded."""
    third = 1_200_000
    settings: dict[str, Any] = {"idle_ms": 0, "booked_ms": 0}
    rows = [
        UsageRow(name=name, used_ms=third, weighted_ms=third, **settings) for name in ("ana", "ben", "chen")
    ]
    rows.insert(0, UsageRow(name="dora", used_ms=120_000, weighted_ms=360_000, **settings))
    used = 3 * third + 120_000
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t", rows=rows,
        total=UsageTotal(
            span_ms=used + 10, used_ms=used, weighted_ms=used + 240_000, free_ms=10, broken_ms=0,
            unobserved_ms=0, **settings,
        ),
    )  # fmt: skip
    (_, *people, total) = [line.split() for line in usage_to_text(answer).splitlines()[3:8]]
    assert [line[-1] for line in people] == [line[1] for line in people]
    assert Decimal(total[-1]) == Decimal(total[1]) + Decimal("0.1")


def test_a_sheet_says_whose_it_is_what_is_meant_and_by_which_clock() -> None:
    """Whoever reads it on paper asks nobody."""
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t", total=TOTAL, rows=[],
        title="<Lab>", time_zone="Europe/Berlin",
    )  # fmt: skip
    sheet = usage_to_html(answer)
    assert "<title>&lt;Lab&gt;: GPU-hours</title>" in sheet
    assert "1970-01-01T01:00:00+01:00 to 1970-01-01T02:00:00+01:00 (Europe/Berlin)" in sheet
    assert "booked, unused: it was booked, and nobody was on it" in sheet
    text = usage_to_text(answer)
    assert text.startswith("1970-01-01T01:00:00+01:00 to 1970-01-01T02:00:00+01:00 (Europe/Berlin): t")
    unknown = usage_to_text(replace(answer, time_zone=None))
    assert unknown.startswith("1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z (UTC): t")


def test_a_week_that_is_cut_says_so_where_people_read_it() -> None:
    """As on the page; what programs read is its name alone."""
    names = ("2026-W44", "2026-W45", "2026-W49")
    answer = UsageAnswer(
        start=0.0, end=3600.0, by="week", gpus=1, observed_percent=50.0, text="t", total=TOTAL,
        asked_from=datetime(2026, 11, 1, tzinfo=UTC).timestamp(),
        asked_to=datetime(2026, 12, 1, tzinfo=UTC).timestamp(), time_zone="UTC",
        rows=[UsageRow(name=name, used_ms=1, idle_ms=0, booked_ms=0) for name in names],
    )  # fmt: skip
    for output in (usage_to_text(answer), usage_to_html(answer)):
        assert re.findall(r"(2026-W\d\d)( · part of a week)?", output) == [
            ("2026-W44", " · part of a week"), ("2026-W45", ""), ("2026-W49", " · part of a week"),
        ]  # fmt: skip
    assert [line["name"] for line in csv.DictReader(io.StringIO(usage_to_csv(answer)))] == [*names, ""]


def test_figures_are_called_as_on_the_page() -> None:
    """Who has read it there finds it here: the page's own English is read."""
    page = (Path(__file__).parents[2] / "frontend/src/text/en/usage.ts").read_text(encoding="utf-8")
    said = dict(re.findall(r"^  (\w+): '(.*)',$", page.replace("\u2011", "-"), re.MULTILINE))
    keys = {
        "reserved_ms": "reservedHours", "reserved_used_ms": "reservedUsed", "memory_gib_hours": "memoryHours",
        "weighted_ms": "weighted", "price": "price",
    }  # fmt: skip
    assert {column: MORE[column] for column in keys} == {
        column: said[f"usage_{key}"] for column, key in keys.items()
    }
    assert said["usage_partOfWeek"] == PART_OF_WEEK


@pytest.mark.parametrize("by", ["person", "group", "program", "model", "node", "week"])
def test_columns_of_a_spreadsheet_do_not_come_and_go_with_what_was_counted(by: UsageBy) -> None:
    """Whoever reads it month by month has the same columns each time, some of them empty."""
    row = UsageRow(name="a", used_ms=1, idle_ms=0, booked_ms=0)
    known = replace(
        row, previous_used_ms=1, memory_gib_hours=1.0, reserved_ms=1, reserved_used_ms=1, group="b"
    )
    answer = UsageAnswer(
        start=0.0, end=3600.0, by=by, gpus=1, observed_percent=50.0, text="t", total=TOTAL, rows=[]
    )
    heads = {
        usage_to_csv(replace(answer, rows=rows)).partition("\n")[0] for rows in ([], [row], [row, known])
    }
    assert len(heads) == 1
    (head,) = heads
    assert ("previous_used_ms" in head, "reserved_ms" in head, "weighted_ms" in head) == (True, True, False)
    assert head.endswith(",group") is (by == "person")


def test_what_is_not_told_is_no_column() -> None:
    """Weights and prices stand there only where the settings have some."""
    row = UsageRow(name="ana", used_ms=3_600_000, idle_ms=0, booked_ms=0)
    plain = UsageAnswer(
        start=0.0, end=3600.0, by="person", gpus=1, observed_percent=50.0, text="t", total=TOTAL, rows=[row]
    )
    for write in (usage_to_csv, usage_to_html, usage_to_text):
        assert "price" not in write(plain)
        assert "weighted" not in write(plain)
    worth = replace(row, weighted_ms=7_200_000, price=1234.5, group="=vision")
    priced = replace(plain, rows=[worth], currency="<EUR>")
    assert "price, &lt;EUR&gt;" in usage_to_html(priced)
    assert ("1,234.50" in usage_to_text(priced), "2.0" in usage_to_text(priced)) == (True, True)
    (line, _) = csv.DictReader(io.StringIO(usage_to_csv(priced)))
    assert (line["weighted_ms"], line["price"], line["group"]) == ("7200000", "1234.5", "'=vision")
