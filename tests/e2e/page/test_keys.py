"""Keys on the page: what is typed goes where it was meant, and Escape leads back to where one was."""

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.board import RunningBoard
from tests.browser import Size, keep, visit

CELLS = ".cell[data-uuid]"


def open_rows(page: Page, board: RunningBoard, query: str = "") -> None:
    """The board with its GPUs."""
    page.goto(f"{board.url}?view=rows{query}")
    expect(page.locator(CELLS).first).to_be_visible()


@pytest.mark.parametrize("size", [(1440, 900), (640, 844)], ids=["desk", "narrow"])
@pytest.mark.parametrize("typed", ["temp", "-roy"])
def test_a_slash_takes_the_first_letter_too(
    browser: Browser, demo: RunningBoard, size: Size, typed: str
) -> None:
    """However long the rest of the page's keys takes to come."""
    late: list[Route] = []
    with visit(browser, demo.url, size=size) as page:
        page.route(re.compile("shortcuts"), lambda route: late.append(route))  # noqa: PLW0108
        open_rows(page, demo)
        page.keyboard.type(f"/{typed}")
        expect(page.locator("#filter")).to_have_value(typed)
        for route in late:
            route.continue_()
        expect(page.locator("#filter")).to_be_focused()
        assert page.evaluate("document.documentElement.dataset.theme") is None


def first_of(board: RunningBoard, word: str) -> str:
    """The UUID of a GPU with this verdict."""
    nodes = httpx.get(f"{board.url}api/v1/fleet").json()["nodes"]
    gpus = (gpu for node in nodes for gpu in node["gpus"] if gpu["verdict"]["word"] == word)
    return str(next(gpus)["reading"]["uuid"])


@pytest.mark.parametrize("word", ["booked", "busy", "stale"])
@pytest.mark.parametrize("place", ["?view=rows&gpu=", "gpus/"], ids=["detail", "page"])
def test_y_copies_nothing_that_is_not_offered(
    browser: Browser, demo: RunningBoard, word: str, place: str
) -> None:
    """And says in a line why."""
    with visit(browser, demo.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{demo.url}{place}{first_of(demo, word)}")
        expect(page.get_by_role("button", name="Copy UUID")).to_be_visible()
        page.evaluate("navigator.clipboard.writeText('as before')")
        page.keyboard.press("y")
        expect(page.get_by_text(re.compile(rf"^Nothing copied\. .+ GPU \d+: {word}$"))).to_be_visible()
        keep(page, f"y-{word}")
        assert page.evaluate("navigator.clipboard.readText()") == "as before"


@pytest.mark.parametrize("place", ["?view=rows&gpu=", "gpus/"], ids=["detail", "page"])
def test_y_copies_what_is_free(browser: Browser, demo: RunningBoard, place: str) -> None:
    """In the detail and on the page of a GPU."""
    with visit(browser, demo.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        uuid = first_of(demo, "free")
        page.goto(f"{demo.url}{place}{uuid}")
        expect(page.get_by_role("button", name="Copy command")).to_be_visible()
        page.keyboard.press("y")
        expect(page.get_by_text(re.compile(r"^Copied\. .+ GPU \d+$"))).to_be_visible()
        assert uuid in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("ways", [["gpus/"], ["nodes/"], ["gpus/", "nodes/"]], ids="-".join)
def test_escape_leads_back_to_the_board_as_it_was(page: Page, demo: RunningBoard, ways: list[str]) -> None:
    """With its filter, view and grouping; however far one went, and after a reload."""
    page.goto(f"{demo.url}?view=cards&q=model%3Aa100&group=model")
    for way in ways:
        page.locator(f"main a[href*='{way}']").first.click()
        expect(page).to_have_url(re.compile(way))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{demo.url}?view=cards&q=model%3Aa100&group=model")


@pytest.mark.parametrize("view", ["cards", "rows", "map"])
def test_a_key_leads_from_the_filter_to_the_first_result(page: Page, demo: RunningBoard, view: str) -> None:
    """Nobody has to walk there with Tab."""
    page.goto(f"{demo.url}?view={view}")
    expect(page.get_by_role("status").first).to_be_attached()
    page.keyboard.type("/model:a100")
    # At once, while the results are yet to be drawn.
    page.keyboard.press("Enter")
    found = page.locator("main article a, main .cell, main .keys").and_(page.locator(":focus"))
    expect(found).to_have_count(1)
    expect(page.locator("#filter")).to_have_value("model:a100")


@pytest.mark.parametrize(("view", "part"), [("cards", "GpuCards"), ("map", "FleetMap")])
def test_a_key_that_is_faster_than_the_results_leads_to_them_all_the_same(
    page: Page, demo: RunningBoard, view: str, part: str
) -> None:
    """Cards and map are fetched when they are first wanted, over whatever network."""
    held: list[Route] = []
    page.route(re.compile(part), lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    page.goto(f"{demo.url}?view={view}")
    expect(page.get_by_role("status").first).to_be_attached()
    page.keyboard.type("/model:a100")
    page.keyboard.press("Enter")
    expect(page.locator("#filter")).to_be_focused()
    for route in held:
        route.continue_()
    found = page.locator("main article a, main .keys").and_(page.locator(":focus"))
    expect(found).to_have_count(1)


def test_a_key_that_leads_away_asks_nothing_of_the_page_that_was_left(page: Page, demo: RunningBoard) -> None:
    """What keys do in the rows is fetched with the first of them; the page hears of no mistake."""
    held: list[Route] = []
    page.route(re.compile("gridKeys"), lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    page.goto(f"{demo.url}?view=rows")
    link = page.get_by_role("grid").get_by_role("link").first
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/nodes/"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
