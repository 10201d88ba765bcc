"""What the page says when things are not as usual: no connection, no names, no nodes, no entry."""

import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, free_port, running_board
from tests.browser import assert_fits, keep, visit
from tests.e2e.page.test_page_for_everybody import assert_no_rule_is_broken, axe
from tests.pushing import enrol, wait_until

__all__ = ["axe"]

# What the browser itself says about a board that is not there.
GONE = "ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|CONTENT_LENGTH)|WebSocket connection"
FILL = "getComputedStyle(document.querySelector('.cell.fill-free')).backgroundColor"
FETCHED = "() => performance.getEntriesByName('fetched-ahead').length > 0"
TRANSPARENT = "rgba(0, 0, 0, 0)"
PUSH = '[[source]]\nkind = "push"\n'
FOLDERS = "".join(
    f'[[source]]\nkind = "folder"\npath = "{{folder}}/{name}"\ninterval = "1s"\n'
    for name in ("share", "missing")
)
# Whatever is drawn in a colour of "free", or says that it is live.
GREEN = """() => [...document.querySelectorAll('body *')].filter((each) => {
  const style = getComputedStyle(each);
  return ['rgb(0, 133, 96)', 'rgb(0, 112, 79)'].some((green) =>
    [style.color, style.backgroundColor, style.borderTopColor].includes(green))
    || (each.childElementCount === 0 && /^live/i.test(each.textContent.trim()));
}).map((each) => each.outerHTML.slice(0, 120))"""


class Young(NamedTuple):
    """A board that has just started, a page that is open on it since, and the folder of its things."""

    board: RunningBoard
    page: Page
    folder: Path


@pytest.fixture(scope="module")
def young(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Young]]:
    """Boards by name, each started for the first who asks; the last tests see what became of them."""
    with contextlib.ExitStack() as stack:

        @cache
        def start(name: str) -> Young:
            folder = tmp_path_factory.mktemp("young")
            if name == "without one":
                # Elsewhere: the browser's event loop allows nothing here that waits for a disk.
                with ThreadPoolExecutor() as pool:
                    pool.submit(enrol, folder / "state", "ghost").result()
                words = ["--demo", "3"]
            else:
                (folder / "share").mkdir()
                config = folder / "gpuboard.toml"
                config.write_text(PUSH if name == "without nodes" else FOLDERS.format(folder=folder))
                words = ["--config", str(config), "--anonymous", "counts" if name == "counts" else "names"]
            board = stack.enter_context(running_board(*words, log=folder / "log", until="healthz"))
            page = stack.enter_context(visit(browser, board.url))
            page.goto(board.url)
            return Young(board, page, folder)

        yield start


@pytest.mark.parametrize("name", ["names", "counts", "without nodes"])
def test_a_board_that_has_just_started_says_so(young: Callable[[str], Young], name: str) -> None:
    """Until then somebody may only not have been heard yet."""
    page = young(name).page
    expect(page.get_by_text("The board has just started")).to_be_visible()
    assert page.title().startswith("? free")


def test_a_board_that_has_just_started_says_how_much_it_has_heard(young: Callable[[str], Young]) -> None:
    """And calls nothing trouble before it has had the time to hear of it."""
    page = young("without one").page
    expect(page.get_by_text("3 of 4 nodes heard so far")).to_be_visible()
    expect(page.get_by_role("region", name="1 node needs a look")).to_have_count(0)
    keep(page, "trouble-starting")


