"""What the Usage page costs: from a click to its rows and its hours of the week, in a real Chromium.

Usage: script/bench usage_page [--rounds 5]
The last month of the demo's 200 GPUs, by person, on a board that has counted it once.
"""

import argparse
import os
import statistics
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from playwright.sync_api import Browser, Page

from bench._against import ROOT
from bench.bookings_page import GO
from bench.page import ROUNDS, MainThread, board_of, opened, tell
from tests.board import RunningBoard
from tests.browser import PROGRAMS, running_chromium

NODES: Final = 25
DAYS: Final = 30
# Rows, and below them the hours of the week.
DRAWN: Final = (".screen tbody tr:has(td.bar)", "section[aria-labelledby=hours] td")
GOAL_MS: Final = 1000


def main() -> None:
    """Measure, print it against the goals."""
    parser = argparse.ArgumentParser(prog="script/bench usage_page", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often it is drawn (default 5)")
    chosen = parser.parse_args()
    print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with running_chromium(programs=PROGRAMS[::-1]) as browser, board_of(NODES, ROOT) as board:
        measure(browser, board, chosen.rounds)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


def measure(browser: Browser, board: RunningBoard, rounds: int) -> None:
    """From a page that stands to rows and hours that are seen."""
    # The board counts each day once, for whoever asks first.
    with opened(browser, watch=False) as page:
        page.goto(f"{board.url}{address()}")
        wait_until_drawn(page)
        rows = page.locator(DRAWN[0]).count()
    walls, works = [], []
    for _ in range(rounds):
        with opened(browser, watch=False) as page:
            page.goto(f"{board.url}people")
            page.wait_for_timeout(4000)
            wall, work = drawing(page, board)
            walls.append(wall)
            works.append(work)
    name = f"usage: drawn, {NODES * 8} GPUs, {DAYS} days"
    tell(f"{name}, CPU, median of {rounds}", statistics.median(works), "ms", GOAL_MS)
    tell(f"{name}, by the wall", statistics.median(walls), "ms", GOAL_MS)
    print(f"    {rows} rows")


def address() -> str:
    """So many whole days, by person."""
    today = datetime.fromtimestamp(time.time(), UTC).date()
    return f"usage?by=person&from={today - timedelta(days=DAYS)}&to={today - timedelta(days=1)}"


def wait_until_drawn(page: Page) -> None:
    """Wait until all of it is there, and the frame that shows it."""
    for what in DRAWN:
        page.wait_for_selector(what)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drawing(page: Page, board: RunningBoard) -> tuple[float, float]:
    """Milliseconds from a click until it is drawn: by the wall, and of the main thread."""
    thread = MainThread(page)
    before, begun = thread.seconds("threadTicks"), time.perf_counter()
    page.evaluate(GO, f"{board.url}{address()}")
    wait_until_drawn(page)
    return 1000 * (time.perf_counter() - begun), 1000 * (thread.seconds("threadTicks") - before)


if __name__ == "__main__":
    main()
