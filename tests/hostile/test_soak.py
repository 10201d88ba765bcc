"""An hour of attacks, one after another, on a board with fifty honest nodes and twenty viewers.

Honest nodes and viewers are one process, each attack is another one that runs with `nice 10`: on a machine
with two cores the figures then measure what an attack does to the board, not how hungry the attackers are.

    GPUBOARD_SOAK_MINUTES=3 script/test --long -s tests/hostile/test_soak.py

Its figures are printed, and written as JSON to the file that GPUBOARD_SOAK_FIGURES names.
GPUBOARD_SOAK_ATTACKS names some attacks, with commas between them, to run these alone.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncssh
import httpx
import msgspec
import pytest

from tests.board import RunningBoard, free_port, running_board
from tests.hostile.soak.attackers import ATTACKS
from tests.hostile.soak.figures import (
    FIRST_SECONDS,
    Figures,
    Memory,
    as_table,
    cuts_named,
    disturbances,
    percentile,
    waits_between,
)
from tests.hostile.soak.parties import HOSTILE, INTERVAL_SECONDS, NODES, Scene, falsehoods
from tests.pushing import enrol, wait_until

MINUTES: Final = float(os.environ.get("GPUBOARD_SOAK_MINUTES", "60"))
CHOSEN: Final = [name for name in os.environ.get("GPUBOARD_SOAK_ATTACKS", "").split(",") if name] or list(
    ATTACKS
)
# An attack of a minute shows what there is; then the next, and all of them again, to see what adds up.
ATTACK_SECONDS: Final = max(2 * INTERVAL_SECONDS, min(60.0, MINUTES * 60 / len(CHOSEN)))
ROUNDS: Final = max(1, round(MINUTES * 60 / (ATTACK_SECONDS * len(CHOSEN))))
SETTLE_SECONDS: Final = 45.0

HONEST_P95_MS: Final = 100.0
PLATEAU_SHARE: Final = 1.15
PLATEAU_MIB: Final = 20.0


@contextlib.contextmanager
def attacked_board(folder: Path) -> Iterator[tuple[RunningBoard, Scene]]:
    """A board with every way in, and all that the others must know of it."""
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    host_key.write_private_key(str(folder / "host_key"))
    shared = folder / "shared"
    shared.mkdir()
    port, pull_port, ssh_port = free_port(), free_port(), free_port()
    (folder / "known_hosts").write_text(
        f"[localhost]:{ssh_port} {host_key.export_public_key().decode().strip()}\n"
    )
    (folder / "token").write_text("0123456789abcdef0123456789abcdef")
    (folder / "token").chmod(0o600)
    (folder / "gpuboard.toml").write_text(
        f'[[source]]\nkind = "push"\n'
        f'[[source]]\nkind = "folder"\npath = "{shared}"\ninterval = "2s"\n'
        f'[[source]]\nkind = "pull"\nhosts = ["127.0.0.1:{pull_port}"]\ntoken_file = "{folder}/token"\n'
        f'[[source]]\nkind = "ssh"\nhosts = ["localhost:{ssh_port}"]\nuser = "board"\n'
        f'known_hosts = "{folder}/known_hosts"\nkey_file = "{folder}/host_key"\nssh_config = "/dev/null"\n'
    )
    scene = Scene(
        url=f"http://127.0.0.1:{port}/",
        tokens=enrol(folder / "state", *NODES, HOSTILE),
        folder=str(shared),
        pull_port=pull_port,
        ssh_port=ssh_port,
        host_key=str(folder / "host_key"),
    )
    (folder / "scene").write_bytes(msgspec.json.encode(scene))
    config = ("--config", str(folder / "gpuboard.toml"))
    with running_board(*config, log=folder / "log", port=port, until="healthz") as board:
        yield board, scene


@contextlib.contextmanager
def honest_crowd(folder: Path) -> Iterator[None]:
    """Fifty nodes and twenty viewers; what they measure is in the file `measured`."""
    arguments = [str(folder / "scene"), str(folder / "measured")]
    crowd = subprocess.Popen([sys.executable, "-m", "tests.hostile.soak.honest", *arguments])
    try:
        yield
        assert crowd.poll() is None, "they ended by themselves"
    finally:
        crowd.terminate()
        crowd.wait()


@contextlib.contextmanager
def watched(board: RunningBoard) -> Iterator[Memory]:
    """What the board holds, looked at all the time."""
    memory = Memory(board.process.pid)
    try:
        yield memory
    finally:
        memory.stop()


class Soak:
    """One board under attack, and what was seen of it."""

    def __init__(self, folder: Path, http: httpx.Client, memory: Memory) -> None:
        self._folder = folder
        self._http = http
        self.memory = memory
        self.plateau = 0.0
        self.figures: list[Figures] = []
        self.faults: list[str] = []
        # How often the fleet was seen while it was attacked.
        self.looks = 0

    def warm_up(self) -> None:
        """Wait until everybody is there, and ask for everything once."""
        wait_until(lambda: not self._falsehoods(), 90)
        for path in ("api/v1/activity", "metrics", "api/v1/stream", ""):
            assert self._http.get(path).status_code == 200
        time.sleep(2 * INTERVAL_SECONDS)
        self.plateau = self.memory.now()

    def attack(self, name: str, number: int) -> None:
        """Let one attack run, see that nothing false is shown, and wait until its memory is back."""
        before, log_before = self.memory.now(), cuts_named(self.log())
        self.memory.restart()
        started, used = time.monotonic(), self.memory.processor_seconds()
        connections = self._run(name)
        ended, used = time.monotonic(), self.memory.processor_seconds() - used
        self._note(f"{name}: %s", self._falsehoods())
        most, settled = self.memory.most, self._settle(name)
        waits = waits_between(self._folder / "measured", started + FIRST_SECONDS, ended)
        first = waits_between(self._folder / "measured", started, started + FIRST_SECONDS)
        figures = Figures(
            attack=name,
            round=number,
            reports=len(waits),
            p50_ms=percentile(waits, 50),
            p95_ms=percentile(waits, 95),
            worst_ms=max(waits, default=0.0),
            worst_of_first_second_ms=max(first, default=0.0),
            memory_before_mib=before,
            memory_most_mib=most,
            memory_after_mib=self.memory.now(),
            settled_seconds=settled,
            processor_percent=100 * used / (ended - started),
            connections=connections,
            cuts_named=cuts_named(self.log()) - log_before,
        )
        self.figures.append(figures)
        print(as_table([figures]).splitlines()[-1], flush=True)  # noqa: T201 - an hour is long
        if figures.p95_ms > HONEST_P95_MS or not waits:
            self.faults.append(f"{name}: honest p95 {figures.p95_ms:.0f} ms of {len(waits)} reports")

    def log(self) -> str:
        """What the board has written."""
        return (self._folder / "log").read_text()

    def _run(self, name: str) -> int:
        command = [sys.executable, "-m", "tests.hostile.soak.attackers", str(self._folder / "scene"), name]
        # In files: a pipe that nobody reads would stop an attacker who has much to say.
        with (self._folder / "said").open("w+") as said, (self._folder / "amiss").open("w+") as amiss:
            attack = subprocess.Popen([*command, str(ATTACK_SECONDS)], stdout=said, stderr=amiss)
            self._look_meanwhile(name, attack)
            amiss.seek(0)
            said.seek(0)
            self._note(f"{name}: the attack itself failed: %s", [amiss.read()] if attack.returncode else [])
            return int(said.read() or 0)

    def _look_meanwhile(self, name: str, attack: subprocess.Popen[bytes]) -> None:
        """See that nothing false is shown meanwhile; to be refused is none: its address is the attacker's."""
        deadline = time.monotonic() + ATTACK_SECONDS + 120
        while attack.poll() is None:
            assert time.monotonic() < deadline, f"{name} does not end"
            with contextlib.suppress(httpx.HTTPError):
                fleet, summary = self._http.get("api/v1/fleet"), self._http.get("api/v1/summary")
                if fleet.status_code == summary.status_code == 200:
                    self.looks += 1
                    self._note(f"during {name}: %s", falsehoods(fleet.json(), summary.json()))
            time.sleep(1)

    def _settle(self, name: str) -> float:
        started, bound = time.monotonic(), PLATEAU_SHARE * self.plateau + PLATEAU_MIB
        while self.memory.now() > bound and time.monotonic() - started < SETTLE_SECONDS:
            time.sleep(0.5)
        if self.memory.now() > bound:
            self.faults.append(
                f"{name}: {self.memory.now():.0f} MiB are held, the plateau is {self.plateau:.0f}"
            )
        return time.monotonic() - started

    def _falsehoods(self) -> list[str]:
        fleet, summary = self._http.get("api/v1/fleet"), self._http.get("api/v1/summary")
        if {fleet.status_code, summary.status_code} != {200}:
            return [f"the board answers {fleet.status_code} and {summary.status_code}"]
        return falsehoods(fleet.json(), summary.json())

    def _note(self, words: str, faults: list[str]) -> None:
        self.faults += [words % fault for fault in faults]


