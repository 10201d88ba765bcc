"""Booking on the page: from the board, and on the page of bookings."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect

from gpuboard.bookings.limits import week_of
from gpuboard.model.problems import problem
from tests.agent.test_vouching import vouch
from tests.booking_lab import Lab, booking_lab, gpu
from tests.browser import DESKTOP, PHONE, Size, Theme, assert_fits, keep, visit
from tests.e2e.page.people import REFUSED, apart, signed_in
from tests.e2e.page.test_away_and_back import GONE
from tests.e2e.page.test_cells import CUT_NUMBERS
from tests.e2e.page.test_page_for_everybody import TOO_SMALL, axe, violations
from tests.pushing import wait_until
from tests.signing_in import signed_in as browsing

__all__ = ["axe"]

SETTINGS = """
[access]
anonymous = "names"

[bookings]
longest = "8h"
gpus_at_once = 4
comments_json = "FOLDER/comments.json"

[bookings.groups.few]
gpus_at_once = 2

[groups.people]
few = ["wim"]

[[source]]
kind = "push"
"""


# Cells whose countdown is not on one line within them.
CUT_COUNTDOWN = """() => [...document.querySelectorAll('.cell.counting')].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell.querySelector('b').firstChild);
  const [one, ...more] = range.getClientRects();
  const edge = cell.getBoundingClientRect();
  return more.length || one.left < edge.left || one.right > edge.right || one.bottom > edge.bottom;
}).map((cell) => cell.textContent)"""


FEW_AT_ONCE = "Policy: [bookings.groups.few] gpus_at_once."


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A board that takes bookings, and gives back what nobody comes to."""
    settings = SETTINGS.replace("[bookings]\n", '[bookings]\non_no_show = "release"\n')
    stack = ExitStack()
    yield apart(stack.enter_context, booking_lab(tmp_path_factory.mktemp("lab"), settings))
    apart(stack.close)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A board of its own, of a node with 16 GPUs, the first of them booked for 29 minutes more."""
    stack = ExitStack()
    lab = apart(stack.enter_context, booking_lab(tmp_path_factory.mktemp("wide"), SETTINGS))
    apart(lab.report, *map(gpu, range(16)))
    book_elsewhere(lab, "ana", [0], seconds=29 * 60)
    yield lab
    apart(stack.close)


@pytest.fixture
def lab(running: Lab) -> Lab:
    """It has nothing booked; its node has three free GPUs."""
    apart(clear, running)
    return running


def clear(lab: Lab) -> None:
    """End whatever is booked."""
    lab.claims.write_text("{}")
    admin = browsing(lab.board, "root", "admin")
    always = {"from": time.time(), "to": time.time() + 366 * 86_400}
    for one in admin.http.get("api/v1/bookings", params=always).json()["bookings"]:
        if one["state"] in ("upcoming", "running"):
            admin.delete(f"api/v1/bookings/{one['id']}").raise_for_status()
    lab.report(gpu(0), gpu(1), gpu(2))
    wait_until(lambda: all(lab.row(number)["verdict"]["word"] == "free" for number in range(3)))


def cell(page: Page, number: int) -> Locator:
    """A GPU on the board, in rows."""
    if "view=rows" not in page.url:
        page.goto(f"{page.url.split('?')[0]}?view=rows")
    return page.locator(f'main [data-uuid="{gpu(number).uuid}"][tabindex]')


def open_form(page: Page, number: int) -> Locator:
    """Choose a GPU; its form."""
    cell(page, number).click()
    form = page.get_by_role("dialog").get_by_role("form", name="Book")
    expect(form).to_be_visible()
    return form


def book_elsewhere(
    lab: Lab, person: str, gpus: list[int], seconds: int = 7200, start: float | None = None
) -> str:
    """Somebody books by another browser."""
    wish = {"places": [{"node": "gpu01", "gpus": gpus}], "for_seconds": seconds, "start": start}
    answer = apart(lambda: browsing(lab.board, person).post("api/v1/bookings", wish))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["booking"]["id"])


def field(at: float) -> str:
    """A moment as a field for day and time wants it; the browser's clock is this machine's."""
    return f"{datetime.fromtimestamp(at):%Y-%m-%dT%H:%M}"  # noqa: DTZ006 - of this machine


def test_two_clicks_book_a_gpu(browser: Browser, lab: Lab) -> None:
    """The cell, then the button that says the whole deed; the cell then says until when."""
    with signed_in(browser, lab.board, "ana") as page:
        form = open_form(page, 0)
        keep(page, "book-form")
        form.get_by_role("button", name=re.compile(r"^Book 1 GPU until ")).click()
        expect(page.get_by_role("dialog").get_by_text(re.compile("^Booked: gpu01 · 0, "))).to_be_visible()
        expect(cell(page, 0)).to_have_class(re.compile("fill-booked"))
        expect(cell(page, 0)).to_contain_text("until")
        keep(page, "book-done")


def test_who_wants_what_is_booked_hears_who_has_it_and_what_else_fits(browser: Browser, lab: Lab) -> None:
    """The form stays as typed; the next gap is a button."""
    with signed_in(browser, lab.board, "ben", allow=REFUSED) as page:
        form = open_form(page, 0)
        form.get_by_label("Comment").fill("my run")
        book_elsewhere(lab, "ana", [0])
        chip = form.get_by_role("button", name=re.compile("^GPU 0"))
        # It turns dashed, and stays chosen: news changes nothing that was typed.
        expect(chip).to_have_class(re.compile("taken"))
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(form.get_by_text(re.compile("gpu01 GPU 0 is booked by ana until"))).to_be_visible()
        form.get_by_role("button", name=re.compile("^Book 1 GPU until")).click()
        expect(form.get_by_text(re.compile("gpu01 GPU 0 is booked by ana until"))).to_be_visible()
        expect(form.get_by_label("Comment")).to_have_value("my run")
        keep(page, "book-refused")
        form.get_by_role("button", name=re.compile("^Take ")).click()
        form.get_by_role("button", name=re.compile("^Book 1 GPU, ")).click()
        expect(page.get_by_role("status").filter(has_text=re.compile("^Booked: "))).to_be_visible()


def test_what_is_free_says_when_it_is_booked_next(browser: Browser, lab: Lab) -> None:
    """On its card and on its page: "free" alone would read as a promise, two hours before somebody comes."""
    book_elsewhere(lab, "ana", [0], start=time.time() + 2 * 3600)
    book_elsewhere(lab, "ben", [0], start=time.time() + 5 * 3600)
    next_one = re.compile(r"^Booked from .*\d\d:\d\d by ana\.$")
    with signed_in(browser, lab.board, "wim") as page:
        cell(page, 0).click()
        expect(page.get_by_role("dialog").get_by_text(next_one)).to_be_visible()
        page.goto(f"{lab.board.url}gpus/{gpu(0).uuid}")
        expect(page.get_by_text(next_one)).to_be_visible()
        page.goto(f"{lab.board.url}gpus/{gpu(1).uuid}")
        expect(page.get_by_role("heading", name="GPU 1")).to_be_visible()
        expect(page.get_by_text(re.compile("^Booked from"))).to_have_count(0)


def make(conflict: str, lab: Lab) -> None:
    """Bring something in the way of GPU 0."""
    if conflict == "booked":
        book_elsewhere(lab, "ana", [0])
    elif conflict == "held without end":
        lab.claims.write_text('{"gpu01": {"0": {"name": "otto", "date": "some day", "comment": ""}}}')
        wait_until(lambda: (lab.row(0).get("claim") or {}).get("who") == "somebody (unreadable date)")
    elif conflict == "in use":
        lab.report(gpu(0, user="eve"), gpu(1), gpu(2))
    elif conflict == "broken":
        lab.report(gpu(0), gpu(1), gpu(2), problems=(problem("gpu-lost", gpu_uuid=gpu(0).uuid),))
    elif conflict == "stale":
        lab.report(gpu(0), gpu(1), gpu(2), interval_seconds=0.5)
        wait_until(lambda: lab.row(0)["verdict"]["word"] == "stale")


@pytest.mark.parametrize(
    ("conflict", "sentence", "ways"),
    [
        ("booked", "GPU 0 is booked by ana until", ["Take", "GPU 1 instead"]),
        (
            "held without end",
            r"booked by somebody \(unreadable date\) \(not verified\) until ∞",
            ["GPU 1 instead", "Find a slot"],
        ),
        ("in use", "eve is on gpu01 GPU 0 now", ["Take", "GPU 1 instead"]),
        ("broken", "GPU 0 is broken now", ["Take", "GPU 1 instead"]),
        # As all of the node is.
        ("stale", "GPU 0 is stale now", ["Take", "Find a slot"]),
    ],
    ids=["booked", "endless", "in-use", "broken", "stale"],
)
def test_every_conflict_has_two_ways_out(
    browser: Browser, lab: Lab, conflict: str, sentence: str, ways: list[str]
) -> None:
    """Whatever is in the way of one GPU that is wanted now: the first of them leads to a booking."""
    apart(make, conflict, lab)
    with signed_in(browser, lab.board, "ben") as page:
        cell(page, 0).focus()
        page.keyboard.press("b")
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_text(re.compile(sentence))).to_be_visible()
        for way in ways:
            role: Literal["button", "link"] = "link" if way == "Find a slot" else "button"
            expect(form.get_by_role(role, name=re.compile(way))).to_be_visible()
        keep(page, f"book-{conflict.replace(' ', '-')}")
        assert_fits(page)
        form.get_by_role("button", name=re.compile(ways[0])).click()
        expect(form.get_by_text(re.compile(sentence))).to_have_count(0)
        form.get_by_role("button", name=re.compile("^Book 1 GPU")).click()
        done = page.get_by_role("status").filter(has_text=re.compile("^Booked: "))
        expect(done).to_be_visible()
        if conflict in ("broken", "stale"):
            expect(done).to_contain_text(f"gpu01 GPU 0 is {conflict} now, and may still be then.")


def test_a_booking_that_is_extended_into_another_has_two_ways_out(browser: Browser, lab: Lab) -> None:
    """As far as it goes, or a slot of its own; who is on its GPU is in nobody's way."""
    book_elsewhere(lab, "eve", [0], start=int(time.time()) + 3 * 3600)
    book_elsewhere(lab, "ana", [0])
    apart(lab.report, gpu(0, user="eve"), gpu(1), gpu(2))
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_role("button", name=re.compile("^Change: ")).click()
        form = own.get_by_role("form", name="Change: gpu01 · 0")
        expect(form.get_by_text(re.compile("eve is on"))).to_have_count(0)
        form.get_by_role("button", name="4 h", exact=True).click()
        expect(form.get_by_text(re.compile("GPU 0 is booked by eve, "))).to_be_visible()
        expect(form.get_by_role("link", name="Find a slot")).to_be_visible()
        form.get_by_role("button", name=re.compile("^Only until ")).click()
        form.get_by_role("button", name=re.compile("^Change to ")).click()
        expect(own.get_by_text(re.compile(r"^(2\sh\s5\d|3\sh) left"))).to_be_visible()


