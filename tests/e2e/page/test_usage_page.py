"""GPU-hours on the page: they add up, to whom they are told, and on paper."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.board import RunningBoard, computing, running_board
from tests.browser import DESKTOP, PHONE, Size, Theme, assert_fits, keep, visit
from tests.e2e.page.people import apart, signed_in
from tests.e2e.page.remembered import claim
from tests.signing_in import signed_in as browsing

pytestmark = pytest.mark.xdist_group("browser")
GROUPS = """
[groups.people]
nlp = ["dupont", "tsai", "weber", "nguyen", "rossi"]
vision = ["chen", "martin", "ana", "garcia", "wang", "lin"]
[usage]
weights = { "H100" = 3 }
price = 1234.5
currency = "EUR"
"""
TABLET = (820, 1100)
# Without its margins.
A4 = (688, 1010)
# What a demo has counted whatever the day is: the week before today.
ROWS = "tbody tr:has(td.bar)"


def last_week() -> str:
    """Seven whole days, in the address."""
    today = datetime.fromtimestamp(time.time(), UTC).date()
    return f"from={today - timedelta(days=7)}&to={today - timedelta(days=1)}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with groups that shows visitors no names."""
    folder = tmp_path_factory.mktemp("lab")
    config = folder / "board.toml"
    config.write_text(GROUPS)
    with running_board(
        "--demo", "2", "--anonymous", "counts", "--config", str(config), log=folder / "log"
    ) as running:
        yield running


def number(text: str) -> float:
    """A figure as the page writes it."""
    return float(re.sub(r"[^\d.]", "", text))


def column(rows: Locator, place: int) -> list[float]:
    """The figures of a column."""
    return [number(each) for each in rows.locator(f"td:nth-child({place})").all_inner_texts()]


def open_usage(page: Page, board: RunningBoard, query: str = "") -> Locator:
    """The page of last week, or of whatever is asked for, with its rows."""
    page.goto(f"{board.url}usage?{last_week()}{query}")
    rows = page.locator(".screen").locator(ROWS)
    expect(rows.first).to_be_visible()
    return rows


def test_what_is_shown_adds_up(page: Page, demo: RunningBoard) -> None:
    """The six kinds to 100.0 % and to the sum; the rows to the last one."""
    rows = open_usage(page, demo, "&by=person")
    kinds = page.get_by_role("region", name="What the time was")
    percents = [round(10 * number(each)) for each in kinds.locator("dd b").all_inner_texts()]
    assert (len(percents), sum(percents)) == (6, 1000)
    whole = number(kinds.locator("p b").first.inner_text())
    assert sum(number(each) for each in kinds.locator("dd small").all_inner_texts()) == whole
    assert whole == 96 * 24 * 7
    total = page.locator(".screen tr.total")
    for place in (3, 4, 5):
        assert round(sum(column(rows, place)), 1) == column(total, place)[0]
    assert round(sum(column(rows, 6)), 1) == 100
    keep(page, "usage")