def write_down(figures: list[Figures], plateau: float) -> None:
    """Show the figures, and keep them if somebody wants to."""
    print(f"\nplateau {plateau:.0f} MiB, {ATTACK_SECONDS:.0f} s an attack\n{as_table(figures)}")  # noqa: T201
    if path := os.environ.get("GPUBOARD_SOAK_FIGURES"):
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(figures)))


LOG_SECONDS: Final = 60.0
# Whose connections are cut rather than answered.
CUT: Final = ("pings", "words", "fragments", "untaken answers", "kept connections", "pipelined requests")


def named_amiss(figures: list[Figures]) -> list[str]:
    """Attacks whose cuts the log does not tell of, and whether it of more than there were."""
    # The log has thirty lines a minute for them; in a short soak the attack before may have used them up.
    unnamed = [row.attack for row in figures if row.attack in CUT and not row.cuts_named]
    unnamed = unnamed if ATTACK_SECONDS >= LOG_SECONDS else []
    named, connections = (
        sum(column) for column in zip(*((r.cuts_named, r.connections) for r in figures), strict=True)
    )
    return unnamed + ([f"{named} cuts of {connections} connections"] if named > connections else [])


@pytest.mark.long
@pytest.mark.timeout(MINUTES * 60 * 2 + 900)
def test_an_hour_of_attacks_harms_no_honest_node(tmp_path: Path) -> None:
    """Reports are taken in time, memory comes back, nothing false is shown, and each cut is named once."""
    with (
        attacked_board(tmp_path) as (board, scene),
        honest_crowd(tmp_path),
        httpx.Client(base_url=scene.url, timeout=60, headers={"connection": "close"}) as http,
        watched(board) as memory,
    ):
        soak = Soak(tmp_path, http, memory)
        soak.warm_up()
        try:
            for number in range(1, ROUNDS + 1):
                for name in CHOSEN:
                    soak.attack(name, number)
        finally:
            write_down(soak.figures, soak.plateau)
        lost = disturbances(tmp_path / "measured")
    log = soak.log()
    assert soak.faults == []
    assert soak.looks > len(soak.figures)
    assert lost == []
    assert "Traceback" not in log
    assert named_amiss(soak.figures) == []
