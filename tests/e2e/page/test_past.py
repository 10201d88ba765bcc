"""The page looks back: plots, strips and the board of a moment, over a past that is the same at every run."""

import re
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.board import RunningBoard, computing
from tests.browser import PHONE, assert_fits, keep, visit
from tests.e2e.page.remembered import DAY, HOUR, UNSEEN, Remembered, claim, seen, state

pytestmark = pytest.mark.xdist_group("browser")
CURSOR = "A moment in the plots"
# Whether it is painted over the line of the cursor, at which it lies.
BEFORE_CURSOR = """(each) => {
  const [own, line] = [each, document.querySelector('.cursor')].map((one) => one.getBoundingClientRect());
  const style = getComputedStyle(each);
  return own.left < line.left && line.right < own.right && Number(style.zIndex) > 0 &&
    style.backgroundColor !== 'rgba(0, 0, 0, 0)';
}"""
MOMENT = "Moment that the board shows"
# What the first plot looks like.
DRAWN = "(() => document.querySelector('.uplot canvas').toDataURL())"


@pytest.fixture
def past(page: Page, demo: RunningBoard) -> Remembered:
    """What the board of this page remembers."""
    remembered = Remembered(demo.url, now=time.time())
    remembered.install(page)
    return remembered


@pytest.fixture
def phone(browser: Browser, demo: RunningBoard) -> Iterator[Page]:
    """A phone before a board that remembers."""
    with visit(browser, demo.url, size=PHONE, zone="UTC") as page:
        Remembered(demo.url, now=time.time()).install(page)
        yield page


def evening() -> int:
    """A minute of yesterday that somebody saw."""
    return int(time.time()) // DAY * DAY - DAY + 20 * HOUR


def first_gpu(past: Remembered) -> str:
    """A GPU of the board."""
    return next(iter(past.gpus))


def rewound(page: Page, demo: RunningBoard, at: int, query: str = "&view=rows") -> None:
    """The board of a moment."""
    page.goto(f"{demo.url}?at={at}{query}")
    expect(page.locator("html[data-past]")).to_have_count(1)
    expect(page.locator("main .cell[data-uuid]").first).to_be_visible()


def asked_at(page: Page) -> int | None:
    """The moment in the address."""
    found = parse_qs(urlsplit(page.url).query).get("at")
    return int(found[0]) if found else None


def point(plots: Locator, share: float) -> tuple[float, float]:
    """Where on the screen a share of the plots' time is."""
    box = plots.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * share, box["y"] + 90


def test_a_gpu_shows_its_day_with_who_was_on_it_and_where_nobody_looked(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """Plots, the holders' lane, gaps by name, and the episodes as a table."""
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    expect(page.get_by_role("slider", name=CURSOR)).to_be_visible()
    expect(page.locator(".uplot canvas")).to_have_count(4)
    expect(page.locator(".gaps")).to_contain_text(re.compile(r"not observed .*\d\d:\d\d.\d\d:\d\d"))
    expect(page.get_by_role("table").filter(has_text="Most memory")).to_contain_text("python train.py")
    expect(page.get_by_text(re.compile(r"^used .* in all\.$"))).to_be_visible()
    keep(page, "past-gpu")


def test_one_switch_of_time_is_for_all_plots_and_in_the_address(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """A link shows the same week."""
    page.goto(f"{demo.url}gpus/{first_gpu(past)}?range=7d")
    switch = page.get_by_role("group", name="How far back")
    expect(switch.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".uplot").first).to_be_visible()
    week = next(one for one in past.asked if one.startswith("history?"))
    asked = parse_qs(week.partition("?")[2])
    assert int(asked["to"][0]) - int(asked["from"][0]) == 7 * DAY
    switch.get_by_role("button", name="1 h").click()
    expect(page).to_have_url(re.compile(r"[?&]range=1h"))


def test_the_cursor_moves_by_keys_and_says_where_it_is(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """Arrows move, + looks closer around it, Enter leads to that minute of the board."""
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    cursor = page.get_by_role("slider", name=CURSOR)
    expect(page.locator(".gaps")).to_be_visible()
    cursor.focus()
    page.keyboard.press("Shift+ArrowLeft")
    before = cursor.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowLeft")
    expect(cursor).not_to_have_attribute("aria-valuetext", before or "")
    expect(cursor).to_have_attribute("aria-valuetext", re.compile(r"\d\d:\d\d: .*Use .*Memory .*Power"))
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]from=\d+&to=\d+"))
    at = int(cursor.get_attribute("aria-valuenow") or 0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="The past")).to_be_visible()
    assert asked_at(page) == at // 60 * 60


