"""The filter: what people type is understood, or cured with one press; the rest is chosen."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.board import RunningBoard, running_board
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit
from tests.e2e.page.test_page_for_everybody import assert_no_rule_is_broken, axe

__all__ = ["axe"]

CELLS = ".cell[data-uuid]"
GROUPS = '[groups.nodes]\nrack-a = ["dgx-[01-03]"]\nrack-b = ["a100-*"]\n'


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """Twelve simulated nodes, some of them in racks."""
    folder = tmp_path_factory.mktemp("grouped")
    config = folder / "gpuboard.toml"
    config.write_text(f'{GROUPS}[[source]]\nkind = "simulated"\nnodes = 12\n')
    with running_board("--config", str(config), log=folder / "log") as running:
        yield running


@pytest.fixture(scope="module")
def nameless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that hides who is who."""
    log = tmp_path_factory.mktemp("nameless") / "log"
    with running_board("--demo", "12", "--anonymous", "counts", log=log) as running:
        yield running


def open_rows(page: Page, board: RunningBoard, query: str = "") -> None:
    """The board with its GPUs."""
    page.goto(f"{board.url}?view=rows{query}")
    expect(page.locator(CELLS).first).to_be_visible()


@pytest.mark.parametrize(
    "words", ["memory >= 40G", "free or idle", "not busy", "A100-80", "frei", "dgx-0[1,2]"]
)
def test_what_people_type_is_found(page: Page, demo: RunningBoard, words: str) -> None:
    """Spaces, `or`, `not`, sizes, ranges and other languages."""
    open_rows(page, demo)
    page.locator("#filter").fill(words)
    expect(page.locator(".bar [role=status]")).to_have_text(re.compile(r"^[1-9]\d* of 96 GPUs"))
    expect(page.locator("#filter-error")).to_have_count(0)


# How the GPUs are drawn: as cells of rows, as cards, as a map, or as lines of text.
LOOKS = """() => ['.cell[data-uuid]', 'article[data-uuid]', 'canvas', '.line[data-uuid]']
  .filter((look) => document.querySelector(`main ${look}`))"""


def test_the_look_stays_while_one_types(page: Page, demo: RunningBoard) -> None:
    """However few GPUs a letter leaves."""
    page.goto(demo.url)
    expect(page.locator(CELLS).first).to_be_visible()
    page.keyboard.press("/")
    for letters in ("d", "u", "pont"):
        page.keyboard.type(letters)
        expect(page).to_have_url(re.compile(rf"q=d?u?{letters}$"))
        assert page.evaluate(LOOKS) == [".cell[data-uuid]"]
    expect(page.locator("[data-results]")).to_have_text(re.compile(r"^\d{1,2} of 96 GPUs"))


def test_another_word_is_cured_with_one_press(page: Page, demo: RunningBoard) -> None:
    """The rest of the filter stays, and so does the focus."""
    open_rows(page, demo)
    page.locator("#filter").fill("free gpus>=4")
    expect(page.locator("#filter-error")).to_contain_text("“gpus” is not a word this filter knows")
    keep(page, "filter-cure")
    page.get_by_role("button", name="free free>=4").click()
    expect(page.locator("#filter")).to_have_value("free free>=4")
    expect(page.locator("#filter")).to_be_focused()
    expect(page.locator("#filter-error")).to_have_count(0)


def test_a_link_that_cannot_be_read_is_cured_too(page: Page, demo: RunningBoard) -> None:
    """Nobody has touched the field."""
    open_rows(page, demo, "&q=vram>40")
    page.get_by_role("button", name="memory>40").click()
    expect(page.locator("#filter")).to_have_value("memory>40")


def test_a_name_that_is_nearly_one_is_offered(page: Page, demo: RunningBoard) -> None:
    """People write zeros where there are none."""
    page.goto(f"{demo.url}?q=node:dgx-0003")
    page.get_by_role("button", name="node:dgx-03").click()
    expect(page.locator("#filter")).to_have_value("node:dgx-03")
    expect(page.locator("[data-uuid]").first).to_be_visible()


def test_hidden_names_are_not_said_to_have_nothing(browser: Browser, nameless: RunningBoard) -> None:
    """Whoever looks for a person hears that names are hidden, and no hint offers people."""
    with visit(browser, nameless.url) as page:
        page.goto(f"{nameless.url}?q=dupont")
        expect(page.get_by_role("heading", name="Names are hidden from visitors.")).to_be_visible()
        expect(page.get_by_text("No GPU matches")).to_have_count(0)
        expect(page.locator("#filter")).not_to_have_attribute("placeholder", re.compile("user"))
        keep(page, "no-match-nameless")
        page.locator("#filter").fill("")
        page.locator("#filter").focus()
        expect(page.get_by_role("listbox", name="Ways to filter")).to_be_visible()
        expect(page.get_by_role("group", name="Person")).to_have_count(0)


