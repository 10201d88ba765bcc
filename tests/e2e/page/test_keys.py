"""Keys on the page: what is typed goes where it was meant, and Escape leads back to where one was."""

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.board import RunningBoard
from tests.browser import PHONE, Size, keep, visit

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


@pytest.mark.parametrize("view", ["rows", "map", "text"])
@pytest.mark.parametrize("size", [(1440, 900), PHONE], ids=["desk", "phone"])
def test_who_names_one_node_is_led_to_it(browser: Browser, demo: RunningBoard, size: Size, view: str) -> None:
    """By Enter and Enter again, or one tap."""
    with visit(browser, demo.url, size=size) as page:
        page.goto(f"{demo.url}?view={view}")
        expect(page.locator("[data-results]")).to_have_count(1)
        page.keyboard.type("/dgx-03")
        link = page.locator("[data-results]").get_by_role("link", name="dgx-03")
        expect(link).to_be_visible()
        page.keyboard.press("Enter")
        expect(link).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="dgx-03", level=1)).to_be_visible()


def test_whom_nobody_named_is_no_node_to_be_led_to(page: Page, demo: RunningBoard) -> None:
    """One node may be left by chance: Enter leads to its GPUs."""
    open_rows(page, demo)
    page.keyboard.type("/broken")
    expect(page.locator("[data-results]")).to_contain_text("1 of 96 GPUs")
    expect(page.locator("[data-results] a")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator(CELLS).first).to_be_focused()


def test_a_menu_that_a_key_opened_is_used_with_keys(page: Page, demo: RunningBoard) -> None:
    """Enter leads into it, arrows through it, Escape back to where one was."""
    open_rows(page, demo)
    copy = page.get_by_role("button", name=re.compile("^Copy")).first
    copy.focus()
    page.keyboard.press("Enter")
    forms = page.get_by_role("dialog").get_by_role("button")
    expect(forms.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(forms.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(forms.last).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(copy).to_be_focused()


def test_a_menu_that_a_pointer_opened_leaves_the_focus_where_it_is(page: Page, demo: RunningBoard) -> None:
    """No mark appears around what nobody has chosen."""
    open_rows(page, demo)
    copy = page.get_by_role("button", name=re.compile("^Copy")).first
    copy.click()
    expect(page.get_by_role("dialog").get_by_role("button").first).to_be_visible()
    expect(copy).to_be_focused()


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


@pytest.mark.parametrize("start", ["body", "cell", "filter"])
def test_what_is_typed_before_the_list_of_places_has_come_is_its_query(
    page: Page, demo: RunningBoard, start: str
) -> None:
    """In its order, wherever the focus was; no letter of it is a key of the page."""
    held: list[Route] = []
    page.route(re.compile("Palette"), lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    open_rows(page, demo)
    if start != "body":
        page.locator("#filter" if start == "filter" else CELLS).first.focus()
    before = page.url
    page.keyboard.press("Control+k")
    page.keyboard.type("t2jx")
    page.keyboard.press("Backspace")
    page.keyboard.type("1")
    assert not page.get_by_role("dialog").count()
    for route in held:
        route.continue_()
    field = page.get_by_role("dialog").get_by_role("combobox")
    expect(field).to_have_value("t2j1")
    expect(field).to_be_focused()
    page.keyboard.type("9")
    expect(field).to_have_value("t2j19")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url == before
    assert page.locator("#filter").input_value() == ""
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_enter_before_the_list_of_places_has_come_leads_to_the_first(page: Page, demo: RunningBoard) -> None:
    """Whoever knows the name waits for nothing."""
    held: list[Route] = []
    page.route(re.compile("Palette"), lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    open_rows(page, demo)
    page.keyboard.press("Control+k")
    page.keyboard.type("vision-02")
    page.keyboard.press("Enter")
    for route in held:
        route.continue_()
    expect(page).to_have_url(re.compile("/nodes/vision-02"))


def test_keys_are_the_pages_own_again_if_the_list_of_places_never_comes(
    browser: Browser, demo: RunningBoard
) -> None:
    """Nothing waits for what the board could not send."""
    with visit(browser, demo.url, allow="Failed to load") as page:
        page.route(re.compile("Palette"), lambda route: route.abort())
        open_rows(page, demo)
        page.keyboard.press("Control+k")
        expect(page.get_by_role("alert")).to_be_visible()
        page.keyboard.press("/")
        expect(page.locator("#filter")).to_be_focused()


@pytest.mark.parametrize("view", ["rows", "cards"])
@pytest.mark.parametrize(
    ("word", "said"), [("free", r"^Copied\. .+ GPU \d+$"), ("busy", r"^Nothing copied\. .+ GPU \d+: busy$")]
)
def test_y_is_about_the_cell_that_has_the_focus(
    browser: Browser, demo: RunningBoard, view: str, word: str, said: str
) -> None:
    """At once, before anything opens beside it."""
    with visit(browser, demo.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        uuid = first_of(demo, word)
        page.goto(f"{demo.url}?view={view}&q=uuid%3A{uuid}")
        place = page.locator(f"main [data-uuid='{uuid}']")
        place.locator("a").or_(place.and_(page.locator(".cell"))).first.focus()
        page.evaluate("navigator.clipboard.writeText('as before')")
        page.keyboard.press("y")
        expect(page.get_by_text(re.compile(said))).to_be_visible()
        assert (uuid in page.evaluate("navigator.clipboard.readText()")) == (word == "free")


def test_the_detail_of_a_broken_gpu_says_what_to_do(page: Page, demo: RunningBoard) -> None:
    """As the page of its node does."""
    nodes = httpx.get(f"{demo.url}api/v1/fleet").json()["nodes"]
    uuid = first_of(demo, "broken")
    remedies = [each["remedy"] for node in nodes for each in node["problems"] if each["gpu_uuid"] == uuid]
    assert remedies
    page.goto(f"{demo.url}?view=rows&gpu={uuid}")
    expect(page.get_by_role("dialog")).to_contain_text(remedies[0])
    keep(page, "detail-broken")


@pytest.mark.parametrize("place", ["?view=rows&gpu=", "gpus/"], ids=["detail", "page"])
def test_nothing_of_a_stale_gpu_is_now(page: Page, demo: RunningBoard, place: str) -> None:
    """Its figures are the last known ones, of a known age."""
    page.goto(f"{demo.url}{place}{first_of(demo, 'stale')}")
    use = page.locator("dl").filter(has_text="Temperature").locator("div").first
    expect(use).to_contain_text(re.compile(r"last known · \d+ "))
    expect(use).not_to_contain_text(re.compile(r"\bnow\b"))
    keep(page, "detail-stale")
