"""This machine as a node: when it is one, and when it is not."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuboard.model.report import NodeReport, Problem
from gpuboard.probes.simulated import simulate
from gpuboard.sources.local import LocalOptions, LocalSource
from gpuboard.wire.report import encode_report
from tests.fakes.sink import RecordingSink, running

WITH_GPUS = simulate("here", 1e9)
WITHOUT = replace(
    WITH_GPUS, gpus=None, problems=(Problem(kind="no-driver", text="no driver", remedy="install one"),)
)


def agent_that_says(folder: Path, *reports: NodeReport) -> list[str]:
    """A child that prints these reports and waits."""
    path = folder / "reports"
    path.write_bytes(b"".join(encode_report(report) + b"\n" for report in reports))
    return ["sh", "-c", f"cat {path}; exec sleep 60"]


async def seen(options: LocalOptions, command: list[str], *, wait_for: int) -> RecordingSink:
    """What the source has handed over, once so many reports have come."""
    sink = RecordingSink()
    async with running(LocalSource(options, node="here", command=command), sink):
        await sink.until(lambda: len(sink.reports) >= wait_for)
    return sink


async def test_a_machine_without_a_gpu_is_no_node_where_only_gpus_count(tmp_path: Path) -> None:
    """Until a driver is there; then it is one, and stays one."""
    command = agent_that_says(tmp_path, WITHOUT, WITHOUT, WITH_GPUS, WITHOUT)
    sink = await seen(LocalOptions(only_with_gpus=True), command, wait_for=2)
    assert sink.expected == [set(), {"here"}]
    assert [bool(report.gpus) for _, report in sink.reports] == [True, False]


async def test_a_machine_that_was_named_in_the_settings_is_always_a_node(tmp_path: Path) -> None:
    """With what is wrong on it."""
    sink = await seen(LocalOptions(), agent_that_says(tmp_path, WITHOUT), wait_for=1)
    assert sink.expected == [{"here"}]
    assert [problem.kind for problem in sink.reports[0][1].problems] == ["no-driver"]


@pytest.mark.parametrize("command", [["false"], ["sh", "-c", "echo nonsense; exec sleep 60"]])
async def test_an_agent_that_fails_is_trouble_in_any_case(command: list[str]) -> None:
    """Nobody knows then whether there are GPUs."""
    sink = RecordingSink()
    async with running(LocalSource(LocalOptions(only_with_gpus=True), node="here", command=command), sink):
        await sink.more_troubles_than(0)
    assert sink.expected[-1] == {"here"}
