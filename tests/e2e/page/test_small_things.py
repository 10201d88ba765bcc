"""Small things that people stumbled over: each was otherwise once."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, computing, free_port, running_board
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit
from tests.e2e.page.people import apart

pytestmark = pytest.mark.xdist_group("browser")
GONE = "ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|FAILED|CONTENT_LENGTH)|WebSocket connection"
AWAY = "it comes when the board is back"
BACK_MS = 40_000
# Whether all of an element is on the screen.
ON_SCREEN = """(element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
}"""
# What of the page would be on paper and can only be pressed on a screen.
PRESSED = """() => [...document.querySelectorAll(
    'main select, main input, main .menu button, main [role=group]:not(.chips) button, #app > header button')]
  .filter((each) => each.checkVisibility()).map((each) => each.outerHTML.slice(0, 80))"""

# The choices of "I need" whose words are cut: as wide as each would be with what it shows alone.
CUT = """() => [...document.querySelectorAll('.choices select')].filter((select) => {
  const alone = select.cloneNode(true);
  alone.replaceChildren(select.selectedOptions[0].cloneNode(true));
  alone.style.cssText = 'width: auto; flex: none; position: absolute; min-width: 0';
  select.parentElement.append(alone);
  const needed = alone.offsetWidth;
  alone.remove();
  return select.offsetWidth < needed;
}).map((select) => select.selectedOptions[0].text)"""


def rows(page: Page, url: str) -> None:
    """The board in rows, with its first GPU."""
    page.goto(f"{url}?view=rows")
    page.wait_for_selector(".cell[data-uuid]")


def test_keys_and_cells_say_why_they_do_nothing_when_the_board_dies_at_once(
    browser: Browser, tmp_path: Path
) -> None:
    """What acts on them had not come yet: that is said where one sees it, and they work when it is back."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    late = re.compile(r"/assets/(gridKeys|shortcuts|Detail)-")
    with visit(browser, url, allow=GONE) as page:
        page.route(late, lambda route: route.abort())
        with running_board("--demo", "4", log=tmp_path / "log", port=port) as board:
            rows(page, url)
            board.process.kill()
            board.process.wait()
        expect(page.locator("html[data-old]")).to_have_count(1)
        page.locator(".cell[data-uuid]").first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".told")).to_contain_text(AWAY)
        page.locator(".cell[data-uuid]").first.click()
        alert = page.get_by_role("alert").filter(has_text=AWAY)
        expect(alert).to_be_visible()
        assert alert.evaluate(ON_SCREEN)
        keep(page, "away-at-once")
        page.unroute(late)
        with running_board("--demo", "4", log=tmp_path / "log", port=port):
            expect(page.get_by_role("dialog")).to_be_visible(timeout=BACK_MS)
            page.keyboard.press("Escape")
            page.locator(".cell[data-uuid]").first.focus()
            page.keyboard.press("ArrowRight")
            expect(page.locator(".cell[data-uuid]").nth(1)).to_be_focused()


def test_the_detail_of_a_gpu_at_the_right_leaves_the_answer_to_be_seen(
    browser: Browser, demo: RunningBoard
) -> None:
    """It is docked at the left then, where the big number stands."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        rows(page, demo.url)
        lowest = page.locator("[role=row] .cells > :last-child").last
        lowest.click()
        detail = page.get_by_role("dialog")
        expect(detail).to_be_visible()
        answer, panel = page.locator("section:has(#answer)").bounding_box(), detail.bounding_box()
        assert answer is not None
        assert panel is not None
        assert panel["x"] < DESKTOP[0] / 2
        assert panel["y"] >= answer["y"] + answer["height"]
        assert detail.evaluate(ON_SCREEN)
        keep(page, "detail-left")


def test_too_few_are_told_as_so_many_of_those_that_are_needed(browser: Browser, demo: RunningBoard) -> None:
    """And of a node that has too few alone, beside its GPUs."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        page.goto(f"{demo.url}?q=free>=64&view=rows")
        expect(page.get_by_text(re.compile(r"Not enough for this right now: \d+ of 64\."))).to_be_visible()
        # All that are free, on whatever nodes they are at this hour.
        free = apart(httpx.get, f"{demo.url}api/v1/free").json()["free"]
        page.goto(f"{demo.url}?need={free}&view=rows")
        expect(page.locator(".what em").first).to_have_text(re.compile(rf"^\d+ of {free}$"))


