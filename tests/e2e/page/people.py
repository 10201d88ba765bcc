"""People in front of the page: how they get their links and passwords."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from playwright.sync_api import Browser, BrowserContext, Page, expect

from gpuboard.model.identity import Role
from tests.board import RunningBoard
from tests.browser import DESKTOP, Size, Theme, visit
from tests.cli.test_login import command
from tests.signing_in import log_in

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
PASSWORD = "correct horse battery"
# The browser itself complains about every refusal.
REFUSED = "status of 4(00|01|03|04|09|10|29)|WebSocket connection"


def apart(act: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> Answer:
    """Do what blocks in a thread of its own: on the test's runs the browser's event loop."""
    with ThreadPoolExecutor(1) as one:
        return one.submit(act, *args, **kwargs).result()


def link_of(board: RunningBoard, person: str, role: Role = "user") -> str:
    """A one-time link, as the board's socket gives it."""
    return f"{board.url}sign-in/link#{apart(log_in, board.state, person, role).code}"


def set_up_link(board: RunningBoard, person: str, *more: str) -> str:
    """The link with which somebody new chooses a password."""
    words = ("person", "add", person, *more, "--state-dir", str(board.state))
    done = command(*words, home=board.state)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def account(board: RunningBoard, browser: Browser, person: str, *more: str) -> None:
    """Somebody has chosen a password."""
    with visit(browser, board.url, allow=REFUSED) as page:
        choose_password(page, set_up_link(board, person, *more))


def choose_password(page: Page, link: str) -> None:
    """Follow a set-up link to its end."""
    page.goto(link)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same again").fill(PASSWORD)
    page.get_by_role("button", name="Set this password and sign in").click()
    expect(page.locator(".cell[data-uuid], article[data-uuid]").first).to_be_visible()


def sign_in(page: Page, board: RunningBoard, person: str, role: Role = "user") -> None:
    """Sign in by a link, and be on the board."""
    page.goto(link_of(board, person, role))
    page.get_by_role("button", name=f"Sign in as {person}").click()
    expect(page.locator(".cell[data-uuid], article[data-uuid]").first).to_be_visible()


def give_password(page: Page, person: str, password: str = PASSWORD) -> None:
    """Fill in the card's form."""
    page.get_by_label("Name", exact=True).fill(person)
    page.get_by_label("Password", exact=True).fill(password)
    page.locator("form").get_by_role("button", name="Sign in", exact=True).click()


@contextmanager
def signed_in(
    browser: Browser,
    board: RunningBoard,
    person: str,
    role: Role = "user",
    *,
    size: Size = DESKTOP,
    theme: Theme = "light",
    zone: str | None = None,
    allow: str | None = None,
) -> Iterator[Page]:
    """The page of somebody who has signed in."""
    with visit(browser, board.url, size=size, theme=theme, zone=zone, allow=allow) as page:
        sign_in(page, board, person, role)
        yield page


def another_tab(page: Page) -> Page:
    """One more tab of the same browser."""
    context: BrowserContext = page.context
    return context.new_page()