def test_limits_are_those_of_the_time_that_is_chosen(browser: Browser, lab: Lab) -> None:
    """What is booked now takes no GPU from next week, and what is booked then none from now."""
    monday = week_of(time.time(), None)[1]
    ten = monday + 10 * 3600
    book_elsewhere(lab, "wim", [0, 1], start=ten)
    with signed_in(browser, lab.board, "wim") as page:
        form = open_form(page, 2)
        wrong = form.locator("p.no")
        expect(form.get_by_text("You may book 2 more GPUs at once, of at most 2. (few)")).to_be_visible()
        expect(wrong).to_have_count(0)
        form.get_by_label("From").fill(field(ten))
        form.get_by_label("Until").fill(field(ten + 3600))
        expect(wrong).to_contain_text(f"You may have 2 GPUs at once, this would make 3. {FEW_AT_ONCE}")
        keep(page, "book-limit")
        book_elsewhere(lab, "wim", [0, 1])
        form.get_by_label("From").fill(field(ten + 4 * 3600))
        form.get_by_label("Until").fill(field(ten + 5 * 3600))
        expect(form.get_by_text("You may book 2 more GPUs at once, of at most 2. (few)")).to_be_visible()
        expect(wrong).to_have_count(0)


def test_limits_are_seen_before_a_booking_is_changed(browser: Browser, lab: Lab) -> None:
    """Also before an hour is added; what it has itself is not in its way."""
    book_elsewhere(lab, "wim", [0], seconds=8 * 3600)
    book_elsewhere(lab, "wim", [1], start=int(time.time()) + 3600)
    with signed_in(browser, lab.board, "wim") as page:
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        too_long = "+ 1 h: A booking may last 8 h at most, this would be 9 h. Policy: [bookings] longest."
        expect(own.get_by_text(too_long)).to_be_visible()
        expect(own.get_by_role("button", name="+ 1 h: gpu01 · 0")).to_be_disabled()
        expect(own.get_by_role("button", name="+ 1 h: gpu01 · 1")).to_be_enabled()
        own.get_by_role("button", name="Change: gpu01 · 1").click()
        form = own.get_by_role("form", name="Change: gpu01 · 1")
        expect(form.get_by_text("Nothing else is booked there.")).to_be_visible()
        wrong = form.locator("p.no")
        expect(wrong).to_have_count(0)
        form.get_by_role("button", name="GPU 2").click()
        expect(wrong).to_contain_text(f"You may have 2 GPUs at once, this would make 3. {FEW_AT_ONCE}")
        keep(page, "bookings-change-limit")


