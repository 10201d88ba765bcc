"""A board that writes history is killed at random moments while real agents push; nothing is lost."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from gpuboard.agent.push import Pusher
from gpuboard.history.embedded.samples import from_bytes
from gpuboard.history.figures import place_of
from gpuboard.model.report import NodeReport
from tests.board import ROOT, free_port, running_board, wait_for
from tests.outage import Sampling, all_safe, quick_history
from tests.pushing import Wire, enrol, running_pusher, token_file, wait_until

AGENTS = ("dgx-61", "dgx-62", "dgx-63")
CLOCK = place_of("gpu", "graphics_clock_mhz")


class Numbering:
    """An agent whose first GPU says the number of each sample, so that it is known again in the history."""

    def __init__(self, pusher: Pusher) -> None:
        self.pusher = pusher

    def offer(self, report: NodeReport) -> None:
        """Hand a report over, with its one GPU."""
        (first, *_) = report.gpus or ()
        gpu = replace(first, graphics_clock_mhz=report.sequence)
        self.pusher.offer(replace(report, gpus=(gpu,)))


class Crashed(NamedTuple):
    """What agents were told, and what the history has."""

    offered: dict[str, list[int]]
    kept: dict[str, Counter[int]]


def kept_samples(state: Path) -> dict[str, Counter[int]]:
    """The numbers of all samples in the file, by node, each as often as it is there."""
    with sqlite3.connect(state / "history.sqlite") as connection:
        nodes = dict(connection.execute("SELECT number, node FROM series WHERE kind = 0"))
        blobs = connection.execute(
            "SELECT gpu FROM tail WHERE gpu IS NOT NULL UNION ALL SELECT blob FROM segments WHERE kind = 0"
        ).fetchall()
    found: dict[str, Counter[int]] = {node: Counter() for node in AGENTS}
    for (blob,) in blobs:
        samples = from_bytes(blob, [CLOCK])
        for series, number in zip(samples.series.tolist(), samples.figures[CLOCK].tolist(), strict=True):
            found[nodes[series]][number] += 1
    return found


@contextmanager
def hasty_board(settings: str, *, log: Path, port: int):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """A board that answers too early, until it is killed."""
    words = ["serve", "--listen", f"127.0.0.1:{port}", "--state-dir", str(log.parent / "state")]
    command = [sys.executable, "-m", "tests.history.hasty", *words, "--config", settings]
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT)
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz", process, log)
        yield process
    finally:
        process.kill()
        process.wait()


def crash(folder: Path, *, times: int, seed: int, is_hasty: bool = False) -> Crashed:
    """Kill a board so many times while agents push, and let the last one take all that is left."""
    dice, port, log = random.Random(seed), free_port(), folder / "log"
    settings, tokens = quick_history(folder), enrol(folder / "state", *AGENTS)
    wires = {node: Wire() for node in AGENTS}
    with ExitStack() as stack:
        pushers = {
            node: stack.enter_context(
                running_pusher(
                    f"http://127.0.0.1:{port}", token_file(folder, token), open_channel=wires[node].open
                )
            )
            for node, token in tokens.items()
        }
        sampling = Sampling({node: Numbering(pusher) for node, pusher in pushers.items()})  # type: ignore[misc]
        stack.callback(sampling.stop)
        for _ in range(times):
            heard = {node: len(wire.heard) for node, wire in wires.items()}
            with ExitStack() as running:
                if is_hasty:
                    process = running.enter_context(hasty_board(settings, log=log, port=port))
                else:
                    board = running.enter_context(
                        running_board("--config", settings, log=log, port=port, until="healthz")
                    )
                    process = board.process
                wait_until(lambda: all(len(wires[node].heard) > heard[node] for node in AGENTS))  # noqa: B023
                time.sleep(dice.uniform(0.0, 2.5))
                process.send_signal(signal.SIGKILL)
                process.wait()
        with running_board("--config", settings, log=log, port=port, until="healthz"):
            offered = {node: list(numbers) for node, numbers in sampling.offered.items()}
            wait_until(lambda: all_safe(wires, offered), 60)
            sampling.stop()
    assert all(pusher.lost == 0 for pusher in pushers.values())
    return Crashed(offered, kept_samples(folder / "state"))


def assert_each_is_there_once(found: Crashed) -> None:
    """Every sample that an agent took and was told to be safe; in the end these are all."""
    for node, offered in found.offered.items():
        assert offered
        assert [number for number in offered if found.kept[node][number] != 1] == []
        assert set(found.kept[node].values()) == {1}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_board_that_is_killed_while_agents_push_has_each_sample_once(tmp_path: Path) -> None:
    """At twenty random moments: before a batch, while it is written, before anybody was told."""
    assert_each_is_there_once(crash(tmp_path, times=20, seed=1))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_five_hundred_killed_boards_lose_nothing(tmp_path: Path) -> None:
    """Rare moments are met only often enough."""
    assert_each_is_there_once(crash(tmp_path, times=500, seed=2))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_board_that_answers_before_it_has_written_is_found_out(tmp_path: Path) -> None:
    """The tests above can fail: agents forget what they are told is safe."""
    found = crash(tmp_path, times=4, seed=3, is_hasty=True)
    lost = [
        number for node, all_of in found.offered.items() for number in all_of if not found.kept[node][number]
    ]
    assert lost
