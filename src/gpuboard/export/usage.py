"""GPU-hours as a table for spreadsheets, and as one sheet to print."""

import csv
import io
from datetime import UTC, datetime
from html import escape
from typing import Final

from gpuboard.export.csv import guard
from gpuboard.wire.usage import UsageAnswer, UsageRow, UsageTotal

COLUMNS: Final = (
    *("from", "to", "by", "name", "used_ms", "idle_ms", "booked_ms", "free_ms", "broken_ms", "unobserved_ms"),
)
KINDS: Final = {
    "used_ms": "used",
    "idle_ms": "held, idle",
    "booked_ms": "booked, unused",
    "free_ms": "free",
    "broken_ms": "broken",
    "unobserved_ms": "not observed",
}
# Whoever is in no group, or what has no model.
NO_NAME: Final = "(none)"
_HOUR_MS: Final = 3_600_000
_STYLE: Final = (
    "body{font:11pt sans-serif;margin:2em;color:#000;background:#fff}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{padding:.2em .5em;border-bottom:1px solid #999;text-align:right}th:first-child,td:first-child"
    "{text-align:left}tr:last-child td{border-top:2px solid #000;font-weight:bold}@page{margin:1.5cm}"
)


def usage_to_csv(answer: UsageAnswer) -> str:
    """Write every row, and the total as the last; times are RFC 3339."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    span = (_moment(answer.start), _moment(answer.end), answer.by)
    for row in answer.rows:
        writer.writerow([guard(cell) for cell in (*span, row.name, *_figures(row))])
    writer.writerow([*span[:2], "total", "", *_figures(answer.total)])
    return out.getvalue()


def usage_to_html(answer: UsageAnswer) -> str:
    """Write one page without anything around it, to be read without colour."""
    heads = "".join(f"<th>{word}</th>" for word in (answer.by, *KINDS.values()))
    lines = [
        *((row.name or NO_NAME, _figures(row)) for row in answer.rows),
        ("total", _figures(answer.total)),
    ]
    body = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{hours_of(one)}</td>' for one in figures)}</tr>"
        for name, figures in lines
    )
    span = f"{_moment(answer.start)} – {_moment(answer.end)}"  # noqa: RUF001 - from one to the other
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>GPU-hours</title>'
        f"<style>{_STYLE}</style></head><body><h1>GPU-hours</h1><p>{span}</p><p>{escape(answer.text)}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></body></html>\n"
    )


def usage_to_text(answer: UsageAnswer) -> str:
    """Write a sentence and a table, in hours."""
    rows = [(row.name or NO_NAME, _figures(row)) for row in answer.rows]
    rows.append(("total", _figures(answer.total)))
    table = [[answer.by, *KINDS.values()], *([name, *map(hours_of, figures)] for name, figures in rows)]
    widths = [max(len(line[at]) for line in table) for at in range(len(KINDS) + 1)]
    lines = [
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in table
    ]
    return "\n".join([f"{_moment(answer.start)} to {_moment(answer.end)}: {answer.text}", "", *lines, ""])


def hours_of(milliseconds: int | None) -> str:
    """Hours as people read them; what is nobody's is empty."""
    return "" if milliseconds is None else f"{milliseconds / _HOUR_MS:,.1f}"


def _figures(times: UsageRow | UsageTotal) -> list[int | None]:
    return [getattr(times, kind) for kind in KINDS]


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
