"""The agent against nvitop-exporter, and `gpuboard status` against gpustat, on one stand-in driver.

Eight GPUs with sixteen real processes. Everything runs in turn on the same machine in the same run, so that
the ratios mean something where the milliseconds do not. With --against, it is another commit's program
instead of peers.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import psutil

from bench._against import Measured, compare, environment_of
from tests.board import free_port
from tests.fakes import nvml

BIN: Final = Path(sys.executable).parent
WARM_UP_SECONDS: Final = 6.0
MEASURE_SECONDS: Final = 40.0
INTERVAL_SECONDS: Final = 2.0
RUNS: Final = 15
# A round of a comparison has so many; rounds are the repetitions there.
LOOKS: Final = 5


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(prog="script/bench agent", description=__doc__)
    parser.add_argument("--seconds", type=float, default=MEASURE_SECONDS, help="how long agents are watched")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of --against (default 5)")
    parser.add_argument("--against", metavar="COMMIT", help="compare with this commit's program, in turn")
    chosen = parser.parse_args()
    with ExitStack() as stack, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = prepare(stack, folder)
        print(f"8 GPUs, 16 processes, {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
        if chosen.against:
            compare(
                chosen.against,
                chosen.rounds,
                lambda tree: measure(tree, environment, folder, seconds=chosen.seconds),
            )
            return
        compare_long_lived(environment, folder, seconds=chosen.seconds)
        compare_one_shots(environment)


def measure(tree: Path, environment: dict[str, str], folder: Path, *, seconds: float) -> Measured:
    """What the program of a tree costs: as an agent, and for one look."""
    around = environment | {"PYTHONPATH": environment_of(tree)["PYTHONPATH"]}
    program = [sys.executable, "-m", "gpuboard"]
    memory, cpu_seconds = watch(listening(program, folder), around, seconds=seconds)
    looks = {
        name: statistics.median(cpu_of([*program, *words], around) for _ in range(LOOKS))
        for name, words in (
            ("CPU of one look", ["status"]),
            ("CPU of one look as JSON", ["status", "--json"]),
        )
    }
    return {
        "agent's memory, MB": memory / 1e6,
        "CPU per sample, ms": cpu_seconds * 1e3,
        **{f"{name}, ms": value * 1e3 for name, value in looks.items()},
    }


def listening(program: list[str], folder: Path) -> list[str]:
    """The command of an agent that is asked for its reports."""
    address, token = f"127.0.0.1:{free_port()}", str(folder / "token")
    interval = f"{INTERVAL_SECONDS}s"
    return [*program, "agent", "--listen", address, "--token-file", token, "--interval", interval]


def prepare(stack: ExitStack, folder: Path) -> dict[str, str]:
    """The environment of a machine whose GPUs run sixteen processes that are really there."""
    pids = []
    for _ in range(16):
        process = subprocess.Popen(["sleep", "3600"])
        stack.callback(process.wait)
        stack.callback(process.kill)
        pids.append(process.pid)
    scenario = folder / "scenario"
    nvml.eight_busy_datacenter(pids=pids).write(scenario)
    # Installed programs have their bytecode beside them; ours must not be compiled at each start here.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return usual | nvml.environment(scenario, nvml.build(folder)) | {"HOME": str(folder)}


def compare_long_lived(environment: dict[str, str], folder: Path, *, seconds: float) -> None:
    """Memory and CPU time per sample, both sampling at the same interval."""
    ours = listening([str(BIN / "gpuboard")], folder)
    theirs = [
        str(BIN / "nvitop-exporter"), "--bind-address", "127.0.0.1", "--port", str(free_port()),
        "--interval", str(INTERVAL_SECONDS),
    ]  # fmt: skip
    mine, other = (watch(one, environment, seconds=seconds) for one in (ours, theirs))
    print(f"{'long-lived':28}{'gpuboard':>12}{'nvitop-exp.':>12}{'ratio':>8}")
    row("resident memory, MB", mine[0] / 1e6, other[0] / 1e6)
    row("CPU per sample, ms", mine[1] * 1e3, other[1] * 1e3)
    print()


def watch(command: Sequence[str], environment: dict[str, str], *, seconds: float) -> tuple[float, float]:
    """Run a program; return its resident memory and its CPU seconds per sample once it is warm."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            time.sleep(WARM_UP_SECONDS)
            process = psutil.Process(running.pid)
            before, began = cpu(process), time.monotonic()
            time.sleep(seconds)
            samples = (time.monotonic() - began) / INTERVAL_SECONDS
            return float(process.memory_info().rss), (cpu(process) - before) / samples
        finally:
            running.terminate()


def cpu(process: psutil.Process) -> float:
    """CPU seconds that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def compare_one_shots(environment: dict[str, str]) -> None:
    """Wall time of one look, the median of alternating runs."""
    print(f"{'one look, ms (median of ' + str(RUNS) + ')':28}{'gpuboard':>12}{'gpustat':>12}{'ratio':>8}")
    for label, ours, theirs in (
        ("table", [str(BIN / "gpuboard"), "status"], [str(BIN / "gpustat"), "-pcu"]),
        ("JSON", [str(BIN / "gpuboard"), "status", "--json"], [str(BIN / "gpustat"), "--json"]),
    ):
        mine, other = alternate(ours, theirs, environment)
        row(label, mine * 1e3, other * 1e3)


def alternate(ours: list[str], theirs: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The medians of both, run in turn, so that both meet the same weather."""
    pairs = [(once(ours, environment), once(theirs, environment)) for _ in range(RUNS)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def once(command: list[str], environment: dict[str, str]) -> float:
    """Wall seconds of one run."""
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def cpu_of(command: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    once(command, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(label: str, mine: float, other: float) -> None:
    """One line of the table; below one is better than the peer."""
    print(f"{label:28}{mine:12.1f}{other:12.1f}{mine / other:8.2f}")


if __name__ == "__main__":
    main()
