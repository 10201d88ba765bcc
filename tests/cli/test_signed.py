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
    assert main(["status", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert "--board URL" in said
    assert "enroll" not in said


def test_a_signed_folder_is_left_out_beside_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its nodes are well; only this command cannot check them."""
    tables = ""
    for folder, signed in (("plain", "false"), ("checked", "true")):
        (tmp_path / folder).mkdir()
        node = f"gpu-{folder}"
        report = msgspec.structs.replace(simulate("dgx-01", time.time(), interval=600.0), node=node)
        write_drop(tmp_path / folder, node, TimedReport(report, 0.0))
        tables += f'[[source]]\nkind = "folder"\npath = "{tmp_path / folder}"\nsigned = {signed}\n'
    config = tmp_path / "gpuboard.toml"
    config.write_text(tables)
    assert main(["status", "--config", str(config)]) == 0
    said = capsys.readouterr().out
    assert ("gpu-plain" in said, "gpu-checked" in said) == (True, False)
