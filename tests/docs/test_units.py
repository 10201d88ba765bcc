"""The systemd units, read by systemd itself."""

import subprocess
from pathlib import Path

import pytest

from gpuboard.cli.exits import USAGE
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


@pytest.mark.parametrize("group", ["", "gpuboard:x:4711:\n"], ids=["nothing yet", "a group of the name"])
def test_the_boards_user_can_be_made(tmp_path: Path, group: str) -> None:
    """Also where a group of its name exists, which would keep a dynamic user from starting."""
    require("systemd-sysusers")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (tmp_path / "etc" / "group").write_text(f"root:x:0:\n{group}")
    conf = UNITS[0].parent / "gpuboard.sysusers.conf"
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}", conf], check=True, capture_output=True)
    lines = (tmp_path / "etc" / "passwd").read_text().splitlines()
    (user,) = [line.split(":") for line in lines if line.startswith("gpuboard:")]
    assert user[5] == "/var/lib/gpuboard"
    assert not group or user[3] == "4711"


def test_the_board_is_not_started_again_when_its_settings_are_wrong() -> None:
    """It would look active for ever; and the user it runs as can be looked up without libnss-systemd."""
    unit = next(unit for unit in UNITS if unit.name == "gpuboard.service").read_text()
    assert f"RestartPreventExitStatus={USAGE}" in unit
    assert "Type=notify" in unit
    assert "\nWatchdogSec=" in unit
    assert "User=gpuboard" in unit
    assert "\nDynamicUser=" not in unit
