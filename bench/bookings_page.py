"""What the lanes of the bookings page cost: their bytes, and the work until they are drawn first.

Usage: script/bench bookings_page [--rounds 5]
200 GPUs, all unfolded, two weeks with 1,000 bookings, in a real Chromium.
"""

import argparse
import os
import statistics
import time
from typing import Final

import httpx
from playwright.sync_api import Browser, Page

from bench._against import ROOT
from bench.page import ROUNDS, MainThread, board_of, opened, tell
from tests.board import RunningBoard
from tests.browser import PROGRAMS, running_chromium
from tests.signing_in import TestBrowser, signed_in

NODES: Final = 25
BOOKINGS: Final = 1000
# One person has 200 open bookings at most.
PEOPLE: Final = ("ana", "ben", "chen", "dupont", "eve", "ito", "khan", "lin")
HOUR: Final = 3600
ADDRESS: Final = "bookings?open=*&days=14"
# As a click on one of the page's own links.
GO: Final = """(address) => {
  const link = document.createElement('a');
  link.href = address;
  document.body.append(link);
  link.click();
  link.remove();
}"""


def main() -> None:
    """Measure, print it against the goals."""
    parser = argparse.ArgumentParser(prog="script/bench bookings_page", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often it is drawn (default 5)")
    chosen = parser.parse_args()
    print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with running_chromium(programs=PROGRAMS[::-1]) as browser, board_of(NODES, ROOT) as board:
        print(f"    {book_all(board)} bookings")
        measure(browser, board, chosen.rounds)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


def book_all(board: RunningBoard) -> int:
    """Fill two weeks; how many there are then."""
    people = [signed_in(board, name) for name in PEOPLE]
    nodes = [one["name"] for one in people[0].http.get("api/v1/fleet").json()["nodes"]]
    first = int(time.time()) // HOUR * HOUR + 2 * HOUR
    for number in range(BOOKINGS):
        turn, place = divmod(number, NODES)
        book(people[number % len(people)], nodes[place], first + turn // 4 * 30 * HOUR, 2 * (turn % 4))
    return len(people[0].http.get("api/v1/bookings").json()["bookings"])


def book(person: TestBrowser, node: str, start: int, gpu: int) -> None:
    """Two neighbours for a day."""
    places = [{"node": node, "gpus": [gpu, gpu + 1]}]
    answer = person.post("api/v1/bookings", {"places": places, "start": start, "end": start + 24 * HOUR})
    # The demo has a few claims of its own.
    if answer.status_code != httpx.codes.CONFLICT:
        answer.raise_for_status()


def measure(browser: Browser, board: RunningBoard, rounds: int) -> None:
    """From a page that stands to boxes that are seen."""
    works, sizes, drawn = [], [], 0
    for _ in range(rounds):
        with opened(browser, watch=False) as page:
            page.on("response", lambda each: sizes.append(size_of(each.url, each.headers)))
            page.goto(f"{board.url}people")
            page.wait_for_timeout(4000)
            works.append(first_drawing(page, board))
            drawn = page.locator("[data-box]").count()
    tell("lanes: their script, compressed", max(sizes) / 1000, "kB", 12)
    name = f"lanes: first drawing, {NODES * 8} open lanes, two weeks, CPU, median of {rounds}"
    tell(name, statistics.median(works), "ms", 400)
    print(f"    {drawn} boxes are drawn; the others when they are scrolled to")


def size_of(url: str, headers: dict[str, str]) -> int:
    """Bytes of the lanes' own script; of all else none."""
    return int(headers.get("content-length", 0)) if "/Lanes-" in url and url.endswith(".js") else 0


def first_drawing(page: Page, board: RunningBoard) -> float:
    """Milliseconds of the main thread from a click until the boxes are there."""
    thread = MainThread(page)
    before = thread.seconds("threadTicks")
    page.evaluate(GO, f"{board.url}{ADDRESS}")
    page.wait_for_selector("[data-box]")
    # What is drawn with them, and the frame that shows them.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return 1000 * (thread.seconds("threadTicks") - before)


if __name__ == "__main__":
    main()
