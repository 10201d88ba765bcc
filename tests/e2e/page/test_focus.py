"""Where the focus is: on the page that one has come to, and back where one was."""

import re
import signal
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.browser import PHONE, keep, visit

CELLS = ".cell[data-uuid]"
HEADING = "main h1"
# Two keys that belong together only within a moment, which a busy machine may need for the first alone.
GO_TO_PEOPLE = """() => ['g', 'p'].forEach((key) =>
  document.activeElement.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })))"""


def open_rows(page: Page, board: RunningBoard, query: str = "") -> None:
    """The board with its GPUs."""
    page.goto(f"{board.url}?view=rows{query}")
    expect(page.locator(CELLS).first).to_be_visible()


def open_page(page: Page) -> None:
    """From a cell: Enter opens its detail, and there once more its page."""
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(HEADING)).to_be_focused()


@pytest.mark.parametrize("way", ["Escape", "Back"])
def test_enter_leads_to_the_heading_of_the_gpu_and_back_to_its_cell(
    page: Page, demo: RunningBoard, way: str
) -> None:
    """Whoever does not see the page hears where they are, and goes on from where they were."""
    open_rows(page, demo)
    page.locator(CELLS).nth(20).focus()
    uuid = page.locator(CELLS).nth(20).get_attribute("data-uuid")
    open_page(page)
    expect(page).to_have_title(re.compile(r"GPU \d+ · "))
    if way == "Back":
        page.go_back()
        # As it was left: with the detail open.
        expect(page.get_by_role("dialog")).to_be_focused()
        page.keyboard.press("Escape")
    else:
        page.keyboard.press("Escape")
    expect(page.locator(f".cell[data-uuid='{uuid}']")).to_be_focused()
    expect(page).to_have_url(f"{demo.url}?view=rows")


def test_a_cell_that_was_scrolled_to_is_found_again(browser: Browser, demo: RunningBoard) -> None:
    """Far below the first screen, with the page where it was."""
    with visit(browser, demo.url, size=(1280, 500)) as page:
        open_rows(page, demo)
        last = page.locator(CELLS).last
        last.focus()
        uuid = last.get_attribute("data-uuid")
        open_page(page)
        page.keyboard.press("Escape")
        cell = page.locator(f".cell[data-uuid='{uuid}']")
        expect(cell).to_be_focused()
        expect(cell).to_be_in_viewport()


def test_every_page_that_is_opened_has_the_focus_on_its_heading(page: Page, demo: RunningBoard) -> None:
    """By a link and by keys; what is typed into the filter stays there."""
    open_rows(page, demo)
    page.locator("main a[href*='nodes/']").first.click()
    expect(page.locator(HEADING)).to_be_focused()
    page.evaluate(GO_TO_PEOPLE)
    expect(page.get_by_role("heading", name="People", level=1)).to_be_focused()
    page.get_by_role("link", name="Board", exact=True).click()
    expect(page.locator(HEADING)).to_be_focused()


def test_back_from_a_node_leads_to_its_name(page: Page, demo: RunningBoard) -> None:
    """In the row that it was opened from."""
    open_rows(page, demo)
    name = page.get_by_role("rowheader").get_by_role("link", name="dgx-02", exact=True)
    name.click()
    expect(page.locator(HEADING)).to_be_focused()
    page.keyboard.press("Escape")
    expect(name).to_be_focused()


