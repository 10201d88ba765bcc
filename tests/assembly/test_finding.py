"""The nodes of a list, for whoever looks once."""

from pathlib import Path

import pytest

from gpuboard.assembly.finding import find_nodes
from gpuboard.discovery.registry import make


async def test_a_list_is_taken_and_one_that_is_not_there_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not waited for, it is said, and other lists can be looked at."""
    (tmp_path / "hosts").write_text("gpu[1-2]\n")
    found = await find_nodes(make({"hosts_file": str(tmp_path / "hosts")}))
    assert [target.node for target in found] == ["gpu1", "gpu2"]
    assert [target.node for target in await find_nodes(make({"hosts": ["gpu3"]}))] == ["gpu3"]
    assert await find_nodes(make({"hosts_file": str(tmp_path / "typo")})) == []
    assert f"{tmp_path}/typo cannot be read" in caplog.text
