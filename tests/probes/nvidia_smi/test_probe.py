import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gpuboard.model.errors import ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import problem
from gpuboard.probes.nvidia_smi.probe import NvidiaSmiProbe
from tests.probes.nvidia_smi.logs import MIG, NEW, log, new_gpu

FIRST = "GPU-00000000-1111-2222-3333-444444444444"
SECOND = "GPU-00000001-1111-2222-3333-444444444444"
THIRD = "GPU-00000009-1111-2222-3333-444444444444"
GPU_LINE = (
    f"0, {FIRST}, Tesla V100, 00000000:01:00.0, 367.48, Disabled, P0, 10, 16160, 3, 1, 40, [N/A], 48.05, "
    "250, 705, 2600\n"
)


class Tool:
    """Stands in for nvidia-smi: what it prints for which option."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, command: Sequence[str], /) -> bytes:
        """Answer by the first option."""
        option = "i" if "-i" in command else command[1].partition("=")[0].strip("-").replace("-", "_")
        self.asked.append(option)
        return self.answers.get(option, b"")


def test_by_default_it_runs_the_command_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to set up where the driver is installed."""
    (tmp_path / "log").write_bytes(NEW)
    command = tmp_path / "nvidia-smi"
    command.write_text(f'#!/bin/sh\n[ "$*" = "-q -x" ] && exec cat "{tmp_path}/log"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert [gpu.uuid for gpu in NvidiaSmiProbe().read().gpus] == [FIRST, SECOND]


def test_one_command_is_enough_for_ordinary_gpus() -> None:
    """Each call costs the driver something."""
    tool = Tool(q=NEW)
    NvidiaSmiProbe(run=tool).read()
    assert tool.asked == ["q"]


def test_where_the_document_is_not_understood_the_tables_are_read() -> None:
    """Two forms of the same facts; one will do."""
    tool = Tool(
        q=b"<html>what?</html>",
        query_gpu=GPU_LINE.encode(),
        query_compute_apps=f"{FIRST}, 7, /usr/bin/python3, 500\n".encode(),
    )
    devices = NvidiaSmiProbe(run=tool).read()
    (gpu,) = devices.gpus
    assert (gpu.model, gpu.power_watts, devices.driver_version) == ("Tesla V100", 48.05, "367.48")
    assert [p.program for p in gpu.processes or ()] == ["python3"]


def test_where_the_list_of_processes_is_not_understood_it_is_unknown() -> None:
    """The GPUs are still worth showing."""
    tool = Tool(q=b"?", query_gpu=GPU_LINE.encode(), query_compute_apps=b"Whatever\n")
    devices = NvidiaSmiProbe(run=tool).read()
    assert devices.gpus[0].processes is None
    assert [found.kind for found in devices.problems] == ["unreadable-output"]


def test_what_the_driver_says_is_wrong_is_passed_on_without_asking_again() -> None:
    """A broken driver is not asked in other words."""
    tool = Tool(q=b"Failed to initialize NVML: Driver/library version mismatch\n")
    with pytest.raises(ProbeFailed) as caught:
        NvidiaSmiProbe(run=tool).read()
    assert caught.value.problem.kind == "driver-mismatch"
    assert tool.asked == ["q"]


def test_mig_instances_get_their_names_from_the_list_of_devices() -> None:
    """Jobs are started by these names, so made-up ones would not do."""
    listing = (
        f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {FIRST})\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-11111111-0000-0000-0000-000000000000)\n"
        "  MIG 1g.10gb     Device  1: (UUID: MIG-22222222-0000-0000-0000-000000000000)\n"
    )
    parent, first, second = NvidiaSmiProbe(run=Tool(q=MIG, L=listing.encode())).read().gpus
    assert parent.uuid == FIRST
    assert (first.uuid, first.mig_profile) == ("MIG-11111111-0000-0000-0000-000000000000", "3g.40gb")
    assert not second.uuid_is_synthetic
    assert [p.pid for p in second.processes or ()] == [77]


def test_instances_that_only_the_list_knows_are_added_without_figures() -> None:
    """The tables do not tell instances at all."""
    listing = f"GPU 0: A100 (UUID: {FIRST})\n  MIG 1g.5gb Device 0: (UUID: MIG-GPU-x/7/0)\n".encode()
    tool = Tool(q=log(new_gpu().replace("Disabled", "Enabled")), L=listing)
    _, mig = NvidiaSmiProbe(run=tool).read().gpus
    assert (mig.uuid, mig.mig_profile, mig.mig_parent_uuid) == ("MIG-GPU-x/7/0", "1g.5gb", FIRST)
    assert (mig.memory_used_bytes, mig.processes) == (None, None)


