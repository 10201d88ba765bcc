"""Bookings of another board's file outlive a restart of ours, whatever the file is like then."""

import json
import time
from pathlib import Path

import httpx
import pytest

from gpuboard.bookings.comments import Claims
from gpuboard.bookings.kept import ClaimKeeper
from tests.board import running_board
from tests.pushing import wait_until


def places(url: str) -> dict[str, str]:
    """The verdicts on the GPUs of n1 by their number."""
    view = httpx.get(f"{url}api/v1/nodes/n1").json()
    return {gpu["label"]: gpu["verdict"]["word"] for gpu in view.get("gpus", ())}


@pytest.mark.parametrize("content", [None, b"", b'{"n1": {"0": {"na'], ids=["gone", "empty", "half"])
def test_what_was_booked_stays_booked_when_the_file_cannot_be_read_at_the_next_start(
    tmp_path: Path, content: bytes | None
) -> None:
    """The other board truncates before it writes; a start in just that moment must not free anything."""
    share = tmp_path / "share"
    share.mkdir()
    line = "[{}] NVIDIA A100 | 30'C,   0 % |     0 / 40960 MB |\n"
    (share / "n1").write_text(f"n1  {time.asctime()}\n" + line.format(0) + line.format(1))
    comments = tmp_path / "comments.json"
    comments.write_text(json.dumps({"n1": {"0": {"name": "ana", "date": "3d", "comment": "paper"}}}))
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "500ms"\nwrite_interval = "15min"\n'
        f'[bookings]\ncomments_json = "{comments}"\n'
    )
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        wait_until(lambda: places(board.url) == {"0": "booked", "1": "free"})
    if content is None:
        comments.unlink()
    else:
        comments.write_bytes(content)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        wait_until(lambda: places(board.url).get("1") == "free")
        assert places(board.url)["0"] == "booked"


def test_a_file_in_which_nothing_was_booked_is_remembered_too() -> None:
    """Otherwise a start while the file is half-written would call every GPU unknown."""
    told: list[Claims] = []
    assert ClaimKeeper("c.json", told.append).kept() == {}
    first, second = ClaimKeeper("c.json", told.append), ClaimKeeper("c.json", told.append)
    first({})
    second.restore(first.kept())
    assert told == [{}, {}]
    ClaimKeeper("other.json", told.append).restore(first.kept())
    assert len(told) == 2
