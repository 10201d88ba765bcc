"""The board page in a real browser: the answer first, then every GPU, found by mouse and by keys."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard
from tests.browser import DESKTOP, PHONE, Size, Theme, assert_fits, keep, visit
from tests.pushing import wait_until

CELLS = ".cell[data-uuid]"
SHOWN = re.compile(r"^\d+ of 96 GPUs$")
Gpu = dict[str, Any]


def gpus_of(board: RunningBoard) -> list[Gpu]:
    """All GPUs as the API tells them."""
    nodes = httpx.get(f"{board.url}api/v1/fleet").json()["nodes"]
    return [gpu for node in nodes for gpu in node["gpus"]]


def is_free(gpu: Gpu) -> bool:
    """The verdict's word."""
    return bool(gpu["verdict"]["word"] == "free")


def is_large(gpu: Gpu) -> bool:
    """A card with forty gigabytes on its box, of which the driver keeps some."""
    total = gpu["reading"]["memory_total_bytes"]
    return total is not None and total >= 0.92 * 40 * 2**30


def is_held_by(user: str) -> Callable[[Gpu], bool]:
    """Whether somebody is there now, or has booked it; who is on a silent node nobody can tell."""
    return lambda gpu: (
        user == (gpu["claim"] or {}).get("who")
        or (
            gpu["verdict"]["word"] != "stale"
            and user in {each["user"] for each in gpu["reading"]["processes"] or ()}
        )
    )


def expect_shown(page: Page, board: RunningBoard, wish: Callable[[Gpu], bool]) -> None:
    """The page says that it shows as many GPUs as the API has of this kind."""
    shown = page.get_by_text(SHOWN)
    expect(shown).to_be_visible()
    wait_until(lambda: shown.inner_text().split()[0] == str(sum(map(wish, gpus_of(board)))))


def open_board(page: Page, board: RunningBoard, query: str = "") -> None:
    """Open the board and wait for its GPUs."""
    page.goto(f"{board.url}{query}")
    expect(page.locator(f"{CELLS}, article[data-uuid], canvas").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_answers_which_gpu_is_free(
    browser: Browser, demo: RunningBoard, size: Size, theme: Theme
) -> None:
    """Its free count is that of the API, in both themes, at the desk and on a phone."""
    with visit(browser, demo.url, size=size, theme=theme) as page:
        open_board(page, demo)
        answer = page.locator(".answer")
        expect(answer).to_contain_text("of 96 GPUs")
        wait_until(lambda: int(answer.locator("strong").inner_text()) == sum(map(is_free, gpus_of(demo))))
        wait_until(lambda: page.title().startswith(f"{sum(map(is_free, gpus_of(demo)))} free"))
        assert_fits(page)
        keep(page, f"board-{'phone' if size == PHONE else 'desktop'}-{theme}")


def test_the_filter_finds_what_the_api_has(page: Page, demo: RunningBoard) -> None:
    """Free ones, those of one person, large ones: as many as the data says."""
    open_board(page, demo)
    user = httpx.get(f"{demo.url}api/v1/people").json()["people"][0]["user"]
    wishes = {"free": is_free, f"user:{user}": is_held_by(user), "memory>=40G": is_large}
    for words, wish in wishes.items():
        page.locator("#filter").fill(words)
        expect_shown(page, demo, wish)
        keep(page, f"filter-{words.split(':')[0].split('>')[0]}")


def test_a_filter_that_cannot_be_read_keeps_the_last_result(page: Page, demo: RunningBoard) -> None:
    """Half a word empties nothing; the field says what it does not understand."""
    open_board(page, demo, "?q=free")
    page.locator("#filter").fill("free memory>=lots")
    expect(page.locator("#filter-error")).to_be_visible()
    expect_shown(page, demo, is_free)
    keep(page, "filter-error")


def test_nothing_matching_offers_the_way_out(page: Page, demo: RunningBoard) -> None:
    """A term can be dropped with one press."""
    open_board(page, demo)
    page.locator("#filter").fill("node:nowhere")
    expect(page.get_by_text("No GPU matches")).to_be_visible()
    keep(page, "no-match")
    page.get_by_role("button", name="node:nowhere \N{MULTIPLICATION SIGN}", exact=True).click()
    expect(page.locator("[data-uuid]").first).to_be_visible()


def test_a_chip_filters_and_the_address_remembers(page: Page, demo: RunningBoard) -> None:
    """Pressed, reloaded, pressed again."""
    open_board(page, demo)
    chip = page.get_by_role("list", name="Verdicts").get_by_role("button", name=re.compile("idle"))
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"q=idle"))
    page.reload()
    expect(page.locator("#filter")).to_have_value("idle")
    expect(chip).to_have_attribute("aria-pressed", "true")
    chip.click()
    expect(page.locator("#filter")).to_have_value("")


