"""Small things that people are used to: a title, their own command, bars with lines, a way to refresh."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, running_board
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit

SETTINGS = """[board]
title = "GPUs of the vision group"
copy = "ssh {node}.lab.example -t CUDA_VISIBLE_DEVICES={devices} bash"
host_lines = [1, 99]
gpu_lines = [30, 80]
"""
CELL = ".cell[data-uuid]"
# Which shade each bar has, and how far it is filled.
BARS = """() => [...document.querySelectorAll('article .meter')].flatMap((meter) => {
  const bar = meter.querySelector('i');
  const share = bar && new DOMMatrix(getComputedStyle(bar).transform).a;
  return bar ? [[Math.round(100 * share), bar.className.match(/level-(\\d)/)[1],
    [...meter.querySelectorAll('u')].map((tick) => tick.style.left)]] : [];
})"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board as its admin likes it."""
    folder = tmp_path_factory.mktemp("comforts")
    config = folder / "gpuboard.toml"
    ended = f"{datetime.now().astimezone() - timedelta(hours=3, minutes=10):%Y-%m-%d %H:%M}"
    comments = folder / "comments.json"
    booking = {"name": "santa", "date": ended, "comment": "toys"}
    comments.write_text(json.dumps({f"{room}-01": [booking] * 8 for room in ("vision", "nlp")}))
    config.write_text(f'{SETTINGS}[bookings]\ncomments_json = "{comments}"\n')
    with running_board("--config", str(config), "--demo", "4", log=folder / "log") as running:
        yield running


def test_the_board_has_the_title_of_its_admin(browser: Browser, board: RunningBoard) -> None:
    """In the header and in the tab."""
    with visit(browser, board.url) as page:
        page.goto(board.url)
        expect(page.locator("header").get_by_text("GPUs of the vision group")).to_be_visible()
        expect(page).to_have_title(re.compile(r"^\d+ free · GPUs of the vision group$"))
        assert_fits(page)


def test_the_copied_command_is_that_of_the_admin(browser: Browser, board: RunningBoard) -> None:
    """With the node and the devices filled in."""
    with visit(browser, board.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{board.url}?view=rows")
        offer = page.get_by_role("region", name="I need").get_by_role("listitem").first
        node = offer.get_by_role("link").inner_text()
        offer.get_by_role("button", name=re.compile("^Copy")).click()
        command = page.get_by_role("dialog").get_by_role("button", name=re.compile("^Command"))
        command.click()
        expect(command).to_contain_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"ssh {node}\.lab\.example -t CUDA_VISIBLE_DEVICES=GPU-[0-9a-f-]+ bash", copied)


def test_on_a_phone_only_what_is_shown_is_told_of(browser: Browser, board: RunningBoard) -> None:
    """A filter leaves the view as it is, and takes away what it hides: nothing free is told of."""
    with visit(browser, board.url, size=PHONE) as page:
        page.add_init_script(
            "navigator.share = (what) => { window.shared = what.text; return Promise.resolve(); }"
        )
        for query, told in (("free", r"free \(GPU \d"), ("busy", r"^[^(]*$")):
            page.goto(f"{board.url}?q={query}")
            page.wait_for_selector(".card .cell")
            page.get_by_role("button", name=re.compile("^Share")).first.tap()
            page.wait_for_function("window.shared")
            keep(page, "phone-share")
            assert re.search(told, page.evaluate("window.shared"))


ENDED = re.compile(r"Booked by santa before; ended 3.h")


