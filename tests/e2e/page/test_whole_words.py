"""Words on tablets and on walls stand whole, or give way whole: in every language that is longer."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard
from tests.browser import TABLET, Size, keep, visit

# Texts of which an edge shows only a part. What lies wholly below one has given way.
CUT = """() => {
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.textContent.trim() || !text.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects())
      for (let edge = text.parentElement; edge; edge = edge.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(edge);
        const { bottom, height, right, width } = edge.getBoundingClientRect();
        if (width < 3 || height < 3) break;
        const aside = overflowX !== 'visible' && box.right > right + 1.5 && box.left < right - 1;
        const isBelow = box.top >= bottom - 2;
        const below = overflowY === 'hidden' && box.bottom > bottom + 3 && !isBelow;
        if ((aside && !isBelow) || below) found.add(text.textContent.trim());
      }
  }
  return [...found];
}"""
# The hint in the search field, where it is wider than its room.
HINT = """() => {
  const field = document.getElementById('filter');
  const style = getComputedStyle(field);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(field.placeholder).width > room ? field.placeholder : '';
}"""
LANGUAGES = pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])


def assert_whole(page: Page) -> None:
    """No text is cut, once all of them have come."""
    page.wait_for_load_state("networkidle")
    assert page.evaluate(CUT) == []


@LANGUAGES
def test_a_tablet_cuts_no_word(browser: Browser, demo: RunningBoard, locale: str) -> None:
    """Neither on the board, where trouble, bookings and hints have little room, nor on other pages."""
    with visit(browser, demo.url, size=TABLET, locale=locale) as page:
        page.goto(demo.url)
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()
        expect(page.locator("#attention")).to_be_visible()
        assert_whole(page)
        assert page.evaluate(HINT) == ""
        keep(page, f"whole-board-{locale}")
        page.goto(f"{demo.url}people")
        expect(page.locator("tbody tr").first).to_be_visible()
        assert_whole(page)
        page.goto(f"{demo.url}nodes/dgx-02")
        expect(page.locator("article").first).to_be_visible()
        assert_whole(page)


@LANGUAGES
@pytest.mark.parametrize("size", [TABLET, (1920, 1080), (3840, 2160)], ids=["upright", "1080p", "4K"])
def test_a_wall_cuts_no_word(browser: Browser, demo: RunningBoard, locale: str, size: Size) -> None:
    """Names of nodes and people are whole, and so is what the ticker tells."""
    with visit(browser, demo.url, size=size, locale=locale) as page:
        page.goto(f"{demo.url}?wall")
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()
        expect(page.locator(".ticker")).to_be_visible()
        assert_whole(page)
        keep(page, f"whole-wall-{size[0]}-{locale}")