def test_a_phone_says_how_many_causes_of_trouble_there_are(browser: Browser, demo: RunningBoard) -> None:
    """One is shown; the others are counted beside it."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(demo.url)
        line = page.locator("section:has(#attention)")
        expect(line.locator("li")).to_have_count(1)
        expect(line.locator("small").first).to_have_text(re.compile(r"^\+\d+ causes?$"))
        assert_fits(page)


def test_the_menu_of_copies_of_a_phone_is_on_its_screen(browser: Browser, demo: RunningBoard) -> None:
    """It is over the tabs, and covers none of the numbers that it is about."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(demo.url)
        page.get_by_role("button", name=re.compile("^I need")).click()
        offer = page.get_by_role("region", name="I need").get_by_role("listitem").first
        offer.get_by_role("button", name=re.compile("^Copy")).click()
        sheet = offer.get_by_role("dialog")
        expect(sheet.get_by_role("listitem").first).to_be_visible()
        keep(page, "copy-phone")
        assert sheet.evaluate(ON_SCREEN)
        chips, menu = offer.locator(".chips").bounding_box(), sheet.bounding_box()
        assert chips is not None
        assert menu is not None
        assert chips["y"] + chips["height"] <= menu["y"]


# Whether something lies over the lower edge of a sheet, wherever it is scrolled to.
EDGE = """(sheet) => {
  const { position, backgroundImage } = getComputedStyle(sheet, '::after');
  return position === 'sticky' && backgroundImage.includes('gradient');
}"""


def test_a_menu_that_is_longer_than_a_phone_scrolls_and_shows_it(
    browser: Browser, demo: RunningBoard
) -> None:
    """All forms of a copy of four GPUs can be reached; what is cut off fades at the edge."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}?q=free>=4")
        offer = page.get_by_role("region", name="I need").get_by_role("listitem").first
        offer.get_by_role("button", name=re.compile("^Copy")).click()
        sheet = offer.get_by_role("dialog")
        last = sheet.get_by_role("listitem").last
        expect(last).to_be_visible()
        assert sheet.evaluate("(sheet) => sheet.scrollHeight > sheet.clientHeight")
        assert sheet.evaluate(EDGE)
        assert sheet.evaluate(ON_SCREEN)
        last.scroll_into_view_if_needed()
        expect(last).to_be_in_viewport(ratio=1)


def test_processes_are_read_on_a_phone_without_scrolling_sideways(
    browser: Browser, demo: RunningBoard
) -> None:
    """Neither the page nor their table: each has two lines, and says which figure is what."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}nodes/dgx-01")
        table = page.get_by_role("table", name="Processes")
        expect(table.get_by_role("row").nth(1)).to_be_visible()
        table.scroll_into_view_if_needed()
        keep(page, "processes-phone")
        assert_fits(page)
        assert table.evaluate("(each) => each.parentElement.scrollWidth <= each.parentElement.clientWidth")


def test_a_button_clears_the_filter(browser: Browser, demo: RunningBoard) -> None:
    """The field keeps the focus for what is typed next."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        page.goto(f"{demo.url}?q=dgx&view=rows")
        page.get_by_role("button", name="Clear the filter").click()
        expect(page.locator("#filter")).to_have_value("")
        expect(page.locator("#filter")).to_be_focused()
        expect(page.get_by_role("button", name="Clear the filter")).to_have_count(0)


def test_a_key_and_a_name_without_a_colon_are_understood(browser: Browser, demo: RunningBoard) -> None:
    """`user weber` finds nothing by itself."""
    name = computing(demo)[1]["users"][0]["name"]
    with visit(browser, demo.url, size=DESKTOP) as page:
        page.goto(f"{demo.url}?q=user {name}&view=rows")
        page.get_by_role("button", name=re.compile(f"^user:{name}")).click()
        expect(page.locator("#filter")).to_have_value(f"user:{name}")
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()


def test_models_are_counted_by_what_is_asked_for(browser: Browser, demo: RunningBoard) -> None:
    """Whoever needs 80 GB is not offered cards of 24."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        rows(page, demo.url)
        models = page.get_by_role("combobox", name="Model").locator("option", has_text="4090")
        chips = page.locator("section:has(#answer) li", has_text="4090")
        expect(models).to_have_count(1)
        page.locator("#filter").fill("memory>=80G")
        expect(models).to_have_count(0)
        expect(chips).to_have_count(0)


