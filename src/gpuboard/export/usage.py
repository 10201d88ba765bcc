"""GPU-hours as a table for spreadsheets, and as one sheet to print."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from html import escape
from typing import Final

from gpuboard.export.csv import guard
from gpuboard.export.rounding import nearest, rounded_column, rounded_parts
from gpuboard.settings.zones import zone_of
from gpuboard.wire.usage import UsageAnswer, UsageRow, UsageTotal

KINDS: Final = {
    "used_ms": "used",
    "idle_ms": "held, idle",
    "booked_ms": "booked, unused",
    "free_ms": "free",
    "broken_ms": "broken",
    "unobserved_ms": "not observed",
}
# Beside the kinds of time, in the page's words, where there is anything to tell; for people in hours, but for
# the price.
MORE: Final = {
    "previous_used_ms": "used before",
    "reserved_ms": "booked in all",
    "reserved_used_ms": "of that used",
    "memory_gib_hours": "GB-hours",
    "weighted_ms": "weighted",
    "price": "price",
}
COLUMNS: Final = ("from", "to", "by", "name", *KINDS)
# Those that only settings with weights or a price have.
_SET: Final = ("weighted_ms", "price")
# What has no model, or no program that can be told.
NO_NAME: Final = "(none)"
NO_GROUP: Final = "in no group"
PART_OF_WEEK: Final = "part of a week"
_HOUR_MS: Final = 3_600_000
# What people read: a tenth of an hour.
_TENTH_MS: Final = _HOUR_MS // 10
# What a weight is of: nobody else could have the GPU meanwhile.
_WEIGHED: Final = ("used_ms", "idle_ms", "booked_ms")
# Of what is no time: the finest parts of one in which it is told, how many of these people read as one, and
# after how many digits.
_FINENESS: Final = {"price": (10_000, 100, 2), "memory_gib_hours": (1000, 100, 1)}
# What stands below a sheet, for whoever was not told otherwise.
MEANINGS: Final = {
    "used_ms": "it worked",
    "idle_ms": "somebody was on it, and it did nothing",
    "booked_ms": "it was booked, and nobody was on it",
    "free_ms": "anybody could have had it",
    "broken_ms": "nobody could",
    "unobserved_ms": "no sample tells",
}
_STYLE: Final = (
    "body{font:11pt sans-serif;margin:2em;color:#000;background:#fff}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{padding:.2em .5em;border-bottom:1px solid #999;text-align:right}th:first-child,td:first-child"
    "{text-align:left}tr:last-child td{border-top:2px solid #000;font-weight:bold}"
    "footer{margin-top:1.5em;font-size:9pt}@page{margin:1.5cm}"
)


def usage_to_csv(answer: UsageAnswer) -> str:
    """Write every row, and the total as the last; times are RFC 3339.

    Which columns there are follows from what a row is of and from the settings, never from what was counted.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    told = _told(answer)
    more = [name for name in MORE if name not in _SET or name in told]
    has_group = answer.by == "person"
    writer.writerow([*COLUMNS, *more, *(["group"] if has_group else [])])
    span = (_moment(answer.start), _moment(answer.end), answer.by)
    for row in answer.rows:
        cells = (
            *span,
            row.name or _nameless(answer, ""),
            *_figures(row, more),
            *([row.group] if has_group else []),
        )
        writer.writerow([guard(cell) for cell in cells])
    empty = [""] if has_group else []
    writer.writerow([*span[:2], "total", "", *_figures(answer.total, more), *empty])
    return out.getvalue()


def _nameless(answer: UsageAnswer, otherwise: str) -> str:
    return NO_GROUP if answer.by == "group" else otherwise


def usage_to_html(answer: UsageAnswer) -> str:
    """Write one page without anything around it, to be read without colour."""
    heads, *lines = _table(answer)
    title = f"{answer.title}: GPU-hours" if answer.title else "GPU-hours"
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>{escape(_asked(answer))}</p><p>{escape(answer.text)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<footer>{escape(_definitions())}</footer></body></html>\n"
    )


def _definitions() -> str:
    kinds = "; ".join(f"{KINDS[kind]}: {meaning}" for kind, meaning in MEANINGS.items())
    return f"In hours of GPUs. Every moment of a GPU is of one kind: {kinds}."


def usage_to_text(answer: UsageAnswer) -> str:
    """Write a sentence and a table, in hours."""
    table = _table(answer)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in table
    ]
    return "\n".join([f"{_asked(answer)}: {answer.text}", "", *lines, ""])


