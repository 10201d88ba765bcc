"""Bookings and real processes of real users, on pages that are never reloaded: the whole story."""

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from icalendar import Calendar
from playwright.sync_api import Browser, Locator, Page, expect

from tests.board import running_board
from tests.browser import keep, running_chromium, visit
from tests.cli.test_login import NEEDS_ROOT, folder
from tests.e2e.page.people import REFUSED, apart
from tests.e2e.test_a_booked_node import NO_SHOW_SECONDS, SETTINGS, UIDS, BookedNode
from tests.fakes import nvml
from tests.parts import require
from tests.started import eventually, started

__all__ = ["folder"]

# Long enough for what people do in their browsers meanwhile.
ABSENT_SECONDS = 30
# Of fifty minutes.
LEFT = re.compile(r"(4\d|50)\smin left")


@pytest.fixture
def node(tmp_path: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookedNode]:
    """A board that releases what nobody comes to, and its node."""
    require("cc", "unshare")
    config = tmp_path / "gpuboard.toml"
    config.write_text(SETTINGS.replace(f'"{NO_SHOW_SECONDS}s"', f'"{ABSENT_SECONDS}s"'))
    library = nvml.build(tmp_path_factory.getbasetemp())
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        yield BookedNode(board, tmp_path, folder, library)


@contextlib.contextmanager
def window(browser: Browser, node: BookedNode, person: str) -> Iterator[Page]:
    """The page of somebody who has signed in from the node; until the end it is the same page."""
    with visit(browser, node.board.url, allow=REFUSED) as page:
        page.goto(apart(node.link, person))
        page.get_by_role("button", name=f"Sign in as {person}").click()
        expect(page.get_by_role("banner").get_by_text(person)).to_be_visible()
        page.goto(f"{node.board.url}?view=rows")
        expect(cell(page, 3)).to_be_visible()
        page.evaluate("window.marked = true")
        yield page
        assert page.evaluate("window.marked")


def cell(page: Page, number: int) -> Locator:
    """A GPU on the board."""
    return page.locator("main .cell[data-uuid]").nth(number)


def form_on(page: Page, number: int) -> Locator:
    """The form of a GPU."""
    cell(page, number).click()
    return page.get_by_role("dialog").get_by_role("form", name="Book")


def book_two(page: Page) -> None:
    """Book the first two GPUs for less than an hour."""
    form = form_on(page, 0)
    form.get_by_role("button", name="GPU 1", exact=True).click()
    end = datetime.fromtimestamp(time.time() + 50 * 60)  # noqa: DTZ006 - the browser's clock is this machine's
    form.get_by_label("Until").fill(f"{end:%Y-%m-%dT%H:%M}")
    form.get_by_role("button", name=re.compile("^Book 2 GPUs until ")).click()
    expect(page.get_by_role("status").filter(has_text="Booked: gpu01 · 0, 1")).to_be_visible()


def be_refused(page: Page, form: Locator) -> None:
    """Want what is booked: the open form has heard of it, and the board says so too."""
    refusal = form.get_by_text(re.compile("gpu01 GPU 0 is booked by ana until"))
    expect(refusal).to_be_visible()
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        form.get_by_role("button", name=re.compile("^Book 1 GPU until ")).click()
    assert answered.value.status == httpx.codes.CONFLICT
    expect(refusal).to_be_visible()
    keep(page, "story-refused")


def look_at_bookings(page: Page, booking: dict[str, Any]) -> Locator:
    """See how long one's own still lasts, who is on it, and the same in the calendar; one's own ones."""
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("k")
    own = page.get_by_role("region", name="My bookings")
    expect(own.get_by_text("gpu01 · 0, 1")).to_be_visible()
    expect(own.get_by_text(LEFT)).to_be_visible()
    odd = page.get_by_role("region", name="Not as booked")
    expect(odd.get_by_text("ben runs on a booking of ana.").first).to_be_visible()
    keep(page, "story-trespass")
    own.get_by_text("Calendar feed", exact=True).click()
    own.get_by_role("button", name="Make the address").click()
    address = own.locator("code")
    expect(address).to_have_text(re.compile("key=gpf_"))
    (event,) = Calendar.from_ical(apart(httpx.get, address.text_content() or "").text).events
    span = [datetime.fromtimestamp(booking[name], UTC) for name in ("start", "end")]
    assert ([event.start, event.end], "gpu01" in str(event["summary"])) == (span, True)
    return own


@NEEDS_ROOT
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_tells_a_booking_from_its_making_to_its_release(node: BookedNode) -> None:
    """Ana books two GPUs and does not come; Ben is refused, and computes there all the same."""
    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(running_chromium())
        theirs = [stack.enter_context(started(uid=UIDS["ben"])) for _ in range(2)]
        with node.agent() as kill_the_agent:
            ana = stack.enter_context(window(browser, node, "ana"))
            ben = stack.enter_context(window(browser, node, "ben"))
            terminal = apart(node.terminal, "ana")
            wish = form_on(ben, 0)
            book_two(ana)
            for page in (ana, ben):
                expect(cell(page, 1)).to_contain_text(LEFT)
            be_refused(ben, wish)
            # From now on she cannot come: he is on both.
            apart(node.run_on, {number: process.pid for number, process in enumerate(theirs)})
            for page in (ana, ben):
                expect(cell(page, 0)).to_have_class(re.compile("flagged"))
            (booking,) = apart(terminal.own)
            own = look_at_bookings(ana, booking)
            kill_the_agent()
        expect(cell(ben, 0)).to_have_class(re.compile("fill-stale"))
        apart(node.run_on, {})
        # For longer than a no-show takes nobody sees the GPUs, and nothing is released.
        seconds = 2 * ABSENT_SECONDS + 2
        ident = booking["id"]
        eventually(lambda: terminal.booking(ident)["use"]["unobserved_seconds"] > seconds, seconds=300)
        assert terminal.booking(ident)["state"] == "running"
        expect(own.get_by_text("gpu01 · 0, 1")).to_be_visible()
        with node.agent():
            expect(own.get_by_text("You have booked nothing.")).to_be_visible(timeout=120_000)
            assert terminal.booking(ident)["state"] == "released"
            keep(ana, "story-released")
            ana.keyboard.press("g")
            ana.keyboard.press("b")
            ana.keyboard.press("2")
            for page in (ana, ben):
                for number in (0, 1):
                    expect(cell(page, number)).to_have_class(re.compile("fill-free"))
