"""What an admin's command hears from a board at which nothing is as booked."""

import json
from pathlib import Path
from typing import Any

from tests.board import running_board
from tests.booking_lab import NODE, SETTINGS, Lab, gpu
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, signed_in

# Writes down what it gets, one event a line.
SCRIPT = '#!/bin/sh\n{ cat; echo; } >> "$1"\n'
TABLE = '[bookings]\nno_show_after = "2s"\non_no_show = "release"\ncommand = ["SCRIPT", "HEARD"]\n'
# People may take a minute to leave; here nobody waits for that.
HASTY = {"gpuboard.bookings.watching.GRACE_SECONDS": 1.0}


def book(who: TestBrowser, number: int, seconds: float) -> str:
    """Book a GPU from now on: its id."""
    wish = {"places": [{"node": NODE, "gpus": [number]}], "for_seconds": seconds, "comment": "$(paper)"}
    answer = who.post("api/v1/bookings", wish)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["booking"]["id"])


def test_the_command_hears_of_everything_that_is_not_as_booked(tmp_path: Path) -> None:
    """Once of each, whole, and as it was typed."""
    script, heard, settings = tmp_path / "tell", tmp_path / "heard", tmp_path / "gpuboard.toml"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    table = TABLE.replace("SCRIPT", str(script)).replace("HEARD", str(heard))
    settings.write_text(SETTINGS.replace("[bookings]\n", table, 1))

    def events() -> list[dict[str, Any]]:
        return [json.loads(line) for line in heard.read_text().splitlines()] if heard.exists() else []

    with running_board(
        "--config", str(settings), log=tmp_path / "log", until="healthz", limits=HASTY
    ) as board:
        lab = Lab(board, tmp_path / "comments.json")
        lab.report(gpu(0), gpu(1), gpu(2))
        ana = signed_in(board, "ana")
        # She does not come to the first, ben is on the second, and from the third she does not go.
        numbers = {book(ana, number, seconds): number for number, seconds in enumerate((3600, 3600, 3))}
        lab.report(gpu(0), gpu(1, user="ben"), gpu(2, user="ana"))
        wait_until(lambda: len(events()) >= 4)
        # What is told of the first is done: it can be taken.
        wait_until(lambda: lab.row(0)["verdict"]["word"] == "free")
    told = [(one["event"], numbers[one["id"]], one["who"], one["people"]) for one in events()]
    assert sorted(told) == [
        ("no_show", 0, "ana", []),
        ("overrun", 2, "ana", []),
        ("released", 0, "ana", []),
        ("trespass", 1, "ana", ["ben"]),
    ]
    for one in events():
        assert one["places"] == [{"node": NODE, "gpus": [numbers[one["id"]]]}]
        assert one["comment"] == "$(paper)"
        assert one["start"] < one["end"]
        assert one["at"] >= one["start"]
