"""What stands in command lines and environments stays on the machine."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.board import free_port
from tests.cli.conftest import COMMAND, Run
from tests.fakes import nvml
from tests.fakes.nvml import FakeProcess

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(300)"


def canaries() -> list[str]:
    """Thirty secrets that nobody else knows."""
    return [f"canary{secrets.token_hex(8)}" for _ in range(30)]


def forms(secret: str, number: int) -> list[str]:
    """The usual ways in which people put a secret on a command line."""
    return [
        ["--password", secret],
        [f"--password={secret}"],
        [f"API_KEY={secret}"],
        [f"--url=https://ana:{secret}@db.example/x"],
        [f"https://api.example/v1?token={secret}"],
        ["-H", f"Authorization: Bearer {secret}"],
        ["--api-key", secret],
        [f"--secret-token={secret}"],
        [f"AWS_SECRET_ACCESS_KEY={secret}"],
        [f"postgresql://ana:{secret}@db/x"],
    ][number % 10]


class Busy:
    """A machine whose GPUs run real processes full of secrets."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.secrets = canaries()
        script = folder / "train.py"
        script.write_text(SLEEP)
        pids = []
        for number in range(0, 30, 2):
            in_arguments, in_environment = self.secrets[number : number + 2]
            process = subprocess.Popen(
                [sys.executable, str(script), *forms(in_arguments, number // 2)],
                env=os.environ | {"WANDB_API_KEY": in_environment},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            pids.append(process.pid)
        gpu = nvml.eight_busy_datacenter().gpus[0]
        processes = tuple(FakeProcess(pid=pid, memory=2**30) for pid in pids)
        self.machine = nvml.Scenario(gpus=(replace(gpu, processes=processes),))

    def found_in(self, text: str) -> list[str]:
        """The secrets that stand in a text."""
        return [secret for secret in self.secrets if secret in text]


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Busy]:
    """Such a machine."""
    with ExitStack() as stack:
        yield Busy(stack, tmp_path)


@pytest.mark.parametrize("probe", ["nvml", "nvidia-smi"])
def test_no_secret_leaves_by_default(run: Run, busy: Busy, tmp_path: Path, probe: str) -> None:
    """Not in a table, JSON, CSV, report or file; the program and its script are told."""
    told = ""
    for words in (["status"], ["status", "--json"], ["status", "--csv"], ["agent", "--once"], ["doctor"]):
        done = run(busy.machine, *words, "--probe", probe)
        told += done.stdout + done.stderr
    run(busy.machine, "agent", "--once", "--drop", str(tmp_path), "--node", "a", "--probe", probe)
    told += (tmp_path / "a.json").read_text()
    assert "train.py" in told
    assert busy.found_in(told) == []


def test_no_secret_is_served(busy: Busy, environment: dict[str, str], scenario: Path, tmp_path: Path) -> None:
    """Not in the report, not in the metrics."""
    busy.machine.write(scenario)
    address = f"127.0.0.1:{free_port()}"
    token = tmp_path / "token"
    command = [*COMMAND, "agent", "--listen", address, "--token-file", str(token), "--interval", "2s"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as agent:
        told = ask_until_there(f"http://{address}", token)
        agent.send_signal(signal.SIGTERM)
    assert "train.py" in told
    assert busy.found_in(told) == []


def ask_until_there(url: str, token: Path) -> str:
    """Everything that the agent serves, once it does."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            headers = {"authorization": f"Bearer {token.read_text().strip()}"}
            answers = [
                httpx.get(f"{url}/{path}", headers=headers) for path in ("report", "metrics", "healthz")
            ]
        except (httpx.TransportError, OSError):
            continue
        if all(answer.status_code == 200 for answer in answers):
            return "".join(answer.text for answer in answers)
    raise AssertionError("the agent did not answer in time")


def test_with_arguments_the_usual_secrets_are_taken_out(run: Run, busy: Busy) -> None:
    """On the node, before anything is sent."""
    report = run(busy.machine, "agent", "--once", "--with-arguments").stdout
    processes = json.loads(report)["gpus"][0]["processes"]
    assert all(process["arguments"] for process in processes)
    assert busy.found_in(report) == []
