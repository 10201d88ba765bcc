"""The page of limits says what the board does: its figures are those of the code, and its files are there."""

import re
from pathlib import Path

import pytest

import gpuboard
from gpuboard.web import limits

SOURCE = Path(gpuboard.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "limits.md").read_text()
KIB, MIB = 1024, 1024**2
# Every figure, by the row that tells it and the words for it.
ROWS: dict[str, tuple[str, str]] = {
    "REQUEST_SECONDS": ("time for a request to arrive", f"{limits.REQUEST_SECONDS:g} s"),
    "MAX_HEAD_BYTES": ("all of a request that is no body", f"{limits.MAX_HEAD_BYTES // KIB} KiB"),
    "MAX_HEADERS": ("all of a request that is no body", f"{limits.MAX_HEADERS} headers"),
    "MAX_BODY_BYTES": ("body of a request", f"{limits.MAX_BODY_BYTES // KIB} KiB;"),
    "MAX_FORM_BYTES": ("body of a request", f"signing in {limits.MAX_FORM_BYTES // KIB} KiB"),
    "MAX_PIPELINED": ("requests waiting on one connection", f"{limits.MAX_PIPELINED}"),
    "VISITS_PER_SECOND": ("requests of one address", f"{limits.VISITS_PER_SECOND:g} a second"),
    "VISITS_BURST": ("requests of one address", f"{limits.VISITS_BURST:,.0f} at once"),
    "TAKE_SECONDS": ("taking an answer", f"in every {limits.TAKE_SECONDS:g} s"),
    "TAKE_BYTES": ("taking an answer", f"{limits.TAKE_BYTES // KIB} KiB"),
    "MAX_UNTAKEN_BYTES_OF_ONE": (
        "answers that wait to be taken",
        f"{limits.MAX_UNTAKEN_BYTES_OF_ONE // MIB} MiB of one address",
    ),
    "MAX_UNTAKEN_BYTES": ("answers that wait to be taken", f"{limits.MAX_UNTAKEN_BYTES // MIB} MiB in all"),
    "HISTORY_PER_SECOND": ("questions about the past", f"{limits.HISTORY_PER_SECOND:g} a second"),
    "HISTORY_BURST": ("questions about the past", f"{limits.HISTORY_BURST:g} at once"),
    "MAX_HISTORY_OF_ONE": ("questions about the past", f"{limits.MAX_HISTORY_OF_ONE} under way"),
    "MAX_HISTORY": ("threads that read the past", f"{limits.MAX_HISTORY} questions under way"),
    "MAX_HISTORY_READ_FOR_ONE": (
        "threads that read the past",
        f"{limits.MAX_HISTORY_READ_FOR_ONE} for one address",
    ),
    "HISTORY_CPU_SECONDS_PER_SECOND": (
        "the processor's time for the questions about the past of one address",
        f"{100 * limits.HISTORY_CPU_SECONDS_PER_SECOND:g} %",
    ),
    "HISTORY_CPU_SECONDS_BURST": (
        "the processor's time for the questions about the past of one address",
        f"{limits.HISTORY_CPU_SECONDS_BURST:g} s at once",
    ),
    "MAX_HISTORY_POINTS": ("one question about the past", f"{limits.MAX_HISTORY_POINTS:,} points"),
    "MAX_HISTORY_VALUES": ("one question about the past", f"{limits.MAX_HISTORY_VALUES:,} values"),
    "MAX_HISTORY_NAMED": ("one question about the past", f"{limits.MAX_HISTORY_NAMED} GPUs or nodes"),
    "MAX_HISTORY_ROWS": ("one question about the past", f"{limits.MAX_HISTORY_ROWS:,} rows"),
    "MAX_VISITORS": ("connections that are nobody's yet", f"{limits.MAX_VISITORS:,}"),
    "MAX_VISITORS_OF_ONE": (
        "connections that are nobody's yet",
        f"{limits.MAX_VISITORS_OF_ONE} of one address",
    ),
    "AGENTS_RESERVE": ("the same, from addresses that", f"{limits.AGENTS_RESERVE} more"),
    "PEOPLE_RESERVE": ("the same, from addresses of people", f"{limits.PEOPLE_RESERVE} more"),
    "TLS_PER_SECOND": ("TLS that one address begins", f"{limits.TLS_PER_SECOND:g} a second"),
    "TLS_BURST": ("TLS that one address begins", f"{limits.TLS_BURST:g} at once"),
    "MAX_VIEWERS": ("open pages", f"{limits.MAX_VIEWERS:,}"),
    "MAX_VIEWERS_OF_ONE": ("open pages", f"{limits.MAX_VIEWERS_OF_ONE} of one address"),
    "MAX_REMEMBERED": ("addresses remembered for these", f"{limits.MAX_REMEMBERED:,}"),
    "HANDSHAKE_SECONDS": ("time until somebody is let in", f"{limits.HANDSHAKE_SECONDS:g} s"),
    "VIEWER_FRAMES_PER_SECOND": ("what a page says", f"{limits.VIEWER_FRAMES_PER_SECOND:g} frame and"),
    "VIEWER_FRAMES_BURST": ("what a page says", f"{limits.VIEWER_FRAMES_BURST:g} frames"),
    "VIEWER_BYTES_PER_SECOND": ("what a page says", f"{limits.VIEWER_BYTES_PER_SECOND:g} bytes a second"),
    "VIEWER_BYTES_BURST": ("what a page says", f"{limits.VIEWER_BYTES_BURST / KIB:g} KiB at once"),
    "VIEWER_CPU_SECONDS_PER_SECOND": (
        "the board's time for what a page says",
        f"{100 * limits.VIEWER_CPU_SECONDS_PER_SECOND:g} %",
    ),
    "VIEWER_CPU_SECONDS_BURST": (
        "the board's time for what a page says",
        f"{limits.VIEWER_CPU_SECONDS_BURST:g} s at once",
    ),
    "AGENT_FRAMES_PER_SECOND": ("frames of an agent", f"{limits.AGENT_FRAMES_PER_SECOND:g} a second"),
    "AGENT_FRAMES_BURST": ("frames of an agent", f"{limits.AGENT_FRAMES_BURST:g} at once"),
    "MESSAGES_PER_SECOND": ("messages of one node", f"{limits.MESSAGES_PER_SECOND:g} a second"),
    "MESSAGES_BURST": ("messages of one node", f"{limits.MESSAGES_BURST:g} at once"),
    "CPU_SECONDS_PER_SECOND": ("the board's time for one node", f"{100 * limits.CPU_SECONDS_PER_SECOND:g} %"),
    "CPU_SECONDS_BURST": ("the board's time for one node", f"{limits.CPU_SECONDS_BURST:g} s at once"),
    "HELLO_SECONDS": ("hello", f"{limits.HELLO_SECONDS:g} s;"),
    "SILENT_SECONDS": ("hello", f"every {limits.SILENT_SECONDS:g} s"),
    "REPLACEMENTS": ("lines of a node that replace each other", f"{limits.REPLACEMENTS} within"),
    "REPLACEMENTS_SECONDS": (
        "lines of a node that replace each other",
        f"within {limits.REPLACEMENTS_SECONDS:g} s",
    ),
    "TOKEN_FAILURES": ("wrong tokens of one address", f"{limits.TOKEN_FAILURES} a minute"),
    "TOKEN_FAILURES_SECONDS": ("wrong tokens of one address", "a minute"),
    "VOUCHES_PER_SECOND": ("people who sign in from one node", f"{limits.VOUCHES_PER_SECOND:g} a second"),
    "VOUCHES_BURST": ("people who sign in from one node", f"{limits.VOUCHES_BURST:g} at once"),
    "REDIRECTS_PER_SECOND": (
        "visits to the provider that one address begins",
        f"{limits.REDIRECTS_PER_SECOND:g} a second",
    ),
    "REDIRECTS_BURST": (
        "visits to the provider that one address begins",
        f"{limits.REDIRECTS_BURST:g} at once",
    ),
    "CODE_FAILURES": ("wrong enrolment codes of one address", f"{limits.CODE_FAILURES} in"),
    "CODE_FAILURES_SECONDS": (
        "wrong enrolment codes of one address",
        f"{limits.CODE_FAILURES_SECONDS / 60:g} minutes",
    ),
}
# How much is done in one go, and what the kernel may keep: nobody meets them.
INNER = {"SLICE_BYTES", "SOCKET_SEND_BUFFER_BYTES", "ANSWER_SEND_BUFFER_BYTES"}


def test_every_limit_of_the_web_has_its_row() -> None:
    """And no row is about one that is gone."""
    assert {name for name in vars(limits) if name.isupper()} == ROWS.keys() | INNER


@pytest.mark.parametrize("name", ROWS)
def test_the_page_has_the_figure_of_the_code(name: str) -> None:
    """Whoever changes the one changes the other."""
    row, words = ROWS[name]
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
    assert words in line.split(" | ", maxsplit=1)[1]


def test_the_files_that_are_named_are_there() -> None:
    """Each section says where its figures stand."""
    named = re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", PAGE)
    assert len(named) > 20
    assert [path for path in named if not (SOURCE / path).is_file()] == []


def test_every_limit_is_used() -> None:
    """One that nobody asks for limits nothing."""
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py") if path != Path(limits.__file__))
    assert [name for name in vars(limits) if name.isupper() and not re.search(rf"\b{name}\b", text)] == []
