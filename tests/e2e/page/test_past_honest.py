"""What the past says is so: what is not loaded, not there, or over is never taken for something else."""

import json
import re
import time
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.board import RunningBoard, running_board
from tests.browser import PHONE, keep, visit
from tests.e2e.page.remembered import DAY, HOUR, MINUTE, UNSEEN, Remembered
from tests.e2e.page.test_past import CURSOR, asked_at, evening, first_gpu, point, rewound

pytestmark = pytest.mark.xdist_group("browser")
# The browser itself complains about what it could not load.
AWAY = "Failed to load resource"


@pytest.fixture
def away(browser: Browser, demo: RunningBoard) -> Iterator[tuple[Page, Remembered]]:
    """A page of a board that will not answer everything."""
    with visit(browser, demo.url, allow=AWAY, zone="UTC") as page:
        past = Remembered(demo.url, now=time.time())
        past.install(page)
        yield page, past


@pytest.fixture
def phone(browser: Browser, demo: RunningBoard) -> Iterator[Page]:
    """A phone before a board that remembers."""
    with visit(browser, demo.url, size=PHONE, zone="UTC") as page:
        Remembered(demo.url, now=time.time()).install(page)
        yield page


def refuse(page: Page, pattern: str) -> None:
    """Let what fits find no board."""

    def gone(route: Route) -> None:
        route.abort()

    page.route(re.compile(pattern), gone)


def test_what_is_not_loaded_is_not_called_unobserved(
    demo: RunningBoard, away: tuple[Page, Remembered]
) -> None:
    """A week that cannot be had now is not a week in which nobody looked."""
    page, past = away
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    total = page.get_by_text(re.compile(r": 24 h in all\.$"))
    expect(total).to_be_visible()
    refuse(page, r"/api/v1/(history|history/states|episodes)\?")
    page.get_by_role("group", name="How far back").get_by_role("button", name="7 d").click()
    expect(page.get_by_text("This time cannot be loaded now").first).to_be_visible()
    expect(total).to_have_count(0)
    expect(page.get_by_text(re.compile("168 h"))).to_have_count(0)


def test_what_changed_too_often_to_be_told_is_not_called_unobserved(page: Page, demo: RunningBoard) -> None:
    """The sum is of what is told, and the page says from when on that is."""
    past = Remembered(demo.url, now=time.time())
    past.told_from = int(time.time()) - 40 * MINUTE
    past.install(page)
    page.goto(f"{demo.url}gpus/{first_gpu(past)}")
    expect(page.get_by_text("Who was on it is told since")).to_be_visible()
    expect(page.get_by_text(re.compile(r": (39|40) min in all\.$"))).to_be_visible()


def test_a_gap_while_the_disk_was_full_is_called_by_its_cause(page: Page, demo: RunningBoard) -> None:
    """Of another nobody knows why; both are hatched."""
    past = Remembered(demo.url, now=time.time())
    night = int(time.time()) // DAY * DAY - DAY
    past.pauses = [{"from": night + UNSEEN[0] + 20, "to": night + UNSEEN[1]}]
    past.install(page)
    page.goto(f"{demo.url}gpus/{first_gpu(past)}?from={night - DAY}&to={night + 12 * HOUR}")
    gaps = page.locator(".gaps")
    expect(gaps).to_contain_text("history paused")
    expect(gaps).to_contain_text("not observed")


def test_what_was_learnt_later_is_said_to_be(page: Page, demo: RunningBoard) -> None:
    """Nobody could have seen it then: in the lane, in the table, and in words for everybody."""
    past = Remembered(demo.url, now=time.time())
    night = int(time.time()) // DAY * DAY - DAY
    past.learnt_later = [{"from": night + 4 * HOUR, "to": night + 6 * HOUR}]
    past.install(page)
    page.goto(f"{demo.url}gpus/{first_gpu(past)}?from={night + 2 * HOUR}&to={night + 12 * HOUR}")
    expect(
        page.get_by_text(re.compile(r"^Learnt later, when the node was heard again: .*\d\d:\d\d"))
    ).to_be_visible()
    expect(page.locator(".lane u")).to_have_count(1)
    page.get_by_role("slider", name=CURSOR).hover(position={"x": 300, "y": 90})
    expect(page.locator(".lane b")).to_contain_text(", learnt later")
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="History").get_by_role("table")
    marked = table.get_by_role("row").filter(has_text=", learnt later")
    share = marked.count() / table.get_by_role("row").count()
    assert 0.15 < share < 0.25