def test_three_densities_that_a_link_carries(page: Page, demo: RunningBoard) -> None:
    """Cards, rows, map; a reload and the next visit show the same."""
    open_board(page, demo)
    for name, seen in (("Cards", "article[data-uuid]"), ("Map", "canvas"), ("Rows", CELLS)):
        page.get_by_role("group", name="View").get_by_role("button", name=name).click()
        expect(page.locator(seen).first).to_be_visible()
        expect(page).to_have_url(re.compile(f"view={name.lower()}"))
        page.reload()
        expect(page.locator(seen).first).to_be_visible()
        assert_fits(page)
        keep(page, f"density-{name.lower()}")


def test_everything_can_be_done_with_keys(page: Page, demo: RunningBoard) -> None:
    """Find, leave, move, look, open, come back."""
    open_board(page, demo)
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("free")
    expect(page).to_have_url(re.compile(r"q=free"))
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).not_to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    keep(page, "help")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_arrows_move_between_gpus_and_enter_opens_one(page: Page, demo: RunningBoard) -> None:
    """The table is one stop of the Tab key; Enter opens the detail, and then the page; Escape leads back."""
    open_board(page, demo, "?view=rows&sort=name")
    page.locator(f"{CELLS}[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.dataset.uuid")

    def moves() -> bool:
        page.keyboard.press("ArrowRight")
        return page.evaluate("document.activeElement.dataset.uuid") not in (None, first)

    # The keys arrive with the first focus.
    wait_until(moves)
    right = page.evaluate("document.activeElement.dataset.uuid")
    page.keyboard.press("ArrowDown")
    wait_until(lambda: page.evaluate("document.activeElement.dataset.uuid") not in (None, right))
    chosen = page.evaluate("document.activeElement.dataset.uuid")
    expect(page.get_by_role("tooltip")).to_be_visible()
    keep(page, "hover-detail")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/gpus/{chosen}"))
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(rf"^{re.escape(demo.url)}(\?.*)?$"))


def test_the_first_arrow_leads_to_the_gpus_and_escape_back_to_the_same(
    page: Page, demo: RunningBoard
) -> None:
    """Nobody has to find the first cell with Tab."""
    open_board(page, demo, "?view=rows&sort=name")
    page.keyboard.press("ArrowDown")
    wait_until(lambda: page.evaluate("document.activeElement.dataset.uuid") is not None)
    first = page.evaluate("document.activeElement.dataset.uuid")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/gpus/GPU-"))
    page.keyboard.press("Escape")
    wait_until(lambda: page.evaluate("document.activeElement.dataset.uuid") == first)


def test_on_a_phone_the_header_keeps_to_one_line(browser: Browser, demo: RunningBoard) -> None:
    """In the language with the longest words, too."""
    with visit(browser, demo.url, size=PHONE, locale="fr-FR") as page:
        open_board(page, demo)
        expect(page.get_by_text("En direct").first).to_be_visible()
        page.evaluate("document.querySelector('.brand').textContent = 'A very long title of a board of GPUs'")
        assert page.evaluate("document.querySelector('header').offsetHeight") < 70
        assert_fits(page)
        keep(page, "header-phone-fr")


def test_a_press_on_a_gpu_keeps_its_detail_open(page: Page, demo: RunningBoard) -> None:
    """Processes with their pids; Escape closes it."""
    open_board(page, demo, "?view=rows&q=busy")
    page.locator(CELLS).first.click()
    detail = page.get_by_role("dialog")
    expect(detail).to_be_visible()
    expect(detail.get_by_role("columnheader", name="PID")).to_be_visible()
    keep(page, "detail")
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)


