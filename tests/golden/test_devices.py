"""What CUDA calls devices: one table for `gpuboard free` and for what the page copies (vitest reads it)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuboard.cli.free import _print
from gpuboard.wire.summary import FreeAnswer, FreeBlock

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "devices.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_the_environment_names_devices_as_the_page_does(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """By UUID, or by number in the driver's order; where neither names them, it is not said."""
    uuids, labels = zip(*case["gpus"], strict=True)
    block = FreeBlock(
        node="a",
        model=None,
        labels=labels,
        indexes=(),
        uuids=uuids,
        memory_total_bytes=None,
        just_freed=0,
        numbers_known=not case.get("missing", False),
    )
    count = len(uuids)
    answer = FreeAnswer(
        at=0.0,
        enough=True,
        wanted=count,
        free=count,
        cannot_tell=0,
        nodes_unknown=0,
        could_be_enough=True,
        blocks=(block,),
    )
    wanted = case.get("uuids") or case.get("numbers")
    assert _print(answer, "env") == (wanted is not None)
    said = capsys.readouterr().out
    assert re.findall("VISIBLE_DEVICES=(.*)", said) == ([wanted] if wanted else [])
    assert ("CUDA_DEVICE_ORDER=PCI_BUS_ID" in said) == ("numbers" in case)
