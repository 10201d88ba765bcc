"""The systemd units, read by systemd itself."""

import subprocess
from pathlib import Path

import pytest

from tests.parts import require

UNITS = sorted((Path(__file__).parents[2] / "deploy" / "systemd").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_every_line(unit: Path, tmp_path: Path) -> None:
    """Unknown keys are only warnings to systemd, so none may be printed."""
    require("systemd-analyze")
    # It insists that the program exists.
    text = unit.read_text().replace("/opt/gpuboard/bin/gpuboard", "/bin/true")
    copy = tmp_path / unit.name
    copy.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_sandbox_is_tight(unit: Path) -> None:
    """Systemd's own measure: 0 is best, 10 is none."""
    require("systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-300:]