def test_the_time_is_in_the_address(page: Page, demo: RunningBoard) -> None:
    """By buttons and by keys; a month that is over follows on the one before it."""
    page.goto(demo.url)
    page.locator("main h1, main h2").first.wait_for()
    page.keyboard.press("g")
    page.keyboard.press("u")
    expect(page).to_have_url(re.compile(r"/usage$"))
    expect(page.get_by_role("heading", name="Usage", level=1)).to_be_focused()
    expect(page.get_by_text(re.compile(r"so far, \d+ of \d+ days")).first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Earlier: ")).click()
    expect(page).to_have_url(re.compile(r"month=\d{4}-\d\d$"))
    page.get_by_role("button", name="Week", exact=True).first.press("Enter")
    expect(page).to_have_url(re.compile(r"week=\d{4}-W\d\d$"))
    page.get_by_role("button", name="From – to").click()  # noqa: RUF001 - as it is written
    page.get_by_label("From", exact=True).fill("2026-01-02")
    expect(page).to_have_url(re.compile(r"from=2026-01-02&to="))
    page.reload()
    expect(page.get_by_label("From", exact=True)).to_have_value("2026-01-02")
    page.goto(f"{demo.url}usage?month=2999-01")
    expect(page.get_by_text("This time is still to come.")).to_be_visible()


def test_an_end_before_the_start_is_said(page: Page, demo: RunningBoard) -> None:
    """Of an address, and of what is typed: that stays to be corrected."""
    page.goto(f"{demo.url}usage?from=2026-11-19&to=2026-11-01")
    said = page.get_by_role("alert")
    expect(said).to_have_text("The end, Nov 1, 2026, is before the start, Nov 19, 2026.")
    page.goto(f"{demo.url}usage?from=2026-03-05&to=2026-03-09")
    begin, end = page.get_by_label("From", exact=True), page.get_by_label("To", exact=True)
    expect(end).to_have_value("2026-03-09")
    expect(said).to_have_count(0)
    end.fill("2026-03-02")
    expect(said).to_have_text("The end, Mar 2, 2026, is before the start, Mar 5, 2026.")
    expect(page).to_have_url(re.compile("from=2026-03-05&to=2026-03-09$"))
    begin.fill("2026-03-01")
    expect(page).to_have_url(re.compile("from=2026-03-01&to=2026-03-02$"))
    expect(end).to_have_value("2026-03-02")
    expect(said).to_have_count(0)


def test_whom_nobody_knows_has_no_page_of_a_real_person(page: Page, demo: RunningBoard) -> None:
    """Neither GPUs nor bookings nor hours are of that name."""
    page.goto(f"{demo.url}people/nobody-of-this-name")
    expect(page.get_by_role("status").get_by_text("Nobody by this name has a GPU")).to_be_visible()
    expect(page.get_by_text("Holds no GPU just now.")).to_have_count(0)
    expect(page.get_by_role("heading", name="The last 30 days")).to_have_count(0)
    expect(page.get_by_role("main").get_by_role("link", name="People")).to_be_visible()


def test_hours_of_the_week_are_words_and_a_table_too(page: Page, demo: RunningBoard) -> None:
    """Seven days of 24 hours, which a screen reader reads."""
    open_usage(page, demo)
    found = page.get_by_role("region", name="In use, by hour of the week")
    expect(found.get_by_text(re.compile(r"Hours are those of \S+\."))).to_be_visible()
    expect(found).to_contain_text(re.compile(r"Fullest \w+ \d\d h, \d+ %; emptiest \w+ \d\d h, \d+ %\."))
    expect(found.get_by_role("rowheader")).to_have_count(7)
    expect(found.get_by_role("columnheader")).to_have_count(24)
    expect(found.locator("tbody td")).to_have_count(168)


def test_a_spreadsheet_has_the_same_rows(page: Page, demo: RunningBoard) -> None:
    """By one press."""
    rows = open_usage(page, demo, "&by=node")
    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV").click()
    lines = coming.value.path().read_text().splitlines()
    assert len(lines) == rows.count() + 2
    assert coming.value.suggested_filename.startswith("usage")


def test_groups_fold_to_their_people_who_add_up_to_them(browser: Browser, lab: RunningBoard) -> None:
    """Whoever is signed in sees names; their own page is in their menu."""
    with signed_in(browser, lab, "chen") as page:
        rows = open_usage(page, lab)
        names = rows.locator("th").all_inner_texts()
        group = rows.filter(has=page.get_by_role("button", name=re.compile("^vision")))
        count = int(re.sub(r"\D", "", group.locator("small").first.inner_text()))
        first = next(place for place, name in enumerate(names) if name.startswith("vision"))
        people = [number(each) for each in rows.locator("td:nth-child(3)").all_inner_texts()]
        assert round(sum(people[first + 1 : first + 1 + count]), 1) == column(group, 3)[0]
        expect(page.locator(".screen").get_by_role("row", name=re.compile("chen you"))).to_be_visible()
        before = rows.count()
        button = group.get_by_role("button")
        button.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(rows).to_have_count(before - count)
        page.get_by_role("banner").get_by_role("button", name=re.compile("^chen")).click()
        page.get_by_role("link", name="My GPUs").click()
        expect(page.get_by_role("heading", name="chen", level=1)).to_be_visible()


def test_who_sees_no_names_sees_all_but_people(browser: Browser, lab: RunningBoard) -> None:
    """Totals, models, nodes and weeks; where people would be stands how to sign in."""
    with visit(browser, lab.url) as page:
        rows = open_usage(page, lab)
        expect(page.get_by_role("button", name="Model", exact=True)).to_have_attribute("aria-pressed", "true")
        for by in ("Node", "Week"):
            page.get_by_role("group", name="A row for each").get_by_role("button", name=by).click()
            expect(page.locator(".screen tr.total")).to_be_visible()
        for by in ("Group", "Person", "Program"):
            page.get_by_role("group", name="A row for each").get_by_role("button", name=by).click()
            expect(page.get_by_text("Names are hidden from visitors.")).to_be_visible()
            expect(rows).to_have_count(0)
        page.goto(f"{lab.url}people/chen")
        expect(page.get_by_text("Names are hidden from visitors.")).to_be_visible()
        expect(page.get_by_text("chen", exact=True)).to_have_count(0)


def test_a_board_without_a_history_says_what_to_do(page: Page, demo: RunningBoard) -> None:
    """In one sentence."""
    claim(page, None)
    page.goto(f"{demo.url}usage")
    expect(page.get_by_role("status").filter(has_text="keeps no history")).to_contain_text(
        '[history] kind = "embedded"'
    )
    expect(page.get_by_role("button", name="Print")).to_have_count(0)


@pytest.mark.parametrize("by", ["group", "person", "week"])
def test_paper_is_one_sheet_without_colour_or_buttons(browser: Browser, lab: RunningBoard, by: str) -> None:
    """Patterns for kinds, figures in the map, definitions and the address below; nothing is cut off."""
    with signed_in(browser, lab, "weber", size=A4) as page:
        open_usage(page, lab, f"&by={by}")
        expect(page.locator(".usage-sheet tbody td").first).to_be_attached()
        expect(page.locator(".usage-sheet section[aria-labelledby=hours-paper]")).to_be_attached()
        document = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", document)) == 1
        page.emulate_media(media="print")
        sheet = page.locator(".usage-sheet")
        expect(sheet.get_by_text("The six add up to GPUs × hours.")).to_be_visible()  # noqa: RUF001
        expect(sheet.get_by_text(re.compile(r"127\.0\.0\.1:\d+/usage\?from="))).to_be_visible()
        expect(page.locator("button:visible, a:visible, input:visible")).to_have_count(0)
        assert sheet.evaluate("(sheet) => sheet.scrollHeight <= sheet.clientHeight")
        assert sheet.evaluate("(sheet) => sheet.scrollWidth <= sheet.clientWidth")
        expect(sheet.get_by_role("columnheader", name="price (EUR)")).to_be_visible()
        fills = page.locator(".usage-sheet [class*=kind-]").evaluate_all(
            "(all) => all.map((each) => getComputedStyle(each).background)"
        )
        shades = [shade for fill in fills for shade in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", fill)]
        assert shades
        assert all(len(set(shade)) == 1 for shade in shades)
        keep(page, f"usage-paper-{by}")


RESERVED = ("booked in all", "of that used")


@pytest.fixture(scope="module")
def booked(lab: RunningBoard) -> RunningBoard:
    """The same, once somebody has booked."""
    wish = {"any": {"gpus": 1}, "for_seconds": 3600}
    apart(lambda: browsing(lab, "weber").post("api/v1/bookings", wish)).raise_for_status()
    return lab


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_what_was_booked_stands_beside_what_was_used(
    browser: Browser, booked: RunningBoard, size: Size, theme: Theme
) -> None:
    """Of people, where anything was booked."""
    with signed_in(browser, booked, "weber", size=size, theme=theme) as page:
        page.goto(f"{booked.url}usage?by=person")
        screen = page.locator(".screen")
        for heading in RESERVED:
            expect(screen.get_by_role("columnheader", name=heading)).to_be_attached()
        assert_fits(page)
        keep(page, f"usage-booked-{size[0]}-{theme}")


def test_paper_has_room_for_what_was_booked(browser: Browser, booked: RunningBoard) -> None:
    """Beside weights and prices, on the same sheet."""
    with signed_in(browser, booked, "weber", size=A4) as page:
        page.goto(f"{booked.url}usage?by=group")
        expect(page.locator(".usage-sheet tbody td").first).to_be_attached()
        page.emulate_media(media="print")
        sheet = page.locator(".usage-sheet")
        for heading in RESERVED:
            expect(sheet.get_by_role("columnheader", name=heading)).to_be_visible()
        keep(page, "usage-paper-booked")
        assert sheet.evaluate("(sheet) => sheet.scrollHeight <= sheet.clientHeight")
        assert sheet.evaluate("(sheet) => sheet.scrollWidth <= sheet.clientWidth")


@pytest.mark.parametrize("size", [TABLET, PHONE])
def test_small_screens_have_all_of_it(browser: Browser, demo: RunningBoard, size: Size) -> None:
    """Nothing makes the page wider than the window."""
    with visit(browser, demo.url, size=size) as page:
        for path in (f"usage?{last_week()}", "people", "people/dupont"):
            page.goto(f"{demo.url}{path}")
            expect(page.locator("tbody tr").first).to_be_visible()
            assert_fits(page)
            keep(page, f"{path.replace('/', '-').split('?')[0]}-{size[0]}")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "fr-FR", "zh-CN", "zh-TW"])
