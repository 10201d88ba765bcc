"""The page of a demo as a newcomer opens it."""

import re
import time

from playwright.sync_api import Browser, expect

from tests.assembly.test_demo_bookings import demo
from tests.board import RunningBoard
from tests.browser import PHONE, TABLET, assert_fits, keep, visit
from tests.e2e.page.test_away_and_back import GONE

__all__ = ["demo"]

AWAY = "The board does not answer."
KNOWN = re.compile("Nothing else is booked there|Next there")
# The days begin where the notice ends.
BELOW = """() => {
  const [notice, days] = ['.banner', '.head[role=row]'].map((one) =>
    document.querySelector(one).getBoundingClientRect());
  return notice.top < 60 && Math.abs(days.top - notice.bottom) < 2;
}"""


def test_a_newcomer_is_told_who_one_is_and_books(browser: Browser, demo: RunningBoard) -> None:
    """Without signing in; and sees how it looks when something is not as booked."""
    with visit(browser, demo.url) as page:
        page.goto(demo.url)
        expect(
            page.get_by_text("You are lin in this demo: book as you like, nothing is kept.")
        ).to_be_visible()
        expect(page.get_by_role("banner").get_by_text("lin")).to_be_visible()
        page.goto(f"{demo.url}bookings")
        odd = page.get_by_role("region", name="Not as booked")
        expect(odd.get_by_text("dupont has not come.")).to_be_visible()
        expect(odd.get_by_text(re.compile("runs on a booking of (garcia|weber)"))).to_be_visible()
        own = page.get_by_role("region", name="My bookings")
        expect(own.get_by_text("fine-tuning")).to_be_visible()
        keep(page, "demo-bookings")
        page.get_by_role("form", name="Find a slot").get_by_role(
            "button", name=re.compile("^Book 1 GPU")
        ).click()
        expect(own.get_by_role("button", name=re.compile("^End now"))).to_be_visible()


def test_whom_a_demo_makes_somebody_is_not_asked_to_sign_out(browser: Browser, demo: RunningBoard) -> None:
    """They would be lin again at once; and there is no browser in which they have signed in."""
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}account")
        expect(page.get_by_role("heading", level=1)).to_contain_text("lin")
        expect(page.get_by_role("button", name="Make a token")).to_be_visible()
        page.get_by_role("banner").get_by_role("button", name="lin").click()
        expect(page.get_by_role("dialog", name="lin").get_by_text("My GPUs")).to_be_visible()
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
        expect(page.get_by_role("heading", name="Where you are signed in")).to_have_count(0)


def test_a_tablet_has_room_for_who_is_signed_in(browser: Browser, demo: RunningBoard) -> None:
    """Whole, with its arrow beside it: beside so short a name the search gives way."""
    with visit(browser, demo.url, size=TABLET) as page:
        page.goto(demo.url)
        name = page.get_by_role("banner").get_by_role("button", name="lin").locator("b")
        expect(name).to_be_visible()
        assert name.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert_fits(page)
        keep(page, "header-tablet")


def test_you_stands_on_the_line_of_ones_name(browser: Browser, demo: RunningBoard) -> None:
    """A finger's link is higher than its letters; what stands beside them is beside the letters."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}people")
        name = page.get_by_role("rowheader").filter(has_text="you")
        expect(name).to_be_visible()
        middles = name.evaluate("""each => ['a', 'small'].map((tag) => {
            const range = document.createRange();
            range.selectNodeContents(each.querySelector(tag));
            const { top, bottom } = range.getBoundingClientRect();
            return (top + bottom) / 2;
        })""")
        assert abs(middles[0] - middles[1]) < 4, middles
        keep(page, "people-you")


def test_the_labels_of_a_new_token_are_in_a_line(browser: Browser, demo: RunningBoard) -> None:
    """Each above what it names."""
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}account")
        form = page.locator("form").filter(has=page.get_by_role("button", name="Make a token"))
        expect(form).to_be_visible()
        tops = form.evaluate(
            "each => [...each.querySelectorAll(':scope > label > span, legend')]"
            ".map((label) => label.getBoundingClientRect().top)"
        )
        assert len(tops) == 3
        assert max(tops) - min(tops) < 2, tops
        keep(page, "token-form")


def test_a_table_wider_than_a_phone_shows_that_there_is_more(browser: Browser, demo: RunningBoard) -> None:
    """A shadow at its edge: a finger finds what the eye suspects."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}people/lin")
        table = page.get_by_role("region", name="What they ran")
        expect(table).to_be_visible()
        assert table.evaluate("each => each.scrollWidth > each.clientWidth")
        assert "local" in table.evaluate("each => getComputedStyle(each).backgroundAttachment")
        keep(page, "person-phone")


