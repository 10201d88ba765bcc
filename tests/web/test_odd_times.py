"""Whatever a node says of its times: everybody else's answers stay, and our own client can read them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.client.answer import decode_answer, decode_fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.web.routes import familiar
from gpuboard.wire.report import decode_report
from gpuboard.wire.views import FleetView
from tests.web.test_unwritable import House

LATEST = 1e11
TIMES = st.none() | st.sampled_from((0.0, 1.0, 1e10, LATEST)) | st.floats(0.0, LATEST)
AGES = st.sampled_from((0.0, 30.0, 1e10, 1e12)) | st.floats(0.0, 1e12)


def told(house: House, **odd: Any) -> bytes:  # noqa: ANN401 - whatever a node writes
    """The fleet as the board tells it after such a report."""
    process = {"pid": 1, "user": "ana", "started_at": odd.pop("started_at", None)}
    problem = {"kind": "xid", "text": "x", "remedy": "y", "since": odd.pop("since", None)}
    gpu = {"uuid": "GPU-1", "index": 0, "processes": [process]}
    report = {"node": "gpu01", "gpus": [gpu], "problems": [problem], **odd}
    house.sink.report("gpu01", decode_report(msgspec.json.encode(report)))
    house.tick()
    return msgspec.json.encode(fleet_view(house.fleet))


@given(age=AGES, taken_at=TIMES, started_at=TIMES, since=TIMES)
def test_every_report_that_is_taken_can_be_told_and_read(
    age: float, taken_at: float | None, started_at: float | None, since: float | None
) -> None:
    """The board sends nothing that its own client refuses."""
    house = House()
    body = told(house, age_seconds=age, taken_at=taken_at, started_at=started_at, since=since)
    assert [node.name for node in decode_answer(body, FleetView).nodes] == ["gpu01"]
    assert b'"gpu01"' in familiar._encode(house.services, "names")


@pytest.mark.parametrize(
    "odd",
    [
        {"age_seconds": 1e12},
        {"age_seconds": 1e10, "taken_at": 0.0},
        {"taken_at": 0.0, "started_at": LATEST, "since": LATEST},
    ],
)
def test_a_node_with_impossible_times_breaks_no_answer(odd: dict[str, float]) -> None:
    """Neither the board's own nor those for others' scripts."""
    house = House()
    body = told(house, **odd)
    assert [answer.status_code for answer in house.get("/api/v1/fleet", "/get-status")] == [200, 200]
    assert len(decode_answer(body, FleetView).nodes) == 1


def test_a_node_that_the_client_cannot_read_costs_no_other() -> None:
    """A board of another version may say of one what is unheard of here."""
    house = House()
    for node in ("a", "b", "c"):
        house.report(node)
    house.tick()
    view = msgspec.to_builtins(fleet_view(house.fleet))
    view["nodes"][1]["gpus"][0]["reading"]["temperature_celsius"] = 1e9
    fleet = decode_fleet(msgspec.json.encode(view))
    assert [(node.name, node.state, len(node.gpus)) for node in fleet.nodes] == [
        ("a", "live", 1),
        ("b", "error", 0),
        ("c", "live", 1),
    ]
    assert fleet.nodes[1].reason is not None
    assert "temperature_celsius" in fleet.nodes[1].reason.text
    with pytest.raises(msgspec.ValidationError):
        decode_fleet(b'{"at": 1.0, "tier": "names", "nodes": [{"hostname": "x"}]}')
