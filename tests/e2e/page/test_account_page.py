"""The pages of who is signed in: tokens, sessions, and what admins read."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, running_board
from tests.browser import DESKTOP, PHONE, TABLET, Size, assert_fits, keep, visit
from tests.e2e.page.people import REFUSED, apart, link_of, set_up_link, sign_in, signed_in
from tests.e2e.page.test_page_for_everybody import axe, violations
from tests.pushing import wait_until
from tests.signing_in import make_token

__all__ = ["axe"]

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that shows visitors nothing."""
    folder = tmp_path_factory.mktemp("account")
    with running_board("--demo", "2", "--anonymous", "nothing", log=folder / "log") as running:
        yield running


def asks(board: RunningBoard, token: str) -> int:
    """What the board answers a program with this token."""
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{board.url}api/v1/summary", headers=headers).status_code


def test_a_token_is_made_shown_once_used_and_revoked(browser: Browser, board: RunningBoard) -> None:
    """By somebody with a name that is not theirs to choose; its text is only text."""
    with signed_in(browser, board, "ana", allow=REFUSED) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{board.url}account")
        expect(page.get_by_role("rowheader", name="terminal of ana")).to_be_visible()
        page.get_by_role("button", name="Make a token").click()
        expect(page.get_by_role("alert").filter(has_text="Say what it is for.")).to_be_visible()
        page.get_by_label("What for").fill(HOSTILE)
        expect(page.get_by_label("administer")).to_have_count(0)
        page.get_by_label("read metrics").check()
        page.get_by_label("Ends").select_option("after 30 days")
        page.get_by_role("button", name="Make a token").click()
        expect(page.get_by_text("Copy it now; it will not be shown again.")).to_be_visible()
        token = page.locator("code", has_text=re.compile("^gpb_")).text_content() or ""
        page.get_by_role("button", name=f"Copy: {token}").click()
        assert page.evaluate("navigator.clipboard.readText()") == token
        assert_fits(page)
        keep(page, "account")
        assert asks(board, token) == 200
        page.reload()
        row = page.get_by_role("row").filter(has_text="onerror")
        expect(row).to_contain_text("see the board, read metrics")
        assert token not in page.content()
        row.get_by_role("button", name=re.compile("^Revoke")).click()
        row.get_by_role("button", name=re.compile("Really")).click()
        expect(row).to_have_count(0)
        assert asks(board, token) == 401


def test_a_calendar_feed_is_made_shown_once_and_revoked(browser: Browser, board: RunningBoard) -> None:
    """Beside one's own bookings; its address works for who is not signed in, until it is revoked."""
    with signed_in(browser, board, "cal") as page:
        page.goto(f"{board.url}bookings")
        own = page.get_by_role("region", name="My bookings")
        own.get_by_text("Calendar feed", exact=True).click()
        own.get_by_role("button", name="Make the address").click()
        shown = own.locator("code")
        expect(shown).to_have_text(re.compile(r"/api/v1/bookings\.ics\?key=gpf_"))
        address = shown.text_content() or ""
        assert apart(httpx.get, address).text.startswith("BEGIN:VCALENDAR")
        keep(page, "calendar-feed")
        page.reload()
        own.get_by_text("Calendar feed", exact=True).click()
        expect(own.get_by_text(re.compile("^You have one; last used: "))).to_be_visible()
        expect(shown).to_have_count(0)
        own.get_by_role("button", name="Revoke Calendar feed").click()
        own.get_by_role("button", name=re.compile("Really")).click()
        expect(own.get_by_role("button", name="Make the address")).to_be_visible()
        assert apart(httpx.get, address).status_code == 403


def test_a_revoked_token_and_a_press_that_was_not_meant(browser: Browser, board: RunningBoard) -> None:
    """One press asks; going elsewhere takes the question back."""
    _, token = apart(make_token, board.state, "ben", "read")
    with signed_in(browser, board, "ben") as page:
        page.goto(f"{board.url}account")
        row = page.get_by_role("row").filter(has_text="test")
        row.get_by_role("button", name="Revoke test").click()
        expect(row.get_by_role("button", name="Revoke test: Really?")).to_be_visible()
        page.get_by_label("What for").focus()
        expect(row.get_by_role("button", name="Revoke test", exact=True)).to_be_visible()
        assert asks(board, token) == 200


