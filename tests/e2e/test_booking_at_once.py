"""A board of which a hundred people want the same GPU at the same moment."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import httpx

from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.records import Vouched
from tests.board import running_board
from tests.databases import open_url

PEOPLE: Final = [f"p{number}" for number in range(100)]
NODE = "vision-01"
# Beyond what the demo has booked itself.
LATER_SECONDS = 4 * 86400.0


def tokens_in(database_url: str) -> dict[str, str]:
    """What each of them may book with."""
    database = open_url(database_url)
    try:
        desk = AccountDesk(database)
        made = {
            person: desk.add_token(
                Vouched(person=person, way="password"),
                "user",
                name="test",
                scopes=("book", "read"),
                seconds=None,
                deed=Deed(what="test"),
            )
            for person in PEOPLE
        }
    finally:
        database.close()
    return {person: token for person, (_, token) in made.items()}


def test_of_a_hundred_requests_at_once_for_one_slot_exactly_one_is_granted(
    tmp_path: Path, database_url: str
) -> None:
    """All others hear who was faster, and the book has this one alone."""
    settings = tmp_path / "gpuboard.toml"
    settings.write_text(f'[storage]\nurl = "{database_url}"\n')
    start = time.time() + LATER_SECONDS
    wish = {"places": [{"node": NODE, "gpus": [0]}], "start": start, "for_seconds": 3600}
    ready = threading.Barrier(len(PEOPLE), timeout=60)

    def attempt(url: str, token: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as http:
            # The line stands before the start, and is the same for all.
            http.get("healthz").raise_for_status()
            ready.wait()
            return http.post("api/v1/bookings", json=wish)

    with running_board("--config", str(settings), "--demo", "1", log=tmp_path / "log") as board:
        tokens = tokens_in(database_url)
        with ThreadPoolExecutor(len(PEOPLE)) as pool:
            answers = dict(
                zip(PEOPLE, pool.map(lambda person: attempt(board.url, tokens[person]), PEOPLE), strict=True)
            )
        headers = {"authorization": f"Bearer {tokens[PEOPLE[0]]}"}
        span = f"from={start:.0f}&to={start + 3600:.0f}&node={NODE}"
        told = httpx.get(f"{board.url}api/v1/bookings?{span}", headers=headers).json()["bookings"]
    (winner,) = [person for person, answer in answers.items() if answer.status_code == httpx.codes.CREATED]
    refused = {person: answer for person, answer in answers.items() if person != winner}
    assert {answer.status_code for answer in refused.values()} == {httpx.codes.CONFLICT}
    assert {answer.json()["values"]["who"] for answer in refused.values()} == {winner}
    assert [one["who"] for one in told if one["places"] == wish["places"]] == [winner]