def test_the_last_hour_of_a_booking_counts_down(browser: Browser, lab: Lab) -> None:
    """In its cell, live; the tip says until when too. Whoever comes has a mark that it is their own."""
    book_elsewhere(lab, "ana", [0], seconds=29 * 60 + 5)
    with signed_in(browser, lab.board, "ben") as page:
        booked = cell(page, 0)
        expect(booked).to_contain_text(re.compile(r"(29|28)\smin left"))
        expect(booked).not_to_contain_text("until")
        keep(page, "cell-countdown")
        booked.hover()
        expect(page.get_by_role("tooltip")).to_contain_text(
            re.compile(r"until (\w{3} )?\d\d:\d\d · 2\d\smin left · ana")
        )
        before = booked.inner_text()
        expect(booked).not_to_have_text(before, use_inner_text=True)
        apart(lab.report, gpu(0, user="ana"), gpu(1, user="eve"), gpu(2))
        expect(cell(page, 0)).to_have_accessible_name(re.compile("in its booking$"))
        expect(cell(page, 0).locator("s svg")).to_be_visible()
        expect(cell(page, 1).locator("s")).to_have_count(0)
        keep(page, "cell-in-its-booking")


@pytest.mark.parametrize("width", [820, 1024, 1440])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"])
def test_a_countdown_is_never_cut(browser: Browser, wide: Lab, locale: str, width: int) -> None:
    """In a narrow cell the number and its unit stay, or give way as one."""
    with visit(browser, wide.board.url, size=(width, 900), locale=locale) as page:
        page.goto(f"{wide.board.url}?view=rows")
        expect(page.locator(".cell.counting")).to_be_visible()
        assert page.evaluate(CUT_NUMBERS) == []
        assert page.evaluate(CUT_COUNTDOWN) == []
        keep(page, f"countdown-{width}-{locale}")


