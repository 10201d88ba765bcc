"""The log of commands that run on: one event is one line, and no visitor can fill the disk with it."""

import io
import logging
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from gpuboard.cli.logs import OneLineFormatter, SameKindLimit


def written(limit: SameKindLimit | None = None) -> tuple[logging.Logger, io.StringIO]:
    """A log of its own, and what is written into it."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(OneLineFormatter("%(levelname)s %(name)s %(message)s"))
    if limit is not None:
        handler.addFilter(limit)
    log = logging.Logger("test", level=logging.INFO)  # noqa: LOG001 - nobody else shall hear it
    log.addHandler(handler)
    return log, out


def test_text_from_outside_cannot_forge_a_line_or_command_a_terminal() -> None:
    """What a host says before anybody knows who it is, for example."""
    log, out = written()
    log.warning("node failed: reason=%s", "bye\nINFO gpuboard all is well\x1b]0;owned\x07\u202e")
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
    assert "\\x0aINFO gpuboard" in out.getvalue()


def test_a_traceback_begins_no_line_of_its_own() -> None:
    """Its last line quotes whoever made it fail."""
    log, out = written()
    try:
        int("bad\nINFO gpuboard all is well\x1b[31m")
    except ValueError:
        log.exception("part failed: part=%s", "x")
    first, *others = out.getvalue().splitlines()
    assert first == "ERROR test part failed: part=x"
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in out.getvalue()


def test_a_line_has_an_end() -> None:
    """However long what it quotes is."""
    log, out = written()
    log.warning("%s", "x" * 100_000)
    assert len(out.getvalue()) < 3000


def test_lines_of_one_kind_are_limited_and_counted() -> None:
    """Others are written as before; the next minute says how many were not."""
    now = 0.0
    log, out = written(SameKindLimit(most=3, clock=lambda: now))
    for number in range(100):
        log.warning("token refused: address=%s", number)
    log.warning("something else")
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert "not written" in lines[2]
    now = 61.0
    log.warning("token refused: address=%s", "again")
    assert out.getvalue().splitlines()[-1].endswith("address=again (97 more like it before, not written)")


def test_kinds_without_number_do_not_fill_the_memory() -> None:
    """A library may put what it met into the line itself."""
    limit = SameKindLimit()
    log, _ = written(limit)
    for number in range(3000):
        log.warning(f"kind {number}")  # noqa: G004 - that is the point
    assert len(limit._kinds) <= 1000


SAYS_HELLO = "import logging, gpuboard.cli.logs as logs; logs.set_up_logging(); logging.warning('hello')"


@pytest.mark.parametrize("reads_it", ["nobody", "the journal", "a file beside the journal"])
def test_only_the_journal_needs_no_times(tmp_path: Path, reads_it: str) -> None:
    """It has its own; whoever starts a board by hand, or writes its log into a file, has none."""
    path = tmp_path / "log"
    with path.open("w") as log:
        found = os.fstat(log.fileno())
        numbers = {
            "nobody": "",
            "the journal": f"{found.st_dev}:{found.st_ino}",
            "a file beside the journal": f"{found.st_dev}:{found.st_ino + 1}",
        }
        environment = os.environ | {"JOURNAL_STREAM": numbers[reads_it]}
        subprocess.run([sys.executable, "-c", SAYS_HELLO], stderr=log, env=environment, check=True)
    first, _, rest = path.read_text().partition(" ")
    if reads_it == "the journal":
        assert (first, rest) == ("WARNING", "root hello\n")
    else:
        assert datetime.fromisoformat(first).tzinfo is not None
        assert rest == "WARNING root hello\n"
