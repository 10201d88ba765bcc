"""`gpuboard status HOST …`: what its exit code says when hosts cannot be read."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import asyncssh
import pytest

from gpuboard.assembly import hosts
from gpuboard.cli import main
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.probes.simulated import simulate
from gpuboard.sources.ssh import words
from tests.sources.ssh.server import running_server

PLACE = words.Place(name="gpu01", host="gpu01")
REFUSED = Reason(code="auth-failed", text="gpu01 does not let us in")
AWAY = Reason(code="timeout", text="gpu02 does not answer")
Outcomes = Mapping[str, NodeReport | Reason]


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ({"gpu01": REFUSED}, 4),
        ({"gpu01": REFUSED, "gpu02": REFUSED}, 4),
        ({"gpu01": AWAY}, 3),
        ({"gpu01": REFUSED, "gpu02": AWAY}, 3),
        ({"gpu01": REFUSED, "gpu02": simulate("gpu02", 1e9)}, 0),
    ],
    ids=["refused", "all refuse", "away", "one refuses, one is away", "one refuses, one answers"],
)
@pytest.mark.parametrize("command", [("status",), ("export", "json")], ids=["status", "export"])
def test_the_exit_code_tells_refused_from_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], outcomes: Outcomes, code: int
) -> None:
    """A script should try again for 3, and call a person for 4."""

    async def read_once(*_: object) -> Outcomes:
        return outcomes

    monkeypatch.setattr(hosts, "read_once", read_once)
    assert main([*command, *outcomes]) == code


def test_everything_that_ssh_calls_refused_counts_as_refused() -> None:
    """The two lists are kept in different places."""
    missing = FileNotFoundError(2, "No such file or directory", "/etc/key")
    errors = [
        words.changed_key(PLACE, "SHA256:x"),
        words.unknown_key(PLACE, "SHA256:x"),
        words.untrusted_key(PLACE, "revoked"),
        words.login_refused(PLACE),
        words.explain(missing, PLACE),
        words.explain(asyncssh.KeyImportError("no key"), PLACE),
        words.timed_out(PLACE, 10.0),
        words.explain(ConnectionRefusedError(111, "Connection refused"), PLACE),
    ]
    assert [error.code in hosts.REFUSALS for error in errors] == [
        error.state == "refused" for error in errors
    ]


def test_a_real_host_whose_key_is_not_known_is_refused(tmp_path: Path) -> None:
    """Nobody is logged in to a machine that may be another."""
    home = tmp_path / "home"
    home.mkdir()
    with running_server(tmp_path) as server:
        host = f"{server.user}@127.0.0.1:{server.port}"
        command = [sys.executable, "-m", "gpuboard", "status", host]
        environment = {**os.environ, "HOME": str(home)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=40
        )
    assert (done.returncode, done.stdout) == (4, "")
    assert "cannot be read" in done.stderr