def test_the_names_of_nodes_are_reached_with_the_arrows(page: Page, demo: RunningBoard) -> None:
    """Left of the first GPU, up and down from there, right into the GPUs again; Enter opens the node."""
    open_rows(page, demo)
    rows = page.locator("[data-row]")
    first = rows.first.locator(CELLS).first
    first.focus()
    page.keyboard.press("ArrowLeft")
    names = page.get_by_role("rowheader").get_by_role("link")
    expect(names.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(names.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(rows.nth(1).locator(CELLS).first).to_be_focused()
    page.keyboard.press("h")
    node = names.nth(1).inner_text()
    expect(names.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=node, level=1)).to_be_focused()


def test_the_help_has_every_key_and_can_silence_the_totals(page: Page, demo: RunningBoard) -> None:
    """Whoever listens to the page decides what they hear by themselves."""
    open_rows(page, demo)
    page.keyboard.press("?")
    expect(page.get_by_text("Keep the detail of the GPU open")).to_be_visible()
    choice = page.get_by_role("checkbox", name=re.compile("screen readers"))
    expect(choice).to_be_checked()
    choice.uncheck()
    keep(page, "help")
    page.reload()
    expect(page.locator(CELLS).first).to_be_visible()
    page.keyboard.press("?")
    expect(choice).not_to_be_checked()


def test_what_a_button_copied_is_said(page: Page, demo: RunningBoard) -> None:
    """Outside of the button: what is inside of one is part of its name, and no news."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said = page.locator("[role=status]:not(button *)")
    open_rows(page, demo)
    page.get_by_role("region", name="I need").get_by_role("button", name=re.compile("^Copy")).first.click()
    for form in ("Command", "On the node", "Docker", "UUIDs"):
        page.get_by_role("dialog").get_by_role("button", name=form).click()
        expect(said.filter(has_text=f"{form}: Copied")).to_have_count(1)
    uuid = page.locator(CELLS).first.get_attribute("data-uuid")
    # As narrow as a phone, where a node is shared; this browser knows no way but to copy.
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.get_by_role("button", name=re.compile("^Share · ")).first.click()
    expect(said.get_by_text("Copied", exact=True)).to_have_count(1)
    page.goto(f"{demo.url}gpus/{uuid}")
    page.get_by_role("button", name="Copy UUID").click()
    expect(said.get_by_text("Copied", exact=True)).to_have_count(1)
    assert page.locator("button :is([role=status], [role=alert], [aria-live])").count() == 0


def focused_uuid(page: Page) -> str | None:
    """The GPU whose cell has the focus."""
    uuid: str | None = page.evaluate("document.activeElement.dataset.uuid ?? null")
    return uuid


def leave_only(page: Page, query: str) -> None:
    """Filter as a link of the page does, with the focus where it is."""
    page.evaluate(
        "(query) => { history.pushState(null, '', query); dispatchEvent(new PopStateEvent('popstate')); }",
        query,
    )


def test_a_cell_that_is_filtered_away_gives_its_focus_to_the_nearest_of_its_row(
    page: Page, demo: RunningBoard
) -> None:
    """Whoever works with keys goes on from there, not from the top of the page."""
    open_rows(page, demo)
    row = page.locator("[data-row]:has(.cell.fill-free):has(.cell.fill-busy)").first
    row.locator(".cell.fill-busy").first.focus()
    key = row.get_attribute("data-row")
    page.wait_for_load_state("networkidle")
    leave_only(page, "?view=rows&q=free")
    here = page.locator(f"[data-row='{key}'] .cell:focus")
    expect(here).to_have_count(1)
    expect(here).to_have_class(re.compile("fill-free"))
    page.keyboard.press("ArrowDown")
    expect(page.locator(".cell:focus")).to_have_count(1)


def test_with_nothing_left_the_focus_is_on_the_line_that_says_so(page: Page, demo: RunningBoard) -> None:
    """It is read out, and Tab goes on from it."""
    open_rows(page, demo)
    page.locator(CELLS).nth(20).focus()
    page.wait_for_load_state("networkidle")
    leave_only(page, "?view=rows&q=node:nowhere")
    expect(page.locator("[data-results]")).to_be_focused()
    expect(page.locator("[data-results]")).to_contain_text("0 of 96 GPUs")


def test_what_one_leaves_by_oneself_is_not_called_back(page: Page, demo: RunningBoard) -> None:
    """A click beside everything means that nothing has the focus."""
    open_rows(page, demo)
    page.locator(CELLS).nth(20).focus()
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    leave_only(page, "?view=rows&q=free")
    expect(page.locator("[data-results]")).to_contain_text("of 96 GPUs")
    assert focused_uuid(page) is None


def folder_of(share: Path, node: str) -> str:
    """The settings of a folder in which one node has left what it says."""
    share.mkdir()
    gpus = tuple(
        GpuReading(
            uuid=f"GPU-{node}-{index}",
            index=index,
            model="NVIDIA L4",
            memory_total_bytes=24 * GIB,
            memory_used_bytes=0,
            utilization_percent=0.0,
            processes=(),
        )
        for index in range(4)
    )
    report = NodeReport(node=node, taken_at=time.time(), interval_seconds=3600, gpus=gpus)
    (share / f"{node}.json").write_bytes(encode_drop(report))
    return f'[[source]]\nkind = "folder"\npath = "{share}"\n'


def test_a_node_that_leaves_gives_its_focus_to_the_nearest_cell(browser: Browser, tmp_path: Path) -> None:
    """Its GPU has a neighbour above or below."""
    stays, leaves = folder_of(tmp_path / "a", "stays"), folder_of(tmp_path / "b", "leaves")
    config = tmp_path / "gpuboard.toml"
    config.write_text(stays + leaves)
    # Who leaves is forgotten at once.
    limits = {"gpuboard.fleet.left.MAX_LEFT_NODES": 0}
    with (
        running_board("--config", str(config), log=tmp_path / "log", limits=limits) as board,
        visit(browser, board.url) as page,
    ):
        open_rows(page, board)
        page.locator("[data-uuid='GPU-leaves-2']").focus()
        page.wait_for_load_state("networkidle")
        config.write_text(stays)
        board.process.send_signal(signal.SIGHUP)
        expect(page.locator("[data-uuid='GPU-leaves-2']")).to_have_count(0)
        expect(page.locator("[data-uuid='GPU-stays-2']")).to_be_focused()
