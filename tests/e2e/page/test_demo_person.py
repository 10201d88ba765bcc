"""The page of a demo as a newcomer opens it."""

import re

from playwright.sync_api import Browser, expect

from tests.assembly.test_demo_bookings import demo
from tests.board import RunningBoard
from tests.browser import keep, visit

__all__ = ["demo"]


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
