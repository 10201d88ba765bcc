"""Commands that look into a folder of signed drops by themselves."""

import time
from pathlib import Path

import msgspec
import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.cli import main
from gpuboard.probes.simulated import simulate
from gpuboard.wire.enrolment import digest, make_token


def test_a_command_without_tokens_sends_to_the_board_and_not_to_an_enrolment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node is enrolled and signs; only this command cannot check it."""
    report = msgspec.structs.replace(simulate("dgx-01", time.time(), interval=600.0), node="gpu01")
    write_drop(tmp_path, "gpu01", TimedReport(report, 0.0), key=digest(make_token("gpu01", "s" * 43)))
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{tmp_path}"\npattern = "gpu*"\nsigned = true\n')
    assert main(["status", "--config", str(config)]) == 3
    said = capsys.readouterr().err
    assert "--board URL" in said
    assert "enroll" not in said