def test_a_gpu_that_was_there_before_is_lost() -> None:
    """Seven of eight: the eighth must not vanish; the others are told by the driver's numbers."""
    tool = Tool(q=log(new_gpu(0), new_gpu(1)))
    probe = NvidiaSmiProbe(run=tool)
    probe.read()
    tool.answers["q"] = log(new_gpu(1))
    for _ in range(2):
        devices = probe.read()
        assert [(gpu.uuid, gpu.index) for gpu in devices.gpus] == [(FIRST, 0), (SECOND, 0)]
        assert devices.gpus[0].model == "NVIDIA H100 80GB HBM3"
        assert (devices.gpus[0].memory_used_bytes, devices.gpus[0].processes) == (None, None)
        assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [("gpu-lost", FIRST)]
    tool.answers["q"] = log(new_gpu(0), new_gpu(1))
    assert probe.read().problems == ()


def test_a_card_in_the_slot_of_another_has_replaced_it() -> None:
    """The old one is in somebody's cupboard, and would be called lost for ever."""
    tool = Tool(q=NEW)
    probe = NvidiaSmiProbe(run=tool)
    probe.read()
    third = new_gpu(0).replace(FIRST, THIRD)
    tool.answers["q"] = log(third, new_gpu(1))
    devices = probe.read()
    assert [(gpu.uuid, gpu.index) for gpu in devices.gpus] == [(THIRD, 0), (SECOND, 1)]
    assert devices.problems == ()


def test_a_gpu_that_cannot_be_opened_is_recognised_by_its_bus_address() -> None:
    """The driver names only the address; the GPU keeps its UUID."""
    tool = Tool(q=NEW)
    probe = NvidiaSmiProbe(run=tool)
    probe.read()
    sentence = b"Unable to determine the device handle for GPU1: 0000:02:00.0: Unknown Error\n"
    tool.answers["q"] = sentence + log(new_gpu(0))
    devices = probe.read()
    assert [(gpu.uuid, gpu.index) for gpu in devices.gpus] == [(FIRST, 0), (SECOND, 1)]
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [("gpu-lost", SECOND)]


def test_where_one_lost_gpu_silences_the_command_the_others_are_asked_by_name() -> None:
    """Older drivers print the sentence and nothing else; seven of eight still work."""
    tool = Tool(q=NEW, i=log(new_gpu(1)))
    probe = NvidiaSmiProbe(run=tool)
    probe.read()
    tool.answers["q"] = b"Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.  Reboot\n"
    devices = probe.read()
    assert [(gpu.uuid, gpu.index, gpu.utilization_percent) for gpu in devices.gpus] == [
        (FIRST, 0, None),
        (SECOND, 0, 98),
    ]
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [("gpu-lost", FIRST)]
    with pytest.raises(ProbeFailed):
        NvidiaSmiProbe(run=tool).read()


def test_a_cut_off_answer_does_not_call_the_rest_lost() -> None:
    """What was not read is unknown, not broken."""
    tool = Tool(q=NEW)
    probe = NvidiaSmiProbe(run=tool)
    probe.read()
    tool.answers["q"] = NEW[: NEW.rindex(b"<temperature>")]
    devices = probe.read()
    assert [gpu.uuid for gpu in devices.gpus] == [FIRST, SECOND]
    assert [found.kind for found in devices.problems] == ["truncated-output"]


@pytest.mark.parametrize(
    "error", [ProbeFailed(problem("driver-hung")), ProbeUnavailable(problem("no-driver"))]
)
def test_a_command_that_hangs_or_is_missing_is_passed_on(error: ProbeFailed | ProbeUnavailable) -> None:
    """The one who samples decides what to do then."""

    def fail(_command: Sequence[str], /) -> bytes:
        raise error

    run: Callable[[Sequence[str]], bytes] = fail
    with pytest.raises(type(error)):
        NvidiaSmiProbe(run=run).read()


def test_told_to_leave_the_driver_alone_it_asks_nothing() -> None:
    """One command reads all devices: if the driver hangs there is nothing left to ask."""
    tool = Tool(q=NEW)
    with pytest.raises(ProbeFailed):
        NvidiaSmiProbe(run=tool).read(lambda _uuid: False)
    assert tool.asked == []
