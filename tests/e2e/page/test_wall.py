"""A screen on the wall: it fills whatever it is shown on, is legible across a room, and needs no hands."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, running_board
from tests.browser import Size, Theme, keep, visit

SCREENS = pytest.mark.parametrize("size", [(1920, 1080), (3840, 2160)], ids=["1080p", "4K"])
# The smallest words of cells and names in shares of the height, and whether everything is inside.
LOOK = """() => {
  const parts = [...document.querySelectorAll('.wall .cell b, .wall .line > p')];
  const size = (each) => parseFloat(getComputedStyle(each).fontSize) / innerHeight;
  const last = Math.max(...[...document.querySelectorAll('.line')].map((each) =>
    each.getBoundingClientRect().bottom));
  return {
    smallest: Math.min(...parts.map(size)),
    usual: Math.min(...parts.filter((each) => !each.closest('.fill-broken')).map(size)),
    scrolls: document.documentElement.scrollHeight > innerHeight,
    inside: last <= document.querySelector('.sheet').getBoundingClientRect().bottom + 1,
    filled: last / innerHeight,
    cut: [...document.querySelectorAll('.cell b')].filter((each) => each.scrollWidth > each.clientWidth)
      .map((each) => each.textContent),
  };
}"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with more nodes than any screen shows at once."""
    with running_board("--demo", "40", log=tmp_path_factory.mktemp("wall") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose nodes would need more turns of rows than anybody waits for."""
    with running_board("--demo", "120", log=tmp_path_factory.mktemp("crowded") / "log") as running:
        yield running


def open_wall(page: Page, board: RunningBoard, query: str = "") -> None:
    """The wall with its GPUs."""
    page.goto(f"{board.url}?wall=1{query}")
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()


@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])
@SCREENS
def test_it_fills_the_screen_and_is_legible_across_a_room(
    browser: Browser, demo: RunningBoard, size: Size, locale: str
) -> None:
    """In no smaller a share of its height on any screen; no word is cut, and there is nothing to press."""
    with visit(browser, demo.url, size=size, locale=locale) as page:
        open_wall(page, demo)
        keep(page, f"wall-{size[1]}-{locale}")
        look = page.evaluate(LOOK)
        assert look["usual"] >= 0.022
        # "en panne" is so long that it must be smaller.
        assert look["smallest"] >= 0.0195
        assert look["inside"]
        assert not look["scrolls"]
        assert look["filled"] > 0.8
        assert look["cut"] == []
        expect(page.locator(".ticker")).to_contain_text("vision-02")
        expect(page.locator("a, button, input, select, summary, [tabindex='0']")).to_have_count(0)


def test_what_does_not_fit_comes_in_turns(browser: Browser, large: RunningBoard) -> None:
    """Section by section, and it says which."""
    with visit(browser, large.url, size=(1920, 1080)) as page:
        open_wall(page, large, "&group=model")
        expect(page.get_by_text(re.compile(r"^1 / \d$"))).to_be_visible()
        keep(page, "wall-turns")
        look = page.evaluate(LOOK)
        assert look["inside"]
        assert look["cut"] == []
        assert not look["scrolls"]
        expect(page.get_by_text(re.compile(r"^2 / \d$"))).to_be_visible(timeout=60_000)


# What is told of trouble beyond the edge of its place, and how many nodes have no room.
TOLD = """() => {
  const place = document.querySelector('.ticker > span').getBoundingClientRect();
  const parts = [...document.querySelectorAll('.ticker > span > span')];
  return {
    cut: parts.filter((each) => each.getBoundingClientRect().right > place.right + 1
      || each.getBoundingClientRect().bottom > place.bottom + 1
      || each.scrollWidth > each.clientWidth).map((each) => each.textContent),
    told: parts.length,
    more: parseInt(document.querySelector('.ticker small')?.textContent ?? '0'),
    sick: parseInt(document.querySelector('.ticker > b').textContent),
  };
}"""


@SCREENS
def test_many_nodes_come_as_maps_in_a_few_turns(browser: Browser, crowded: RunningBoard, size: Size) -> None:
    """Of a thousand nodes the last came after a quarter of an hour; what has no room below is counted."""
    with visit(browser, crowded.url, size=size) as page:
        page.goto(f"{crowded.url}?wall=1")
        drawn = page.locator(".wall [role=img]")
        expect(drawn).to_have_attribute("aria-label", re.compile(r"A100 80 GB, .*\d+ free$"))
        # All of them at once: nobody waits for a turn.
        expect(page.get_by_text(re.compile(r"^\d / \d+$"))).to_have_count(0)
        expect(drawn.locator("canvas")).to_be_visible()
        canvas, place = drawn.locator("canvas").bounding_box(), drawn.bounding_box()
        assert canvas is not None
        assert place is not None
        assert canvas["height"] <= place["height"] + 1
        assert canvas["height"] > place["height"] / 2
        told = page.evaluate(TOLD)
        assert told["cut"] == []
        assert told["told"] + told["more"] == told["sick"]
        keep(page, f"wall-map-{size[1]}")


def test_without_a_title_it_is_no_machine_that_it_names(browser: Browser, tmp_path: Path) -> None:
    """What the board's machine is called says nothing to whoever passes by."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[[source]]\nkind = "simulated"\nnodes = 1\n')
    with (
        running_board("--config", str(config), log=tmp_path / "log") as board,
        visit(browser, board.url) as page,
    ):
        open_wall(page, board)
        expect(page.locator("header.wall b")).to_have_text("gpuboard")
        expect(page).to_have_title(re.compile(r"^\d free · gpuboard$"))
        assert "<title>gpuboard</title>" in httpx.get(board.url).text


def test_it_is_left_by_key_and_by_pointer(page: Page, demo: RunningBoard) -> None:
    """A way out comes up with the pointer only."""
    open_wall(page, demo)
    page.mouse.move(300, 300)
    page.get_by_role("button", name="Leave wall display").click()
    expect(page).to_have_url(demo.url)
    page.keyboard.press("w")
    expect(page.locator(".wall .line").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(demo.url)


# Where each part of the page begins and ends, from the top down.
STACK = """() => ['.banner', '.demo', 'header.wall', '.wall .cells'].map((each) => {
  const { top, bottom } = document.querySelector(each).getBoundingClientRect();
  return [Math.round(top), Math.round(bottom)];
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])
def test_a_banner_covers_nothing_and_old_words_are_whole(
    browser: Browser, demo: RunningBoard, locale: str, theme: Theme
) -> None:
    """It stands at the very top with a place of its own; what was free says so in whole words."""
    with visit(browser, demo.url, size=(1440, 900), locale=locale, theme=theme) as page:
        open_wall(page, demo)
        page.keyboard.press("p")
        expect(page.locator(".banner")).to_be_visible()
        keep(page, f"wall-banner-{locale}-{theme}")
        parts = page.evaluate(STACK)
        assert parts[0][0] == 0
        assert all(above[1] <= below[0] for above, below in pairwise(parts))
        look = page.evaluate(LOOK)
        assert look["cut"] == []
        assert look["inside"]
        assert not look["scrolls"]