def test_who_is_not_signed_in_is_told_the_way(browser: Browser, lab: Lab) -> None:
    """One sentence, and where to sign in."""
    with visit(browser, lab.board.url) as page:
        page.goto(lab.board.url)
        cell(page, 0).click()
        panel = page.get_by_role("dialog")
        expect(panel.get_by_text("Booking needs to know who you are.")).to_be_visible()
        expect(panel.get_by_role("link", name="Sign in")).to_be_visible()


def test_a_key_opens_the_form_of_the_gpu_with_the_focus(browser: Browser, lab: Lab) -> None:
    """Also of one that is taken now: it can be had later."""
    apart(lab.report, gpu(0), gpu(1, user="eve"), gpu(2))
    with signed_in(browser, lab.board, "ana") as page:
        cell(page, 1).focus()
        page.keyboard.press("b")
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_text(re.compile("eve is on gpu01 GPU 1 now"))).to_be_visible()


def test_what_one_needs_is_booked_together(browser: Browser, lab: Lab) -> None:
    """Book beside an offer chooses what is picked there."""
    with signed_in(browser, lab.board, "ana") as page:
        offer = page.get_by_role("region", name="I need")
        offer.get_by_role("button", name="GPU 1").click()
        offer.get_by_role("button", name=re.compile("^Book · gpu01")).click()
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_role("button", name=re.compile("^Book 2 GPUs until"))).to_be_visible()


def test_a_phone_books_in_a_sheet(browser: Browser, lab: Lab) -> None:
    """Nothing is wider than the screen, and the button is as wide as it can be."""
    with signed_in(browser, lab.board, "ana", size=PHONE) as page:
        form = open_form(page, 2)
        assert_fits(page)
        keep(page, "book-phone")
        form.get_by_role("button", name=re.compile("^Book 1 GPU until")).click()
        expect(page.get_by_role("status").filter(has_text=re.compile("^Booked: "))).to_be_visible()


def too_small(page: Page) -> list[str]:
    """What a finger cannot hit; a board may have as short a name as it likes."""
    return [each for each in page.evaluate(TOO_SMALL) if 'class="brand' not in each]


def test_a_phone_has_what_is_booked_by_day(browser: Browser, lab: Lab) -> None:
    """Everybody's with use and what is wrong, a slot among them; mine; what is not as booked."""
    book_elsewhere(lab, "ana", [0])
    book_elsewhere(lab, "ben", [1])
    apart(lab.report, gpu(0, user="ana"), gpu(1, user="eve"), gpu(2))
    with signed_in(browser, lab.board, "ana", size=PHONE) as page:
        page.goto(f"{lab.board.url}bookings")
        now = page.get_by_role("region", name="Now")
        mine = now.get_by_role("listitem").filter(has_text="gpu01 · 0")
        expect(mine.get_by_text(re.compile(r"\d % use now"))).to_be_visible()
        expect(mine.get_by_role("button", name="+ 1 h: gpu01 · 0")).to_be_visible()
        others = now.get_by_role("listitem").filter(has_text="gpu01 · 1")
        expect(others.get_by_text("GPU 1 · eve runs on a booking of ben.")).to_be_visible()
        expect(others.get_by_role("button")).to_have_count(0)
        expect(now.get_by_role("listitem").filter(has_text="gpu01 · 2 free")).to_be_visible()
        keep(page, "bookings-phone")
        assert_fits(page)
        assert too_small(page) == []
        page.get_by_role("button", name="! 1").click()
        odd = page.get_by_role("region", name="Not as booked")
        expect(odd.get_by_text("eve runs on a booking of ben.")).to_be_visible()
        page.get_by_role("button", name="Mine 1").click()
        own = page.get_by_role("region", name="My bookings")
        expect(own.get_by_role("button", name="End now: gpu01 · 0")).to_be_visible()
        assert too_small(page) == []
        keep(page, "bookings-phone-mine")
        page.reload()
        expect(own).to_be_visible()
        page.get_by_role("main").get_by_role("button", name="Book", exact=True).click()
        find = page.get_by_role("dialog").get_by_role("form", name="Find a slot")
        keep(page, "bookings-phone-find")
        find.get_by_role("button", name=re.compile("^Book 1 GPU until")).click()
        expect(find.get_by_text(re.compile("^Booked: gpu01 · 2, "))).to_be_visible()


