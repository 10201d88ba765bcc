"""What commands do when their output cannot be written: never an exit code that means something else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuboard.cli.doctor import MARKS
from gpuboard.cli.output import HANDLER, never_fail_to_encode
from gpuboard.export.files import write_out

pytestmark = pytest.mark.slow

COMMAND = f"{sys.executable} -m gpuboard"


@pytest.mark.parametrize("command", ["status --demo", "export json --demo", "agent --once --probe simulated"])
@pytest.mark.parametrize(
    ("output", "code", "says"),
    [(">&-", 0, ""), (">/dev/full", 3, "the output cannot be written: No space left on device")],
    ids=["closed", "full"],
)
def test_an_output_that_takes_nothing_is_one_sentence(
    command: str, output: str, code: int, says: str
) -> None:
    """No traceback, and not 1, which would be a "no"."""
    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} {command} {output}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, says in done.stderr, "Traceback" in done.stderr) == (code, True, False)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize(
    "command", ["status --demo -p", "doctor", "export html --demo", "status --demo --json", "free --help"]
)
def test_a_terminal_without_unicode_gets_the_nearest_signs_and_never_a_traceback(
    command: str, encoding: str
) -> None:
    """A name that cannot be written costs its letters, not the answer."""
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} {command}"], capture_output=True, check=False, timeout=60, env=environment
    )
    assert (b"Traceback" in done.stderr, b"UnicodeEncodeError" in done.stderr, done.stdout != b"") == (
        False,
        False,
        True,
    )


def test_marks_can_be_told_apart_without_unicode() -> None:
    """What is well and what is not must not both be a question mark."""
    never_fail_to_encode()
    written = {mark.encode("ascii", errors=HANDLER) for mark in MARKS.values()}
    assert (len(written), b"?" in written) == (len(MARKS), False)


def test_a_reader_who_leaves_is_no_answer() -> None:
    """`gpuboard … | head -1` ends as other programs do then."""
    script = f"{COMMAND} export json --demo | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_export_replaces_no_link_and_no_device(tmp_path: Path) -> None:
    """As root it would take /dev/stdout or /dev/full from everybody."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_out(link, b"new")
    assert (link.is_symlink(), target.read_bytes()) == (True, b"new")
    null = Path("/dev/null")
    write_out(null, b"new")
    assert null.is_char_device()