def test_on_a_phone_a_tap_opens_the_detail_as_a_sheet(browser: Browser, demo: RunningBoard) -> None:
    """It fits, and covers no more than the lower part."""
    with visit(browser, demo.url, size=PHONE) as page:
        open_board(page, demo)
        page.locator(CELLS).first.tap()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert_fits(page)
        keep(page, "detail-phone")


def test_the_name_is_never_what_is_cut(page: Page, demo: RunningBoard) -> None:
    """Whose an idle or booked GPU is matters more than for how long."""
    open_board(page, demo, "?view=rows")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.cell:is(.fill-idle, .fill-booked) u')]
          .map((name) => [name.textContent, name.scrollWidth > name.clientWidth])"""
    )
    assert cut
    assert [name for name, is_cut in cut if is_cut] == []


# Gives every holder a long name, and tells which cells then lack their word, their end or the name.
LACKING = """() => [...document.querySelectorAll('.cell')].flatMap((cell) => {
  const [main, side, time] = [cell.querySelector('b'), cell.querySelector('u'), cell.querySelector('em')];
  const held = !cell.matches('.fill-free, .fill-stale');
  if (held) side.textContent = 'a-very-long-name-of-a-person';
  const room = cell.getBoundingClientRect();
  const inside = ({ left, right, top, bottom, width }, least) => width >= least &&
    left >= room.left && right <= room.right + 1 && top >= room.top - 1 && bottom <= room.bottom + 1;
  const word = document.createRange();
  word.setStart(main.firstChild, 0);
  word.setEnd(main.firstChild, main.firstChild.textContent.trimEnd().length);
  const arrow = getComputedStyle(main, '::before').content.startsWith('"→');
  const ends = !cell.matches('.fill-booked') || inside(time.getBoundingClientRect(), 10);
  const named = !held || inside(side.getBoundingClientRect(), 20);
  return (arrow || inside(word.getBoundingClientRect(), 5)) && ends && named ? [] : [cell.ariaLabel];
})"""


@pytest.mark.parametrize("width", [1440, 1190])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])
def test_a_long_name_takes_no_verdict_away(
    browser: Browser, demo: RunningBoard, locale: str, width: int
) -> None:
    """The word stays, and so does the end of a booking; whatever is too long is the name."""
    with visit(browser, demo.url, size=(width, 900), locale=locale) as page:
        open_board(page, demo, "?view=rows")
        expect(page.locator(".cell.fill-booked").first).to_be_visible()
        assert page.evaluate(LACKING) == []
        keep(page, f"cells-{width}-{locale}")


def test_the_end_of_a_booking_reads_as_an_end(page: Page, demo: RunningBoard) -> None:
    """In the cell, its label, its detail, the card and on the page of the GPU."""
    open_board(page, demo, "?view=rows&q=booked")
    cell = page.locator(".cell.fill-booked").first
    expect(cell).to_contain_text("until")
    expect(cell).to_have_attribute("aria-label", re.compile(r"booked, until \w"))
    cell.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("until")
    open_board(page, demo, "?view=cards&q=booked")
    expect(page.locator("article header").first).to_contain_text("until")
    page.locator("article header a").first.click()
    expect(page.get_by_role("heading", name="All fields")).to_be_visible()
    expect(page.locator("main header").first).to_contain_text("until")


def test_the_legend_shows_no_figure(page: Page, demo: RunningBoard) -> None:
    """A number there would be taken for a live one."""
    open_board(page, demo, "?view=rows")
    legend = page.locator(".legend")
    expect(legend).to_contain_text("Use %")
    assert not re.search(r"\d", legend.inner_text())


# How far below its last content a card ends.
STRIPS = """() => [...document.querySelectorAll('.card')].map((card) => {
  const found = [...card.querySelectorAll('button, .cell, p, li, a')];
  const parts = found.map((part) => part.getBoundingClientRect());
  return card.getBoundingClientRect().bottom - Math.max(...parts.map((part) => part.bottom));
})"""


@pytest.mark.parametrize("query", ["", "?q=busy"])
def test_a_card_on_a_phone_ends_where_its_content_does(
    browser: Browser, demo: RunningBoard, query: str
) -> None:
    """The list reckons the heights beforehand; neither an empty strip nor a cut button may come of it."""
    with visit(browser, demo.url, size=(390, 2600)) as page:
        open_board(page, demo, query)
        expect(page.locator(".card").nth(5)).to_be_visible()
        strips = page.evaluate(STRIPS)
        assert strips
        assert {round(strip) for strip in strips} == {13}


def test_a_card_with_trouble_says_who_holds_its_gpus_too(browser: Browser, demo: RunningBoard) -> None:
    """One line of trouble hid who is on the GPUs beside the broken one."""
    with visit(browser, demo.url, size=PHONE) as page:
        open_board(page, demo, "?q=a100-01")
        card = page.locator(".card")
        expect(card.get_by_role("link", name="fallen off the bus")).to_be_visible()
        expect(card.locator("li b").first).to_be_visible()
        keep(page, "card-trouble-and-people")


def test_a_card_says_for_how_long_somebody_idles(browser: Browser, demo: RunningBoard) -> None:
    """As the cells of wider screens do."""
    with visit(browser, demo.url, size=PHONE) as page:
        open_board(page, demo, "?q=idle")
        expect(page.locator(".card li").first).to_have_text(re.compile(r"\(\d+ idle \d+ (min|h|d)\)"))


# How many cells stand beside each other in each row.
COLUMNS = """() => [...document.querySelectorAll('.row .cells')].map((cells) =>
  getComputedStyle(cells).gridTemplateColumns.split(' ').length)"""
# Words and names of cells that are cut.
CUT_IN_CELLS = """() => [...document.querySelectorAll('.row .cell')].filter((cell) => {
  const [word, name] = [cell.querySelector('b'), cell.querySelector('u')];
  return word.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1
    || name.scrollWidth > name.clientWidth;
}).map((cell) => cell.textContent)"""


def test_on_paper_no_word_of_a_cell_is_cut(browser: Browser, demo: RunningBoard) -> None:
    """Paper that stands on end had as many beside each other as the screen: "m…", "brok"."""
    with visit(browser, demo.url) as page:
        open_board(page, demo, "?view=rows")
        page.emulate_media(media="print")
        assert set(page.evaluate(COLUMNS)) == {4}
        # As wide as A4 is within its edges.
        page.set_viewport_size({"width": 718, "height": 1040})
        assert set(page.evaluate(COLUMNS)) == {4}
        assert page.evaluate(CUT_IN_CELLS) == []
        keep(page, "paper-rows")


def test_no_line_of_an_offer_is_broken_twice(browser: Browser, demo: RunningBoard) -> None:
    """On a small laptop the offers have the room that the panels beside them can spare."""
    with visit(browser, demo.url, size=(1200, 800)) as page:
        open_board(page, demo)
        heights = page.evaluate("() => [...document.querySelectorAll('.what')].map((e) => e.offsetHeight)")
        assert heights
        assert max(heights) < 3 * 17


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_what_is_wrong_with_a_node_can_be_read_without_a_mouse(
    browser: Browser, demo: RunningBoard, size: Size
) -> None:
    """A title is for pointers only: the reason is a link, whole on the page of its node."""
    with visit(browser, demo.url, size=size) as page:
        open_board(page, demo, "?view=rows")
        reason = page.get_by_role("link", name=re.compile("^GPU 6: fallen off the bus"))
        reason.focus()
        assert reason.evaluate("(link) => link.scrollHeight <= link.clientHeight + 1")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Problems")).to_be_visible()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_trouble_is_seen_without_scrolling(browser: Browser, demo: RunningBoard, size: Size) -> None:
    """The row of a lost node stands last; its name and why are above the first row."""
    with visit(browser, demo.url, size=size) as page:
        open_board(page, demo, "?view=rows")
        strip = page.get_by_role("region", name="2 nodes need a look")
        # A phone has room for one of them: which is the heavier depends on how long it has lasted.
        either = "^(vision-02 No report for|a100-01 GPU 6)" if size == PHONE else "^vision-02 No report for"
        # The whole of it opens there; elsewhere each leads to its node.
        told = strip.get_by_role("link", name=re.compile(either))
        if size == PHONE:
            told = strip.get_by_text(re.compile(either))
        expect(told).to_be_in_viewport()
        # What they push down is no more than a line.
        box = strip.bounding_box()
        assert box is not None
        assert box["height"] < 50
        if size == PHONE:
            strip.get_by_role("button", name="All of it, with what to do").click()
            # Opened, nothing of it is cut.
            assert strip.evaluate(
                "(s) => [...s.querySelectorAll('li')].every((a) => a.scrollWidth <= a.clientWidth)"
            )
            expect(strip.get_by_role("link", name="vision-02")).to_be_in_viewport()
        expect(strip.get_by_role("link", name=re.compile(r"^a100-01"))).to_be_in_viewport()
        assert_fits(page)
        keep(page, f"attention-{size[0]}")
        strip.get_by_role("link", name=re.compile("^vision-02")).click()
        expect(page).to_have_url(re.compile("/nodes/vision-02"))


def test_on_a_tablet_the_names_of_the_pages_stay_whole(browser: Browser, demo: RunningBoard) -> None:
    """The search gives way, not the words beside it."""
    with visit(browser, demo.url, size=(768, 1024), locale="de-DE") as page:
        open_board(page, demo)
        assert_fits(page)
        heights = page.evaluate("[...document.querySelectorAll('header nav a')].map((a) => a.offsetHeight)")
        assert heights
        assert max(heights) < 40


def test_the_count_of_stale_gpus_leads_to_them(page: Page, demo: RunningBoard) -> None:
    """A number that worries can be pressed, and pressed again."""
    open_board(page, demo, "?view=rows")
    count = page.locator(".answer").get_by_role("button", name="8 GPUs stale")
    count.click()
    expect(page.get_by_text("8 of 96 GPUs", exact=True)).to_be_visible()
    assert page.locator(f"{CELLS}:not(.fill-stale)").count() == 0
    count.click()
    expect(page.locator(f"{CELLS}.fill-free").first).to_be_visible()


def test_the_words_are_explained_where_they_stand_and_in_the_help(page: Page, demo: RunningBoard) -> None:
    """A GPU is stale because its node is late or lost."""
    open_board(page, demo)
    chip = page.get_by_role("list", name="Verdicts").get_by_role("button", name=re.compile("stale"))
    chip.hover()
    expect(chip).to_have_attribute("title", re.compile("does not report in time"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("their GPUs are stale")


@pytest.mark.parametrize(
    ("locale", "sentence", "remedy"),
    [
        ("de-DE", "GPU 6: Vom Bus gefallen: Xid 79", "Neu starten"),
        ("fr-FR", "GPU 6\u00a0: Disparu du bus\u00a0: Xid 79", "redémarrer"),
        ("zh-TW", "GPU 6\uff1a已脫離匯流排\uff1aXid 79", "重新開機"),
    ],
)
def test_problems_of_a_node_are_said_in_the_language_of_the_viewer(
    browser: Browser, demo: RunningBoard, locale: str, sentence: str, remedy: str
) -> None:
    """On the board and on the page of the node, with what to do; names and numbers stay."""
    with visit(browser, demo.url, locale=locale) as page:
        open_board(page, demo, "?view=rows")
        page.get_by_role("link", name=sentence, exact=True).click()
        expect(page.get_by_role("listitem").filter(has_text=sentence)).to_contain_text(remedy)


def test_the_arrow_keys_lead_through_the_cards(page: Page, demo: RunningBoard) -> None:
    """As through the rows: the first one leads in, Space opens the detail, Enter the page."""
    page.goto(f"{demo.url}?view=cards")
    cards = page.locator(".cards article")
    expect(cards.first).to_be_visible()
    uuids = [cards.nth(place).get_attribute("data-uuid") for place in range(6)]
    focused = page.locator(".cards article:has(a:focus)")
    for key, place in (("ArrowDown", 0), ("ArrowRight", 1), ("ArrowDown", 5), ("l", 6), ("ArrowLeft", 5)):
        page.keyboard.press(key)
        expect(focused).to_have_attribute("data-uuid", re.compile([*uuids, None][place] or "."))
    keep(page, "cards-keys")
    page.keyboard.press(" ")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(focused).to_have_attribute("data-uuid", uuids[5])
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo.url}gpus/{uuids[5]}")