def test_that_a_week_is_cut_is_said_in_whole_words(
    browser: Browser, demo: RunningBoard, locale: str, size: Size
) -> None:
    """On every screen, in every language: of six days one week at least has not all."""
    today = datetime.fromtimestamp(time.time(), UTC).date()
    span = f"from={today - timedelta(days=6)}&to={today - timedelta(days=1)}"
    with visit(browser, demo.url, size=size, locale=locale) as page:
        page.goto(f"{demo.url}usage?{span}&by=week")
        weeks = page.locator(".screen tbody th a")
        expect(weeks.first).to_be_visible()
        keep(page, f"usage-weeks-{locale}-{size[0]}")
        assert any(len(text.split(" · ")) == 3 for text in weeks.all_inner_texts())
        assert weeks.evaluate_all("(all) => all.every((each) => each.scrollWidth <= each.clientWidth)")
        assert_fits(page)


def test_names_of_programs_are_whole_on_a_phone(browser: Browser, demo: RunningBoard) -> None:
    """There is nothing to hover with: they take more lines."""
    with visit(browser, demo.url, size=PHONE) as page:
        rows = open_usage(page, demo, "&by=program")
        expect(rows.filter(has_text="torch").first).to_be_visible()
        assert rows.locator(".name").evaluate_all(
            "(all) => all.every((each) => each.scrollWidth <= each.clientWidth)"
        )
        assert_fits(page)


