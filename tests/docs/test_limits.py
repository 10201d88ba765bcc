"""The page of limits says what the board does: its figures are those of the code, and its files are there."""

import importlib
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
# Of the other files: module and constant, the row that tells it, how it is said there, and in which unit.
MINUTE, HOUR, DAY = 60, 3600, 86400
ELSEWHERE: tuple[tuple[str, str, str, str, float], ...] = (
    ("web.answers", "MOST_KEPT", "`/api/v1/free`", "{} wishes", 1),
    ("web.answers", "MOST_KEPT_BYTES", "`/api/v1/free`", "{} MiB kept", MIB),
    ("history.base", "READING_THREADS", "threads that read the past", "{};", 1),
    ("history.base", "READING_PATIENCE_SECONDS", "the processor's time for one question", "after {} s", 1),
    ("history.questions", "MOST_CPU_SECONDS", "the processor's time for one question", "{} s, and", 1),
    ("history.questions", "WORK_SECONDS", "the processor's time for one question", "each {} ms", 0.001),
    ("history.embedded.pieces", "PIECE_CELLS", "what one question about the past lays out", "{} cells", 1),
    ("assembly.server", "OPEN_FILES", "files that the board may have open", "{},", 1),
    ("wire.ingest", "MAX_MESSAGE_BYTES", "message |", "of an agent {} KiB", KIB),
    ("web.stream", "QUEUE_FRAMES", "not reading", "{} frames", 1),
    ("wire.report", "MAX_REPORT_BYTES", "a report", "{} KiB, ", KIB),
    ("wire.report", "MAX_PROCESSES", "a report", "{} processes", 1),
    ("model.report", "MAX_GPUS", "a report", "{} GPUs", 1),
    ("model.report", "LONGEST_INTERVAL_SECONDS", "interval that a node may say", "{} min", MINUTE),
    ("model.report", "LONGEST_INTERVAL_SECONDS", "pace learned from a file", "{} min", MINUTE),
    ("fleet.places", "MAX_CARDS", "cards remembered of a node", "{} |", 1),
    ("fleet.devices", "MAX_NODES", "nodes whose cards are remembered", "{} |", 1),
    ("fleet.left", "MAX_LEFT_NODES", "nodes that have left", "{};", 1),
    ("fleet.left", "MAX_LEFT_GPUS", "nodes that have left", "{} GPUs", 1),
    ("fleet.left", "MAX_LEFT_BYTES", "nodes that have left", "{} MiB", MIB),
    ("fleet.clock", "STEP_SECONDS", "this machine's clock", "{} s or more", 1),
    ("fleet.node_clock", "WRONG_FROM_SECONDS", "a node's clock", "{} s on", 1),
    ("sources.push.source", "REMEMBERED_BOOTS", "boots of a pushing node", "{} |", 1),
    ("fleet.roll_call", "MAX_NAMED", "lines about nodes missing", "{} a tick", 1),
    ("fleet.roll_call", "PAUSE_SECONDS", "lines about nodes missing", "one a minute#{}", MINUTE),
    ("sources.ssh.meter", "SPARE_BYTES", "bytes of one ssh connection", "{} MiB", MIB),
    ("sources.ssh.meter", "BYTES_PER_SECOND", "bytes of one ssh connection", "{} KiB a second", KIB),
    ("sources.ssh.meter", "SPARE_SECONDS", "the board's time for one ssh connection", "{} s,", 1),
    ("sources.ssh.meter", "BUSY_SHARE", "the board's time for one ssh connection", "{} %", 0.01),
    ("sources.ssh.frames", "MAX_NOISE_BETWEEN", "bytes between two samples", "{} KiB (", KIB),
    ("sources.ssh.frames", "MAX_NOISE_BYTES", "bytes between two samples", "({} KiB)", KIB),
    ("sources.ssh.session", "_SPARE_FRAMES", "samples over ssh", "{},", 1),
    ("sources.ssh.session", "_FRAMES_PER_INTERVAL", "samples over ssh", "{} an interval", 1),
    ("sources.ssh.connect", "_READERS_AT_ONCE", "threads that read keys", "{} a source", 1),
    ("sources.ssh.connect", "_READ_SECONDS", "threads that read keys", "{} s each", 1),
    ("outside.secrets", "READERS_AT_ONCE", "threads that read tokens", "{} a source", 1),
    ("outside.secrets", "PATIENCE_SECONDS", "threads that read tokens", "{} s each", 1),
    ("outside.resolve", "LOOKUPS_AT_ONCE", "look-ups of names", "{} at once", 1),
    ("outside.resolve", "MAX_KNOWN", "names remembered for when", "{},", 1),
    ("outside.resolve", "MAX_ADDRESSES", "names remembered for when", "{} addresses", 1),
    ("probes.nvidia_smi.probe", "MAX_GPUS", "GPUs of a node over ssh that are missed", "{} |", 1),
    ("outside.answer", "MAX_HEAD_BYTES", "all of an HTTP answer", "{} KiB", KIB),
    ("outside.answer", "_CHUNKS_SHARE", "all of an HTTP answer", "an eighth#{}", 1 / 8),
    ("sources.pull.poller", "_LONGEST_REASON", "words of a host or node", "{} characters", 1),
    ("discovery.tags", "MAX_GROUPS", "groups of a node that Consul names", "{},", 1),
    ("discovery.tags", "MAX_GROUP_LENGTH", "groups of a node that Consul names", "{} characters", 1),
    ("probes.nvidia_smi.document", "_MAX_DEVICES", "GPUs and instances in an XML", "{} (", 1),
    ("model.report", "MAX_GPUS", "GPUs and instances in an XML", "shows {} of", 1),
    ("sources.folder.listing", "MAX_LISTED", "names listed in a folder", "{} that", 1),
    ("sources.folder.listing", "MAX_ENTRIES", "names listed in a folder", "{} of all", 1),
    ("sources.folder.listing", "MAX_FILES", "files of nodes", "{} |", 1),
    ("sources.folder.shares", "MAX_ASKED", "new files whose owner", "{} |", 1),
    ("sources.folder.turns", "MAX_LOOK_BYTES", "read in one look", "{} MiB", MIB),
    ("sources.folder.turns", "MAX_LOOK_SECONDS", "read in one look", "{} s of", 1),
    ("sources.folder.room", "MAX_GPUS", "what a folder tells in all", "{} GPUs", 1),
    ("sources.folder.room", "MAX_BYTES", "what a folder tells in all", "{} MiB", MIB),
    ("sources.formats.base", "MAX_FILE_BYTES", "one file", "{} MiB", MIB),
    ("sources.folder.owners", "MAX_NODES", "nodes of a folder whose owner", "{} |", 1),
    ("sources.folder.pace", "KEPT_BOOTS", "boots of a node of which", "{} |", 1),
    ("sources.folder.source", "MAX_NAMED", "foreign files named", "{} a run", 1),
    ("sources.folder.source", "MAX_NAMED", "unreadable files named", "{} nodes a look", 1),
    ("bookings.comments", "MAX_NAMED", "entries of `comments.json`", "{} |", 1),
    ("bookings.slips", "MAX_NAMED", "names under which something is booked", "{},", 1),
    ("bookings.slips", "NAME_LENGTH", "names under which something is booked", "{} letters", 1),
    ("bookings.slips", "MAX_NAMED", "booked places that no GPU has", "{},", 1),
    ("bookings.slips", "NAME_LENGTH", "booked places that no GPU has", "{} letters", 1),
    ("agent.connections", "MAX_CONNECTIONS", "connections |", "{};", 1),
    ("agent.connections", "MAX_OF_ONE_PEER", "connections |", "{} of one address", 1),
    ("agent.connections", "REQUEST_SECONDS", "a request with its answer", "{} s", 1),
    ("client.board", "PATIENCE_SECONDS", "waiting for a board", "{} s for the next", 1),
    ("client.board", "ANSWER_SECONDS", "waiting for a board", "{} s for all", 1),
    ("client.board", "MAX_BYTES", "an answer |", "{} MiB", MIB),
    ("bookings.rules", "MOST_OPEN", "open bookings of one person", "{} |", 1),
    ("model.booking", "MOST_PLACES", "places of one booking", "{} |", 1),
    ("model.booking", "LONGEST_COMMENT", "letters of a comment", "{} |", 1),
    ("bookings.rules", "SOON_SECONDS", "what begins now, on a GPU", "{} min", 60),
    ("bookings.rules", "FARTHEST_SECONDS", "the end of a booking", "{} years", 366 * DAY),
    ("bookings.desk", "MOST_TOLD", "bookings in one answer", "{},", 1),
    ("bookings.telling", "DEADLINE_SECONDS", "the command for what", "{} s;", 1),
    ("bookings.telling", "MOST_WAITING", "the command for what", "{} events", 1),
    ("bookings.watching", "MOST_TOLD", "what is told of one booking", "{} events", 1),
    ("bookings.rules", "GAP_SECONDS", "how far the next gap", "{} days", DAY),
    ("accounts.tokens", "CODE_SECONDS", "a code", "{} h, once", HOUR),
    ("accounts.guesses", "ACCOUNT_BURST", "guesses of strangers", "{} at once", 1),
    ("accounts.guesses", "ACCOUNT_PER_SECOND", "guesses of strangers", "then {} in 15", 1 / 900),
    ("accounts.guesses", "ADDRESS_BURST", "guesses of one address", "{} at once", 1),
    ("accounts.guesses", "ADDRESS_PER_SECOND", "guesses of one address", "then {} in 15", 1 / 900),
    ("accounts.passwords", "THREADS", "passwords compared at once", "{}, and", 1),
    ("accounts.passwords", "MOST_WAITING", "passwords compared at once", "{} that wait", 1),
    ("accounts.sessions", "IDLE_SECONDS", "a session", "{} days unused", DAY),
    ("accounts.sessions", "LONGEST_SECONDS", "a session", "{} days at most", DAY),
    ("accounts.sessions", "EXCHANGE_SECONDS", "a session", "every hour#{}", HOUR),
    ("accounts.sessions", "MAX_SESSIONS_OF_ONE", "sessions of one person", "{} |", 1),
    ("accounts.sessions", "MAX_BROWSERS_OF_ONE", "browsers remembered", "{} |", 1),
    ("accounts.links", "SIGN_IN_SECONDS", "a link to sign in", "{} minutes", MINUTE),
    ("accounts.links", "SET_UP_SECONDS", "a link to set up", "{} h", HOUR),
    ("accounts.person_tokens", "MAX_TOKENS_OF_ONE", "tokens that one person has made", "{} |", 1),
    ("accounts.person_tokens", "MAX_LOGINS_OF_ONE", "command lines that one person", "{} |", 1),
    ("accounts.person_tokens", "LOGIN_SECONDS", "a token of `gpuboard login`", "{} days", DAY),
    ("accounts.person_tokens", "MAX_LOGINS_OF_NODE", "command lines signed in", "{} |", 1),
    ("accounts.ways.oidc", "MAX_PENDING", "people at the provider", "{},", 1),
    ("accounts.ways.oidc", "PENDING_SECONDS", "people at the provider", "{} minutes", MINUTE),
    ("outside.peer_socket", "MOST_AT_ONCE", "who asks at a socket", "{};", 1),
    ("outside.peer_socket", "MOST_OF_ONE", "who asks at a socket", "{} of one user", 1),
    ("outside.peer_socket", "MAX_BYTES", "a question at a socket", "{} KiB", KIB),
    ("outside.peer_socket", "QUESTION_SECONDS", "a question at a socket", "{} s", 1),
    ("accounts.audit", "KEEP_SECONDS", "the audit log", "{} days", DAY),
    ("accounts.audit", "MAX_ENTRIES", "the audit log", "{} entries", 1),
    ("cli.logs", "LINES_PER_MINUTE", "lines of one kind", "{} a minute", 1),
    ("cli.logs", "_LONGEST_LINE", "one line", "{} characters", 1),
    ("storage.base", "THREADS", "calls to the database at once", "{} (", 1),
    ("storage.base", "PATIENCE_SECONDS", "one call to the database", "{} s", 1),
    ("storage.postgresql.database", "QUEUE_SECONDS", "connections to PostgreSQL", "at most {} s", 1),
    ("storage.postgresql.connecting", "CONNECT_SECONDS", "connecting to PostgreSQL", "{} s;", 1),
    ("storage.postgresql.connecting", "FIRST_RETRY_SECONDS", "connecting to PostgreSQL", "from {} to", 1),
    ("storage.postgresql.connecting", "LONGEST_RETRY_SECONDS", "connecting to PostgreSQL", "to {} s", 1),
    ("storage.postgresql.connecting", "STATEMENT_SECONDS", "one statement, one answer", "{} s, ended", 1),
    ("storage.postgresql.connecting", "DEADLINE_SECONDS", "one statement, one answer", "{} s, cut", 1),
    ("storage.sqlite.integrity", "LOOK_SECONDS", "looking whether the database", "{} s, at", 1),
    ("assembly.descriptors", "MUCH", "open files", "nine tenths#{}", 0.9),
    ("settings.base", "LONGEST_SECONDS", "values of settings", "ten years#{}", 3660 * DAY),
)
# What has a figure in its limit that is no constant of ours, and what it is.
OTHER_ROWS = {
    "kept connection": "what uvicorn is told",
    "time until TLS is agreed on": "HANDSHAKE_SECONDS, as above",
    "times by a node's clock or age": "the year of a moment",
    "nodes that Consul may name": "the default of a setting",
    "a password": "the bounds of a type",
    "a revoked token, a removed person": "two looks of a second",
    "a standing event loop, under systemd": "a line of the unit",
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


@pytest.mark.parametrize(("module", "name", "row", "words", "unit"), ELSEWHERE)
def test_the_page_has_the_figures_of_other_files(
    module: str, name: str, row: str, words: str, unit: float
) -> None:
    """The same, where a limit stands beside what it limits."""
    value = getattr(importlib.import_module(f"gpuboard.{module}"), name) / unit
    said, _, is_in_words = words.partition("#")
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
    assert said.format(f"{value:,.10g}") in line.split(" | ", maxsplit=1)[1]
    # "an eighth", "every hour": one of its unit.
    assert value == 1 or not is_in_words


def test_no_figure_of_the_page_is_bound_by_nothing() -> None:
    """A new row gets its line above, or says what it is."""
    starts = [*(row for row, _ in ROWS.values()), *(row for _, _, row, _, _ in ELSEWHERE), *OTHER_ROWS]
    lines = re.findall(r"^\| (?!what \|)(.+? \| .*?\d.*? \|) ", PAGE, re.MULTILINE)
    figures = [line for line in lines if re.search(r"\d", line.split(" | ")[1])]
    assert len(figures) > 90
    assert [line for line in figures if not any(line.startswith(start) for start in starts)] == []


def test_the_files_that_are_named_are_there() -> None:
    """Each section says where its figures stand."""
    named = re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", PAGE)
    assert len(named) > 20
    assert [path for path in named if not (SOURCE / path).is_file()] == []


def test_every_limit_is_used() -> None:
    """One that nobody asks for limits nothing."""
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py") if path != Path(limits.__file__))
    assert [name for name in vars(limits) if name.isupper() and not re.search(rf"\b{name}\b", text)] == []
