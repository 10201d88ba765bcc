"""`gpuboard doctor`: what works on this machine, what does not, and what to do."""

import argparse
import importlib
import os
import pyexpat
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from gpuboard import __version__
from gpuboard.assembly.agent import this_machine
from gpuboard.cli.doctor_history import look_at_history
from gpuboard.cli.exits import CANNOT_TELL, DONE, FAILED
from gpuboard.cli.which_board import add_which, chosen_directory
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import SettingsError
from gpuboard.model.node import node_name_of
from gpuboard.model.problems import sentence_of
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.outside.state_directory import state_directory
from gpuboard.probes.presence import has_card
from gpuboard.probes.registry import NVIDIA, PROBE_NAMES
from gpuboard.wire.report import check_report

Grade = Literal["ok", "note", "bad"]
MARKS = {"ok": "✓", "note": "•", "bad": "✗"}
# Mended in, name, what: those that a document without a DTD can reach (one with a DTD is refused unread).
EXPAT_FLAWS: Final = (
    ((2, 4, 5), "CVE-2022-25235", "damaged UTF-8 may run code"),
    ((2, 4, 9), "CVE-2022-40674", "use of freed memory"),
    ((2, 6, 0), "CVE-2023-52425", "a long token costs its length squared"),
)


class Finding(Struct, frozen=True):
    """One thing that was checked."""

    grade: Grade
    text: str
    remedy: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_which(parser)
    parser.add_argument("--probe", metavar="NAME", help=f"read the devices by this alone: {PROBE_NAMES}")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, print what was found."""
    report = check_report(this_machine(node=node_name_of(socket.gethostname()), probe=arguments.probe)())
    findings = [
        *_system(),
        *check_expat(),
        *_devices(report),
        *_processes(report),
        *_history(_directories(arguments)),
    ]
    for finding in findings:
        print(f"{MARKS[finding.grade]} {finding.text}")
        if finding.remedy:
            print(f"    {finding.remedy}")
    sys.stdout.flush()
    if any(finding.grade == "bad" for finding in findings):
        return FAILED
    return DONE if report.gpus else CANNOT_TELL


def _system() -> Iterator[Finding]:
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("ok", f"gpuboard {__version__} on Python {python}, user {os.geteuid()}")
    tool = shutil.which("nvidia-smi")
    if tool is None:
        yield Finding("note", "nvidia-smi is not on the PATH; it is only needed where NVML does not work")
    else:
        yield Finding("ok", f"nvidia-smi is at {tool}")
    nodes = sorted(Path("/dev").glob("nvidia[0-9]*"))
    closed = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        yield Finding(
            "bad",
            f"this user may not open {', '.join(closed)}",
            "add the user to the group that owns the device, or run the agent as the service does",
        )


def _directories(arguments: argparse.Namespace) -> list[Path]:
    """Where the board of this machine has its history, as the commands find it that change its database."""
    try:
        # By name: the light install lacks what it needs, and has no board.
        board = importlib.import_module("gpuboard.cli.board_database")
        found: list[Path] = board.state_directories(arguments)
    except (ModuleNotFoundError, SettingsError):
        # A slip in the settings of the service is no reason to check nothing; one in those that are named is.
        return [state_directory(chosen_directory(arguments))]
    return found


def _history(directories: list[Path]) -> Iterator[Finding]:
    for looked in chain.from_iterable(map(look_at_history, directories)):
        yield Finding("ok" if looked.is_well else "bad", looked.text, looked.remedy)


def _grade(problem: Problem) -> Grade:
    """Without a driver a machine is sound, if it has no GPU that would need one."""
    return "note" if problem.kind in ("no-driver", "no-devices") and not has_card(NVIDIA.signs) else "bad"


def check_expat(version: str = pyexpat.EXPAT_VERSION) -> Iterator[Finding]:
    """The board reads documents of nodes with it; they may be anybody's."""
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    known = [f"{name} ({what})" for fixed, name, what in EXPAT_FLAWS if number < fixed]
    if known:
        yield Finding(
            "note",
            f"this Python reads XML with expat {'.'.join(map(str, number))}, known for {', '.join(known)}",
            "update Python or libexpat, unless your distribution has mended it under the same number",
        )


def _devices(report: NodeReport) -> Iterator[Finding]:
    host = report.host
    if host is not None and host.driver_version:
        yield Finding(
            "ok",
            f"driver {host.driver_version}, CUDA {host.cuda_version or 'unknown'}, read by {report.probe}",
        )
    for problem in report.problems:
        yield Finding(_grade(problem), sentence_of(problem), problem.remedy)
    if report.gpus == () and not report.problems:
        yield Finding("note", "this machine has no GPU", "use `gpuboard status --demo` to look around")
    for gpu, word in _judged(report):
        yield Finding("ok", f"GPU {gpu.index} {gpu.model or 'of unknown model'}: {word}")
        if gpu.persistence_mode is False:
            yield Finding(
                "note",
                f"GPU {gpu.index} has persistence mode off: each first question costs it seconds",
                "run nvidia-smi -pm 1 as root, or enable the service nvidia-persistenced",
            )
        unknown = [
            name
            for name in ("utilization_percent", "memory_used_bytes", "processes")
            if getattr(gpu, name) is None
        ]
        if unknown and gpu.mig_parent_uuid is None:
            yield Finding("note", f"GPU {gpu.index} does not tell {', '.join(unknown)}")


def _judged(report: NodeReport) -> Iterator[tuple[GpuReading, str]]:
    fleet = Fleet(SteadyClock())
    fleet.sink("local").report(report.node, report)
    fleet.settle()
    for node in fleet:
        for reading in node.readings():
            verdict = node.gpus[reading.uuid].verdict
            if verdict is not None:
                yield reading, f"{verdict.word}, {verdict.reason.text}"


def _processes(report: NodeReport) -> Iterator[Finding]:
    processes = [process for gpu in report.gpus or () for process in gpu.processes or ()]
    if processes and all(process.uid is None for process in processes):
        yield Finding(
            "bad",
            f"{len(processes)} processes are on the GPUs and the owner of none can be seen",
            "processes of others are hidden (hidepid, or a container of its own): run the agent on the host, "
            "in the group that hidepid lets see",
        )
