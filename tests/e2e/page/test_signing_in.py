"""Signing in on the page, by every way; and what is seen before and after."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.agent.test_vouching import vouch
from tests.board import RunningBoard, computing, running_board
from tests.browser import PHONE, assert_fits, keep, visit
from tests.e2e.page.people import (
    PASSWORD,
    REFUSED,
    account,
    another_tab,
    apart,
    choose_password,
    give_password,
    link_of,
    set_up_link,
    sign_in,
    signed_in,
)
from tests.fakes.real_oidc import running_provider
from tests.pushing import wait_until
from tests.web.test_oidc import PEOPLE
from tests.web.test_oidc import SETTINGS as OIDC

HIDDEN = "Names are hidden from visitors."
ELSEWHERE = "request to https:|ERR_FAILED"
# Where somebody's name stands once names are shown.
HOLDERS = "section[aria-labelledby=who] li > b"


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that shows visitors no names."""
    folder = tmp_path_factory.mktemp("counts")
    with running_board("--demo", "4", "--anonymous", "counts", log=folder / "log") as running:
        yield running


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that shows visitors nothing."""
    folder = tmp_path_factory.mktemp("closed")
    with running_board("--demo", "2", "--anonymous", "nothing", log=folder / "log") as running:
        yield running


def menu(page: Page, person: str) -> None:
    """Open the menu of who is signed in."""
    page.get_by_role("banner").get_by_role("button", name=re.compile(f"^{person}")).click()


def is_same_page(page: Page) -> bool:
    """Whether the page has not been loaded again since it was marked."""
    return bool(page.evaluate("window.marked === true"))


def test_a_link_asks_and_its_button_signs_in_without_a_reload(browser: Browser, counts: RunningBoard) -> None:
    """From hidden names to shown ones, on the same page."""
    with visit(browser, counts.url) as page:
        page.goto(counts.url)
        expect(page.get_by_text(HIDDEN)).to_be_visible()
        expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
        keep(page, "sign-in-board-counts")
        page.goto(link_of(counts, "ana"))
        expect(page.get_by_role("heading", name="Sign in as ana?")).to_be_visible()
        keep(page, "sign-in-link")
        page.evaluate("window.marked = true")
        page.get_by_role("button", name="Sign in as ana").click()
        expect(page.locator(HOLDERS).first).to_be_visible()
        expect(page).to_have_url(counts.url)
        expect(page.get_by_text("The board restarted")).to_have_count(0)
        assert is_same_page(page)
        menu(page, "ana")
        expect(page.get_by_role("link", name="Account and tokens")).to_be_visible()
        expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
        keep(page, "sign-in-menu")


def test_a_link_through_a_node_says_so(browser: Browser, counts: RunningBoard) -> None:
    """Before it is used, and afterwards on the account's page."""
    code = apart(vouch, counts, "gpu01", 1000, "ben").json()["code"]
    with visit(browser, counts.url) as page:
        page.goto(f"{counts.url}sign-in/link#{code}")
        expect(page.get_by_text("The node gpu01 says that it was ben")).to_be_visible()
        page.get_by_role("button", name="Sign in as ben").click()
        expect(page.locator(HOLDERS).first).to_be_visible()
        page.goto(f"{counts.url}account")
        expect(page.get_by_text("user · from a node, through gpu01")).to_be_visible()


def test_who_signed_in_in_another_tab_sees_names_in_this_one_too(
    browser: Browser, counts: RunningBoard
) -> None:
    """Links from a terminal open a tab of their own."""
    with visit(browser, counts.url) as page:
        page.goto(counts.url)
        expect(page.get_by_text(HIDDEN)).to_be_visible()
        page.evaluate("window.marked = true")
        sign_in(another_tab(page), counts, "ana")

        def names_are_shown() -> bool:
            page.evaluate("dispatchEvent(new Event('focus'))")
            return page.locator(HOLDERS).count() > 0

        wait_until(names_are_shown)
        assert is_same_page(page)


def test_a_link_works_once_and_looking_at_it_uses_nothing_up(browser: Browser, counts: RunningBoard) -> None:
    """A second browser that has looked first is told, with what to do."""
    link = link_of(counts, "ana")
    with (
        visit(browser, counts.url, allow=REFUSED) as first,
        visit(browser, counts.url, allow=REFUSED) as second,
    ):
        httpx.get(link)
        second.goto(link)
        expect(second.get_by_role("heading", name="Sign in as ana?")).to_be_visible()
        first.goto(link)
        first.get_by_role("button", name="Sign in as ana").click()
        expect(first.locator(HOLDERS).first).to_be_visible()
        second.get_by_role("button", name="Sign in as ana").click()
        expect(second.get_by_role("heading", name="This link has been used already")).to_be_visible()
        expect(second.get_by_text("gpuboard login", exact=True)).to_be_visible()
        keep(second, "sign-in-link-used")
        first.goto(link)
        expect(first.get_by_role("heading", name="This link has been used already")).to_be_visible()
        expect(first.get_by_text("You are signed in as ana.")).to_be_visible()


