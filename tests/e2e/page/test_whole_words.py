"""Words stand whole, or give way whole, on every screen: in every language that is longer."""

import time
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, computing
from tests.booking_lab import Lab, gpu
from tests.browser import DESKTOP, PHONE, TABLET, Size, assert_fits, keep, visit
from tests.e2e.page.people import apart, signed_in
from tests.e2e.page.test_booking_on_the_page import book_elsewhere, lab, running

__all__ = ["lab", "running"]

# Texts of which an edge shows only a part. What lies wholly below one has given way.
CUT = """(part) => {
  const found = new Set();
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
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
# What is wider than what it stands on.
BURST = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.innerText)"
# The hint in the search field, where it is wider than its room.
HINT = """() => {
  const field = document.getElementById('filter');
  const style = getComputedStyle(field);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(field.placeholder).width > room ? field.placeholder : '';
}"""
SPEAK = "(language) => localStorage.setItem('gpuboard', JSON.stringify({language}))"
# Words that go on in the next line; what is longer than any line may.
BROKEN = """() => {
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.checkVisibility() || text.parentElement.closest('code, pre')) continue;
    for (const { 0: word, index } of text.textContent.matchAll(/[\\p{Script=Latin}\\d:]{3,20}/gu)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.add(word);
    }
  }
  return [...found];
}"""
LANGUAGES = pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])


def assert_whole(page: Page, part: str = "body") -> None:
    """No text is cut, once all of them have come."""
    page.wait_for_load_state("networkidle")
    assert page.locator(part).evaluate(CUT) == []
    assert page.evaluate(BROKEN) == []


@LANGUAGES
def test_a_desk_cuts_no_word(browser: Browser, demo: RunningBoard, locale: str) -> None:
    """Not even of what is offered, beside the buttons to take it."""
    with visit(browser, demo.url, locale=locale) as page:
        page.goto(demo.url)
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()
        assert_whole(page)


@LANGUAGES
def test_a_phone_breaks_no_word(browser: Browser, demo: RunningBoard, locale: str) -> None:
    """With all the tabs of somebody who has said who they are; a list may be pushed aside."""
    with visit(browser, demo.url, size=PHONE, locale=locale) as page:
        page.add_init_script("localStorage.setItem('gpuboard', JSON.stringify({ me: 'dupont' }))")
        for path, seen in (
            ("", ".cell[data-uuid]"),
            ("people", "tbody tr"),
            ("nodes/vision-02", "article"),
            ("usage", ".screen section table"),
            ("?wall", ".cell[data-uuid]"),
        ):
            page.goto(f"{demo.url}{path}")
            expect(page.locator(seen).first).to_be_visible()
            if path != "?wall":
                expect(page.locator("nav a:visible")).to_have_count(4)
            page.wait_for_load_state("networkidle")
            assert (path, page.evaluate(BROKEN)) == (path, [])


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
        page.goto(f"{demo.url}gpus/{computing(demo)[1]['uuid']}")
        expect(page.locator("main h1")).to_be_visible()
        assert_whole(page)
        page.goto(f"{demo.url}usage")
        expect(page.locator(".screen section table").first).to_be_visible()
        assert_whole(page)
        page.goto(f"{demo.url}account")
        expect(page.locator("main h1")).to_be_visible()
        page.keyboard.press("?")
        expect(page.locator("dialog kbd").first).to_be_visible()
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


@pytest.mark.parametrize("locale", ["de-DE", "fr-FR"])
@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_breaks_no_word_of_the_way_around(
    browser: Browser, demo: RunningBoard, locale: str, width: int
) -> None:
    """Whoever has said who they are has five ways: each on one line, and none on another."""
    with visit(browser, demo.url, size=(width, 700), locale=locale) as page:
        page.add_init_script("localStorage.setItem('gpuboard', JSON.stringify({me: 'chen'}))")
        page.goto(f"{demo.url}bookings")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        ways = page.locator("nav").last.locator("a, button")
        expect(ways).to_have_count(5)
        boxes = [each.bounding_box() for each in ways.all()]
        assert all(box is not None and 44 <= box["height"] <= 52 for box in boxes), boxes
        ends = [(box["x"], box["x"] + box["width"]) for box in boxes if box is not None]
        assert all(right <= left + 0.5 for (_, right), (left, _) in pairwise(ends)), ends
        assert ends[0][0] >= 0
        assert ends[-1][1] <= width
        assert_fits(page)
        keep(page, f"whole-ways-{width}-{locale}")
        page.goto(f"{demo.url}?at={int(time.time()) - 8 * 3600}")
        expect(page.locator(".foot button").first).to_be_visible()
        assert page.locator(".foot button").evaluate_all(BURST) == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_no_word_about_bookings_is_cut(browser: Browser, lab: Lab, size: Size) -> None:
    """Neither on their page, with what is not as booked, nor in the form beside a GPU, nor in the search."""
    book_elsewhere(lab, "ana", [0])
    book_elsewhere(lab, "wim", [1], seconds=8 * 3600)
    apart(lab.report, gpu(0), gpu(1, user="eve"), gpu(2))
    with signed_in(browser, lab.board, "ana", size=size) as page:
        for language in ("en", "de", "fr", "zh-TW", "zh-CN"):
            page.evaluate(
                "(language) => localStorage.setItem('gpuboard', JSON.stringify({language}))", language
            )
            for shown in ("",) if size == DESKTOP else ("", "?show=mine", "?show=odd"):
                page.goto(f"{lab.board.url}bookings{shown}")
                expect(page.get_by_text("gpu01").first).to_be_visible()
                assert_whole(page)
                keep(page, f"whole-bookings-{size[0]}-{language}{shown.strip('?')}")
            if size == PHONE:
                page.locator("main header button").click()
                expect(page.locator("dialog form")).to_be_visible()
            else:
                page.locator("#own ~ ul .deeds button").nth(1).click()
                expect(page.locator("#own ~ ul form")).to_be_visible()
            assert_whole(page)
            keep(page, f"whole-bookings-form-{size[0]}-{language}")
            page.goto(f"{lab.board.url}?view=rows")
            page.locator(f'main [data-uuid="{gpu(1).uuid}"][tabindex]').focus()
            page.keyboard.press("b")
            expect(page.get_by_role("dialog").locator("form .why b")).to_be_visible()
            # Behind a sheet chips go on beyond the edge.
            assert_whole(page, "[role=dialog]")
            keep(page, f"whole-book-{size[0]}-{language}")
