"""Arguments of command lines: for their owner and admins, and nobody else."""

from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from gpuboard.model.identity import Role
from gpuboard.model.report import GpuProcess
from gpuboard.wire.ingest import Hello, Live, Sample, encode, encode_sample
from tests.board import RunningBoard
from tests.pushing import report_of, token_of, wait_until
from tests.signing_in import make_token, signed_in

NODE = "arguments-1"


@pytest.fixture(scope="module")
def told(push_board: RunningBoard) -> RunningBoard:
    """A board to which a node has sent two people's command lines."""
    report = report_of(NODE)
    processes = tuple(
        GpuProcess(pid=pid, user=user, uid=1000 + pid, program="python", arguments=f"--of {user}")
        for pid, user in enumerate(("ana", "ben"), start=1)
    )
    assert report.gpus is not None
    gpus = (replace(report.gpus[0], processes=processes), *report.gpus[1:])
    report = replace(report, gpus=gpus)
    sample = Sample(
        sequence=report.sequence or 0, waited_seconds=0.0, report=msgspec.Raw(encode_sample(report))
    )
    headers = {
        "authorization": f"Bearer {token_of(push_board, NODE)}",
        "content-type": "application/msgpack",
    }
    for message in (Hello(node=NODE, boot_id="boot-1"), Live(sample=sample, follows=None)):
        httpx.post(
            f"{push_board.url}api/v1/reports", headers=headers, content=encode(message)
        ).raise_for_status()
    wait_until(lambda: httpx.get(f"{push_board.url}api/v1/nodes/{NODE}").json().get("gpus"))
    return push_board


def seen(node: dict[str, Any]) -> list[str | None]:
    """The arguments that an answer shows of both."""
    return [process["arguments"] for process in node["gpus"][0]["reading"]["processes"]]


@pytest.mark.parametrize(
    ("person", "role", "shown"),
    [
        ("ana", "user", ["--of ana", None]),
        ("BEN", "user", [None, "--of ben"]),
        ("eva", "user", [None, None]),
        ("eva", "admin", ["--of ana", "--of ben"]),
    ],
)
def test_command_lines_are_their_owners_and_admins(
    told: RunningBoard, person: str, role: Role, shown: list[str | None]
) -> None:
    """By node and by GPU; the whole fleet, which is made once for all, has none."""
    browser = signed_in(told, person, role)
    node = browser.http.get(f"api/v1/nodes/{NODE}").json()
    assert seen(node) == shown
    gpu = browser.http.get(f"api/v1/gpus/{node['gpus'][0]['uuid']}").json()
    assert [process["arguments"] for process in gpu["reading"]["processes"]] == shown
    fleet = browser.http.get("api/v1/fleet").json()["nodes"]
    assert seen(next(one for one in fleet if one["name"] == NODE)) == [None, None]


def test_visitors_see_none_even_where_they_see_names(told: RunningBoard) -> None:
    """Nor does a token that is not for admins, though its owner is one."""
    assert seen(httpx.get(f"{told.url}api/v1/nodes/{NODE}").json()) == [None, None]
    _, token = make_token(told.state, "eva", "read", role="admin")
    headers = {"authorization": f"Bearer {token}"}
    assert seen(httpx.get(f"{told.url}api/v1/nodes/{NODE}", headers=headers).json()) == [None, None]
