"""Signing in from a node: the kernel tells the agent, the agent tells the board."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.board import RunningBoard, running_board
from tests.cli.test_login import ANA_UID, NEEDS_ROOT, as_user, command, folder, with_users
from tests.pushing import enroll_by_command, token_of, wait_until
from tests.signing_in import TestBrowser, log_in
from tests.started import started

pytestmark = pytest.mark.slow

__all__ = ["folder"]

SETTINGS = """
[history]
kind = "none"
[access]
anonymous = "counts"
vouching = ["gpu*"]
{more}
"""


def board_with(tmp_path: Path, more: str = "") -> Iterator[RunningBoard]:
    """A board with these settings."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(SETTINGS.format(more=more))
    with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as running:
        yield running


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that believes nodes whose names begin with gpu."""
    yield from board_with(tmp_path_factory.mktemp("lab"))


def vouch(board: RunningBoard, node: str, uid: int, name: str) -> httpx.Response:
    """What the board answers a node that says who asks."""
    return httpx.post(
        f"{board.url}api/v1/vouch",
        headers={"authorization": f"Bearer {token_of(board, node)}"},
        json={"uid": uid, "name": name},
    )


@NEEDS_ROOT
def test_a_user_of_a_node_signs_in_through_its_agent(lab: RunningBoard, folder: Path, tmp_path: Path) -> None:
    """Browser and command line; root of the node does not get in at all."""
    token_file = tmp_path / "node.token"
    enroll_by_command(lab, "gpu01", str(token_file))
    path = folder / "agent.sock"
    node = (*with_users(tmp_path), sys.executable, "-m", "gpuboard")
    words = ("agent", "--push", lab.url, "--token-file", str(token_file), "--probe", "simulated")
    with started(*node, *words, "--socket", str(path)) as agent:
        wait_until(path.exists)
        granted = as_user(path, ANA_UID, ANA_UID).granted
        assert granted is not None
        assert (granted.person, granted.role, granted.through) == ("ana", "user", "gpu01")
        told = TestBrowser(lab)
        session = told.use_link(granted.code).json()
        assert (session["person"], session["way"], session["through"]) == ("ana", "node", "gpu01")
        refused = as_user(path, 0, 0)
        assert refused.granted is None
        assert "root" in (refused.refused or "")
        done = command("login", "--socket", str(path), home=tmp_path)
        assert done.returncode == 4
        assert "does not let root in: root is nobody here" in done.stderr
        agent.terminate()
        agent.wait(timeout=30)
        assert not path.exists()


def test_a_node_is_believed_for_users_at_most(lab: RunningBoard) -> None:
    """Also about somebody who is an admin elsewhere; and it is written down."""
    admin = TestBrowser(lab)
    admin.use_link(log_in(lab.state, "boss", "admin").code)
    granted = vouch(lab, "gpu01", 1000, "boss").json()
    assert (granted["person"], granted["role"]) == ("boss", "user")
    session = TestBrowser(lab).use_link(granted["code"]).json()
    assert session["role"] == "user"
    headers = {"authorization": f"Bearer {granted['token']}"}
    assert httpx.get(f"{lab.url}api/v1/audit", headers=headers).status_code == 403
    entries = admin.http.get("api/v1/audit").json()
    assert ("log-in", "boss", "node", "gpu01") in {
        (one["what"], one["who"], one["way"], one["through"]) for one in entries
    }


@pytest.mark.parametrize(
    ("node", "uid", "name", "why"),
    [
        ("gpu01", 0, "root", "root"),
        ("gpu01", 0, "ana", "root"),
        ("gpu01", 999, "postgres", "vouch_from_uid"),
        ("gpu01", 65534, "nobody", "system account"),
        ("gpu01", 1000, "1000", "no name"),
        ("gpu01", 1000, " ", "no name"),
        ("login7", 1000, "ana", "vouching"),
    ],
)
def test_nobody_gets_in_whom_the_settings_keep_out(
    lab: RunningBoard, node: str, uid: int, name: str, why: str
) -> None:
    """Root, system accounts, numbers without a name; and nodes that are not asked."""
    refused = vouch(lab, node, uid, name)
    assert (refused.status_code, why in refused.json()["detail"]) == (403, True)


def test_in_a_realm_of_nodes_nobody_is_somebody_of_another_node(tmp_path: Path) -> None:
    """One name is one person on each node; unless the admin joins them."""
    more = 'realm = "node"\n[names.people]\n"ana@gpu02" = "ana@gpu01"\n'
    for board in board_with(tmp_path, more):
        people = [vouch(board, node, 1000, "ana").json()["person"] for node in ("gpu01", "gpu02", "gpu03")]
        assert people == ["ana@gpu01", "ana@gpu01", "ana@gpu03"]


def test_one_node_cannot_sign_in_without_end(lab: RunningBoard) -> None:
    """Sixty at once, then one every five seconds."""
    token = token_of(lab, "gpu09")
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=lab.url, headers=headers, timeout=60) as http:
        found = [
            http.post("api/v1/vouch", json={"uid": 1000, "name": f"p{number}"}).status_code
            for number in range(70)
        ]
    assert found[:60] == [200] * 60
    assert found[-1] == 429