def test_a_plot_is_a_table_too(page: Page, demo: RunningBoard, past: Remembered) -> None:
    """For who does not see it: a row for each point, with who it was and what was not observed."""
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    expect(page.locator(".gaps")).to_be_visible()
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="History").get_by_role("table")
    expect(table).to_contain_text("not observed")
    assert table.get_by_role("row").count() > 60


def test_who_asks_for_the_table_on_a_phone_sees_it(phone: Page, demo: RunningBoard) -> None:
    """Without scrolling past all the plots, below which nobody would look for it."""
    gpu = Remembered(demo.url, now=time.time())
    phone.goto(f"{demo.url}gpus/{first_gpu(gpu)}")
    phone.get_by_role("button", name="Show as table").click()
    expect(phone.get_by_role("region", name="History").get_by_role("table")).to_be_in_viewport()


def test_what_is_drawn_with_the_mouse_is_looked_at_closer(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """Dragging over a plot zooms; the whole range is a press away."""
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    plots = page.get_by_role("slider", name=CURSOR)
    expect(page.locator(".gaps")).to_be_visible()
    page.mouse.move(*point(plots, 0.25))
    page.mouse.down()
    page.mouse.move(*point(plots, 0.5), steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"[?&]from=\d+&to=\d+"))
    query = parse_qs(urlsplit(page.url).query)
    assert abs(int(query["to"][0]) - int(query["from"][0]) - 6 * HOUR) < 600
    page.get_by_role("button", name="Whole range").click()
    expect(page).not_to_have_url(re.compile("from="))


def shown_span(page: Page) -> tuple[int, int]:
    """The part of time in the address."""
    expect(page).to_have_url(re.compile(r"[?&]from=\d+&to=\d+"))
    query = parse_qs(urlsplit(page.url).query)
    return int(query["from"][0]), int(query["to"][0])


def test_buttons_and_the_wheel_move_through_time(page: Page, demo: RunningBoard, past: Remembered) -> None:
    """As far as now; a wheel that turns down scrolls the page as everywhere, and with Ctrl looks wider."""
    end = evening()
    page.goto(f"{demo.url}gpus/{first_gpu(past)}?from={end - 4 * HOUR}&to={end}")
    plots = page.get_by_role("slider", name=CURSOR)
    expect(page.locator(".uplot canvas")).to_have_count(4)
    page.get_by_role("button", name="Earlier", exact=True).click()
    expect(page).to_have_url(re.compile(rf"from={end - 6 * HOUR}&to={end - 2 * HOUR}\b"))
    page.get_by_role("button", name="Later", exact=True).click()
    expect(page).to_have_url(re.compile(rf"from={end - 4 * HOUR}&to={end}\b"))
    page.mouse.move(*point(plots, 0.5))
    page.mouse.wheel(0, 40)
    page.mouse.wheel(-(plots.bounding_box() or {"width": 0})["width"] / 4, 0)
    expect(page).to_have_url(re.compile(rf"from={end - 5 * HOUR}&to={end - HOUR}\b"))
    page.keyboard.down("Control")
    page.mouse.wheel(0, 40)
    page.keyboard.up("Control")
    expect(page).not_to_have_url(re.compile(rf"to={end - HOUR}\b"))
    since, until = shown_span(page)
    assert until - since == 5 * HOUR
    page.get_by_role("button", name="Whole range").click()
    expect(page.get_by_role("button", name="Later", exact=True)).to_be_disabled()