def test_my_bookings_are_extended_changed_and_ended(browser: Browser, lab: Lab) -> None:
    """Everything that can be done with a booking is beside it."""
    book_elsewhere(lab, "ana", [0, 1])
    with signed_in(browser, lab.board, "ana") as page:
        page.keyboard.press("g")
        page.keyboard.press("k")
        expect(page.get_by_role("heading", name="Bookings", exact=True)).to_be_visible()
        own = page.get_by_role("region", name="My bookings")
        expect(own.get_by_text(re.compile(r"^(1\sh\s5\d|2\sh) left"))).to_be_visible()
        # What happens next is said before it does.
        # With its day, if that is tomorrow.
        waiting = re.compile(r"^Nobody on it yet; given back at (\w{3} )?\d\d:\d\d\.$")
        expect(own.get_by_text(waiting)).to_be_visible()
        keep(page, "bookings")
        own.get_by_role("button", name=re.compile(r"^\+ 1 h")).click()
        expect(own.get_by_text(re.compile(r"^(2\sh\s5\d|3\sh) left"))).to_be_visible()
        # It can be used, as what one needs can.
        own.get_by_role("button", name="Copy: gpu01 · 0, 1").click()
        expect(own.get_by_role("button", name=re.compile("export CUDA_VISIBLE_DEVICES=GPU-"))).to_be_visible()
        own.get_by_role("button", name="Copy: gpu01 · 0, 1").click()
        own.get_by_role("button", name=re.compile("^Change: ")).click()
        form = own.get_by_role("form", name="Change: gpu01 · 0, 1")
        # What has begun says why its start and its GPUs are no fields.
        expect(form.get_by_text("only its end and its comment can change")).to_be_visible()
        expect(form.get_by_label("From")).to_have_count(0)
        expect(form.locator(":disabled")).to_have_count(0)
        form.get_by_label("Comment").fill("ablation")
        keep(page, "bookings-change")
        form.get_by_role("button", name=re.compile("^Change to ")).click()
        expect(own.get_by_text("“ablation”")).to_be_visible()
        own.get_by_role("button", name=re.compile("^End now")).click()
        own.get_by_role("button", name=re.compile("Really")).click()
        expect(own.get_by_text("You have booked nothing.")).to_be_visible()
        # What was is still there, with how much of it was used; what was before that in a list of its own.
        expect(own.get_by_text(re.compile(r"^0 % of .* GPU-hours used$"))).to_be_visible()
        keep(page, "bookings-past")
        own.get_by_role("button", name="All my past bookings").click()
        past = page.get_by_role("dialog", name="All my past bookings")
        expect(past.get_by_text("“ablation”")).to_be_visible()


@pytest.mark.parametrize(
    ("size", "address", "region"),
    [
        (DESKTOP, "bookings", "My bookings"),
        (PHONE, "bookings?show=mine", "My bookings"),
        (DESKTOP, "people/ana", "Bookings"),
    ],
    ids=["lanes", "phone", "person"],
)
def test_all_of_ones_own_is_listed_however_far_ahead(
    browser: Browser, lab: Lab, size: Size, address: str, region: str
) -> None:
    """Who has booked for next month sees it; what others have then, the lanes of then show."""
    ahead = time.time() + 40 * 86_400
    book_elsewhere(lab, "ana", [0, 2], start=ahead)
    book_elsewhere(lab, "eve", [1], start=ahead)
    with signed_in(browser, lab.board, "ana", size=size) as page:
        page.goto(f"{lab.board.url}{address}")
        own = page.get_by_role("region", name=region, exact=True)
        expect(own.get_by_text("gpu01 · 0, 2")).to_be_visible()
        expect(page.get_by_text("gpu01 · 1", exact=True)).to_have_count(0)