def test_a_moment_that_cannot_be_had_leaves_the_one_that_is_shown(
    demo: RunningBoard, away: tuple[Page, Remembered]
) -> None:
    """Bar, address and cells are of one moment."""
    page, _ = away
    at = evening()
    rewound(page, demo, at)
    refuse(page, r"/api/v1/stream\?at=")
    page.get_by_role("button", name="1 h back").click()
    bar = page.get_by_role("region", name="The past")
    expect(bar).to_contain_text("19:00 could not be had")
    expect(bar.locator("strong")).to_contain_text("20:00")
    expect(page).to_have_url(re.compile(rf"[?&]at={at}\b"))


def test_where_no_moment_could_be_had_nothing_is_shown_as_the_past(
    demo: RunningBoard, away: tuple[Page, Remembered]
) -> None:
    """What is there is of now, and nobody asked for that."""
    page, _ = away
    refuse(page, r"/api/v1/stream\?at=")
    page.goto(f"{demo.url}?view=rows")
    cell = page.locator("main .cell[data-uuid]").first
    expect(cell).to_be_visible()
    page.keyboard.press("[")
    expect(page.get_by_role("region", name="The past")).to_contain_text("could not be had")
    expect(cell).not_to_be_visible()
    page.get_by_role("button", name="Back to live").click()
    expect(cell).to_be_visible()


@pytest.mark.parametrize("text", ["abc", "0", "9999999999"])
def test_a_moment_that_is_none_is_named_and_now_is_shown(page: Page, demo: RunningBoard, text: str) -> None:
    """Neither silently now, nor an endless wait."""
    page.goto(f"{demo.url}?view=rows&at={text}")
    expect(page.get_by_text(re.compile(f"“{text}” is no moment"))).to_be_visible()
    expect(page.locator("main .cell[data-uuid]").first).to_be_visible()
    expect(page.locator("html[data-past]")).to_have_count(0)


def test_before_the_first_record_the_page_says_when_it_begins(page: Page, demo: RunningBoard) -> None:
    """Of a time that nobody recorded there is no board, and nothing is guessed."""
    page.goto(f"{demo.url}?at={int(time.time()) - 400 * 24 * HOUR}")
    expect(page.get_by_text("Nothing is recorded of this moment. Recorded since")).to_be_visible()
    expect(page.get_by_text("Not known yet")).to_have_count(0)


def test_the_menu_of_the_past_leads_back_and_promises_nothing_live(page: Page, demo: RunningBoard) -> None:
    """What happens now does not change what is shown."""
    Remembered(demo.url, now=time.time()).install(page)
    rewound(page, demo, evening())
    page.get_by_role("button", name="Not live").click()
    menu = page.get_by_role("dialog", name=re.compile("Not live"))
    expect(menu).to_contain_text("earlier moment")
    for word in ("Pause", "Refresh now"):
        expect(menu.get_by_role("button", name=word)).to_have_count(0)
    menu.get_by_role("button", name="Back to live").click()
    expect(page.locator("html[data-past]")).to_have_count(0)


def test_who_was_on_a_gpu_then_has_no_count_of_processes(page: Page, demo: RunningBoard) -> None:
    """Of the past only who it was is known; and its plots are not live."""
    with_people = next(uuid for uuid, users in _rewound_users(demo).items() if users)
    page.goto(f"{demo.url}gpus/{with_people}?at={_yesterday()}")
    expect(page.locator("html[data-past]")).to_have_count(1)
    expect(page.get_by_role("slider", name=CURSOR)).to_be_visible()
    expect(page.get_by_text(re.compile("0 process"))).to_have_count(0)
    expect(page.get_by_text(re.compile("now, live"))).to_have_count(0)


def _yesterday() -> int:
    return int(time.time()) // 60 * 60 - 26 * HOUR


def _rewound_users(demo: RunningBoard) -> dict[str, list[object]]:
    with urllib.request.urlopen(f"{demo.url}api/v1/stream?at={_yesterday()}", timeout=60) as answer:
        rows = json.load(answer)["gpus"]
    return dict(zip(rows["uuid"], rows["users"], strict=True))


