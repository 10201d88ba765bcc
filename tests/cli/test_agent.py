"""`gpuboard agent` and `doctor`, as a person or cron runs them."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpuboard.assembly import agent as agent_module
from gpuboard.assembly.agent import Agent, AgentOptions
from gpuboard.cli.doctor import check_expat
from gpuboard.wire.drop import decode_drop, signed_by
from gpuboard.wire.enrolment import digest, make_token
from gpuboard.wire.report import decode_report
from tests.cli.conftest import COMMAND, Run
from tests.fakes import nvml


def test_once_prints_one_report(run: Run) -> None:
    """That any reader of ours can read."""
    done = run(nvml.eight_busy_datacenter(), "agent", "--once", "--node", "gpu01")
    report = decode_report(done.stdout.encode())
    assert (report.node, len(report.gpus or ())) == ("gpu01", 8)


def test_once_with_drop_writes_one_file(run: Run, tmp_path: Path) -> None:
    """What a crontab line does."""
    folder = tmp_path / "status-gpu"
    folder.mkdir()
    done = run(nvml.mig_a100(), "agent", "--once", "--drop", str(folder), "--node", "gpu01")
    assert (done.returncode, [path.name for path in folder.iterdir()]) == (0, ["gpu01.json"])
    assert len(decode_drop((folder / "gpu01.json").read_bytes()).gpus or ()) == 6


def test_what_cron_drops_says_its_pace_only_if_told(run: Run, tmp_path: Path) -> None:
    """One sample has no interval; whoever reads the files sees how often they come."""
    said = []
    for pace in ([], ["--interval", "5m"]):
        run(
            nvml.mig_a100(), "agent", "--once", "--drop", str(tmp_path), "--node", "gpu01", *pace
        ).check_returncode()
        said.append(decode_drop((tmp_path / "gpu01.json").read_bytes()).interval_seconds)
    assert said == [None, 300]


def test_a_node_with_a_token_signs_what_it_drops(run: Run, tmp_path: Path) -> None:
    """The token that is given, or the one where an enrolled node keeps it; another node's is an error."""
    token = make_token("gpu01", "s" * 43)
    given, kept = tmp_path / "given.token", tmp_path / ".config" / "gpuboard" / "node.token"
    kept.parent.mkdir(parents=True)
    said = []
    for file, flags in ((None, []), (given, ["--token-file", str(given)]), (kept, [])):
        if file is not None:
            file.write_text(token)
            file.chmod(0o600)
        done = run(nvml.mig_a100(), "agent", "--once", "--drop", str(tmp_path), "--node", "gpu01", *flags)
        assert done.returncode == 0, done.stderr
        said.append(signed_by((tmp_path / "gpu01.json").read_bytes(), "gpu01", [digest(token)]))
    assert said == ["nobody", "node", "node"]
    for flags in (["--token-file", str(given)], []):
        done = run(nvml.mig_a100(), "agent", "--once", "--drop", str(tmp_path), "--node", "gpu02", *flags)
        assert (done.returncode, "say --node gpu01" in done.stderr) == (2, True)
    assert not (tmp_path / "gpu02.json").exists()