@pytest.mark.parametrize(
    ("address", "region"), [("bookings", "My bookings"), ("people/ana", "Bookings")], ids=["own", "person"]
)
def test_the_work_of_somebody_else_is_not_called_ones_use(
    browser: Browser, lab: Lab, address: str, region: str
) -> None:
    """Who it is stands in the booking itself."""
    book_elsewhere(lab, "ana", [0])
    apart(lab.report, gpu(0, user="eve"), gpu(1), gpu(2))
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}{address}")
        own = page.get_by_role("region", name=region, exact=True)
        expect(own.get_by_text("GPU 0 · eve runs on a booking of ana.")).to_be_visible()
        expect(own.get_by_text("left")).to_be_visible()
        expect(own.get_by_text("use now")).to_have_count(0)


def test_who_changes_bookings_by_keys_goes_on_where_they_were(browser: Browser, lab: Lab) -> None:
    """On the entry, the next one once it is gone, and then on the heading."""
    day = time.time() // 86_400 * 86_400 + 2 * 86_400
    book_elsewhere(lab, "ana", [0], start=day)
    book_elsewhere(lab, "ana", [1], start=day + 86_400)
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        first, second = (own.locator("[data-own]").filter(has_text=f"gpu01 · {number}") for number in (0, 1))
        first.get_by_role("button", name="Change: gpu01 · 0").press("Enter")
        first.get_by_role("form").get_by_label("Comment").fill("mine")
        first.get_by_role("button", name=re.compile("^Change to ")).press("Enter")
        expect(own.get_by_role("form")).to_have_count(0)
        expect(first).to_be_focused()
        for one, next_one in ((first, second), (second, own.get_by_role("heading"))):
            one.get_by_role("button", name=re.compile("^Cancel: ")).press("Enter")
            one.get_by_role("button", name=re.compile("Really")).press("Enter")
            expect(one).to_have_count(0)
            expect(next_one).to_be_focused()


def test_that_the_board_does_not_answer_is_said_until_it_is_back(browser: Browser, lab: Lab) -> None:
    """Below a booking, too: nobody takes an old sentence for how it is now."""
    book_elsewhere(lab, "ana", [0])
    streams: list[WebSocketRoute] = []

    def connect(stream: WebSocketRoute) -> None:
        stream.connect_to_server()
        streams.append(stream)

    with signed_in(browser, lab.board, "ana", allow=GONE) as page:
        page.route_web_socket(re.compile("/api/v1/stream"), connect)
        page.route("**/api/v1/bookings/*", lambda route: route.abort())
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_role("button", name=re.compile("^End now: ")).click()
        own.get_by_role("button", name=re.compile("Really")).click()
        silent = own.get_by_role("alert").get_by_text("The board does not answer.")
        expect(silent).to_be_visible()
        streams[-1].close()
        expect(silent).to_have_count(0)
        expect(own.get_by_role("button", name=re.compile("^End now: "))).to_be_visible()


def test_a_form_undoes_nothing_that_another_window_has_changed(browser: Browser, lab: Lab) -> None:
    """It stays as typed and says what the booking is now; who wants it all the same presses again."""
    made = book_elsewhere(lab, "ana", [0])
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_role("button", name="Change: gpu01 · 0").click()
        form = own.get_by_role("form", name="Change: gpu01 · 0")
        form.get_by_label("Comment").fill("mine")
        apart(change_elsewhere, lab, "ana", made, extend_seconds=3600)
        save = form.get_by_role("button", name=re.compile("^Change to "))
        save.click()
        expect(form.get_by_text(re.compile("^! This booking has changed meanwhile: it is "))).to_be_visible()
        expect(form.get_by_label("Comment")).to_have_value("mine")
        keep(page, "book-outdated")
        save.click()
        expect(own.get_by_text("“mine”")).to_be_visible()


def change_elsewhere(lab: Lab, person: str, ident: str, **change: object) -> None:
    """Somebody changes a booking by another browser."""
    other = browsing(lab.board, person)
    url, headers = f"api/v1/bookings/{ident}", {"x-csrf-token": other.csrf}
    other.http.patch(url, json=change, headers=headers).raise_for_status()


def test_my_bookings_say_through_which_node(browser: Browser, lab: Lab) -> None:
    """Root of that node can book as anybody there: one notices."""
    own = apart(browsing, lab.board, "ben")
    code = apart(vouch, lab.board, "login1", 1000, "ben").json()["code"]
    apart(lambda: own.use_link(code).raise_for_status())
    wish = {"places": [{"node": "gpu01", "gpus": [0]}], "for_seconds": 7200}
    apart(lambda: own.post("api/v1/bookings", wish).raise_for_status())
    with signed_in(browser, lab.board, "ben") as page:
        page.goto(f"{lab.board.url}bookings")
        region = page.get_by_role("region", name="My bookings")
        expect(region.get_by_text("Booked through login1.")).to_be_visible()