def test_a_dead_board_is_never_shown_as_live(browser: Browser, tmp_path: Path) -> None:
    """Killed: the page says so with the time of its data, free cells lose their fill; back: live again."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with visit(browser, url, allow=GONE) as page:
        with running_board("--demo", "12", log=tmp_path / "log", port=port) as board:
            page.goto(f"{url}?view=rows")
            expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
            page.wait_for_selector(".cell.fill-free")
            assert page.evaluate(FILL) != TRANSPARENT
            board.process.kill()
            board.process.wait()
            expect(page.get_by_role("button", name=re.compile("^Reconnecting"))).to_be_visible()
        expect(page.get_by_text(re.compile(r"This is how things stood at"))).to_be_visible()
        assert page.evaluate(FILL) == TRANSPARENT
        assert page.locator(".live").count() == 0
        wait_until(lambda: page.title().startswith("? free"))
        keep(page, "reconnecting")
        page.emulate_media(color_scheme="dark")
        keep(page, "reconnecting-dark")
        with running_board("--demo", "12", log=tmp_path / "log", port=port):
            expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible(timeout=40_000)
            expect(page.get_by_text("The board restarted at")).to_be_visible()
            assert page.evaluate(FILL) != TRANSPARENT
            keep(page, "restarted")


def test_a_gpu_opens_for_the_first_time_without_a_connection(browser: Browser, tmp_path: Path) -> None:
    """What people open is fetched ahead; then nothing is called free, and nothing can be taken."""
    with (
        running_board("--demo", "4", log=tmp_path / "log") as board,
        visit(browser, board.url, allow=GONE) as page,
    ):
        page.goto(f"{board.url}?view=rows")
        wait_until(lambda: page.evaluate(FETCHED))
        page.wait_for_load_state("networkidle")
        board.process.kill()
        board.process.wait()
        expect(page.get_by_role("button", name=re.compile("^Reconnecting"))).to_be_visible()
        cell = page.locator(".cell.fill-free").first
        expect(cell).to_have_accessible_name(re.compile(", was free"))
        offer = page.get_by_role("region", name="Asked for")
        expect(offer.get_by_role("button", name=re.compile("^Copy")).first).to_be_disabled()
        cell.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.get_by_text("Next try in 0 s")).to_have_count(0)
        keep(page, "detail-without-connection")


def test_a_pause_is_not_live_either(browser: Browser, demo: RunningBoard) -> None:
    """The viewer paused, and is told so until it ends."""
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}?view=rows")
        page.wait_for_selector(".cell.fill-free")
        page.keyboard.press("p")
        expect(page.get_by_role("button", name=re.compile("^Paused"))).to_be_visible()
        assert page.evaluate(FILL) == TRANSPARENT
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()


FREE = r"(?<!was )(?<!were )\bfree\b"
FREI = r"(?<!war )(?<!waren )(?<!war eben )(?<!gerade erst )\bfrei\b"
LIBRE = r"(?<!était )(?<!étaient )\blibres?\b"
KEYONG = r"(?<!原)(?<!當時)可用"
# Past, with a moment before the word: a time of today, or a day and its time.
WAS_SINCE = re.compile(r"\bwar seit .{5,16} frei\b|當時自 .{5,16} 起可用")


@pytest.mark.parametrize(
    ("locale", "free", "path"),
    [
        ("en-GB", FREE, "?view=rows"),
        ("en-GB", FREE, "?view=cards&q=free"),
        ("en-GB", FREE, "nodes/{node}"),
        ("en-GB", FREE, "gpus/{uuid}"),
        ("de-DE", FREI, "?view=rows"),
        ("fr-FR", LIBRE, "?view=rows"),
        ("zh-TW", KEYONG, "?view=rows"),
    ],
)
def test_old_data_offers_nothing_in_any_language(
    browser: Browser, demo: RunningBoard, locale: str, free: str, path: str
) -> None:
    """What was free is told as something past, to the eye and to the ear, and cannot be copied."""
    block = httpx.get(f"{demo.url}api/v1/free").json()["blocks"][0]
    with visit(browser, demo.url, locale=locale) as page:
        page.goto(demo.url + path.format(node=block["node"], uuid=block["uuids"][0]))
        page.wait_for_selector(".fill-free")
        assert re.search(free, _said(page), re.IGNORECASE)
        page.keyboard.press("p")
        page.wait_for_selector(":root[data-old]")
        assert re.findall(f".*{free}.*", _said(page), re.IGNORECASE) == []
        assert page.locator("main button[title*=CUDA_VISIBLE_DEVICES]:enabled").count() == 0
        keep(page, f"old-{locale}-{path.partition('/')[0].strip('?').partition('&')[0]}")


@pytest.mark.parametrize(
    ("locale", "offers"),
    [
        ("en-GB", rf"{FREE}|(?<!had )\bjust (been )?freed\b"),
        ("de-DE", FREI),
        ("fr-FR", rf"{LIBRE}|\bvient d.être libéré"),
        ("zh-TW", rf"{KEYONG}|(?<!當時)剛釋出"),
    ],
)
def test_what_had_just_been_freed_is_told_as_past_too(
    browser: Browser, all_just_freed: RunningBoard, locale: str, offers: str
) -> None:
    """And nothing advises in what order to take it."""
    with visit(browser, all_just_freed.url, locale=locale) as page:
        page.goto(f"{all_just_freed.url}?view=rows")
        page.wait_for_selector(".fill-free")
        assert re.search(offers, _said(page), re.IGNORECASE)
        page.keyboard.press("p")
        page.wait_for_selector(":root[data-old]")
        assert re.findall(f".*(?:{offers}).*", _said(page), re.IGNORECASE) == []


@pytest.fixture(scope="module")
def all_just_freed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board for which whatever is free has been so for a moment only."""
    with running_board(
        "--demo",
        "4",
        log=tmp_path_factory.mktemp("board") / "log",
        limits={"gpuboard.model.verdict.JUST_FREED_SECONDS": 1e9},
    ) as board:
        yield board