def test_drops_are_signed_with_the_token_that_the_boards_own_command_has_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cron's root has another home than the agent's service; what is not signed may be refused."""
    token, kept = make_token("gpu01", "s" * 43), tmp_path / "service.token"
    kept.write_text(token)
    kept.chmod(0o600)
    monkeypatch.setattr(agent_module, "UNIT_TOKEN_FILE", kept)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    Agent(AgentOptions(node="gpu01", probe="simulated", drop=tmp_path)).run_once()
    assert signed_by((tmp_path / "gpu01.json").read_bytes(), "gpu01", [digest(token)]) == "node"


def test_without_anything_else_it_prints_a_line_per_interval(
    environment: dict[str, str], scenario: Path
) -> None:
    """And ends when told to."""
    nvml.eight_busy_datacenter().write(scenario)
    command = [*COMMAND, "agent", "--interval", "0.2s", "--probe", "simulated"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        sequences = [decode_report(agent.stdout.readline()).sequence or 0 for _ in range(3)]
        agent.send_signal(signal.SIGTERM)
        agent.stdout.read()
    assert sequences == sorted(set(sequences))
    assert agent.returncode == 0


def test_the_environment_can_set_what_flags_can(run: Run) -> None:
    """For systemd units and containers; a flag wins."""
    by_variable = run(nvml.zero_gpus(), "agent", "--once", GPUBOARD_NODE="from-environment").stdout
    by_flag = run(nvml.zero_gpus(), "agent", "--once", "--node", "from-flag", GPUBOARD_NODE="x").stdout
    assert (json.loads(by_variable)["node"], json.loads(by_flag)["node"]) == ("from-environment", "from-flag")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--node", "Not A Name"], "cannot name a node"),
        (["--interval", "1s"], "2s is the least"),
        (["--listen", "nowhere"], "127.0.0.1:8042"),
        (["--listen", "0.0.0.0:8043"], "--allow-plaintext"),
        (["--drop", "/nope/nope"], "create or mount it first"),
        (["--probe", "tarot"], "choose one of"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(run: Run, words: list[str], says: str) -> None:
    """With what to do, and 2."""
    done = run(nvml.zero_gpus(), "agent", *words)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_an_agent_outlives_a_driver_that_goes_and_comes_back(
    environment: dict[str, str], scenario: Path
) -> None:
    """Mismatch after an upgrade, then a reboot's worth of calm: the same process sees both."""
    nvml.eight_busy_datacenter().write(scenario)
    command = [*COMMAND, "agent", "--interval", "2s", "--probe", "nvml"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as agent:
        assert agent.stdout is not None
        seen = []
        for machine in (nvml.eight_busy_datacenter(), nvml.everything_hangs(), nvml.eight_busy_datacenter()):
            machine.write(scenario)
            deadline = time.monotonic() + 60
            wanted = {"driver-hung"} if machine == nvml.everything_hangs() else set()
            while time.monotonic() < deadline:
                report = decode_report(agent.stdout.readline())
                if {problem.kind for problem in report.problems} == wanted:
                    break
            seen.append((len(report.gpus or ()), wanted))
        agent.send_signal(signal.SIGTERM)
        agent.stdout.read()
    assert [count for count, _ in seen] == [8, 8, 8]


def test_doctor_ends_well_on_a_sound_machine(run: Run) -> None:
    """Zero, and a line per GPU."""
    machine = nvml.eight_busy_datacenter(pids=[1])
    done = run(machine, "doctor")
    assert (done.returncode, done.stdout.count("GPU ")) == (0, 8), done.stdout


def test_doctor_names_what_is_bad_and_what_to_do(run: Run) -> None:
    """By its number, and by the name that the board gives it."""
    done = run(nvml.one_lost_of_eight(), "doctor")
    assert (
        done.returncode,
        "✗ GPU 3 (" in done.stdout and "): fallen off the bus" in done.stdout,
        "reboot" in done.stdout,
    ) == (
        1,
        True,
        True,
    )


def test_doctor_cannot_tell_without_a_driver(run: Run) -> None:
    """Three, as promised: a machine without a GPU is sound, and nothing can be said about GPUs."""
    done = run(nvml.no_driver(), "doctor")
    assert (done.returncode, "no NVIDIA driver is running" in done.stdout) == (3, True), done.stdout


def test_doctor_cannot_tell_without_a_gpu(run: Run) -> None:
    """The same where the driver runs and has no card."""
    done = run(nvml.zero_gpus(), "doctor")
    assert done.returncode == 3, done.stdout


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("expat_2.4.1", ["CVE-2022-25235", "CVE-2022-40674", "CVE-2023-52425"]),
        ("expat_2.5.0", ["CVE-2023-52425"]),
        ("expat_2.6.0", []),
        ("expat_2.10.1", []),
    ],
)
def test_doctor_names_an_expat_that_is_known_to_be_vulnerable(version: str, named: list[str]) -> None:
    """With what it is known for, and what to do."""
    findings = list(check_expat(version))
    assert [name for finding in findings for name in re.findall(r"CVE-[\d-]+", finding.text)] == named
    assert all(finding.remedy for finding in findings)


def test_a_name_that_is_not_the_tokens_is_refused_when_pushing_too(run: Run, tmp_path: Path) -> None:
    """As with --drop: it would be another node than somebody thinks."""
    token = tmp_path / "node.token"
    token.write_text(make_token("gpu01", "s" * 43))
    token.chmod(0o600)
    words = ("--push", "http://127.0.0.1:9", "--token-file", str(token), "--once")
    wrong = run(nvml.zero_gpus(), "agent", *words, "--node", "other")
    assert (wrong.returncode, "is of gpu01, not of other: say --node gpu01" in wrong.stderr) == (2, True)
    assert run(nvml.zero_gpus(), "agent", *words, "--node", "gpu01").returncode == 0