def test_a_whole_node_is_changed_too(browser: Browser, lab: Lab) -> None:
    """It stays the whole node; its end and its comment are other ones."""
    wish = {"places": [{"node": "gpu01"}], "for_seconds": 7200}
    made = apart(lambda: browsing(lab.board, "ben", "admin").post("api/v1/bookings", wish | {"who": "ana"}))
    assert made.status_code == 201, made.text
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_role("button", name="Change: gpu01 · whole node").click()
        form = own.get_by_role("form", name="Change: gpu01 · whole node")
        expect(form.get_by_role("group", name="GPUs")).to_be_hidden()
        form.get_by_role("button", name="4 h", exact=True).click()
        form.get_by_label("Comment").fill("all of it")
        form.get_by_role("button", name=re.compile("^Change to ")).click()
        expect(own.get_by_text(re.compile(r"^(3\sh\s5\d|4\sh) left"))).to_be_visible()
        expect(own.get_by_text("“all of it”")).to_be_visible()
        expect(own.get_by_text("gpu01 · whole node")).to_be_visible()


def test_a_slot_is_found_and_booked(browser: Browser, lab: Lab) -> None:
    """What is booked already is gone around."""
    book_elsewhere(lab, "eve", [0])
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        find = page.get_by_role("form", name="Find a slot")
        find.get_by_label("GPUs").select_option("2")
        expect(find.get_by_text(re.compile(r"^Earliest: .* gpu01 · 1, 2$"))).to_be_visible()
        find.get_by_role("button", name=re.compile("^Book 2 GPUs until")).click()
        # The board chooses, as for a command, and says why.
        why = re.compile(r"Chosen as the smallest block that suffices: 2 . A100 on gpu01\.")
        expect(find.get_by_role("status")).to_contain_text(why)
        expect(page.get_by_role("region", name="My bookings").get_by_text("gpu01 · 1, 2")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^eve: gpu01 · 0, "))).to_be_visible()


def test_a_slot_that_a_policy_forbids_says_so_before_one_books(browser: Browser, lab: Lab) -> None:
    """As the form of the lanes does."""
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        find = page.get_by_role("form", name="Find a slot")
        find.get_by_label("Length").select_option("24")
        words = re.compile(
            r"^! A booking may last 8\sh at most, this would be 24\sh\. Policy: \[bookings\] longest\.$"
        )
        expect(find.get_by_text(words)).to_be_visible()
        find.get_by_label("Length").select_option("8")
        expect(find.get_by_text(words)).to_have_count(0)


def test_a_slot_that_may_not_be_there_says_so_before_one_books(browser: Browser, lab: Lab) -> None:
    """Once, not for each of its GPUs; and nobody calls it free."""
    apart(make, "stale", lab)
    with signed_in(browser, lab.board, "ana", size=PHONE) as page:
        page.goto(f"{lab.board.url}bookings")
        slot = page.get_by_role("listitem").filter(has_text="gpu01 · 0")
        expect(slot.get_by_text("gpu01 GPU 0 is stale now, and may still be then.")).to_be_visible()
        expect(slot.get_by_text("free")).to_have_count(0)
    with signed_in(browser, lab.board, "ana") as page:
        page.goto(f"{lab.board.url}bookings")
        find = page.get_by_role("form", name="Find a slot")
        find.get_by_label("GPUs").select_option("3")
        away = "gpu01 GPU 0, 1, 2 are stale now, and may still be then."
        expect(find.get_by_text(f"! {away}")).to_be_visible()
        find.get_by_role("button", name=re.compile("^Book 3 GPUs, ")).click()
        expect(find.get_by_role("status")).to_contain_text(away)
        expect(find.get_by_role("status").get_by_text("stale")).to_have_count(1)


def test_everybody_sees_what_is_not_as_booked(browser: Browser, lab: Lab) -> None:
    """Also who is not signed in, where names are shown."""
    book_elsewhere(lab, "ana", [1])
    apart(lab.report, gpu(0), gpu(1, user="eve"), gpu(2))
    with visit(browser, lab.board.url) as page:
        page.goto(f"{lab.board.url}bookings")
        odd = page.get_by_role("region", name="Not as booked")
        expect(odd.get_by_text("eve runs on a booking of ana.")).to_be_visible()


def test_a_form_knows_what_is_booked_far_ahead(browser: Browser, lab: Lab) -> None:
    """It says so before one presses."""
    start = time.time() // 3600 * 3600 + 40 * 86_400
    book_elsewhere(lab, "eve", [1], start=start)
    with signed_in(browser, lab.board, "ana") as page:
        form = open_form(page, 1)
        expect(form.get_by_text("Nothing else is booked there.")).to_be_visible()
        form.get_by_label("Until").fill(field(start + 3600))
        form.get_by_label("From").fill(field(start))
        form.get_by_label("Comment").focus()
        expect(form.get_by_text(re.compile(r"^! gpu01 GPU 1 is booked by eve, "))).to_be_visible()


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        # From 3:00 clocks go back to 2:00.
        ("Europe/Berlin", ("00:00", "03:00", "07:00")),
        # Here they do a week later.
        ("America/New_York", ("18:00", "22:00", "02:00")),
    ],
    ids=["berlin", "new-york"],
)
def test_a_booking_over_the_change_of_clocks_is_the_same_in_two_zones(
    browser: Browser, lab: Lab, zone: str, hours: tuple[str, str, str]
) -> None:
    """Eight hours, of which a policy allows no more; each reads the hours and the name of their own zone."""
    change = next_autumn().timestamp()
    begin, end = change - 3 * 3600, change + 5 * 3600
    first, after_four_hours, last = (
        f"{datetime.fromtimestamp(at, ZoneInfo(zone)):%Y-%m-%dT%H:%M}"
        for at in (begin, begin + 4 * 3600, end)
    )
    assert tuple(each[-5:] for each in (first, after_four_hours, last)) == hours
    with signed_in(browser, lab.board, "ana", zone=zone) as page:
        form = open_form(page, 0)
        expect(form.get_by_text(f"Times in {zone}")).to_be_visible()
        form.get_by_label("From").fill(first)
        form.get_by_role("button", name="4 h", exact=True).click()
        expect(form.get_by_label("Until")).to_have_value(after_four_hours)
        form.get_by_label("Until").fill(last)
        keep(page, f"book-autumn-{zone.split('/')[1]}")
        form.get_by_role("button", name=re.compile(f"^Book 1 GPU, .*{hours[0]} . .*{hours[2]}$")).click()
        expect(page.get_by_role("status").filter(has_text=re.compile("^Booked: "))).to_be_visible()
        url = f"{lab.board.url}api/v1/bookings"
        made = apart(httpx.get, url, params={"from": begin - 3600, "to": end}).json()["bookings"]
        assert [(one["start"], one["end"]) for one in made if one["state"] == "upcoming"] == [(begin, end)]