def test_while_the_page_is_paused_no_form_books(browser: Browser, demo: RunningBoard) -> None:
    """Its button is struck out, as "Copy" is."""
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}bookings")
        form = page.get_by_role("form", name="Find a slot")
        book = form.get_by_role("button", name=re.compile("^Book 1 GPU"))
        expect(book).to_have_css("text-decoration-line", "none")
        page.keyboard.press("p")
        expect(book).to_have_css("text-decoration-line", "line-through")
        book.click(force=True)
        expect(form.locator("p[role=status]")).to_have_text("")
        page.keyboard.press("p")
        expect(book).to_have_css("text-decoration-line", "none")


def test_at_an_earlier_moment_nothing_is_booked_or_changed(browser: Browser, demo: RunningBoard) -> None:
    """One line says so, with the way back; what is of now is not told as of then."""
    at = int(time.time()) // 60 * 60 - 26 * 3600
    with visit(browser, demo.url) as page:
        page.goto(f"{demo.url}bookings?open=*&at={at}")
        expect(page.get_by_role("grid").locator("[data-node]").first).to_be_visible()
        expect(page.get_by_text("nothing can be booked or changed in it")).to_be_visible()
        for name in (r"^Book\b", r"^\+ 1 h", "^Change", "^Cancel", "^End now"):
            expect(page.get_by_role("button", name=re.compile(name))).to_have_count(0)
        expect(page.get_by_text("Earliest:")).to_have_count(0)
        expect(page.locator("main").get_by_text("not come", exact=False)).to_have_count(0)
        expect(page.locator(".box.movable")).to_have_count(0)
        expect(page.get_by_text("GPU, as it is now")).to_have_count(0)
        keep(page, "bookings-past")
        page.get_by_role("button", name="Today").click()
        expect(page).to_have_url(re.compile(r"[?&]day="))
        page.locator("main").get_by_role("button", name="Back to live").click()
        expect(page.get_by_role("button", name=re.compile("^Change")).first).to_be_visible()


def test_a_phone_at_an_earlier_moment_reaches_every_page(browser: Browser, demo: RunningBoard) -> None:
    """The bar of time stands above the tabs, not in their place."""
    at = int(time.time()) // 60 * 60 - 26 * 3600
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}bookings?at={at}")
        expect(page.get_by_text("nothing can be booked or changed in it")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile(r"^Book\b"))).to_have_count(0)
        tabs = page.get_by_role("navigation", name="Pages").filter(
            has=page.get_by_role("button", name="More")
        )
        foot = page.locator(".foot")
        expect(tabs).to_be_visible()
        above, below = foot.bounding_box(), tabs.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"] + 1
        assert below["y"] + below["height"] <= PHONE[1]
        keep(page, "bookings-past-phone")
        tabs.get_by_role("link", name="People").tap()
        expect(page).to_have_url(re.compile(rf"/people\?.*at={at}"))
        tabs.get_by_role("button", name="More").tap()
        sheet = page.get_by_role("dialog", name="More").bounding_box()
        assert sheet is not None
        assert sheet["y"] + sheet["height"] <= above["y"]
        keep(page, "people-past-phone")


def test_lanes_and_forms_say_that_the_board_is_away(browser: Browser, demo: RunningBoard) -> None:
    """The notice stays above the days, and nobody reads a browser's words, or what cannot be known."""
    with visit(browser, demo.url, size=(1440, 560), theme="dark", allow=GONE) as page:
        page.goto(f"{demo.url}bookings?open=*")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_role("button", name=re.compile("^Change")).first.click()
        form = own.get_by_role("form", name=re.compile("^Change"))
        expect(form.get_by_role("status")).to_have_text(KNOWN)
        page.wait_for_load_state("networkidle")
        demo.process.terminate()
        demo.process.wait(15)
        expect(page.locator(".banner").get_by_text(AWAY)).to_be_visible(timeout=30_000)
        for width in (1440, 820):
            page.set_viewport_size({"width": width, "height": 560})
            page.locator(".lanes").evaluate("(lanes) => scrollTo(0, lanes.offsetTop + 200)")
            page.wait_for_function(BELOW)
            keep(page, f"away-lanes-{width}")
        expect(form.get_by_role("status")).to_have_text(AWAY)
        own.get_by_role("button", name=re.compile(r"^\+ 1 h")).first.click()
        expect(own.get_by_role("alert")).to_have_text(AWAY)
