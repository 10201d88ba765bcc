"""The people page: who has how much, who wastes it, and a way to ask them."""

import gzip
import json
import re
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.browser import PHONE, assert_fits, keep, visit
from tests.pushing import wait_until

NODES = 40
# The GPUs whose numbers are marked, one by one.
MARKED = """() => [...document.querySelectorAll('.where em')].flatMap((each) => {
  const node = each.closest('a').firstChild.textContent.trim();
  return each.firstChild.textContent.split(', ').flatMap((range) => {
    const [first, last = first] = range.split('\u2013').map(Number);
    return Array.from({ length: last - first + 1 }, (_, place) => `${node} ${first + place}`);
  });
})"""


def book(page: Page, uuid: str, who: str) -> None:
    """Let the board say that somebody has booked what another uses."""
    claim: dict[str, Any] = {"who": who, "until": None, "comment": None, "is_unverified": False, "behind": []}

    def tell(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def said(frame: str | bytes) -> None:
            message = json.loads(frame if isinstance(frame, str) else gzip.decompress(frame))
            gpus = message.get("gpus") or {}
            for place, each in enumerate(gpus.get("uuid", [])):
                if each == uuid:
                    gpus["claim"][place] = claim
            socket.send(json.dumps(message))

        server.on_message(said)

    page.route_web_socket(re.compile("/api/v1/stream"), tell)


def computing(number: int, user: str, use: float) -> GpuReading:
    """A GPU that somebody holds."""
    process = GpuProcess(pid=100 + number, user=user, uid=number, memory_used_bytes=8 * GIB, program="python")
    return GpuReading(
        uuid=f"GPU-{number}",
        index=number % 4,
        model="NVIDIA RTX 4090",
        memory_total_bytes=24 * GIB,
        memory_used_bytes=8 * GIB,
        utilization_percent=use,
        processes=(process,),
    )


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """Forty nodes: anneliese has three GPUs on each of them, ben an idle one on each of the first five."""
    folder = tmp_path_factory.mktemp("people")
    share = folder / "share"
    share.mkdir()
    drop(share)
    config = folder / "gpuboard.toml"
    config.write_text(
        '[names]\npeople = { ben = "Ben B" }\ncontact = "mailto:{person}@lab.example"\n'
        '[verdict]\nidle_after = "1s"\n'
        f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n'
    )
    with running_board("--config", str(config), log=folder / "log") as running:
        # Whether somebody idles is judged with what his node says next.
        wait_until(lambda: idle_after_a_round(running, share) == 5)
        yield running


def idle_after_a_round(board: RunningBoard, share: Path) -> int:
    """Let all nodes say the same again; how many GPUs somebody holds without work."""
    drop(share)
    idle: int = httpx.get(f"{board.url}api/v1/summary").json()["by_verdict"]["idle"]
    return idle


def drop(share: Path) -> None:
    """Leave what all nodes say now."""
    for place in range(NODES):
        gpus = tuple(
            computing(4 * place + number, "ben" if number == 3 else "anneliese", 0.0 if number == 3 else 90.0)
            for number in range(4 if place < 5 else 3)
        )
        report = NodeReport(node=f"a100-{place:02d}", taken_at=time.time(), interval_seconds=3600, gpus=gpus)
        (share / f"a100-{place:02d}.json").write_bytes(encode_drop(report))


def open_people(page: Page, board: RunningBoard, query: str = "") -> None:
    """The page with somebody on it."""
    page.goto(f"{board.url}people{query}")
    expect(page.locator("tbody tr").first).to_be_visible()


def test_many_nodes_are_folded_and_numbers_are_apart_from_names(
    browser: Browser, board: RunningBoard
) -> None:
    """A name that ends in a number never runs into those of its GPUs."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        fold = page.get_by_role("button", name=f"{NODES} nodes")
        expect(fold).to_have_attribute("aria-expanded", "false")
        expect(page.get_by_role("link", name=re.compile("a100-02"))).to_have_count(1)
        keep(page, "people-folded")
        fold.click()
        expect(page.get_by_role("link", name=re.compile("a100-02 ⟨0.2⟩"))).to_be_visible()


# A link may be higher than its text, for a finger.
ONE_LINE = """(each) => {
  const text = document.createRange();
  text.selectNodeContents(each);
  return text.getBoundingClientRect().height < 2 * parseFloat(getComputedStyle(each).fontSize);
}"""


def test_no_name_is_broken(browser: Browser, board: RunningBoard) -> None:
    """However narrow the window, a name is one line."""
    for size in ((1440, 900), (820, 1180), PHONE):
        with visit(browser, board.url, size=size) as page:
            open_people(page, board)
            name = page.get_by_role("link", name="anneliese", exact=True)
            assert name.evaluate("each => each.getClientRects().length") == 1
            assert name.evaluate(ONE_LINE)
            assert_fits(page)
            keep(page, f"people-names-{size[0]}")


@pytest.mark.parametrize("locale", ["en", "de", "fr"])
def test_where_somebody_is_has_a_line_for_each_place(
    browser: Browser, demo: RunningBoard, locale: str
) -> None:
    """However long a language is in the heads of the other columns."""
    with visit(browser, demo.url, size=(1440, 900), locale=locale) as page:
        page.goto(f"{demo.url}people")
        expect(page.locator("th.mean").first).to_be_visible()
        expect(page.locator(".where a").first).to_be_visible()
        broken = [
            each.inner_text()
            for each in page.locator(".where a:not(.booked)").all()
            if not each.evaluate(ONE_LINE)
        ]
        assert broken == []


def test_the_order_is_in_the_address(browser: Browser, board: RunningBoard) -> None:
    """Who has most comes first, or who wastes most."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        first = page.locator("tbody tr th").first
        expect(first).to_contain_text("anneliese")
        expect(page.get_by_text("5 idle")).to_be_visible()
        page.get_by_role("button", name="idle", exact=True).click()
        expect(first).to_contain_text("Ben B")
        expect(page).to_have_url(re.compile(r"people\?sort=idle$"))
        open_people(page, board, "?sort=hours")
        expect(first).to_contain_text("Ben B")


def test_each_person_has_their_share_and_how_long_theirs_is_idle(
    browser: Browser, board: RunningBoard
) -> None:
    """Of all GPUs; since when the longest one is, and the hours of all of them."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        ben, anneliese = (page.locator("tbody tr", has_text=name) for name in ("Ben B", "anneliese"))
        expect(ben).to_contain_text("4 % of all")
        expect(anneliese).to_contain_text("96 % of all")
        expect(ben.locator(".idle")).to_have_text(
            re.compile(r"5 idle\s*since .*\d\d:\d\d · \d+(\.\d+)? GPU h")
        )
        expect(anneliese.locator(".idle")).to_be_empty()


def test_what_is_typed_chooses_people_at_once(browser: Browser, board: RunningBoard) -> None:
    """On the page itself; Enter leads to the first of them."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        page.keyboard.type("/ben")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text("Ben B")
        expect(page).to_have_url(re.compile(r"people\?q=ben$"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Ben B", exact=True)).to_be_focused()
        page.locator("#filter").fill("nobody-like-this")
        expect(page.get_by_text("Nobody matches “nobody-like-this”.")).to_be_visible()
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("tbody tr")).to_have_count(2)


def test_the_heading_counts_what_the_filter_leaves(browser: Browser, board: RunningBoard) -> None:
    """It went on about everybody."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        heading = page.locator("header", has=page.get_by_role("heading", name="People"))
        expect(heading).to_contain_text("2 people hold 125 GPUs")
        page.keyboard.type("/ben")
        expect(heading).to_contain_text("1 of 2 people, with 5 GPUs")


def test_only_who_holds_a_gpu_is_counted_as_holding_some(browser: Browser, board: RunningBoard) -> None:
    """Who has booked what another uses is listed with 0, and counted by neither page nor board."""
    with visit(browser, board.url) as page:
        book(page, "GPU-0", "zoe")
        open_people(page, board)
        expect(page.get_by_role("row", name=re.compile("^zoe 0"))).to_be_visible()
        expect(page.get_by_text("2 people hold 125 GPUs")).to_be_visible()
        page.goto(board.url)
        holders = page.get_by_role("region", name="Who has the others")
        expect(holders.get_by_role("listitem")).to_have_count(2)


def test_only_the_numbers_of_idle_gpus_are_marked(browser: Browser, demo: RunningBoard) -> None:
    """Beside one idle GPU all the others of a node looked idle too."""
    with visit(browser, demo.url) as page:
        open_people(page, demo)
        wait_until(lambda: set(page.evaluate(MARKED)) == idle_gpus(demo))
        assert idle_gpus(demo)


def idle_gpus(board: RunningBoard) -> set[str]:
    """All of them, as the API tells it."""
    nodes = httpx.get(f"{board.url}api/v1/fleet").json()["nodes"]
    return {
        f"{node['name']} {gpu['label']}"
        for node in nodes
        for gpu in node["gpus"]
        if gpu["verdict"]["word"] == "idle"
    }


def test_who_holds_idle_gpus_can_be_asked(browser: Browser, board: RunningBoard) -> None:
    """By the admin's way, with the evidence; from the page, and from the GPU itself."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        ask = page.get_by_role("link", name="Ask Ben B")
        expect(ask).to_have_count(1)
        # With the idle time, once there is one.
        expect(ask).to_have_attribute("href", re.compile("idle"))
        address = urllib.parse.urlsplit(ask.get_attribute("href") or "")
        assert (address.scheme, address.path) == ("mailto", "ben@lab.example")
        query = urllib.parse.parse_qs(address.query)
        assert "5 GPUs" in query["subject"][0]
        assert re.search(r"^a100-00: GPU 3, idle for \d+ (s|min)$", query["body"][0], re.MULTILINE)
        assert "Could you give back" in query["body"][0]
        page.goto(f"{board.url}gpus/GPU-3")
        expect(page.get_by_role("link", name="Ask Ben B")).to_be_visible()
        page.goto(f"{board.url}gpus/GPU-2")
        expect(page.get_by_role("link", name="anneliese")).to_be_visible()
        expect(page.get_by_role("link", name="Ask", exact=False)).to_have_count(0)


def test_who_holds_idle_gpus_can_be_asked_where_nothing_fits(browser: Browser, board: RunningBoard) -> None:
    """On the board itself, with the text that their page has."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        there = page.get_by_role("link", name="Ask Ben B").get_attribute("href") or ""
        page.goto(board.url)
        ask = page.get_by_role("link", name="Ask Ben B")
        expect(ask).to_have_text("Ben B")
        here = ask.get_attribute("href") or ""
        until = re.compile(r"idle%20for.*?(?=%0A)")
        assert until.sub("", here) == until.sub("", there)


def test_whose_gpus_a_file_books_is_not_said_to_have_nothing_booked(
    browser: Browser, demo: RunningBoard
) -> None:
    """It stood below the very GPUs, and was false: the file of another board is not listed."""
    nodes = httpx.get(f"{demo.url}api/v1/fleet").json()["nodes"]
    who = next(gpu["claim"]["who"] for node in nodes for gpu in node["gpus"] if gpu["claim"])
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}people/{who}")
        expect(page.get_by_text("1 booked", exact=False).first).to_be_visible()
        expect(page.locator("#ran")).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_text("Nothing is booked in the next two weeks.")).to_have_count(0)


def test_since_when_somebody_idles_is_on_the_screen_of_a_phone(browser: Browser, board: RunningBoard) -> None:
    """Nothing has to be scrolled sideways for it, and each figure says what it is."""
    with visit(browser, board.url, size=PHONE) as page:
        page.goto(f"{board.url}people/Ben%20B")
        table = page.get_by_role("table", name="Now")
        row = table.get_by_role("row").nth(1)
        expect(row.get_by_text("GPU 3")).to_be_visible()
        since = row.locator("[data-name=Since]")
        expect(since).to_be_visible()
        assert since.evaluate("(each) => each.getBoundingClientRect().right <= innerWidth")
        around = table.locator("xpath=ancestor::*[contains(@class, 'scrolls')]")
        assert around.evaluate("(each) => each.scrollWidth <= each.clientWidth")
        assert_fits(page)
        keep(page, "person-phone")


def test_who_one_is_is_chosen_once(browser: Browser, board: RunningBoard) -> None:
    """One question instead of a button per person; nobody asks themselves."""
    with visit(browser, board.url) as page:
        open_people(page, board)
        page.get_by_label("Who are you?").select_option("Ben B")
        expect(page.locator("tr.me")).to_contain_text("Ben B")
        expect(page.get_by_role("link", name="Ask Ben B")).to_have_count(0)
        page.reload()
        expect(page.get_by_label("Who are you?")).to_have_value("Ben B")