def _said(page: Page) -> str:
    """What the page shows and says aloud, but for the order of the rows (most free first)."""
    spoken = "[...document.querySelectorAll('main [aria-label]')].map((each) => each.ariaLabel)"
    told: list[str] = page.evaluate(
        f"[...document.querySelector('main').innerText.split('\\n'), ...{spoken}]"
    )
    return "\n".join(WAS_SINCE.sub("", line) for line in told if "▾" not in line)


def test_book_is_struck_out_like_copy_while_the_page_is_paused(browser: Browser, demo: RunningBoard) -> None:
    """What is shown is old: nothing on it is offered."""
    look = "each => [getComputedStyle(each).textDecorationLine, getComputedStyle(each).color]"
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}?need=1")
        book = page.get_by_role("button", name=re.compile("^Book ·")).first
        expect(book).to_be_enabled()
        page.keyboard.press("p")
        expect(page.get_by_role("button", name=re.compile("^Paused"))).to_be_visible()
        expect(book).to_be_disabled()
        copy = page.get_by_role("button", name=re.compile("^Copy")).first
        assert book.evaluate(look) == copy.evaluate(look)
        assert book.evaluate(look)[0] == "line-through"


@pytest.mark.parametrize("path", ["?view=rows", "?view=cards&q=free", "nodes/{node}", "gpus/{uuid}"])
def test_nothing_keeps_the_green_of_free_once_the_data_is_old(
    browser: Browser, demo: RunningBoard, path: str
) -> None:
    """Not a chip, not a count, not a badge, not the word "live": none of it may be true any more."""
    block = httpx.get(f"{demo.url}api/v1/free").json()["blocks"][0]
    with visit(browser, demo.url) as page:
        page.goto(demo.url + path.format(node=block["node"], uuid=block["uuids"][0]))
        page.wait_for_selector(".fill-free")
        assert page.evaluate(GREEN)
        page.keyboard.press("p")
        expect(page.get_by_role("button", name=re.compile("^Paused"))).to_be_visible()
        assert page.evaluate(GREEN) == []
        wait_until(lambda: page.title().startswith("? free"))
        icon = page.locator("link[rel=icon]").get_attribute("href") or ""
        assert "008560" not in icon


