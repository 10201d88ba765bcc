"""The cells of the board: which GPU each is, what it says in whole words, and what opens from it."""

import re
import time
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, expect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.board import computing as told_as  # one of its own makes readings
from tests.browser import NUMBERS, PHONE, TABLET, Size, assert_fits, keep, visit
from tests.pushing import wait_until

CELLS = ".cell[data-uuid]"
LAPTOP = (1280, 720)
LANGUAGES = ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"]

# Texts with a number in them of which a part can be seen, and a part cannot.
CUT_NUMBERS = """() => {
  const clips = (each) => getComputedStyle(each).overflowX !== 'visible' ||
    getComputedStyle(each).overflowY !== 'visible';
  // The browser puts its dots in the place of a whole block.
  const whole = (each) => getComputedStyle(each).display === 'inline-block' &&
    getComputedStyle(each.parentElement).textOverflow === 'ellipsis';
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('[role=grid]'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    for (const match of text.data.matchAll(/\\d+/g)) {
      const range = document.createRange();
      range.setStart(text, match.index);
      range.setEnd(text, match.index + match[0].length);
      const own = range.getBoundingClientRect();
      if (!own.width || text.parentElement.closest('.visually-hidden, a, .cell u')) continue;
      if (whole(text.parentElement)) continue;
      let [left, right, top, bottom] = [own.left, own.right, own.top, own.bottom];
      for (let each = text.parentElement; each.role !== 'grid'; each = each.parentElement) {
        if (!clips(each)) continue;
        const box = each.getBoundingClientRect();
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      const away = right - left < 1 || bottom - top < 4;
      if (!away && right - left < own.width - 1) found.push(text.data);
    }
  }
  return found;
}"""