def next_autumn() -> datetime:
    """When clocks in Europe go back next: on the last Sunday of October, at 1:00 UTC."""
    soon = datetime.now(UTC) + timedelta(days=1)
    ends = (datetime(year, 10, 31, 1, tzinfo=UTC) for year in (soon.year, soon.year + 1))
    return next(at for end in ends if (at := end - timedelta(days=(end.weekday() + 1) % 7)) > soon)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_axe_has_nothing_to_say(browser: Browser, lab: Lab, axe: str, size: Size, theme: Theme) -> None:
    """The form and the page of bookings, on a desk and on a phone."""
    book_elsewhere(lab, "eve", [0])
    book_elsewhere(lab, "ana", [1])
    with signed_in(browser, lab.board, "ana", size=size, theme=theme) as page:
        form = open_form(page, 2)
        expect(form.get_by_role("button", name=re.compile("^Book 1 GPU until"))).to_be_visible()
        keep(page, f"book-form-{size[0]}-{theme}")
        assert violations(page, axe) == []
        for shown in ("", "?show=mine"):
            page.goto(f"{lab.board.url}bookings{shown}")
            own = page.locator("section, ul").get_by_text("gpu01 · 1")
            expect(own.first).to_be_visible()
            assert_fits(page)
            keep(page, f"bookings-{size[0]}-{theme}{shown.strip('?')}")
            assert violations(page, axe) == []


def test_what_is_typed_where_the_clock_is_set_is_said_to_be_another_time(browser: Browser, lab: Lab) -> None:
    """What is set over, and what comes twice; not of what is typed after it."""
    with signed_in(browser, lab.board, "ana", zone="Europe/Berlin") as page:
        form = open_form(page, 0)
        start = form.get_by_label("From")
        start.fill("2027-03-28T02:30")
        start.blur()
        said = form.get_by_text("There is no 02:30 on that day: the clock is set over it.")
        expect(said).to_contain_text("03:30")
        expect(start).to_have_value("2027-03-28T03:30")
        start.fill("2027-10-31T02:30")
        start.blur()
        expect(form.get_by_text("02:30 comes twice on that day")).to_be_visible()
        expect(said).to_have_count(0)
        start.fill("2027-10-31T04:30")
        start.blur()
        expect(form.get_by_text("comes twice")).to_have_count(0)