def test_hidden_names_are_nowhere_on_the_page(browser: Browser, demo: RunningBoard, tmp_path: Path) -> None:
    """Not in any attribute either; the page says how to see them."""
    people = httpx.get(f"{demo.url}api/v1/people").json()["people"]
    names = re.compile(r"\b({})\b".format("|".join(re.escape(each["user"]) for each in people)))
    with (
        running_board("--demo", "12", "--anonymous", "counts", log=tmp_path / "log") as board,
        visit(browser, board.url) as page,
    ):
        gpu = httpx.get(f"{board.url}api/v1/nodes/dgx-03").json()["gpus"][0]["uuid"]
        for path, seen in (
            ("?view=rows", ".cell[data-uuid]"),
            ("?view=cards", "article[data-uuid]"),
            ("?group=user", ".answer"),
            ("people", "h1"),
            ("nodes/dgx-03", "article[data-uuid]"),
            (f"gpus/{gpu}", "h1 a"),
        ):
            page.goto(f"{board.url}{path}")
            page.wait_for_selector(seen)
            assert names.findall(page.content()) == [], path
            if path in {"?view=rows", "people"}:
                expect(page.get_by_text("Names are hidden from visitors.").first).to_be_visible()
                keep(page, f"names-hidden-{'people' if path == 'people' else 'board'}")


def test_who_may_see_nothing_is_told_so(browser: Browser, tmp_path: Path) -> None:
    """With the setting that changes it, and no endless skeleton."""
    with (
        running_board("--demo", "1", "--anonymous", "nothing", log=tmp_path / "log") as board,
        visit(browser, board.url, allow="status of 401|WebSocket connection") as page,
    ):
        page.goto(board.url)
        expect(page.get_by_text("The board does not show itself to you")).to_be_visible()
        page.get_by_text("No way to sign in?").click()
        expect(page.get_by_text("To get in as a visitor, ask whoever runs the board")).to_be_visible()
        expect(page.get_by_text('anonymous = "counts"')).to_be_visible()
        expect(page.get_by_text("gpuboard status", exact=True)).to_be_visible()
        keep(page, "refused")


def test_a_part_of_the_board_in_trouble_is_said_until_it_is_well(browser: Browser, tmp_path: Path) -> None:
    """One line with what, since when and why; gone by itself."""
    share = tmp_path / "share"
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with (
        running_board("--config", str(config), "--demo", "2", log=tmp_path / "log", until="healthz") as board,
        visit(browser, board.url) as page,
    ):
        page.goto(board.url)
        line = page.get_by_text(
            re.compile(rf"^\s*folder {share}: in trouble since .*No such file or directory")
        )
        expect(line).to_be_visible()
        assert_fits(page)
        keep(page, "trouble")
        share.mkdir()
        expect(line).to_have_count(0)


def test_a_board_without_nodes_says_how_to_add_one(young: Callable[[str], Young]) -> None:
    """The first thing that a new admin sees."""
    page = young("without nodes").page
    expect(page.get_by_text("No node yet")).to_be_visible(timeout=60_000)
    for command in ("gpuboard serve --demo", 'kind = "ssh"', "gpuboard node enroll"):
        expect(page.get_by_text(command).first).to_be_visible()
    expect(page.get_by_text("agents that push no node found")).to_be_visible()
    assert_fits(page)
    keep(page, "first-run")


def test_a_board_without_nodes_breaks_no_rule(young: Callable[[str], Young], axe: str) -> None:
    """At any size, light and dark."""
    page = young("without nodes").page
    expect(page.get_by_text("No node yet")).to_be_visible(timeout=60_000)
    assert_no_rule_is_broken(page, axe)


def test_a_node_that_has_had_the_time_to_be_heard_needs_a_look(young: Callable[[str], Young]) -> None:
    """On the page that was open when the board started, too."""
    page = young("without one").page
    expect(page.get_by_role("region", name="1 node needs a look")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("heard so far")).to_have_count(0)


@pytest.mark.parametrize(("tier", "paths"), [("names", 1), ("counts", 0)])
def test_an_empty_board_says_what_each_of_its_sources_has_found(
    young: Callable[[str], Young], tier: str, paths: int
) -> None:
    """Paths only to those who may see names."""
    _board, page, folder = young(tier)
    found = page.locator("main li")
    expect(found.filter(has_text="files in a folder")).to_have_count(2, timeout=60_000)
    expect(found.filter(has_text="no node found")).to_have_count(2)
    expect(found.filter(has_text=re.compile("No such file|folder cannot be read"))).to_have_count(1)
    expect(found.get_by_text(str(folder / "share"), exact=True)).to_have_count(paths)
    assert (str(folder) in page.content()) == bool(paths)
    keep(page, f"sources-{tier}")