def test_no_page_with_hidden_names_breaks_a_rule(browser: Browser, nameless: RunningBoard, axe: str) -> None:
    """It asks visitors to sign in, where they look for GPUs and where they look for people."""
    with visit(browser, nameless.url) as page:
        page.goto(f"{nameless.url}?view=rows&q=dgx-01")
        expect(page.locator(CELLS).first).to_be_visible()
        assert_no_rule_is_broken(page, axe)
        page.goto(f"{nameless.url}people")
        expect(page.get_by_text("Names are hidden from visitors.").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert_no_rule_is_broken(page, axe)


@pytest.mark.parametrize("size", [DESKTOP, (820, 1180), PHONE], ids=["desktop", "tablet", "phone"])
def test_choices_come_with_the_field(browser: Browser, grouped: RunningBoard, size: Size) -> None:
    """By pointer or finger: each with how many GPUs it leaves; pressed again it goes."""
    with visit(browser, grouped.url, size=size) as page:
        page.goto(grouped.url)
        expect(page.locator("[data-uuid]").first).to_be_visible()
        if size == PHONE:
            page.get_by_role("button", name="Filter the board").click()
        else:
            page.locator("#filter").click()
        choices = page.get_by_role("listbox", name="Ways to filter")
        rack = choices.get_by_role("group", name="Group").get_by_role("option", name=re.compile("^rack-a"))
        expect(rack).to_have_text(re.compile(r"rack-a\s*24"))
        keep(page, f"facets-{size[0]}")
        rack.click()
        expect(page.locator("#filter")).to_have_value("group:rack-a")
        expect(page.locator("#filter")).to_be_focused()
        expect(rack).to_have_attribute("aria-selected", "true")
        models = choices.get_by_role("group", name="Model").get_by_role("option")
        expect(models).to_have_count(1)
        keep(page, f"facets-chosen-{size[0]}")
        assert_fits(page)
        rack.click()
        expect(page.locator("#filter")).to_have_value("")


def test_choices_are_reached_by_keys(page: Page, demo: RunningBoard) -> None:
    """Down into them, along a row, Enter takes one; Escape leads back, then empties, then leaves."""
    open_rows(page, demo)
    page.keyboard.press("/")
    expect(page.get_by_role("listbox", name="Ways to filter")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    active = page.locator("#filter").get_attribute("aria-activedescendant")
    assert active
    expect(page.locator(f"#{active}")).to_contain_text("GB")
    page.keyboard.press("Enter")
    expect(page.locator("#filter")).to_have_value(re.compile(r"^memory>=\d+G$"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).not_to_have_attribute("aria-activedescendant", re.compile("."))
    expect(page.locator("#filter")).to_have_value(re.compile("memory"))
    page.keyboard.press("Escape")
    expect(page.locator("#filter")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox", name="Ways to filter")).to_have_count(0)


def test_what_is_begun_is_completed(page: Page, demo: RunningBoard) -> None:
    """A few letters of a person, a node or a word."""
    open_rows(page, demo)
    choices = page.get_by_role("listbox", name="Ways to filter").get_by_role("option")
    page.locator("#filter").fill("free dgx-0")
    expect(choices.filter(has_text="dgx-01")).to_have_count(1)
    choices.filter(has_text="dgx-01").click()
    expect(page.locator("#filter")).to_have_value("free node:dgx-01")
    page.locator("#filter").fill("mem")
    page.get_by_role("option", name="memory>=", exact=True).click()
    expect(page.locator("#filter")).to_have_value("memory>=")
    expect(choices.filter(has_text="GB").first).to_be_visible()


def test_the_board_is_grouped_by_racks(browser: Browser, grouped: RunningBoard) -> None:
    """Each with its nodes and counts; what is in none comes last; they fold."""
    with visit(browser, grouped.url) as page:
        open_rows(page, grouped)
        page.get_by_role("button", name="Arrange").click()
        page.get_by_label("Group by").select_option("group")
        expect(page).to_have_url(re.compile("group=group"))
        heads = page.locator(".head [role=rowheader] button")
        expect(heads.first).to_contain_text(re.compile(r"rack-a\s*24 GPUs"))
        keep(page, "groups")
        heads.first.click()
        expect(heads.nth(1)).to_contain_text("rack-b")
        page.get_by_role("button", name="Arrange").click()
        heads.nth(1).click()
        expect(heads.last).to_contain_text("No group")


def listed(page: Page) -> Locator:
    """What the list of everything offers."""
    return page.get_by_role("listbox", name="Jump to").get_by_role("option")


def jump_to(page: Page, words: str) -> None:
    """Type into the list of everything."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Jump to")).to_be_focused()
    page.keyboard.type(words)


@pytest.mark.parametrize(
    ("words", "place"),
    [("dgx3", "nodes/dgx-03$"), ("dgx-02 gpu 5", "gpus/"), ("peop", "people$"), ("board", "/$")],
)
def test_ctrl_k_jumps(page: Page, demo: RunningBoard, words: str, place: str) -> None:
    """To a node, a GPU, a page, wherever one is."""
    page.goto(f"{demo.url}people")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    jump_to(page, words)
    expect(listed(page).first).to_be_visible()
    keep(page, f"jump-{words.split(maxsplit=1)[0]}")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(place))
    expect(page.get_by_role("dialog", name="Jump to")).to_have_count(0)


def test_ctrl_k_finds_a_person(page: Page, demo: RunningBoard) -> None:
    """And shows their GPUs."""
    open_rows(page, demo)
    jump_to(page, "dupo")
    expect(listed(page).first).to_contain_text("dupont")
    page.keyboard.press("Enter")
    expect(page.locator("#filter")).to_have_value('user:"dupont"')


def test_escape_gives_the_focus_back(page: Page, demo: RunningBoard) -> None:
    """To the cell where one was, with nothing changed; a press beside it does the same."""
    open_rows(page, demo)
    page.keyboard.press("ArrowDown")
    cell = page.locator(f"{CELLS}:focus")
    uuid = cell.get_attribute("data-uuid")
    jump_to(page, "nowhere-at-all")
    expect(page.get_by_text("Nothing is called that.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Jump to")).to_have_count(0)
    expect(cell).to_have_attribute("data-uuid", str(uuid))