def test_a_booking_that_has_ended_is_told_on_the_page_of_its_gpu(
    browser: Browser, board: RunningBoard
) -> None:
    """In grey, with whose it was: nobody has to ask why a GPU is free again."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}nodes/vision-01")
        page.locator("article a[href*='gpus/']").first.click()
        expect(page.get_by_text(ENDED)).to_be_visible()


def test_a_booking_that_has_ended_is_told_on_the_board(browser: Browser, board: RunningBoard) -> None:
    """In the cells of what is free, on the cards, in the detail of any GPU, and on a phone."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}?view=rows&q=free")
        cell = page.locator(CELL, has_text=re.compile(r"ended 3.h ago")).first
        expect(cell).to_be_visible()
        expect(cell).to_have_accessible_name(re.compile(r", free, .*ended 3.h ago"))
        cell.hover()
        expect(page.get_by_role("tooltip")).to_contain_text(re.compile(r"ended 3.h ago"))
        cell.click()
        expect(page.get_by_role("dialog").get_by_text(ENDED)).to_be_visible()
        keep(page, "ended-rows")
        page.goto(f"{board.url}?view=cards&q=vision-01")
        expect(page.locator("article").get_by_text(ENDED).first).to_be_visible()
        keep(page, "ended-cards")
    with visit(browser, board.url, size=PHONE) as page:
        page.goto(board.url)
        expect(page.locator(".card").get_by_text(re.compile(r"santa: ended 3.h ago")).first).to_be_visible()
        assert_fits(page)
        keep(page, "ended-phone")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_bars_get_darker_at_the_lines_of_the_admin(browser: Browser, board: RunningBoard, size: Size) -> None:
    """By shade and a tick, in no colour of a verdict."""
    with visit(browser, board.url, size=size) as page:
        page.goto(f"{board.url}nodes/vision-01")
        expect(page.locator("article .meter u").first).to_be_visible()
        bars = page.evaluate(BARS)
        assert bars
        for share, level, ticks in bars:
            assert ticks == ["30%", "80%"]
            if share not in (30, 80):
                assert level == str((share > 30) + (share > 80))
        # All of a machine that is neither empty nor full.
        expect(page.locator(".machine .meter i.level-1").first).to_be_visible()
        assert_fits(page)
        name = f"bars-{'phone' if size == PHONE else 'desktop'}"
        keep(page, name)
        page.emulate_media(color_scheme="dark")
        keep(page, f"{name}-dark")
        page.get_by_role("heading", name="Machine").scroll_into_view_if_needed()
        keep(page, f"{name}-machine-dark")


def socket_count(page: Page) -> list[str]:
    """Notes each WebSocket that the page opens."""
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    return opened


def test_everything_can_be_asked_for_anew(browser: Browser, board: RunningBoard) -> None:
    """By a button and by a key; the page stays live, and nothing is resumed."""
    with visit(browser, board.url) as page:
        opened = socket_count(page)
        page.goto(f"{board.url}?view=rows")
        live = page.get_by_role("button", name=re.compile("^Live"))
        expect(page.locator(CELL).first).to_be_visible()
        live.click()
        with page.expect_websocket():
            page.get_by_role("button", name="Refresh now").click()
        page.keyboard.press("Escape")
        with page.expect_websocket():
            page.keyboard.press("r")
        expect(live).to_be_visible()
        assert len(opened) == 3
        assert not any("after=" in url for url in opened)


def test_all_nodes_can_be_collapsed_and_opened_again(browser: Browser, board: RunningBoard) -> None:
    """In one step, where a page is long."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}?view=cards")
        cards = page.locator(".cards article")
        expect(cards.first).to_be_visible()
        for words, count in (("Collapse all", 0), ("Expand all", None)):
            page.get_by_role("button", name="Arrange").click()
            page.get_by_role("button", name=words).click()
            page.keyboard.press("Escape")
            if count is None:
                expect(cards.first).to_be_visible()
            else:
                expect(cards).to_have_count(count)


def test_the_address_says_how_often_the_page_is_drawn(browser: Browser, board: RunningBoard) -> None:
    """`?refresh=30` is for screens and slow machines; it changes nothing for the next visit."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}?view=rows&refresh=30")
        page.get_by_role("button", name=re.compile("^Live")).click()
        expect(page.get_by_label("Redraw")).to_have_value("30")
        page.goto(f"{board.url}?view=rows")
        page.get_by_role("button", name=re.compile("^Live")).click()
        expect(page.get_by_label("Redraw")).to_have_value("0")


def test_people_have_what_they_use_and_what_they_booked_apart(page: Page, demo: RunningBoard) -> None:
    """The demo has three bookings; whoever has one is there, with or without a process."""
    page.goto(f"{demo.url}people")
    for who in ("wang", "dupont", "lin"):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=who, exact=True))
        expect(row).to_contain_text("1 booked")
    keep(page, "people-booked")