def test_a_node_shows_a_strip_of_each_gpu_and_what_the_machine_did(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """One cursor and one switch for all of them, and a table for who sees no plot."""
    node, _ = past.gpus[first_gpu(past)]
    of_node = [label for at, label in past.gpus.values() if at == node]
    page.goto(f"{demo.url}nodes/{node}")
    strips = page.get_by_role("list", name="Use of each GPU")
    expect(strips.get_by_role("link")).to_have_text([f"GPU {label}" for label in sorted(of_node, key=int)])
    expect(page.locator(".uplot canvas")).to_have_count(3)
    expect(page.locator(".gaps")).to_contain_text("not observed")
    cursor = page.get_by_role("slider", name=CURSOR)
    cursor.press("Home")
    expect(page.get_by_role("link", name="The whole board then")).to_be_visible()
    at = int(cursor.get_attribute("aria-valuenow") or 0)
    for uuid, (here, label) in past.gpus.items():
        if here == node and seen(at) and state(uuid, at - 600) == state(uuid, at + 600):
            strip = strips.get_by_role("listitem").filter(has_text=re.compile(rf"^GPU {label}\b"))
            figure = r"9\d|8\d" if state(uuid, at).verdict == "busy" else "0"
            expect(strip).to_contain_text(re.compile(rf"GPU {label} ({figure}) %"))
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="History").get_by_role("table")
    for head in ("All its GPUs", "Load", "RAM"):
        expect(table.get_by_role("columnheader", name=head)).to_be_visible()
    expect(table).to_contain_text("40 %")
    expect(table).to_contain_text("not observed")
    page.get_by_role("group", name="How far back").get_by_role("button", name="7 d").click()
    expect(page).to_have_url(re.compile("range=7d"))
    expect(strips.get_by_role("link")).to_have_count(len(of_node))
    keep(page, "past-node")
    strips.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"/gpus/"))


def test_an_open_plot_goes_on_by_itself(page: Page, demo: RunningBoard) -> None:
    """What the board records comes as a new point, without a reload."""
    _, gpu = computing(demo)
    page.goto(f"{demo.url}gpus/{gpu['uuid']}?range=1h")
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="History").get_by_role("table")
    newest = table.get_by_role("row").filter(has_text=re.compile(r"\d %")).first.get_by_role("rowheader")
    expect(page.locator(".uplot canvas")).to_have_count(4)
    before, drawn = newest.inner_text(), page.evaluate(f"{DRAWN}()")
    expect(newest).not_to_have_text(before)
    assert newest.inner_text() > before or before.startswith("23:")
    page.wait_for_function(f"before => {DRAWN}() !== before", arg=drawn)


def test_who_was_on_a_gpu_last_night_takes_three_clicks(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """Its cell, its page, the moment in its plots: and there is the whole board of then."""
    uuid = first_gpu(past)
    page.goto(f"{demo.url}?view=rows")
    page.locator(f'.cell[data-uuid="{uuid}"]').click()
    page.get_by_role("link", name="All about this GPU").click()
    plots = page.get_by_role("slider", name=CURSOR)
    expect(page.locator(".gaps")).to_be_visible()
    plots.click(position={"x": 200, "y": 90})
    expect(page.get_by_role("region", name="The past")).to_be_visible()
    at = asked_at(page)
    assert at is not None
    was = state(uuid, at)
    expect(page.locator(f'.cell[data-uuid="{uuid}"]')).to_contain_text(was.person or "was free")


def test_the_live_pill_leads_into_the_past_and_its_bar_leads_back(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """Unmistakable: ribbon, title, no green to take, nothing to copy; and Back to live ends it."""
    del past
    page.goto(f"{demo.url}?view=rows")
    page.get_by_role("button", name=re.compile("Live")).click()
    page.get_by_role("button", name="Go back in time").click()
    bar = page.get_by_role("region", name="The past")
    expect(bar).to_be_visible()
    expect(page.get_by_role("slider", name=MOMENT)).to_be_focused()
    expect(page.get_by_role("button", name=re.compile("Not live"))).to_be_visible()
    expect(page).to_have_title(re.compile(r"\d\d:\d\d · \d+ (was|were) free · "))
    expect(page.get_by_text("I need", exact=True)).to_have_count(0)
    expect(page.locator("main").get_by_role("button", name=re.compile("Copy"))).to_have_count(0)
    free = page.locator(".cell.fill-free").first
    assert free.evaluate("each => getComputedStyle(each).backgroundColor") == "rgba(0, 0, 0, 0)"
    bar.get_by_role("button", name="Back to live").click()
    expect(page.locator("html[data-past]")).to_have_count(0)
    expect(page.locator("html[data-old]")).to_have_count(0)
    assert asked_at(page) is None


def test_a_link_with_a_moment_shows_that_minute_with_its_people(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """The permalink, before anything of now is drawn; other pages stay in it."""
    at = evening()
    rewound(page, demo, at)
    busy = next(uuid for uuid in past.gpus if state(uuid, at).verdict == "busy")
    expect(page.locator(f'.cell[data-uuid="{busy}"]')).to_contain_text(state(busy, at).person or "")
    page.get_by_role("navigation").get_by_role("link", name="People").click()
    expect(page.get_by_role("row").filter(has_text=state(busy, at).person or "")).to_be_visible()
    assert asked_at(page) == at
    keep(page, "past-people")


def test_keys_step_through_the_minutes_and_hours(page: Page, demo: RunningBoard, past: Remembered) -> None:
    """[ ] minutes, { } hours; from now [ leads into the past, Escape back."""
    del past
    at = evening()
    rewound(page, demo, at)
    for key, later in (("[", -60), ("{", -3660), ("]", -3600), ("}", 0), ("<", -600), (".", -540)):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"[?&]at={at + later}\b"))
    page.keyboard.press("Escape")
    expect(page.locator("html[data-past]")).to_have_count(0)
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(r"[?&]at=\d+"))
    expect(page.get_by_role("region", name="The past")).to_be_visible()