def _table(answer: UsageAnswer) -> list[list[str]]:
    """Heads and rows as people read them, the total as the last."""
    more = _told(answer)
    words = {**MORE, "price": f"price, {answer.currency}" if answer.currency else "price"}
    names = [*(_named(row, answer) for row in answer.rows), "total"]
    wholes = _whole_tenths(answer.total)
    columns = [_written(name, _column(name, answer, wholes)) for name in (*KINDS, *more)]
    return [
        [answer.by, *KINDS.values(), *(words[name] for name in more)],
        *([name, *cells] for name, cells in zip(names, zip(*columns, strict=True), strict=True)),
    ]


def _named(row: UsageRow, answer: UsageAnswer) -> str:
    """What people read as the name of a row; of a week of which only some days were asked for, that too."""
    if row.name is None:
        return _nameless(answer, NO_NAME)
    return f"{row.name} · {PART_OF_WEEK}" if answer.by == "week" and _is_cut(row.name, answer) else row.name


def _is_cut(week: str, answer: UsageAnswer) -> bool:
    """Whether a week, like `2026-W44`, begins before what was asked for, or ends after it."""
    zone = zone_of(answer.time_zone) or UTC
    monday = datetime.strptime(f"{week}-1", "%G-W%V-%u").replace(tzinfo=zone)
    since, until = _asked_span(answer)
    return since > monday.timestamp() or until < (monday + timedelta(days=7)).timestamp()


def _whole_tenths(total: UsageTotal) -> dict[str, int]:
    """The total of each kind in tenths of hours; together they are the span."""
    parts = [getattr(total, kind) for kind in KINDS]
    return dict(zip(KINDS, rounded_parts(parts, nearest(sum(parts), _TENTH_MS), _TENTH_MS), strict=True))


def _column(name: str, answer: UsageAnswer, wholes: dict[str, int]) -> list[int | None]:
    """One figure row by row in whole units, so that the rows add up to the total, which comes last."""
    lines: list[UsageRow | UsageTotal] = [*answer.rows, answer.total]
    if name == "weighted_ms":
        return _weighted(lines, [_column(kind, answer, wholes) for kind in _WEIGHED])
    per_one, unit, _ = _FINENESS.get(name, (1, _TENTH_MS, 1))
    values = (getattr(line, name) for line in lines)
    return _rounded(
        [None if value is None else round(value * per_one) for value in values], unit, wholes.get(name)
    )


def _weighted(lines: Sequence[UsageRow | UsageTotal], written: list[list[int | None]]) -> list[int | None]:
    """What is written of the time that is weighed, and what weights add: one of 1 changes no figure."""
    more = [
        None if line.weighted_ms is None else line.weighted_ms - sum(getattr(line, kind) for kind in _WEIGHED)
        for line in lines
    ]
    return [
        None if added is None else added + sum(one or 0 for one in plain)
        for added, plain in zip(_rounded(more, _TENTH_MS), zip(*written, strict=True), strict=True)
    ]


def _rounded(figures: list[int | None], unit: int, whole: int | None = None) -> list[int | None]:
    *parts, total = figures
    # Of what has no total nobody asks what it adds up to.
    sum_of = sum(part or 0 for part in parts) if total is None else total
    units = rounded_column(parts, sum_of, unit, nearest(sum_of, unit) if whole is None else whole)
    if total is None:
        units[-1] = None
    return units


def _written(name: str, units: list[int | None]) -> list[str]:
    _, _, digits = _FINENESS.get(name, (1, _TENTH_MS, 1))
    return ["" if one is None else f"{one / 10**digits:,.{digits}f}" for one in units]


def _told(answer: UsageAnswer) -> list[str]:
    """What is told beside the kinds of time: that of which anything is known."""
    lines = [answer.total, *answer.rows]
    return [name for name in MORE if any(getattr(line, name) is not None for line in lines)]


def _figures(times: UsageRow | UsageTotal, more: list[str]) -> list[float | None]:
    return [getattr(times, name) for name in (*KINDS, *more)]


def _asked(answer: UsageAnswer) -> str:
    """What was asked for, and what was counted, if that is not the same; in a zone that is named."""
    zone = zone_of(answer.time_zone) or UTC
    spans = (_asked_span(answer), (answer.start, answer.end))
    asked, counted = (f"{_moment(since, zone)} to {_moment(until, zone)}" for since, until in spans)
    # Only whole hours are counted, so it may also be more than was asked for.
    is_same = answer.gpus == 0 or asked == counted
    return f"{asked} ({zone})" if is_same else f"{asked} ({zone}) (counted from {counted})"


def _asked_span(answer: UsageAnswer) -> tuple[float, float]:
    return (
        answer.start if answer.asked_from is None else answer.asked_from,
        answer.end if answer.asked_to is None else answer.asked_to,
    )


def _moment(at: float, zone: tzinfo = UTC) -> str:
    return datetime.fromtimestamp(at, zone).isoformat(timespec="seconds").replace("+00:00", "Z")