def test_people_have_a_page_that_leads_to_what_they_did(page: Page, demo: RunningBoard) -> None:
    """From People, from a GPU that they hold, and from a row of GPU-hours."""
    page.goto(f"{demo.url}people")
    averages = page.get_by_role("columnheader", name=re.compile("^used over", re.IGNORECASE))
    expect(averages).to_have_count(3)
    person = page.locator("tbody tr th a").first.inner_text()
    expect(page.locator("tbody tr").first.locator(".mean").last).to_have_text(re.compile(r"^\d+\.\d"))
    page.locator("tbody tr th a").first.click()
    expect(page.get_by_role("heading", name=person, level=1)).to_be_visible()
    expect(page.get_by_role("region", name="Now").get_by_role("table")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Used [\d,.]+ h, held idle [\d,.]+ h"))).to_be_visible()
    expect(page.get_by_role("region", name="What they ran").get_by_role("table")).to_be_visible()
    keep(page, "person")
    _, gpu = computing(demo)
    page.goto(f"{demo.url}?gpu={gpu['uuid']}")
    holder = page.get_by_role("dialog").locator("li a").first
    name = holder.inner_text()
    holder.click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    rows = open_usage(page, demo, "&by=person")
    rows.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"/people/\w+$"))


@pytest.mark.parametrize("name", ["a/b?c#d", "<img src=x onerror=alert(1)>", "readyz", "%2e%2e", "名前 x"])
def test_any_name_is_text_in_an_address(page: Page, demo: RunningBoard, name: str) -> None:
    """Whatever somebody is called, their page is theirs."""
    page.goto(demo.url)
    page.goto(demo.url + "people/" + page.evaluate("(name) => encodeURIComponent(name)", name))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_text("Nobody by this name has a GPU")).to_be_visible()