def test_the_slider_goes_to_a_moment_and_around_it_stands_what_happened(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """By its keys as by the mouse; each thing that happened is a jump."""
    del past
    rewound(page, demo, evening())
    slider = page.get_by_role("slider", name=MOMENT)
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(rf"[?&]at={evening() + 60}\b"))
    around = page.get_by_role("region", name=re.compile("^Around"))
    expect(around.get_by_text(re.compile("begins|leaves")).first).to_be_visible()
    around.get_by_role("link").first.click()
    expect(page).not_to_have_url(re.compile(rf"at={evening() + 60}\b"))
    expect(around).to_be_visible()


def test_a_minute_that_nobody_saw_is_stale(page: Page, demo: RunningBoard, past: Remembered) -> None:
    """Not observed is not free."""
    del past
    rewound(page, demo, int(time.time()) // DAY * DAY - DAY + UNSEEN[0] + 60)
    expect(page.locator("main .cell.fill-stale").first).to_be_visible()
    expect(page.locator("main .cell.fill-free")).to_have_count(0)


def test_a_key_turns_every_cell_into_its_day_and_back(
    page: Page, demo: RunningBoard, past: Remembered
) -> None:
    """The same grid, with the same keys; it is in the address."""
    page.goto(f"{demo.url}?view=rows")
    cell = page.locator(f'.cell[data-uuid="{first_gpu(past)}"]')
    expect(cell).to_be_visible()
    page.keyboard.press("s")
    expect(cell).to_have_attribute("aria-label", re.compile(r"% in use on average over 24 h"))
    expect(page).to_have_url(re.compile("strips=1"))
    legend = page.locator(".legend")
    expect(legend).to_contain_text("%: mean of the last 24 h")
    expect(legend).not_to_contain_text("User")
    keep(page, "past-strips")
    page.locator('.cell[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cell:focus")).to_have_count(1)
    page.keyboard.press("s")
    expect(cell).not_to_have_attribute("aria-label", re.compile("on average"))


def test_a_board_that_keeps_no_history_shows_nothing_of_it(page: Page, demo: RunningBoard) -> None:
    """No plots, no way back, no keys; a link into the past says so."""
    claim(page, None)
    page.route(re.compile(r"/api/v1/stream\?at="), lambda route: route.fulfill(json={"at": time.time()}))
    page.goto(f"{demo.url}?view=rows")
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()
    page.keyboard.press("[")
    page.keyboard.press("s")
    page.get_by_role("button", name=re.compile("Live")).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Go back in time")).to_have_count(0)
    assert "strips" not in page.url
    assert asked_at(page) is None
    page.goto(f"{demo.url}?at={evening()}")
    expect(page.get_by_text("This board keeps no history.")).to_be_visible()
    page.get_by_role("button", name="Back to live").click()
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()


def test_while_the_history_is_paused_the_plots_say_so(page: Page, demo: RunningBoard) -> None:
    """What will be missing is told before it is missed."""
    past = Remembered(demo.url, now=time.time(), paused=True)
    past.install(page)
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    expect(page.get_by_text("History is paused")).to_be_visible()


def test_a_thumb_moves_through_time(phone: Page, demo: RunningBoard) -> None:
    """Slider and steps at the bottom, nothing smaller than a thumb, nothing wider than the screen."""
    at = evening()
    phone.goto(f"{demo.url}?at={at}")
    expect(phone.locator("html[data-past]")).to_have_count(1)
    expect(phone.locator("main .cell").first).to_be_visible()
    assert_fits(phone)
    phone.get_by_role("button", name="1 min back").tap()
    expect(phone).to_have_url(re.compile(rf"[?&]at={at - 60}\b"))
    for target in phone.locator(".bar").locator("button, input, select").all():
        box = target.bounding_box()
        assert box is not None
        assert box["height"] >= 44, target.evaluate("each => each.outerHTML")
    keep(phone, "past-phone")


def test_plots_on_a_phone_are_as_wide_as_it_is(phone: Page, demo: RunningBoard) -> None:
    """A tap reads a moment; the board of then is a button."""
    phone.goto(f"{demo.url}?view=rows")
    uuid = phone.locator("[data-uuid]").first.get_attribute("data-uuid")
    phone.goto(f"{demo.url}gpus/{uuid}")
    plots = phone.get_by_role("slider", name=CURSOR)
    expect(phone.locator(".gaps")).to_be_visible()
    assert_fits(phone)
    plots.scroll_into_view_if_needed()
    phone.touchscreen.tap(*point(plots, 0.5))
    link = phone.get_by_role("link", name="The whole board then")
    expect(link).to_be_visible()
    assert asked_at(phone) is None
    # The cursor goes behind the figures at its place, not through them.
    for label in phone.locator(".plot .label, .lane p").all():
        assert label.evaluate(BEFORE_CURSOR)
    link.tap()
    expect(phone.get_by_role("region", name="The past")).to_be_visible()


def test_what_the_curve_of_the_past_means_lies_beside_it(browser: Browser, demo: RunningBoard) -> None:
    """On a small phone, in the longest words too: above the curve, and away from the thumb."""
    with visit(browser, demo.url, size=(320, 640), locale="fr-FR") as page:
        Remembered(demo.url, now=time.time()).install(page)
        page.goto(f"{demo.url}?at={evening()}")
        words = page.get_by_text(re.compile("^GPU libres"))
        expect(words).to_be_visible()
        box, curve = words.bounding_box(), page.locator(".ground").bounding_box()
        steps = page.locator(".foot .steps").bounding_box()
        assert box is not None
        assert curve is not None
        assert steps is not None
        assert steps["y"] + steps["height"] <= box["y"]
        assert box["y"] + box["height"] <= curve["y"]
        assert box["x"] + box["width"] <= 320


def test_a_year_is_in_reach_of_a_thumb(browser: Browser, demo: RunningBoard) -> None:
    """The switch of time fits a small phone, in the longest words too."""
    with visit(browser, demo.url, size=(320, 640), locale="fr-FR") as page:
        past = Remembered(demo.url, now=time.time(), since_days=400)
        past.install(page)
        page.goto(f"{demo.url}gpus/{first_gpu(past)}")
        page.get_by_role("button", name="1 an").tap()
        expect(page).to_have_url(re.compile(r"[?&]range=1y"))
        expect(page.get_by_text(re.compile(r"8760 h en tout\.$|8\s760 h en tout\.$"))).to_be_visible()
        assert_fits(page)
        keep(page, "past-year-small")
    year = [one for one in past.asked if one.startswith("history?")][-1]
    asked = parse_qs(year.partition("?")[2])
    assert int(asked["to"][0]) - int(asked["from"][0]) == 365 * DAY


def test_what_the_board_itself_tells_of_the_past_is_drawn(page: Page, demo: RunningBoard) -> None:
    """Nothing invented: the answers of its own API, of the hour that a demo has behind it."""
    _, gpu = computing(demo)
    page.goto(f"{demo.url}gpus/{gpu['uuid']}?range=1h")
    expect(page.locator(".uplot canvas")).to_have_count(4)
    expect(page.get_by_text(re.compile(r" in all\.$"))).to_be_visible()
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="History").get_by_role("table")
    expect(table.get_by_role("cell").filter(has_text=re.compile(r"^\d+ %$")).first).to_be_visible()
    page.goto(f"{demo.url}?view=rows&strips=1")
    cell = page.locator(f'.cell[data-uuid="{gpu["uuid"]}"]')
    expect(cell).to_have_attribute("aria-label", re.compile("on average"))
    page.keyboard.press("[")
    bar = page.get_by_role("region", name="The past")
    expect(bar.locator("svg path.line")).to_have_attribute("d", re.compile("^M"))
    expect(cell).to_be_visible()
    bar.get_by_role("button", name="Back to live").click()
    expect(page.locator("html[data-old]")).to_have_count(0)
