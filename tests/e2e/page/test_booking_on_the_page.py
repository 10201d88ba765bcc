"""Booking on the page: from the board, and on the page of bookings."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.booking_lab import Lab, booking_lab, gpu
from tests.browser import DESKTOP, PHONE, Size, Theme, assert_fits, keep, visit
from tests.e2e.page.people import REFUSED, apart, signed_in
from tests.e2e.page.test_page_for_everybody import axe, violations
from tests.signing_in import signed_in as browsing

__all__ = ["axe"]

SETTINGS = """
[access]
anonymous = "names"

[bookings]
longest = "8h"
gpus_at_once = 4

[[source]]
kind = "push"
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A board that takes bookings."""
    stack = ExitStack()
    yield apart(stack.enter_context, booking_lab(tmp_path_factory.mktemp("lab"), SETTINGS))
    apart(stack.close)


@pytest.fixture
def lab(running: Lab) -> Lab:
    """It has nothing booked; its node has three free GPUs."""
    apart(clear, running)
    return running


def clear(lab: Lab) -> None:
    """End whatever is booked."""
    admin = browsing(lab.board, "root", "admin")
    for one in admin.http.get("api/v1/bookings").json()["bookings"]:
        if one["state"] in ("upcoming", "running"):
            admin.delete(f"api/v1/bookings/{one['id']}").raise_for_status()
    lab.report(gpu(0), gpu(1), gpu(2))


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


def book_elsewhere(lab: Lab, person: str, gpus: list[int], seconds: int = 7200) -> str:
    """Somebody books by another browser."""
    wish = {"places": [{"node": "gpu01", "gpus": gpus}], "for_seconds": seconds}
    answer = apart(lambda: browsing(lab.board, person).post("api/v1/bookings", wish))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["booking"]["id"])


def test_two_clicks_book_a_gpu(browser: Browser, lab: Lab) -> None:
    """The cell, then the button that says the whole deed; the cell then says until when."""
    with signed_in(browser, lab.board, "ana") as page:
        form = open_form(page, 0)
        keep(page, "book-form")
        form.get_by_role("button", name=re.compile(r"^Book 1 GPU until ")).click()
        expect(
            page.get_by_role("dialog").get_by_text(re.compile("^Booked: gpu01 · 0, until"))
        ).to_be_visible()
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


def test_my_bookings_are_extended_changed_and_ended(browser: Browser, lab: Lab) -> None:
    """Everything that can be done with a booking is beside it."""
    book_elsewhere(lab, "ana", [0, 1])
    with signed_in(browser, lab.board, "ana") as page:
        page.keyboard.press("g")
        page.keyboard.press("k")
        expect(page.get_by_role("heading", name="Bookings", exact=True)).to_be_visible()
        own = page.get_by_role("region", name="My bookings")
        expect(own.get_by_text(re.compile(r"^(1\sh\s5\d|2\sh) left"))).to_be_visible()
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
        expect(page.get_by_role("region", name="My bookings").get_by_text("gpu01 · 1, 2")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^eve: gpu01 · 0, "))).to_be_visible()


def test_everybody_sees_what_is_not_as_booked(browser: Browser, lab: Lab) -> None:
    """Also who is not signed in, where names are shown."""
    book_elsewhere(lab, "ana", [1])
    apart(lab.report, gpu(0), gpu(1, user="eve"), gpu(2))
    with visit(browser, lab.board.url) as page:
        page.goto(f"{lab.board.url}bookings")
        odd = page.get_by_role("region", name="Not as booked")
        expect(odd.get_by_text("eve runs on a booking of ana.")).to_be_visible()


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
        page.goto(f"{lab.board.url}bookings")
        expect(page.get_by_role("region", name="My bookings").get_by_text("gpu01 · 1")).to_be_visible()
        assert_fits(page)
        keep(page, f"bookings-{size[0]}-{theme}")
        assert violations(page, axe) == []
