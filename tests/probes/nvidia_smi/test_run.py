import os
import signal
import time
from pathlib import Path

import pytest

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.probes.nvidia_smi import run as run_module
from gpuboard.probes.nvidia_smi.run import CommandRunner
from tests.started import eventually, is_running


def script(folder: Path, text: str) -> str:
    """An executable that stands in for nvidia-smi."""
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_output_is_returned_also_when_the_command_fails(tmp_path: Path) -> None:
    """The driver says what is wrong on stdout, and exits with 9."""
    assert (
        CommandRunner()([script(tmp_path, "echo 'No devices were found'; exit 9")])
        == b"No devices were found\n"
    )


def test_words_on_stderr_are_returned_too(tmp_path: Path) -> None:
    """One lost GPU is a sentence there, while the others are data on stdout."""
    assert CommandRunner()([script(tmp_path, "echo broken >&2")]) == b"broken\n"
    assert CommandRunner()([script(tmp_path, "echo data; echo GPU is lost >&2")]) == b"GPU is lost\ndata\n"


def test_the_command_speaks_the_same_language_everywhere(tmp_path: Path) -> None:
    """A locale with decimal commas would change the figures."""
    assert CommandRunner()([script(tmp_path, 'echo "$LC_ALL"')]) == b"C\n"


def test_a_missing_command_means_no_driver(tmp_path: Path) -> None:
    """The machine has no NVIDIA driver, or not on the path."""
    with pytest.raises(ProbeUnavailable) as caught:
        CommandRunner()([str(tmp_path / "nvidia-smi")])
    assert caught.value.problem.kind == "no-driver"


def test_a_command_that_may_not_be_run_says_so(tmp_path: Path) -> None:
    """It is there, which is something else than missing."""
    path = tmp_path / "nvidia-smi"
    path.write_text("#!/bin/sh\n")
    with pytest.raises(ProbeUnavailable) as caught:
        CommandRunner()([str(path)])
    assert caught.value.problem.kind == "no-permission"


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """Else a hung driver would collect processes, one per sample."""
    pids = tmp_path / "pids"
    hanging = script(tmp_path, f"sleep 60 & echo $! $$ > {pids}; wait")
    with pytest.raises(ProbeFailed) as caught:
        CommandRunner(timeout=3)([hanging])
    assert caught.value.problem.kind == "driver-hung"
    assert caught.value.problem.since == pytest.approx(time.time(), abs=30)
    # A killed process closes its files, which is what we wait for, a moment before it counts as ended.
    eventually(lambda: not any(is_running(int(pid)) for pid in pids.read_text().split()))


def test_beside_a_command_that_cannot_be_killed_none_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process in a hung driver ignores even SIGKILL; a second one would only hang as well."""
    starts = tmp_path / "starts"
    hanging = script(tmp_path, f"echo $$ >> {starts}; exec sleep 60")
    monkeypatch.setattr(run_module, "_GRACE_SECONDS", 0.05)
    runner = CommandRunner(timeout=2)
    with monkeypatch.context() as unkillable:
        unkillable.setattr(os, "killpg", lambda _group, _signal: None)
        for _ in range(3):
            with pytest.raises(ProbeFailed) as caught:
                runner([hanging])
            assert caught.value.problem.kind == "driver-hung"
    (pid,) = starts.read_text().split()
    os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: not is_running(int(pid)))
    assert runner([script(tmp_path, "echo back")]) == b"back\n"


def test_beside_what_a_wrapper_left_hanging_none_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wrapper can be killed, and is; what it started hangs in the driver and cannot."""
    starts = tmp_path / "starts"
    hanging = script(tmp_path, f"sleep 60 & echo $! >> {starts}; wait")
    monkeypatch.setattr(run_module, "_GRACE_SECONDS", 0.05)
    runner = CommandRunner(timeout=2)

    with monkeypatch.context() as unkillable:
        unkillable.setattr(os, "killpg", os.kill)
        for _ in range(3):
            with pytest.raises(ProbeFailed) as caught:
                runner([hanging])
            assert caught.value.problem.kind == "driver-hung"
    (pid,) = starts.read_text().split()
    os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: not is_running(int(pid)))
    assert runner([script(tmp_path, "echo back")]) == b"back\n"
