"""Node, GPU and people pages in a real browser: reached by links and by their own addresses."""

import re
from typing import Any, get_args

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, computing
from tests.browser import DESKTOP, PHONE, Size, Theme, assert_fits, keep, visit
from tests.pushing import wait_until

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])


def ask(board: RunningBoard, path: str) -> Any:  # noqa: ANN401 - a document of the API
    """What the API answers."""
    return httpx.get(f"{board.url}api/v1/{path}").json()


def keep_both(page: Page, name: str, size: Size) -> None:
    """A picture in either theme."""
    assert_fits(page)
    for theme in get_args(Theme):
        page.emulate_media(color_scheme=theme)
        keep(page, f"{name}-{'phone' if size == PHONE else 'desktop'}-{theme}")


@SIZES
def test_a_node_page_shows_machine_problems_and_gpus(
    browser: Browser, demo: RunningBoard, size: Size
) -> None:
    """By its address alone; the lost GPU comes with its remedy."""
    node = ask(demo, "nodes/a100-01")
    with visit(browser, demo.url, size=size) as page:
        page.goto(f"{demo.url}nodes/a100-01")
        expect(page.get_by_role("heading", level=1)).to_have_text("a100-01")
        expect(page.locator("article[data-uuid]")).to_have_count(len(node["gpus"]))
        expect(page.get_by_text(node["problems"][0]["remedy"]).first).to_be_visible()
        expect(page.get_by_text(node["host"]["driver_version"]).first).to_be_visible()
        keep_both(page, "node", size)


@SIZES
def test_a_gpu_page_shows_all_fields_and_processes(browser: Browser, demo: RunningBoard, size: Size) -> None:
    """By the UUID in its address; what it says is what the API says."""
    node, gpu = computing(demo)
    process = gpu["reading"]["processes"][0]
    with visit(browser, demo.url, size=size) as page:
        page.goto(f"{demo.url}gpus/{gpu['uuid']}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(node)
        expect(page.get_by_text(str(process["pid"])).first).to_be_visible()
        expect(page.get_by_text(gpu["uuid"]).first).to_be_visible()
        expect(page.get_by_text(gpu["reading"]["pcie_bus_id"]).first).to_be_visible()
        keep_both(page, "gpu", size)


@SIZES
def test_the_people_page_shows_who_holds_most(browser: Browser, demo: RunningBoard, size: Size) -> None:
    """The heaviest first, each with where."""
    with visit(browser, demo.url, size=size) as page:
        page.goto(f"{demo.url}people")
        rows = page.locator("tbody tr")

        def is_as_the_api_says() -> bool:
            # Asked anew each time: people of the demo come and go.
            people = ask(demo, "people")["people"]
            names = [row.get_by_role("rowheader").inner_text() for row in rows.all()]
            return names == [one["user"] for one in people] and (
                people[0]["holdings"][0]["node"] in rows.first.inner_text()
            )

        wait_until(is_as_the_api_says)
        keep_both(page, "people", size)


def test_a_lost_node_is_grey_and_says_since_when(page: Page, demo: RunningBoard) -> None:
    """Its last values are there, but nothing about it looks live."""
    page.goto(f"{demo.url}nodes/vision-02")
    expect(page.get_by_text("lost", exact=True).first).to_be_visible()
    expect(page.get_by_text(re.compile(r"No report for")).first).to_be_visible()
    expect(page.locator("article.stale")).to_have_count(8)
    keep(page, "node-lost")


def test_links_and_the_back_button_lead_there_and_back(page: Page, demo: RunningBoard) -> None:
    """Board with a filter, node, GPU, and back to the same view."""
    page.goto(f"{demo.url}?q=node:dgx-01&view=rows")
    page.get_by_role("rowheader").get_by_role("link", name="dgx-01").click()
    expect(page).to_have_url(f"{demo.url}nodes/dgx-01")
    page.get_by_role("link", name="GPU 3").first.click()
    expect(page).to_have_url(re.compile("/gpus/GPU-"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("GPU 3")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("dgx-01")
    page.go_back()
    expect(page.locator("#filter")).to_have_value("node:dgx-01")
    expect(page.locator(".cell[data-uuid]")).to_have_count(8)


@pytest.mark.parametrize("path", ["blah", "blah/blubb?x=1"])
def test_an_address_that_names_nothing_leads_back_to_the_board(
    browser: Browser, demo: RunningBoard, path: str
) -> None:
    """As a page of the board; no raw document."""
    with visit(browser, demo.url, allow="status of 404") as page:
        page.goto(demo.url + path)
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page.")
        keep(page, "no-such-page")
        page.get_by_role("link", name="Back to the board").click()
        expect(page).to_have_url(demo.url)
        expect(page.locator(".answer")).to_be_visible()


@pytest.mark.parametrize("close", ["Escape", "Close", "outside"])
def test_back_after_closing_a_detail_leads_to_what_was_seen_before(
    page: Page, demo: RunningBoard, close: str
) -> None:
    """However it was closed, and however many were opened: no step of the history looks like another."""
    page.goto(f"{demo.url}people")
    page.get_by_role("link", name="Board").first.click()
    for cell in (1, 3):
        page.locator(".cell[data-uuid]").nth(cell).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        if close == "Escape":
            page.keyboard.press("Escape")
        elif close == "Close":
            page.get_by_role("dialog").get_by_role("button", name="Close").click()
        else:
            page.locator(".answer").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(demo.url)
    page.go_back()
    expect(page).to_have_url(f"{demo.url}people")
    page.go_forward()
    expect(page).to_have_url(demo.url)
    page.locator(".cell[data-uuid]").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_back()
    expect(page).to_have_url(f"{demo.url}people")


def test_back_closes_the_detail_that_a_click_opened(page: Page, demo: RunningBoard) -> None:
    """The address names the GPU, so that it can be shared; Back leads to the board as it was."""
    page.goto(f"{demo.url}?view=rows")
    page.locator(".cell[data-uuid]").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]gpu=GPU-"))
    shared = page.url
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(f"{demo.url}?view=rows")
    page.goto(shared)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(f"{demo.url}?view=rows")


@pytest.mark.parametrize("path", ["nodes/nowhere", "gpus/GPU-none"])
def test_what_is_not_there_is_said_so(browser: Browser, demo: RunningBoard, path: str) -> None:
    """An old link leads to a sentence, not to an empty page."""
    # The browser itself reports the 404 of the API as an error.
    with visit(browser, demo.url, allow="status of 404") as page:
        page.goto(f"{demo.url}{path}")
        expect(page.get_by_text("is not on the board")).to_be_visible()
        page.get_by_role("main").get_by_role("link", name="Back to the board").click()
        expect(page).to_have_url(demo.url)


def test_the_theme_can_be_chosen_and_is_kept(page: Page, demo: RunningBoard) -> None:
    """By key; a reload comes up in it at once."""
    page.goto(demo.url)
    expect(page.locator(".answer")).to_be_visible()
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
