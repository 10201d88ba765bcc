"""GPU-hours by GET: what they tell, and to whom."""

import csv
import io
from datetime import UTC, datetime

import pytest

from gpuboard.export.usage import usage_to_csv, usage_to_html, usage_to_text
from gpuboard.history.spans import month_of
from gpuboard.wire.usage import UsageAnswer, UsageRow, UsageTotal
from tests.web.test_history import CANARY, Past, history, told

__all__ = ["history", "told"]
KINDS = ("used_ms", "idle_ms", "booked_ms", "free_ms", "broken_ms", "unobserved_ms")
TOTAL = UsageTotal(span_ms=21, used_ms=1, idle_ms=2, booked_ms=3, free_ms=4, broken_ms=5, unobserved_ms=6)


async def test_six_kinds_are_the_span_by_whatever_is_asked(told: Past) -> None:
    """Row by row for models, nodes and weeks; and all together."""
    for by in ("person", "group", "model", "node", "week"):
        found = await told.get("usage", by=by)
        total = found["total"]
        assert total["span_ms"] > 0
        assert sum(total[kind] for kind in KINDS) == total["span_ms"]
        for kind in KINDS[: 3 if by in {"person", "group"} else 6]:
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
    for by in ("person", "group"):
        found = await told.get("usage", "counts", by=by)
        assert (found["rows"], found["total"]["used_ms"] > 0) == ([], True)
    assert {row["name"] for row in (await told.get("usage", "counts", by="node"))["rows"]} == {"dgx", "other"}
    async with told.client("counts") as client:
        assert CANARY not in (await client.get("usage.csv")).text


async def test_the_days_of_somebody_are_what_they_used(told: Past) -> None:
    """In whatever case their name is written; nobody else's, and nothing to who sees no names."""
    used = (await told.get("usage"))["rows"][0]["used_ms"]
    for name in (CANARY, CANARY.upper()):
        found = await told.get("usage/days", person=name)
        assert sum(day["used_ms"] or 0 for day in found["days"]) == found["used_ms"] == used
        assert [day["day"] for day in found["days"]] == sorted({day["day"] for day in found["days"]})
    nobody = await told.get("usage/days", person="nobody-at-all")
    assert nobody["used_ms"] == 0
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
