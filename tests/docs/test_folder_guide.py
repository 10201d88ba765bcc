"""The folder guide, walked as it is printed: every command runs, and a board reads what it leaves."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuboard.sources.formats.gpu_monitor import APP_FIELDS, GPU_FIELDS, MEMBERS
from tests.cli.conftest import COMMAND, environment, library, scenario
from tests.docs.blocks import GUIDES, texts_of
from tests.fakes import nvml

__all__ = ["environment", "library", "scenario"]

PAGE = GUIDES / "folder.md"
GUIDE = PAGE.read_text()
CRON = re.findall(r"^(?:\* ){5}(.+)$", GUIDE, re.MULTILINE)
SHOWN = re.findall(r"`((?:gpuboard|gpustat|nvidia-smi) [^`]*)`", GUIDE.replace("\n", " "))
# What keeps running; and flags of a command, shown in passing.
FOREVER = [command for command in SHOWN if "agent --drop DIR" in command]
ONCE = [command for command in SHOWN if command not in FOREVER and re.search("DIR|status --folder", command)]


class Walk:
    """A machine with the programs in the places that the guide names."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.folder = root / "status-gpu"
        self.folder.mkdir()
        self._programs = root / "bin"
        self._programs.mkdir()
        for name in ("gpuboard", "gpustat"):
            program = self._programs / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {name} "$@"\n')
            program.chmod(0o755)
        self._environment = environment

    def on_this_machine(self, text: str) -> str:
        """The same with this machine's paths."""
        text = re.sub(r"/nfs/status-gpu|\bDIR\b", str(self.folder), text)
        return re.sub(r"(?:/opt/gpuboard|/usr/local)/bin", str(self._programs), text)

    def start(self, command: str, *, path: str) -> "subprocess.Popen[bytes]":
        """Run a command line as a shell does that looks for programs there."""
        line = self.on_this_machine(command)
        return subprocess.Popen(["/bin/sh", "-c", line], env={**self._environment, "PATH": path})

    @property
    def persons_path(self) -> str:
        """Where a person's shell looks."""
        return f"{self._programs}:{self._environment['PATH']}"

    def seen(self) -> list[tuple[str, int]]:
        """What a board with the guide's settings sees: the state and number of GPUs of each node."""
        settings = texts_of(PAGE, "toml")[0]
        config = self.folder.with_name("gpuboard.toml")
        config.write_text(self.on_this_machine(settings).replace('"cml*"', '"*"'))
        done = subprocess.run(
            [*COMMAND, "export", "json", "--config", str(config)],
            env=self._environment,
            capture_output=True,
            check=False,
        )
        return [(node["state"], len(node["gpus"])) for node in json.loads(done.stdout)["nodes"]]


@pytest.fixture
def walk(tmp_path: Path, environment: dict[str, str], scenario: Path) -> Walk:
    """A machine with eight GPUs."""
    nvml.eight_busy_datacenter().write(scenario)
    return Walk(tmp_path, environment)


def test_the_guide_shows_commands_of_every_kind() -> None:
    """Else this would test nothing."""
    assert (len(CRON), len(FOREVER)) == (2, 1)
    assert {command.split()[0] for command in ONCE} == {"gpuboard", "gpustat", "nvidia-smi"}


@pytest.mark.parametrize("command", CRON)
def test_every_crontab_line_works_where_cron_looks_for_programs(walk: Walk, command: str) -> None:
    """It has no other folders than these."""
    assert walk.start(command, path="/usr/bin:/bin").wait(50) == 0
    assert walk.seen() == [("live", 8)]


@pytest.mark.parametrize("command", ONCE)
def test_every_command_works(walk: Walk, command: str) -> None:
    """What it leaves is a live node."""
    if "--folder" in command:
        assert walk.start(CRON[-1], path=os.defpath).wait(50) == 0
    assert walk.start(command, path=walk.persons_path).wait(50) == 0
    assert walk.seen() == [("live", 8)]


@pytest.mark.parametrize("command", FOREVER)
def test_what_keeps_running_leaves_its_file(walk: Walk, command: str) -> None:
    """Until it is stopped."""
    agent = walk.start(f"exec {command}", path=walk.persons_path)
    try:
        ends = time.monotonic() + 60
        while not list(walk.folder.glob("[!.]*")) and time.monotonic() < ends:
            time.sleep(0.05)
        assert walk.seen() == [("live", 8)]
    finally:
        agent.terminate()
        agent.wait(20)


@pytest.mark.parametrize(("member", "fields"), [("gpus", GPU_FIELDS), ("processes", APP_FIELDS)])
def test_the_columns_of_gpu_monitors_files_are_those_that_are_read(
    member: str, fields: Sequence[str]
) -> None:
    """Whoever writes such files by a script of their own has them from the guide."""
    assert f"| `HOST_{member}.csv` | `{', '.join(fields)}` |" in GUIDE


def test_all_files_of_gpu_monitor_are_explained() -> None:
    """None is read of which nobody knows."""
    told = re.findall(r"^\| `HOST_(\w+)\.csv` \|", GUIDE, re.MULTILINE)
    assert told == list(MEMBERS)