def computing(number: int, users: int) -> GpuReading:
    """A GPU at full use with so many people on it."""
    processes = tuple(
        GpuProcess(pid=place, user=f"person{place}", uid=place, memory_used_bytes=2 * GIB, program="python")
        for place in range(users)
    )
    return GpuReading(
        uuid="GPU",
        index=number,
        model="NVIDIA A100-SXM4-80GB",
        memory_total_bytes=80 * GIB,
        memory_used_bytes=2 * GIB * users,
        utilization_percent=100.0 if users else 0.0,
        processes=processes,
    )


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A node with a hole in its numbers, and one with sixteen GPUs."""
    folder = tmp_path_factory.mktemp("cells")
    share = folder / "share"
    share.mkdir()
    nodes = {
        "hole": tuple(computing(number, 0) for number in (0, 1, 3)),
        "large": tuple(computing(number, 13) for number in range(16)),
    }
    for name, gpus in nodes.items():
        own = tuple(replace(gpu, uuid=f"GPU-{name}-{gpu.index}") for gpu in gpus)
        report = NodeReport(node=name, taken_at=time.time(), interval_seconds=3600, gpus=own)
        (share / f"{name}.json").write_bytes(encode_drop(report))
    config = folder / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with running_board("--config", str(config), log=folder / "log") as running:
        yield running


def open_rows(page: Page, board: RunningBoard, query: str = "") -> None:
    """The board with its GPUs."""
    page.goto(f"{board.url}?view=rows{query}")
    expect(page.locator(CELLS).first).to_be_visible()


@pytest.mark.parametrize("size", [(1440, 900), LAPTOP, TABLET, PHONE], ids=lambda size: str(size[0]))
def test_every_cell_says_which_gpu_it_is(browser: Browser, board: RunningBoard, size: Size) -> None:
    """Wherever it stands in its line, and to those who only hear it; no heading says another number."""
    with visit(browser, board.url, size=size) as page:
        open_rows(page, board)
        for node, numbers in (("hole", [0, 1, 3]), ("large", range(16))):
            row = page.locator(f"[data-row='/{node}']")
            assert row.locator(".cells").evaluate(NUMBERS) == [str(number) for number in numbers]
            for number in numbers:
                cell = row.locator(f"[data-uuid='GPU-{node}-{number}']")
                expect(cell).to_have_accessible_name(re.compile(rf"^{node} GPU {number},"))
        for heading in page.get_by_role("columnheader").all():
            assert not re.search(r"\d", heading.inner_text())
        assert_fits(page)
        keep(page, f"numbers-{size[0]}")


@pytest.mark.parametrize("size", [LAPTOP, TABLET, PHONE], ids=lambda size: str(size[0]))
@pytest.mark.parametrize("locale", LANGUAGES)
def test_no_number_is_cut_in_two(
    browser: Browser, demo: RunningBoard, board: RunningBoard, locale: str, size: Size
) -> None:
    """What has no room is left out as a whole; half a number is another one."""
    with visit(browser, demo.url, size=size, locale=locale) as page:
        open_rows(page, demo)
        assert page.evaluate(CUT_NUMBERS) == []
        keep(page, f"numbers-{locale}-{size[0]}")
    with visit(browser, board.url, size=size, locale=locale) as page:
        open_rows(page, board)
        assert page.evaluate(CUT_NUMBERS) == []


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_bar_of_a_cell_is_its_figure(browser: Browser, demo: RunningBoard, size: Size) -> None:
    """A full bar below 3 % would have to be learnt."""
    with visit(browser, demo.url, size=size) as page:
        open_rows(page, demo, "&q=busy")
        page.keyboard.press("p")
        cells = page.evaluate(
            """() => [...document.querySelectorAll('.cell.fill-busy')].map((cell) => [
              parseFloat(cell.querySelector('b').textContent),
              100 * new DOMMatrix(getComputedStyle(cell.querySelector('i')).transform).a])"""
        )
        assert cells
        assert all(abs(figure - bar) <= 1 for figure, bar in cells)


def test_a_free_cell_promises_nothing(page: Page, demo: RunningBoard) -> None:
    """Since when it is free stands where one asks for it, if that is known."""
    gpu = told_as(demo, "free")[1]
    since = gpu["verdict"]["since"]
    open_rows(page, demo, "&q=free")
    cell = page.locator(f"[data-uuid='{gpu['uuid']}']")
    expect(cell).to_have_text(re.compile(r"^\s*free\s*$"))
    cell.hover()
    told = r"free · since .+ \(.+\)" if since is not None else r"free\s*$"
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile(told))


def title_of(cell: Locator) -> str:
    """What the tip of a cell begins with."""
    name = cell.get_attribute("aria-label") or ""
    node, number = re.match(r"(\S+) GPU ([\d:]+),", name).groups()  # type: ignore[union-attr]
    return f"{node} · GPU {number}"


def middle(cell: Locator) -> tuple[float, float]:
    """Where one points at a cell."""
    box = cell.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_tip_never_catches_the_pointer(page: Page, demo: RunningBoard) -> None:
    """From a cell the next one can be reached in every direction, though the tip lies over some."""
    open_rows(page, demo, "&sort=name")
    rows = page.locator("[data-row]")
    tip = page.get_by_role("tooltip")
    for down, right in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)):
        cell = rows.nth(3 + down).locator(CELLS).nth(3 + right)
        centre = rows.nth(3).locator(CELLS).nth(3)
        centre.scroll_into_view_if_needed()
        page.mouse.move(*middle(centre))
        expect(tip).to_contain_text(title_of(centre))
        assert len(tip.locator("p").all()) == 2
        page.mouse.move(*middle(cell), steps=8)
        expect(tip).to_contain_text(title_of(cell))
    keep(page, "tip")
    page.mouse.move(5, 5)
    expect(tip).to_have_count(0)


@pytest.mark.parametrize("place", [0, 7])
def test_enter_docks_the_detail_and_escape_leads_back_to_the_cell(
    page: Page, demo: RunningBoard, place: int
) -> None:
    """It never covers the GPU that it is about; use is told of the last minute, and of now."""
    open_rows(page, demo, "&sort=name")
    rows = page.locator("[data-row]")
    cells = [rows.nth(number).locator(CELLS).nth(place) for number in range(rows.count())]
    cell = next(each for each in cells if "fill-busy" in (each.get_attribute("class") or ""))
    cell.focus()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Enter")
    detail = page.get_by_role("dialog")
    expect(detail).to_be_focused()
    expect(detail).to_contain_text(re.compile(r"\d+ %\s+now \d+ %"))
    expect(detail.locator("figcaption")).to_have_text("Use in the last hour")
    expect(detail.locator("figure")).to_contain_text("100 %")
    own, its = detail.bounding_box(), cell.bounding_box()
    assert own is not None
    assert its is not None
    assert own["y"] >= its["y"] + its["height"]
    keep(page, f"docked-{place}")
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)
    expect(cell).to_be_focused()


def test_a_fleet_of_sixty_nodes_has_its_names(browser: Browser, large: RunningBoard) -> None:
    """Rows answer which and who; a map would not."""
    with visit(browser, large.url) as page:
        page.goto(large.url)
        expect(page.locator(CELLS).first).to_be_visible()
        expect(page.get_by_role("rowheader").first).to_be_visible()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """Sixty nodes with 480 GPUs."""
    with running_board("--demo", "60", log=tmp_path_factory.mktemp("large") / "log") as running:
        yield running


def test_the_map_counts_each_node_once(browser: Browser, large: RunningBoard) -> None:
    """Grouped by person, most stand with several."""
    with visit(browser, large.url) as page:
        page.goto(f"{large.url}?view=map&group=user")
        expect(page.get_by_role("heading", name="60 nodes", exact=True)).to_be_visible()
        names = page.get_by_role("navigation", name="Nodes on the map").get_by_role("link").all_inner_texts()
        assert len(names) == len(set(names)) == 60


# The different squares of the map, by what is drawn in them.
KINDS = """() => {
  const map = document.querySelector('canvas');
  const copy = new OffscreenCanvas(map.width, map.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(map, 0, 0);
  const { data } = copy.getImageData(0, 0, map.width, map.height);
  const colours = new Map();
  for (let at = 0; at < data.length; at += 4) {
    if (!data[at + 3]) continue;
    const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
    colours.set(colour, (colours.get(colour) ?? 0) + 1);
  }
  return Object.fromEntries(colours);
}"""


def test_the_map_can_be_read_in_forced_colours(browser: Browser, large: RunningBoard) -> None:
    """Outlines and signs on the viewer's own background, instead of squares that are all black."""
    with visit(browser, large.url) as page:
        page.emulate_media(forced_colors="active")
        page.goto(f"{large.url}?view=map")
        expect(page.locator("canvas")).to_be_visible()
        wait_until(lambda: sum(page.evaluate(KINDS).values()) > 0)
        drawn = page.evaluate(KINDS)
        keep(page, "map-forced")
        # Mostly what is within the outlines; without them everything would be of one colour.
        assert drawn["255,255,255"] > drawn["0,0,0"] / 2 > 0
