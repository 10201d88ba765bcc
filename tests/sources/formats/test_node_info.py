import json

import pytest

from gpuboard.model.errors import WireError
from gpuboard.model.units import MIB
from gpuboard.sources.formats.node_info import decode_node_info, sample_mark

STATUS = {
    "hostname": "next-gpu1",
    "last_update": "2023-04-29T21:17:41.419592",
    "ips": [["eno1", "192.168.0.3"], ["broken"], None],
    "gpus": [
        {
            "index": 0,
            "name": "A100",
            "use_mem": 1024,
            "tot_mem": 81920,
            "utilize": 40,
            "temp": 60,
            "users": [
                {
                    "pid": 123,
                    "username": "alice",
                    "mem(MiB)": 1000,
                    "command": "/usr/bin/python t.py --key hunter2",
                }
            ],
        },
        {"index": 1, "name": "A100", "use_mem": 0, "tot_mem": 81920, "utilize": 0, "temp": None, "users": []},
        {"index": 2, "name": "A100", "use_mem": 0, "tot_mem": 81920, "utilize": 0, "temp": 30},
    ],
}
DATA = json.dumps(STATUS).encode()


def test_an_old_nodes_status_becomes_a_report() -> None:
    """A lab can change its board first and its nodes later."""
    report = decode_node_info(DATA, "next-gpu1")
    assert report.gpus is not None
    first, second, third = report.gpus
    assert (first.uuid, first.uuid_is_synthetic, first.model) == ("next-gpu1:0", True, "A100")
    assert (first.memory_used_bytes, first.memory_total_bytes) == (1024 * MIB, 81920 * MIB)
    assert (first.utilization_percent, first.temperature_celsius) == (40, 60)
    assert [(p.pid, p.user, p.program) for p in first.processes or ()] == [(123, "alice", "python")]
    assert (second.temperature_celsius, second.processes) == (None, ())
    assert third.processes is None
    assert report.host is not None
    assert [(at.interface, at.address) for at in report.host.addresses] == [("eno1", "192.168.0.3")]


def test_command_lines_stay_behind() -> None:
    """The old node sends five hundred characters of them."""
    assert "hunter2" not in repr(decode_node_info(DATA, "n"))


def test_a_frozen_node_is_known_by_its_mark() -> None:
    """It answers promptly, with the sample of yesterday."""
    assert sample_mark(DATA) == "2023-04-29T21:17:41.419592"
    assert decode_node_info(DATA, "n").taken_at is None


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"gpus": 1}', b'{"gpus": [1]}', DATA[:-5], b"<html>404</html>"]
)
def test_another_answer_is_refused(data: bytes) -> None:
    """A wrong password gives a page, not a status."""
    with pytest.raises(WireError):
        decode_node_info(data, "n")