def test_a_gpu_that_is_broken_has_a_past_and_one_answer_since_when(page: Page, demo: RunningBoard) -> None:
    """It tells no figures, and is seen all the same; before it broke it worked."""
    page.goto(f"{demo.url}?view=rows&q=broken")
    uuid = page.locator("main .cell[data-uuid]").first.get_attribute("data-uuid")
    page.goto(f"{demo.url}gpus/{uuid}")
    expect(page.get_by_text("Nothing was observed")).to_have_count(0)
    expect(page.locator(".lane .fill-broken")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^used .*broken .* in all\.$"))).to_be_visible()


def test_what_runs_on_a_silent_node_is_not_said_to_run_now(page: Page, demo: RunningBoard) -> None:
    """When its node was last seen is all that is known."""
    page.goto(f"{demo.url}nodes/vision-02")
    cards = page.locator("main [data-uuid]")
    expect(cards.first).to_be_visible()
    for uuid in {each.get_attribute("data-uuid") for each in cards.all()}:
        page.goto(f"{demo.url}gpus/{uuid}")
        table = page.get_by_role("region", name="Who used it")
        expect(table).to_be_visible()
        expect(table.get_by_role("cell", name="now", exact=True)).to_have_count(0)
        if table.get_by_role("cell", name=re.compile("^last seen")).count():
            return
    pytest.fail("nobody was on the silent node")


def test_a_phone_keeps_the_way_back_in_sight(phone: Page, demo: RunningBoard) -> None:
    """However far one has scrolled; the menu lies above the bar of time, and the steps say which way."""
    phone.goto(f"{demo.url}?at={evening()}")
    expect(phone.locator("main .cell").first).to_be_visible()
    phone.evaluate("scrollTo(0, 900)")
    back = phone.get_by_role("region", name="The past").get_by_role("button", name="Back to live")
    expect(back).to_be_in_viewport()
    for sign in phone.locator(".foot .sign").all():
        expect(sign).to_be_visible()
    phone.get_by_role("button", name="Not live").tap()
    sheet = phone.get_by_role("dialog", name=re.compile("Not live")).bounding_box()
    foot = phone.locator(".foot").bounding_box()
    assert sheet is not None
    assert foot is not None
    assert sheet["y"] + sheet["height"] <= foot["y"]
    phone.keyboard.press("Escape")
    phone.evaluate("scrollTo(0, 0)")
    phone.get_by_role("button", name=re.compile("^Around")).tap()
    expect(phone.get_by_text(re.compile("begins|leaves")).first).to_be_visible()
    keep(phone, "past-phone-around")


def test_a_finger_frames_what_to_look_closer_at(phone: Page, demo: RunningBoard) -> None:
    """As the mouse does; and Back leads to the whole range again."""
    past = Remembered(demo.url, now=time.time())
    phone.goto(f"{demo.url}gpus/{first_gpu(past)}")
    plots = phone.get_by_role("slider", name=CURSOR)
    expect(phone.locator(".gaps")).to_be_visible()
    plots.scroll_into_view_if_needed()
    (left, y), (right, _) = point(plots, 0.25), point(plots, 0.5)
    session = phone.context.new_cdp_session(phone)

    def touch(kind: str, x: float | None) -> None:
        points = [] if x is None else [{"x": x, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", left)
    for part in range(1, 6):
        touch("touchMove", left + (right - left) * part / 5)
    touch("touchEnd", None)
    expect(phone).to_have_url(re.compile(r"[?&]from=\d+&to=\d+"))
    phone.go_back()
    expect(phone).to_have_url(re.compile(r"gpus/[^?]+$"))
    assert asked_at(phone) is None


def test_a_detail_hides_nothing_that_was_asked_for(page: Page, demo: RunningBoard) -> None:
    """All cells of a filter, and what can be pressed above them, are seen beside it."""
    page.goto(f"{demo.url}?view=rows&q=idle")
    cells = page.locator("main .cell[data-uuid]")
    cells.first.click()
    detail = page.get_by_role("dialog")
    expect(detail).to_be_visible()
    top = (detail.bounding_box() or {"y": 0})["y"]
    for each in [*cells.all(), page.get_by_role("button", name="Map")]:
        box = each.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= top


def test_what_it_is_about_is_above_a_detail(page: Page, demo: RunningBoard) -> None:
    """Also where the last row was pressed."""
    page.goto(f"{demo.url}?view=rows")
    cell = page.locator("main .cell[data-uuid]").last
    cell.click()
    detail = page.get_by_role("dialog")
    expect(detail).to_be_visible()
    expect(page.locator("main .cell.chosen")).to_have_count(1)
    page.wait_for_function(
        """() => document.querySelector('main .cell.chosen').getBoundingClientRect().bottom
          <= document.querySelector('[role=dialog]').getBoundingClientRect().top"""
    )


def test_that_nodes_need_a_look_is_itself_a_button(page: Page, demo: RunningBoard) -> None:
    """Whoever reads it presses it."""
    page.goto(f"{demo.url}?view=rows")
    words = page.get_by_role("button", name=re.compile(r"nodes? needs? a look"))
    words.click()
    expect(words).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".causes")).to_be_visible()


def test_names_of_nodes_are_whole_on_a_tablet(browser: Browser, demo: RunningBoard) -> None:
    """Whatever is said beside them, in every language."""
    for language in ("en-GB", "fr-FR"):
        with visit(browser, demo.url, size=(820, 1180), locale=language) as page:
            Remembered(demo.url, now=time.time()).install(page)
            rewound(page, demo, evening())
            names = page.locator("[role=rowheader] a")
            assert names.count()
            for name in names.all():
                assert name.evaluate("each => each.scrollWidth <= each.clientWidth"), name.inner_text()


def test_on_paper_the_past_is_a_line_above_the_board(page: Page, demo: RunningBoard) -> None:
    """It covers nothing, and nothing of it can be pressed."""
    Remembered(demo.url, now=time.time()).install(page)
    rewound(page, demo, evening())
    page.emulate_media(media="print")
    bar = page.locator(".bar").first
    assert bar.evaluate("each => getComputedStyle(each).position") == "static"
    expect(page.locator(".bar select")).to_be_hidden()
    frame = page.evaluate("getComputedStyle(document.body, '::after').display")
    assert frame == "none"


def test_a_large_demo_has_a_past_too(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It comes step by step, after the board has."""
    log = tmp_path_factory.mktemp("large") / "log"
    with running_board("--demo", "61", log=log) as board, visit(browser, board.url) as page:
        at = int(time.time()) - 3 * 24 * HOUR
        page.goto(board.url)
        asked = "async (at) => (await (await fetch(`api/v1/stream?at=${at}`)).text()).includes('busy')"
        page.wait_for_function(asked, arg=at, polling=1500, timeout=60_000)
        page.goto(f"{board.url}?at={at}")
        expect(page.get_by_text(re.compile("GPUs were free"))).to_be_visible()
        expect(page.get_by_text(re.compile("begins|leaves")).first).to_be_visible()


@pytest.mark.parametrize(
    ("path", "chunk", "heading"),
    [("bookings", "BookingsPage", "Bookings"), ("nodes/dgx-02", "NodePage", "dgx-02")],
)
def test_a_page_whose_parts_are_on_their_way_says_which_it_is(
    browser: Browser, demo: RunningBoard, path: str, chunk: str, heading: str
) -> None:
    """Over a slow network nothing is blank."""
    with visit(browser, demo.url) as page:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route(re.compile(rf"/assets/{chunk}-.*\.js"), hold)
        page.goto(f"{demo.url}{path}")
        title = page.locator("main").get_by_role("heading", level=1)
        expect(title).to_have_text(heading)
        expect(page.locator("main").get_by_text("Loading…")).to_be_visible()
        for each in held:
            each.continue_()
        expect(page.locator("main h1.coming")).to_have_count(0)
        expect(title).to_have_text(heading)


def test_what_is_counted_of_spans_says_so_under_a_moment_of_the_past(page: Page, demo: RunningBoard) -> None:
    """A person's page tells of then what they held, and says what below it is of today; so does usage."""
    note = page.get_by_text("What follows is counted up to now, not up to the moment above.")
    page.goto(f"{demo.url}people/chen?at={_yesterday()}")
    expect(page.locator("html[data-past]")).to_have_count(1)
    expect(page.get_by_role("heading", name="Then", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Now", exact=True)).to_have_count(0)
    expect(note).to_be_visible()
    page.goto(f"{demo.url}usage?at={_yesterday()}")
    expect(note).to_be_visible()
    kinds = page.get_by_role("region", name="What the time was")
    expect(kinds.get_by_text("free", exact=True)).to_be_visible()
    page.goto(f"{demo.url}usage")
    expect(kinds).to_be_visible()
    expect(note).to_have_count(0)


def test_people_of_the_past_have_what_is_known_and_a_dash_for_the_rest(
    page: Page, demo: RunningBoard
) -> None:
    """Their memory is added up from the GPUs that were theirs alone; processes were not recorded."""
    page.goto(f"{demo.url}people?at={_yesterday()}")
    expect(page.locator("html[data-past]")).to_have_count(1)
    row = page.locator("tbody tr").first
    expect(row.locator("td.hide")).to_have_text("—")
    expect(row.locator("td.memory")).to_have_text(re.compile(r"\d GB"))
