"""The stand-in NVML library while its scenario changes, hangs or is garbage."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.fakes import nvml
from tests.fakes.nvml_session import PATIENCE_SECONDS, NvmlSession

Start: TypeAlias = Callable[[nvml.Scenario], NvmlSession]

# Long enough that an answer would have come, were it not hanging.
A_WHILE_SECONDS = 0.3


def test_a_scenario_changed_while_a_process_runs_is_seen_at_once(start: Start, scenario_path: Path) -> None:
    """Even when file size and second are the same."""
    session = start(nvml.eight_busy_datacenter())
    for celsius in range(50, 90):
        nvml.eight_busy_datacenter().with_gpu(2, temperature=celsius).write(scenario_path)
        assert session.ask("nvmlDeviceGetTemperature(gpu(2), 0)") == celsius


def test_a_hang_hangs_only_the_thread_that_asked(start: Start, scenario_path: Path) -> None:
    """The others are answered meanwhile, and the hanging one once the scenario lets go."""
    session = start(nvml.one_gpu_hangs(3))
    stuck = session.submit("nvmlDeviceGetUtilizationRates(gpu(3)).gpu")
    assert [session.ask(f"nvmlDeviceGetUtilizationRates(gpu({i})).gpu") for i in (0, 1, 2, 4)] == [
        90,
        91,
        92,
        94,
    ]
    time.sleep(A_WHILE_SECONDS)
    assert not stuck.done()
    nvml.eight_busy_datacenter().write(scenario_path)
    assert stuck.result(PATIENCE_SECONDS) == 93


def test_a_driver_that_hangs_altogether_comes_back(start: Start, scenario_path: Path) -> None:
    """Even the start hangs, in any number of threads."""
    session = start(nvml.everything_hangs())
    stuck = [session.submit("nvmlInit()") for _ in range(4)]
    time.sleep(A_WHILE_SECONDS)
    assert not any(future.done() for future in stuck)
    nvml.eight_busy_datacenter().write(scenario_path)
    assert [future.result(PATIENCE_SECONDS) for future in stuck] == [None] * 4


def test_a_hang_may_turn_into_an_error(start: Start, scenario_path: Path) -> None:
    """As when a hung GPU finally falls off the bus."""
    session = start(nvml.one_gpu_hangs(3))
    stuck = session.submit("nvmlDeviceGetPowerUsage(gpu(3))")
    time.sleep(A_WHILE_SECONDS)
    nvml.one_lost_of_eight(3).write(scenario_path)
    assert getattr(stuck.exception(PATIENCE_SECONDS), "code", None) == 15


def test_a_delay_only_delays(start: Start) -> None:
    """The answer is the same, later."""
    session = start(
        nvml.eight_busy_datacenter().with_rules(nvml.Rules(delays={"nvmlDeviceGetFanSpeed": 400}))
    )
    began = time.monotonic()
    assert session.code("nvmlDeviceGetFanSpeed(gpu(0))") == 3
    assert time.monotonic() - began >= 0.4


def test_an_error_of_one_gpu_is_not_one_of_the_others(start: Start) -> None:
    """Nor of its other readings."""
    rules = nvml.Rules(errors={"nvmlDeviceGetUtilizationRates": 999})
    session = start(nvml.eight_busy_datacenter().with_gpu(1, rules=rules))
    assert session.code("nvmlDeviceGetUtilizationRates(gpu(1))") == 999
    assert session.code("nvmlDeviceGetUtilizationRates(gpu(0))") == 0
    assert session.code("nvmlDeviceGetPowerUsage(gpu(1))") == 0


def test_a_rule_for_one_version_leaves_the_other_versions(start: Start) -> None:
    """So a scenario can play a driver too old for version 2."""
    session = start(
        nvml.eight_busy_datacenter().with_rules(nvml.Rules(errors={"nvmlDeviceGetMemoryInfo_v2": 13}))
    )
    assert session.code("nvmlDeviceGetMemoryInfo(gpu(0), nvmlMemory_v2)") == 13
    assert session.code("nvmlDeviceGetMemoryInfo(gpu(0))") == 0


def test_a_rule_without_version_means_them_all(start: Start) -> None:
    """Old and new names alike."""
    rules = nvml.Rules(errors={"nvmlDeviceGetMemoryInfo": 4, "nvmlDeviceGetTemperature": 4})
    session = start(nvml.eight_busy_datacenter().with_rules(rules))
    questions = ["MemoryInfo(gpu(0))", "MemoryInfo(gpu(0), nvmlMemory_v2)", "Temperature(gpu(0), 0)"]
    questions += ["TemperatureV(gpu(0), 0)"]
    assert [session.code(f"nvmlDeviceGet{question}") for question in questions] == [4, 4, 4, 4]


def test_the_handle_of_a_vanished_gpu_says_lost(start: Start, scenario_path: Path) -> None:
    """The indexes behind it move up, the handles stay with their GPUs, and it may come back."""
    scenario = nvml.eight_busy_datacenter()
    session = start(scenario)
    session.ask("[gpu(i) is None for i in range(8)]")
    scenario.without_gpu(3).write(scenario_path)
    assert session.ask("nvmlDeviceGetCount()") == 7
    assert session.code("nvmlDeviceGetName(gpu(3))") == 15
    assert session.ask("nvmlDeviceGetIndex(gpu(4))") == 3
    assert session.ask("nvmlDeviceGetUUID(gpu(4))") == scenario.gpus[4].uuid
    assert session.code("nvmlDeviceGetHandleByIndex(7)") == 2
    assert session.code(f"nvmlDeviceGetHandleByUUID('{scenario.gpus[3].uuid}')") == 6
    scenario.write(scenario_path)
    assert session.code("nvmlDeviceGetName(gpu(3))") == 0


def test_a_handle_that_never_was_one_is_refused(start: Start) -> None:
    """Whatever pointer comes in, nothing is read through it."""
    session = start(nvml.eight_busy_datacenter())
    for pointer in ("None", "c_void_p(1)", "c_void_p(2**63)", "c_void_p(gpu_address() + 1)"):
        question = pointer.replace("gpu_address()", "cast(gpu(0), c_void_p).value")
        assert session.code(f"nvmlDeviceGetName({question})") == 2


@pytest.mark.parametrize("seed", range(6))
def test_garbage_in_the_scenario_does_not_crash_it(start: Start, scenario_path: Path, seed: int) -> None:
    """Lines broken, doubled, cut, shuffled, or nothing but noise: any answer or error will do."""
    dice = random.Random(seed)
    session = start(nvml.mig_a100())
    for _ in range(20):
        lines = nvml.mig_a100().text().encode().split(b"\n")
        for _ in range(dice.randrange(1, 40)):
            _spoil(dice, lines)
        scenario_path.with_suffix(".next").write_bytes(b"\n".join(lines))
        scenario_path.with_suffix(".next").replace(scenario_path)
        session.ask("sweep()")
    nvml.mig_a100().write(scenario_path)
    assert session.ask("nvmlDeviceGetCount()") == 2


def test_many_threads_may_ask_while_the_scenario_changes(start: Start, scenario_path: Path) -> None:
    """No answer is lost, and none is torn between two scenarios."""
    session = start(nvml.eight_busy_datacenter())
    total = "nvmlDeviceGetMemoryInfo(gpu(0), nvmlMemory_v2)"
    question = f"all(m.free + m.used + m.reserved == m.total for m in ({total} for _ in range(2000)))"
    futures = [session.submit(question) for _ in range(8)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(future.done() for future in futures) and time.monotonic() < deadline:
        nvml.eight_busy_datacenter().with_gpu(0, memory_used=random.randrange(1 << 36)).write(scenario_path)
    assert [future.result(0) for future in futures] == [True] * 8


def _spoil(dice: random.Random, lines: list[bytes]) -> None:
    """Damage one line in one way."""
    at = dice.randrange(len(lines))
    line = lines[at]
    noise = dice.randbytes(dice.randrange(1, 200))
    cut = dice.randrange(len(line) + 1)
    keyword = dice.choice([b"mig", b"gpu", b"process", b"na", b"error", b"uuid", b"name", b"lost", b"driver"])
    lines[at] = dice.choice(
        [noise, line[:cut], line[:cut] + noise + line[cut:], keyword + b" " + noise, keyword, b""]
    )
    lines.insert(
        dice.randrange(len(lines)),
        dice.choice([line, lines[at], b"process 1 na", b"gpu 99999999999999999999"]),
    )
