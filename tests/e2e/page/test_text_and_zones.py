"""The board as text, in whichever zone one reads it, and what a thumb finds on a phone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, computing, running_board
from tests.browser import PHONE, assert_fits, keep, visit

LINES = ".line[data-uuid]"
# Where a word of a line ends.
ENDS = """(line, word) => {
  const text = line.lastChild;
  const range = document.createRange();
  range.setStart(text, text.data.indexOf(word));
  range.setEnd(text, text.data.indexOf(word) + word.length);
  return range.getBoundingClientRect().right;
}"""


@pytest.fixture(scope="module")
def berlin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose clock is that of Berlin."""
    log = tmp_path_factory.mktemp("berlin") / "log"
    with running_board("--demo", "2", log=log, env={"TZ": "Europe/Berlin"}) as running:
        yield running


def test_the_text_has_a_line_for_each_gpu_with_people_and_programs(page: Page, demo: RunningBoard) -> None:
    """By key and by address; one question brings the programs of all."""
    _, gpu = computing(demo)
    process = gpu["reading"]["processes"][0]
    page.goto(demo.url)
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()
    page.keyboard.press("4")
    expect(page).to_have_url(re.compile(r"view=text"))
    expect(page.locator(LINES)).to_have_count(96)
    line = page.locator(f".line[data-uuid='{gpu['uuid']}']")
    expect(line).to_contain_text(process["user"])
    expect(line).to_contain_text(process["program"])
    keep(page, "text")


def test_the_text_can_be_taken_along(page: Page, demo: RunningBoard) -> None:
    """All lines at once, or what one selects, as it stands there."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{demo.url}?view=text&q=node:dgx-01")
    expect(page.locator(LINES)).to_have_count(8)
    page.get_by_role("button", name="Copy all lines").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(lines) == 9
    assert re.match(r"dgx-01  8 . H100", lines[0])
    assert re.match(r"\[0\] H100 80 GB +\w+ +\d+ % ", lines[1])
    page.locator(LINES).first.select_text()
    assert page.evaluate("getSelection().toString()").startswith("[0] H100 80 GB")


def test_the_text_fits_a_phone_and_keeps_its_lines_whole(browser: Browser, demo: RunningBoard) -> None:
    """It scrolls in its own box."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}?view=text")
        expect(page.locator(LINES).first).to_be_visible()
        assert_fits(page)
        keep(page, "text-phone")


def test_on_a_phone_the_text_shows_who_is_on_a_gpu(browser: Browser, demo: RunningBoard) -> None:
    """Behind model and figures nobody saw them."""
    with visit(browser, demo.url, size=PHONE) as page:
        _, gpu = computing(demo)
        page.goto(f"{demo.url}?view=text")
        line = page.locator(f".line[data-uuid='{gpu['uuid']}'] span")
        user = gpu["reading"]["processes"][0]["user"]
        expect(line).to_contain_text(user)
        end = line.evaluate(ENDS, user)
        assert end < PHONE[0] - 20
        keep(page, "text-phone-who")


def test_a_viewer_in_another_zone_is_told_so(browser: Browser, berlin: RunningBoard) -> None:
    """Which zone the times are in, and what the board's clock shows."""
    with visit(browser, berlin.url, zone="Asia/Tokyo") as page:
        page.goto(berlin.url)
        foot = page.get_by_role("contentinfo")
        expect(foot).to_contain_text("Times in Asia/Tokyo.")
        expect(foot).to_contain_text(
            re.compile(r"The board is in Europe/Berlin, where it is \w{3},? \d\d:\d\d")
        )
        page.get_by_role("button", name="More", exact=True).click()
        expect(page.get_by_role("dialog").get_by_text("Times in Asia/Tokyo")).to_be_visible()


def test_who_shares_the_zone_of_the_board_hears_nothing_of_it(browser: Browser, berlin: RunningBoard) -> None:
    """Paris has the time of Berlin."""
    with visit(browser, berlin.url, zone="Europe/Paris") as page:
        page.goto(berlin.url)
        foot = page.get_by_role("contentinfo")
        expect(foot).to_contain_text("Times in Europe/Paris.")
        expect(foot).not_to_contain_text("Berlin")


def test_a_thumb_finds_every_tab_and_no_wall(browser: Browser, demo: RunningBoard) -> None:
    """44 pixels at least, each; people are one of them."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(demo.url)
        tabs = page.get_by_role("navigation", name="Pages").locator("a:visible, button:visible")
        expect(tabs).to_have_text(["Board", "Bookings", "People", "More"])
        for tab in tabs.all():
            box = tab.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44
        tabs.last.click()
        menu = page.get_by_role("dialog", name="More")
        expect(menu.get_by_role("button", name="Keys, words and verdicts")).to_be_visible()
        expect(menu.get_by_text("Wall display")).to_have_count(0)
        keep(page, "phone-more")
        for control in menu.locator("button, select").all():
            box = control.bounding_box()
            assert box is not None
            assert box["height"] >= 44