def test_the_host_of_booked_gpus_says_its_load_too(browser: Browser, demo: RunningBoard) -> None:
    """A booking is no news of the machine."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        rows(page, demo.url)
        note = page.locator(".note:has(.claim)").first
        expect(note).to_contain_text(re.compile("load .*booked", re.DOTALL))


@pytest.mark.parametrize("path", ["?view=rows", "?view=text", "people"])
def test_paper_has_headings_and_nothing_to_press(browser: Browser, demo: RunningBoard, path: str) -> None:
    """People lost their heading there, and the board had choices that nobody can make on paper."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        page.goto(f"{demo.url}{path}")
        page.wait_for_selector(".cell[data-uuid], .line[data-uuid], tbody tr")
        page.emulate_media(media="print")
        keep(page, f"print-{path.strip('?').replace('=', '-')}")
        assert page.evaluate(PRESSED) == []
        if path == "people":
            expect(page.get_by_role("heading", name="People", level=1)).to_be_visible()


def test_small_print_on_a_wall_grows_with_the_screen(browser: Browser, demo: RunningBoard) -> None:
    """The ribbon of the demo, and the mark on cells."""
    with visit(browser, demo.url, size=(3840, 2160)) as page:
        page.goto(f"{demo.url}?wall=1")
        page.wait_for_selector(".cell[data-uuid]")
        # The demo has something that is not as it should be now and then only.
        page.locator(".cell[data-uuid]").first.evaluate("(each) => each.classList.add('flagged')")
        size = "(each, pseudo) => parseFloat(getComputedStyle(each, pseudo).fontSize)"
        assert page.locator(".demo").evaluate(size) >= 30
        assert page.locator(".cell.flagged").first.evaluate(size, "::after") >= 20
        keep(page, "wall-4k")


def test_old_data_offers_nothing_to_copy(browser: Browser, tmp_path: Path) -> None:
    """Not even the UUID of a GPU that may be gone looks as if it were there."""
    with (
        running_board("--demo", "4", log=tmp_path / "log") as board,
        visit(browser, board.url, allow=GONE) as page,
    ):
        rows(page, board.url)
        page.locator(".cell[data-uuid]").first.click()
        button = page.get_by_role("dialog").get_by_role("button", name="Copy UUID")
        expect(button).to_be_enabled()
        board.process.kill()
        board.process.wait()
        expect(button).to_be_disabled()


def test_who_is_on_the_boards_machine_is_not_sent_there(browser: Browser, tmp_path: Path) -> None:
    """Its settings hide the names from everybody."""
    with (
        running_board("--demo", "4", "--anonymous", "counts", log=tmp_path / "log") as board,
        visit(browser, board.url) as page,
    ):
        page.goto(f"{board.url}people")
        panel = page.get_by_role("main")
        expect(panel).to_contain_text('set anonymous = "names" in the settings of this board')
        expect(panel).not_to_contain_text("ask its administrator")


@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])
@pytest.mark.parametrize("size", [(1280, 720), PHONE], ids=["laptop", "phone"])
def test_the_choices_of_a_need_are_whole_words_in_every_language(
    browser: Browser, demo: RunningBoard, size: Size, locale: str
) -> None:
    """German and French are longer than English."""
    with visit(browser, demo.url, size=size, locale=locale) as page:
        page.goto(f"{demo.url}?need=4&view=rows")
        page.wait_for_selector(".cell[data-uuid]")
        expect(page.locator(".choices select")).to_have_count(2)
        assert page.evaluate(CUT) == []


def test_a_command_for_several_says_for_how_many(browser: Browser, demo: RunningBoard) -> None:
    """Not "Copy command 8"."""
    with visit(browser, demo.url, size=DESKTOP) as page:
        page.goto(f"{demo.url}nodes/nlp-02")
        free = page.locator("header .free").inner_text()
        count = re.sub(r"\D", "", free)
        expect(page.get_by_role("button", name=f"Copy command for {count} GPUs", exact=True)).to_be_visible()