def test_one_session_is_ended_from_another(browser: Browser, board: RunningBoard) -> None:
    """The browser that was ended sees nothing any more, without a hand on it."""
    with signed_in(browser, board, "chen") as here, signed_in(browser, board, "chen", allow=REFUSED) as there:
        wait_until(lambda: there.evaluate("performance.getEntriesByName('fetched-ahead').length"))
        here.goto(f"{board.url}account")
        other = here.get_by_role("region", name="Where you are signed in").get_by_role("row")
        other = other.filter(has_not_text="this browser").filter(has=here.get_by_role("button"))
        expect(other).to_have_count(1)
        other.get_by_role("button").click()
        other.get_by_role("button", name=re.compile("Really")).click()
        expect(other).to_have_count(0)
        expect(there.get_by_text("This board shows nothing to visitors.")).to_be_visible()
        expect(here.get_by_role("heading", name="chen")).to_be_visible()


def test_the_pages_of_somebody_ask_visitors_to_sign_in(browser: Browser, board: RunningBoard) -> None:
    """And open by themselves afterwards."""
    with visit(browser, board.url, allow=REFUSED) as page:
        page.goto(f"{board.url}account")
        expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
        sign_in(page.context.new_page(), board, "dora")

        def is_open() -> bool:
            page.evaluate("dispatchEvent(new Event('focus'))")
            return page.get_by_role("heading", name="dora").count() == 1

        wait_until(is_open)


def test_admins_read_who_did_what(browser: Browser, board: RunningBoard) -> None:
    """Others are told that it is not for them."""
    with signed_in(browser, board, "boss", "admin") as page:
        page.goto(f"{board.url}audit")
        row = page.get_by_role("row").filter(has_text="boss").first
        expect(row).to_contain_text("sign-in")
        expect(row).to_contain_text("127.0.0.1")
        assert_fits(page)
        keep(page, "audit")
    with signed_in(browser, board, "ana", allow=REFUSED) as page:
        page.goto(f"{board.url}audit")
        expect(page.get_by_text("Only administrators see this page.")).to_be_visible()


def test_older_entries_come_when_they_are_asked_for(browser: Browser, board: RunningBoard) -> None:
    """A hundred at once, each once."""
    for _ in range(110):
        apart(link_of, board, "boss", "admin")
    with signed_in(browser, board, "boss", "admin") as page:
        page.goto(f"{board.url}audit")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(100)
        page.get_by_role("button", name="Older").click()
        wait_until(lambda: rows.count() > 110)
        page.get_by_text("That is all.").wait_for()


@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE], ids=lambda size: str(size[0]))
def test_no_page_about_people_breaks_a_rule(
    browser: Browser, board: RunningBoard, axe: str, size: Size
) -> None:
    """WCAG 2.2 AA and good practice, light and dark; and nothing is wider than the window."""
    where = size[0]

    def check(page: Page, name: str) -> None:
        assert_fits(page)
        assert violations(page, axe) == []
        # The checker leaves it in the dark.
        keep(page, f"{name}-{where}-dark")
        page.emulate_media(color_scheme="light")
        keep(page, f"{name}-{where}")

    with visit(browser, board.url, size=size, allow=REFUSED) as page:
        page.goto(set_up_link(board, f"new-{where}"))
        expect(page.get_by_label("The same again")).to_be_visible()
        check(page, "people-set-up")
        page.goto(board.url)
        expect(page.get_by_text("This board shows nothing to visitors.")).to_be_visible()
        check(page, "people-refused")
        page.goto(f"{board.url}sign-in")
        expect(page.get_by_text("gpuboard login", exact=True)).to_be_visible()
        check(page, "people-sign-in")
        page.goto(f"{board.url}sign-in/link#{'x' * 43}")
        expect(page.get_by_role("heading", name="This link does not work")).to_be_visible()
        check(page, "people-link")
        sign_in(page, board, "boss", "admin")
        page.get_by_role("button", name="More" if size == PHONE else "boss", exact=size == PHONE).click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        check(page, "people-menu")
        page.goto(f"{board.url}account")
        expect(page.get_by_role("row").nth(1)).to_be_visible()
        check(page, "people-account")
        page.goto(f"{board.url}audit")
        expect(page.get_by_role("row").nth(1)).to_be_visible()
        check(page, "people-audit")