@pytest.mark.parametrize(("code", "words"), [("", "not complete"), ("x" * 43, "does not work")])
def test_a_link_that_leads_nowhere_says_what_to_do(
    browser: Browser, counts: RunningBoard, code: str, words: str
) -> None:
    """Cut off by a terminal, or never given."""
    with visit(browser, counts.url, allow="status of 404") as page:
        page.goto(f"{counts.url}sign-in/link#{code}")
        expect(page.get_by_role("heading", name=re.compile(words))).to_be_visible()


def test_a_link_of_somebody_else_says_who_leaves(browser: Browser, counts: RunningBoard) -> None:
    """Nobody becomes somebody else by a click that they did not understand."""
    with signed_in(browser, counts, "ana") as page:
        page.goto(link_of(counts, "chen"))
        expect(page.get_by_text("You are signed in as ana now; that ends in this browser.")).to_be_visible()
        keep(page, "sign-in-link-other")
        page.get_by_role("button", name="Sign in as chen").click()
        expect(page.get_by_role("banner").get_by_role("button", name=re.compile("^chen"))).to_be_visible()


def test_a_set_up_link_asks_for_a_password_twice(browser: Browser, counts: RunningBoard) -> None:
    """Too short and not the same are said before anything is sent."""
    with visit(browser, counts.url, size=PHONE) as page:
        link = set_up_link(counts, "eva")
        page.goto(link)
        expect(page.get_by_role("heading", name="A password for eva")).to_be_visible()
        first, again = page.get_by_label("Password", exact=True), page.get_by_label("The same again")
        button = page.get_by_role("button", name="Set this password and sign in")
        first.fill("short")
        button.click()
        expect(page.get_by_role("alert")).to_have_text("At least 10 characters, please.")
        first.fill(PASSWORD)
        again.fill(f"{PASSWORD}!")
        button.click()
        expect(page.get_by_role("alert")).to_have_text("These two are not the same.")
        assert_fits(page)
        keep(page, "sign-in-set-up-phone")
        choose_password(page, link)


def test_a_password_signs_in_and_names_appear_where_they_were_hidden(
    browser: Browser, counts: RunningBoard
) -> None:
    """On the people's page itself; a wrong one is said, and what was typed as name stays."""
    account(counts, browser, "ida")
    with visit(browser, counts.url, allow=REFUSED) as page:
        page.goto(f"{counts.url}people")
        expect(page.get_by_text(HIDDEN)).to_be_visible()
        keep(page, "sign-in-people")
        page.evaluate("window.marked = true")
        give_password(page, "ida", "wrong password")
        expect(page.get_by_role("alert")).to_have_text("This name and this password do not belong together.")
        expect(page.get_by_label("Password", exact=True)).to_be_focused()
        expect(page.get_by_label("Name", exact=True)).to_have_value("ida")
        give_password(page, "ida")
        expect(page.locator("tbody tr").first).to_be_visible()
        assert is_same_page(page)
        # Whoever is signed in has said who they are.
        expect(page.get_by_label("Who are you?")).to_have_count(0)


def test_signing_in_leads_back_to_where_one_was(browser: Browser, counts: RunningBoard) -> None:
    """With the filter and all; by keys alone."""
    account(counts, browser, "kim")
    with visit(browser, counts.url) as page:
        page.goto(f"{counts.url}?view=rows&q=busy")
        page.get_by_role("banner").get_by_role("link", name="Sign in").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_focused()
        for _ in range(2):
            page.keyboard.press("Tab")
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type("kim")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{counts.url}?view=rows&q=busy")
        expect(page.get_by_role("banner").get_by_role("button", name=re.compile("^kim"))).to_be_visible()


def test_who_may_see_nothing_signs_in_on_the_very_page(browser: Browser, closed: RunningBoard) -> None:
    """And leaves nothing behind when signing out."""
    account(closed, browser, "lin")
    with visit(browser, closed.url, allow=REFUSED) as page:
        page.goto(closed.url)
        expect(page.get_by_text("This board shows nothing to visitors. Sign in to see it.")).to_be_visible()
        keep(page, "sign-in-refused")
        page.evaluate("window.marked = true")
        give_password(page, "lin")
        expect(page.locator(HOLDERS).first).to_be_visible()
        assert is_same_page(page)
        menu(page, "lin")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("This board shows nothing to visitors. Sign in to see it.")).to_be_visible()
        expect(page.locator(HOLDERS)).to_have_count(0)


