"""The board goes away and comes back: nothing is dead meanwhile, and everything heals by itself."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, free_port, running_board
from tests.browser import keep, visit
from tests.pushing import wait_until

# What the browser itself says about a board that is not there.
GONE = "ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|FAILED|CONTENT_LENGTH)|WebSocket connection"
BACK_MS = 40_000
# Counts beside the names of folded nodes of which an edge shows a word in part, not whole or not at all.
CUT_NUMBERS = """() => [...document.querySelectorAll('[role=grid] small')].filter((count) => {
  const edge = count.getBoundingClientRect();
  return [...count.children].some((word) => {
    const box = word.getBoundingClientRect();
    return box.top < edge.bottom - 1 && (box.left < edge.left - 1 || box.right > edge.right + 1);
  });
}).map((count) => count.textContent)"""
FETCHED = "() => performance.getEntriesByName('fetched-ahead').length > 0"


def kill(board: RunningBoard, page: Page) -> None:
    """As a machine dies; the page has noticed when this is over."""
    board.process.kill()
    board.process.wait()
    expect(page.get_by_role("button", name=re.compile("^Reconnecting"))).to_be_visible()


def test_every_page_opens_with_its_last_data_while_the_board_is_away(
    browser: Browser, tmp_path: Path
) -> None:
    """Cell, people, all densities, node, GPU; what was never asked for is said to be missing, and comes."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with visit(browser, url, allow=GONE) as page:
        with running_board("--demo", "4", log=tmp_path / "log", port=port) as board:
            page.goto(f"{url}?view=rows")
            wait_until(lambda: page.evaluate(FETCHED))
            kill(board, page)
        page.locator(".cell[data-uuid]").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("link", name="People").first.click()
        expect(page.locator("tbody tr").first).to_be_visible()
        page.get_by_role("link", name="Board", exact=True).first.click()
        for density in ("Cards", "Map", "Rows"):
            page.get_by_role("radio", name=density).or_(
                page.get_by_role("button", name=density)
            ).first.click()
            expect(page.locator("main article, main canvas, main .cell").first).to_be_visible()
        page.get_by_role("rowheader").get_by_role("link", name="dgx-01").click()
        expect(page.locator("article[data-uuid]")).to_have_count(8)
        expect(page.get_by_text("it comes when the board is back")).to_be_visible()
        assert "Failed to fetch" not in page.locator("main").inner_text()
        assert page.locator("main button[title*=CUDA_VISIBLE_DEVICES]:enabled").count() == 0
        keep(page, "away-node")
        page.get_by_role("link", name="GPU 3").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("GPU 3")
        expect(page.get_by_text("it comes when the board is back")).to_be_visible()
        keep(page, "away-gpu")
        with running_board("--demo", "4", log=tmp_path / "log", port=port):
            expect(page.get_by_text("it comes when the board is back")).to_have_count(0, timeout=BACK_MS)
            expect(page.get_by_text("Persistence mode")).to_be_visible()
            expect(page.locator("dt:has-text('Persistence mode') + dd")).to_have_text("on")


def test_what_was_free_is_told_in_whole_words_in_the_lanes(browser: Browser, tmp_path: Path) -> None:
    """Or its number alone, where a name needs the room."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with visit(browser, url, allow=GONE) as page:
        with running_board("--demo", "4", log=tmp_path / "log", port=port) as board:
            page.goto(f"{url}bookings?open=.")
            expect(page.get_by_role("grid").locator("small").first).to_be_visible()
            page.wait_for_load_state("networkidle")
            kill(board, page)
        expect(page.get_by_role("grid").get_by_text(re.compile("^w(as|ere) free")).first).to_be_visible()
        for width in (1440, 1000):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(CUT_NUMBERS) == []
            keep(page, f"away-folded-{width}")


def test_a_part_that_could_not_be_loaded_comes_with_the_board(browser: Browser, tmp_path: Path) -> None:
    """Without a reload or a click; until then it says what is missing in true words."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    part = "**/assets/PeoplePage-*"
    with visit(browser, url, allow=GONE) as page:
        page.route(part, lambda route: route.abort())
        with running_board("--demo", "4", log=tmp_path / "log", port=port) as board:
            page.goto(url)
            expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
            kill(board, page)
        page.evaluate("window.stayed = true")
        page.get_by_role("link", name="People").first.click()
        expect(page.locator("#main").get_by_text("it comes when the board is back")).to_be_visible()
        expect(page.get_by_text("may have been updated")).to_have_count(0)
        keep(page, "away-part")
        page.unroute(part)
        with running_board("--demo", "4", log=tmp_path / "log", port=port):
            expect(page.locator("tbody tr").first).to_be_visible(timeout=BACK_MS)
            expect(page.get_by_text("it comes when the board is back")).to_have_count(0)
            assert page.evaluate("window.stayed")


def test_ages_stop_with_the_data(browser: Browser, tmp_path: Path) -> None:
    """Nobody can know that an idle GPU idles on."""
    with (
        running_board("--demo", "4", log=tmp_path / "log") as board,
        visit(browser, board.url, allow=GONE) as page,
    ):
        page.clock.install()
        page.goto(f"{board.url}?view=rows")
        page.wait_for_selector(".cell[data-uuid]")
        page.clock.run_for(1000)
        board.process.kill()
        board.process.wait()
        page.clock.run_for(3000)
        expect(page.locator("html[data-old]")).to_have_count(1)
        before = page.locator(".cell[data-uuid]").all_inner_texts()
        banner = page.get_by_text("This is how things stood at")
        told = banner.inner_text()
        page.clock.run_for(3 * 3600 * 1000)
        assert banner.inner_text() != told
        assert page.locator(".cell[data-uuid]").all_inner_texts() == before