def test_signing_out_everywhere_ends_what_is_open_elsewhere(browser: Browser, counts: RunningBoard) -> None:
    """The other browser is a visitor's again and says so, without a hand on it, from its first second on."""
    with (
        signed_in(browser, counts, "noor") as here,
        signed_in(browser, counts, "noor", allow=REFUSED) as there,
    ):
        expect(there.locator(HOLDERS).first).to_be_visible()
        here.goto(f"{counts.url}account")
        button = here.get_by_role("button", name="Sign out everywhere")
        button.click()
        here.get_by_role("button", name="Sign out everywhere: Really?").click()
        expect(here.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
        expect(there.get_by_text(HIDDEN)).to_be_visible()
        expect(there.locator(HOLDERS)).to_have_count(0)
        expect(there.get_by_text("You have been signed out.")).to_be_visible()
        banner = there.get_by_role("banner")
        expect(banner.get_by_role("link", name="Sign in")).to_be_visible()
        expect(banner.get_by_text("noor")).to_have_count(0)


def test_mine_is_a_chip_with_a_count(browser: Browser, demo: RunningBoard) -> None:
    """Of who is signed in; the cells of it are marked."""
    _, gpu = computing(demo)
    name = gpu["reading"]["processes"][0]["user"]
    with signed_in(browser, demo, name) as page:
        page.goto(f"{demo.url}?view=rows")
        chip = page.get_by_role("list", name="Verdicts").get_by_role("button", name=re.compile(r"^Mine \d+$"))
        count = int((chip.text_content() or "").split()[-1])
        assert count > 0
        chip.click()
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".cell.mine[data-uuid]").first).to_be_visible()
        expect(page.locator("[data-results]")).to_contain_text(f"{count} of ")
        keep(page, "sign-in-mine")


def test_a_line_that_others_can_read_asks_for_https(browser: Browser, counts: RunningBoard) -> None:
    """Beyond this machine nobody is asked for a password over plain http."""
    with visit(browser, counts.url, allow=REFUSED) as page:
        page.set_extra_http_headers({"x-forwarded-for": "192.0.2.7"})
        page.goto(f"{counts.url}sign-in")
        expect(page.get_by_text("Signing in needs https")).to_be_visible()
        expect(page.get_by_label("Password", exact=True)).to_have_count(0)
        keep(page, "sign-in-https")


def test_a_board_that_allows_plain_lines_says_so_for_ever(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On every page, for everybody."""
    folder = tmp_path_factory.mktemp("plain")
    config = folder / "gpuboard.toml"
    config.write_text('[access]\nanonymous = "counts"\nallow_plaintext = true\n')
    with (
        running_board("--demo", "1", "--config", str(config), log=folder / "log") as board,
        visit(browser, board.url) as page,
    ):
        page.set_extra_http_headers({"x-forwarded-for": "192.0.2.7"})
        page.goto(board.url)
        expect(page.get_by_text("Passwords and sessions travel in clear here")).to_be_visible()
        keep(page, "sign-in-plaintext")


def test_a_provider_signs_in_and_leads_back(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Through a real one, in a real browser; who is refused there is told."""
    folder = tmp_path_factory.mktemp("oidc")
    secret = folder / "secret"
    secret.write_text("not-so-secret\n")
    secret.chmod(0o600)
    config = folder / "gpuboard.toml"
    with running_provider(*PEOPLE, log=folder / "provider") as issuer:
        config.write_text(OIDC.format(issuer=issuer, secret=secret))
        with (
            running_board("--demo", "2", "--config", str(config), log=folder / "log") as board,
            visit(browser, board.url, allow=f"{REFUSED}|{re.escape(issuer)}|{ELSEWHERE}") as page,
        ):
            # The provider's own page would like a style sheet of somebody else.
            page.route(re.compile("^https:"), lambda route: route.abort())
            page.goto(f"{board.url}people")
            page.get_by_role("link", name="Sign in with Lab account").click()
            page.locator("input[name=sub]").fill("3")
            page.get_by_role("button", name=re.compile("authorize", re.IGNORECASE)).first.click()
            expect(page.get_by_role("alert")).to_contain_text("in none of the groups that this board lets in")
            keep(page, "sign-in-oidc-refused")
            page.goto(f"{board.url}people")
            page.get_by_role("link", name="Sign in with Lab account").click()
            page.locator("input[name=sub]").fill("1")
            page.get_by_role("button", name=re.compile("authorize", re.IGNORECASE)).first.click()
            expect(page.locator("tbody tr").first).to_be_visible()
            expect(page).to_have_url(f"{board.url}people")
            menu(page, "ana")
            expect(page.get_by_role("link", name="Audit log")).to_be_visible()


def test_whom_a_proxy_names_is_signed_in_and_signs_out_there(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The board cannot sign out whom the proxy names again with the next question."""
    folder = tmp_path_factory.mktemp("proxy")
    config = folder / "gpuboard.toml"
    config.write_text(
        '[access]\nanonymous = "counts"\ntrusted_proxies = ["127.0.0.1"]\nproxy_header = "X-Remote-User"\n'
    )
    with running_board("--demo", "2", "--config", str(config), log=folder / "log") as board:
        with visit(browser, board.url) as page:
            page.goto(f"{board.url}people")
            expect(page.get_by_role("link", name="Sign in with Single sign-on")).to_be_visible()
        with visit(browser, board.url) as page:
            # As a proxy does that keeps everything on its own machine.
            page.set_extra_http_headers({"x-remote-user": "ana"})
            page.goto(f"{board.url}account")
            expect(page.get_by_text("user · by the proxy")).to_be_visible()
            menu(page, "ana")
            expect(page.get_by_role("link", name="My GPUs")).to_be_visible()
            expect(page.get_by_role("button", name="Sign out", exact=True)).to_have_count(0)
