"""The lanes of the bookings page: what is booked as boxes, by mouse and by keys."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.board import RunningBoard
from tests.booking_lab import Lab, booking_lab, gpu
from tests.browser import PHONE, assert_fits, keep, visit
from tests.e2e.page.people import REFUSED, apart, signed_in
from tests.e2e.page.test_booking_on_the_page import SETTINGS, change_elsewhere, lab
from tests.e2e.page.test_page_for_everybody import axe, violations
from tests.signing_in import signed_in as browsing
from tests.started import eventually

__all__ = ["axe", "lab"]

HOUR = 3600
DAY = 24 * HOUR
QUARTER = 900
# What keys and mice do comes when there is something to see.
HANDS = """() => ['keys', 'pointer'].every((part) => performance.getEntriesByType('resource')
  .some(({ name }) => name.includes(`/assets/${part}-`)))"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A board that takes bookings; who does not come at once has not come."""
    settings = SETTINGS.replace("[bookings]\n", '[bookings]\nno_show_after = "1s"\n')
    stack = ExitStack()
    yield apart(stack.enter_context, booking_lab(tmp_path_factory.mktemp("lab"), settings))
    apart(stack.close)


def later(hours: float) -> int:
    """A quarter of an hour that is to come, on the days that are shown."""
    return int(time.time()) // QUARTER * QUARTER + int(hours * HOUR)


def book(
    lab: Lab, person: str, gpus: list[int], hours: tuple[float, float], comment: str = ""
) -> dict[str, Any]:
    """Somebody has booked by another browser."""
    start, end = map(later, hours)
    wish = {"places": [{"node": "gpu01", "gpus": gpus}], "start": start, "end": end, "comment": comment}
    answer = apart(lambda: browsing(lab.board, person).post("api/v1/bookings", wish))
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["booking"]
    return found


def told(lab: Lab, ident: str) -> dict[str, Any]:
    """A booking as the board has it now."""
    found: dict[str, Any] = apart(
        lambda: browsing(lab.board, "ana").http.get(f"api/v1/bookings/{ident}").json()
    )
    return found


def open_lanes(page: Page, lab: Lab, query: str = "") -> Locator:
    """The lanes, with all that hands need."""
    page.goto(f"{lab.board.url}bookings{query}")
    lanes = page.get_by_role("grid", name="Bookings by GPU")
    expect(lanes).to_be_visible()
    page.wait_for_function(HANDS)
    page.wait_for_load_state("networkidle")
    return lanes


def box(lanes: Locator, words: str) -> Locator:
    """A booking in the lanes."""
    return lanes.get_by_role("button", name=re.compile(words))


def empty(lanes: Locator, number: int) -> Locator:
    """The lane of a GPU."""
    return lanes.locator(f'[data-lane="{number}"]')


def test_neighbours_are_one_box_and_a_node_folds(browser: Browser, lab: Lab) -> None:
    """Mine and others' look different; which nodes are folded is in the address."""
    book(lab, "ana", [0, 1], (2, 6), comment="ablation")
    book(lab, "eve", [2], (1, 3))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        mine, others = box(lanes, r"^ana: gpu01 · 0, 1, .*“ablation”"), box(lanes, r"^eve: gpu01 · 2, ")
        expect(mine).to_have_class(re.compile(r"\bmine\b"))
        expect(others).to_have_class(re.compile(r"\bothers\b"))
        two, one = mine.bounding_box(), others.bounding_box()
        assert two is not None
        assert one is not None
        assert two["height"] > 2 * one["height"]
        keep(page, "lanes")
        name = lanes.get_by_role("button", name=re.compile("^gpu01: 2 bookings"))
        name.click()
        expect(mine).to_be_hidden()
        expect(name).to_have_attribute("aria-expanded", "false")
        keep(page, "lanes-folded")
        page.get_by_role("button", name="Week", exact=True).click()
        page.reload()
        expect(name).to_have_attribute("aria-expanded", "false")
        expect(page.get_by_role("button", name="Week", exact=True)).to_have_attribute("aria-pressed", "true")


def test_days_of_another_month_and_year_say_so(browser: Browser, lab: Lab) -> None:
    """The first one, and each with which a month begins; of this year none says which."""
    next_year = time.localtime().tm_year + 1
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab, f"?days=14&day={next_year}-12-25")
        days = lanes.get_by_role("columnheader", name="Bookings by GPU").locator("b")
        expect(days).to_have_count(14)
        texts = days.all_inner_texts()
        assert [re.sub(r"\W+", " ", texts[place]) for place in (0, 7)] == [
            f"Dec 25 {next_year}",
            f"Jan 1 {next_year + 1}",
        ]
        assert re.fullmatch(r"\w+ 26|26 \w+", texts[1])
        keep(page, "lanes-next-year")
        page.get_by_role("button", name="Today", exact=True).click()
        expect(days.first).to_have_text(re.compile("^" + time.strftime("%b") + r" \d+$"))


def test_a_phone_keeps_the_list_by_day(browser: Browser, lab: Lab) -> None:
    """There is no room for lanes."""
    book(lab, "eve", [2], (0, 3))
    with signed_in(browser, lab.board, "ana", size=PHONE) as page:
        page.goto(f"{lab.board.url}bookings")
        expect(page.get_by_role("region", name="Now").get_by_text("eve").first).to_be_visible()
        expect(page.get_by_role("grid")).to_have_count(0)
        assert_fits(page)


def test_the_filter_leaves_the_lanes_that_fit(browser: Browser, lab: Lab) -> None:
    """Who has booked something for later is found there too."""
    book(lab, "eve", [2], (5, 8))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab, "?q=user:eve")
        expect(empty(lanes, 2)).to_be_visible()
        expect(lanes.locator("[data-lane]")).to_have_count(1)


def test_an_empty_place_is_booked_by_a_click(browser: Browser, lab: Lab) -> None:
    """It offers the usual length, and the form is filled in."""
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        place = empty(lanes, 1)
        size = place.bounding_box()
        assert size is not None
        place.hover(position={"x": size["width"] * 0.7, "y": size["height"] / 2})
        expect(lanes.get_by_role("button", name=re.compile(r"^Book gpu01 · GPU 1, "))).to_be_visible()
        keep(page, "lanes-offer")
        page.mouse.down()
        page.mouse.up()
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        form.get_by_role("button", name=re.compile(r"^Book 1 GPU, ")).click()
        expect(page.get_by_role("dialog").get_by_text(re.compile("^Booked: gpu01 · 1"))).to_be_visible()
        page.get_by_role("button", name="Close").click()
        expect(box(lanes, r"^ana: gpu01 · 1, ")).to_be_visible()


def test_keys_walk_lanes_and_book_a_gap(browser: Browser, lab: Lab) -> None:
    """From the name to the first lane, on in time, one lane down, and Enter."""
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        lanes.get_by_role("button", name=re.compile("^gpu01: ")).focus()
        for key in ("ArrowRight", "Shift+ArrowRight", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^Book gpu01 · GPU 1, "))
        page.keyboard.press("Enter")
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_role("button", name=re.compile(r"^Book 1 GPU, "))).to_be_visible()


def walk_to_a_gap(page: Page, lanes: Locator) -> None:
    """An hour ahead, in the first lane."""
    lanes.get_by_role("button", name=re.compile("^gpu01: ")).focus()
    for key in ("ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^Book gpu01 · GPU 0, "))


def test_who_has_booked_by_keys_stands_on_the_new_box(browser: Browser, lab: Lab) -> None:
    """The gap that was there is none any more."""
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        walk_to_a_gap(page, lanes)
        page.keyboard.press("Enter")
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_text("Nothing else is booked there.")).to_be_visible()
        form.get_by_label("Comment").press("Enter")
        expect(page.get_by_role("dialog").get_by_text(re.compile("^Booked: gpu01 · 0"))).to_be_visible()
        page.keyboard.press("Escape")
        expect(box(lanes, r"^ana: gpu01 · 0, ")).to_be_focused()


def test_who_was_too_slow_is_back_where_the_form_was_opened(browser: Browser, lab: Lab) -> None:
    """Where the gap was is the box of whoever was faster."""
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        lanes = open_lanes(page, lab)
        walk_to_a_gap(page, lanes)
        page.keyboard.press("Enter")
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_text("Nothing else is booked there.")).to_be_visible()
        book(lab, "eve", [0], (0.5, 6))
        form.get_by_label("Comment").press("Enter")
        expect(form.get_by_text(re.compile("^! gpu01 GPU 0 is booked by eve"))).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(box(lanes, r"^eve: gpu01 · 0, ")).to_be_focused()


def test_keys_lengthen_and_move_what_is_mine(browser: Browser, lab: Lab) -> None:
    """Enter asks the board; Esc puts it back."""
    made = book(lab, "ana", [0, 1], (4, 6))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        mine = box(lanes, r"^ana: gpu01 · 0, 1, ")
        mine.focus()
        page.keyboard.press("+")
        expect(page.get_by_text(re.compile("Enter changes it, Esc puts it back"))).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_text(re.compile("Enter changes it"))).to_be_hidden()
        assert told(lab, made["id"])["end"] == made["end"]
        for key in ("+", "+", "Shift+ArrowRight", "Shift+ArrowDown"):
            page.keyboard.press(key)
        moved = box(lanes, r"^ana: gpu01 · 1, 2, ")
        expect(moved).to_be_focused()
        page.keyboard.press("Enter")
        eventually(lambda: told(lab, made["id"])["end"] == made["end"] + 3 * QUARTER)
        after = told(lab, made["id"])
        assert (after["start"], after["places"]) == (
            made["start"] + QUARTER,
            [{"node": "gpu01", "gpus": [1, 2]}],
        )
        expect(moved).to_be_visible()


def test_who_has_not_come_and_who_stayed_too_long_are_marked(browser: Browser, lab: Lab) -> None:
    """The name of who has booked it comes first, however narrow the box is."""
    book(lab, "eve", [0], (0, 8))
    over = book(lab, "ana", [1], (0, 3))
    apart(lab.report, gpu(0), gpu(1, user="ana"), gpu(2))
    # Who was never seen on it has not stayed.
    eventually(lambda: bool((told(lab, over["id"])["use"] or {}).get("used_seconds")))
    apart(lambda: browsing(lab.board, "ana").delete(f"api/v1/bookings/{over['id']}").raise_for_status())
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        missed = box(lanes, r"^eve: gpu01 · 0, .* eve has not come\.")
        expect(missed).to_have_class(re.compile(r"\bno-show\b"))
        expect(missed.locator(".name b")).to_have_text(["!", "eve", "no-show"])
        expect(empty(lanes, 1).get_by_title(re.compile("^ana is still there; "))).to_be_visible()
        expect(box(lanes, r"^ana: gpu01 · 1, ")).to_have_class(re.compile(r"\bpast\b"))
        keep(page, "lanes-odd")


def test_a_drag_draws_a_booking_and_moves_nothing_of_others(browser: Browser, lab: Lab) -> None:
    """From when to when it would be stands there while it is drawn; then the form has it."""
    others = book(lab, "eve", [1], (8, 14))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        pull(page, box(lanes, r"^eve: gpu01 · 1, "), right=60, lanes=1)
        expect(lanes.locator(".draft")).to_have_count(0)
        assert told(lab, others["id"])["start"] == others["start"]
        page.keyboard.press("Escape")
        size = empty(lanes, 0).bounding_box()
        assert size is not None
        x, y = size["x"] + size["width"] * 0.7, size["y"] + 12
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y)
        page.mouse.move(x + 60, y + 25 * 2)
        drawn = lanes.get_by_role("button", name=re.compile(r"^Book gpu01 · GPU 0, GPU 1, GPU 2, .*:"))
        expect(drawn).to_be_visible()
        keep(page, "lanes-drawn")
        page.mouse.up()
        form = page.get_by_role("dialog").get_by_role("form", name="Book")
        expect(form.get_by_role("button", name=re.compile(r"^Book 3 GPUs, "))).to_be_visible()
        # Whoever opens a form goes on in it.
        expect(form.get_by_role("button", name="GPU 0")).to_be_focused()


def test_a_mouse_moves_and_lengthens_what_is_mine(browser: Browser, lab: Lab) -> None:
    """By the box and by its grip."""
    made = book(lab, "ana", [0], (4, 8))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        mine = box(lanes, r"^ana: gpu01 · 0, ")
        pull(page, mine.locator("[data-grip]"), right=40)
        eventually(lambda: told(lab, made["id"])["end"] > made["end"])
        longer = told(lab, made["id"])
        assert longer["start"] == made["start"]
        expect(lanes.locator(".draft")).to_have_count(0)
        pull(page, mine, right=30, lanes=1, lets_go=False)
        expect(lanes.locator(".times")).to_have_text(re.compile(r"\d:\d\d .* ?\d?\d:\d\d"))
        page.mouse.up()
        eventually(lambda: told(lab, made["id"])["start"] > made["start"])
        moved = told(lab, made["id"])
        assert moved["places"] == [{"node": "gpu01", "gpus": [1]}]
        assert moved["end"] - moved["start"] == longer["end"] - longer["start"]
        expect(page.get_by_role("dialog")).to_have_count(0)


def pull(page: Page, what: Locator, *, right: float, lanes: int = 0, lets_go: bool = True) -> None:
    """Drag something."""
    size = what.bounding_box()
    assert size is not None
    x, y = size["x"] + size["width"] / 2, size["y"] + min(12, size["height"] / 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y)
    page.mouse.move(x + right, y + 25 * lanes)
    if lets_go:
        page.mouse.up()


def test_a_move_that_is_refused_is_put_back_with_the_reason(browser: Browser, lab: Lab) -> None:
    """Who has it, until when, and when it can be had."""
    made = book(lab, "ana", [0], (4, 6))
    book(lab, "eve", [0], (6, 7))
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        lanes = open_lanes(page, lab)
        mine = box(lanes, r"^ana: gpu01 · 0, ")
        before = mine.bounding_box()
        mine.focus()
        page.keyboard.press("+")
        page.keyboard.press("Enter")
        refused = page.get_by_text(re.compile("^Put back: gpu01 GPU 0 is booked by eve until .* from .* on"))
        expect(refused).to_be_visible()
        keep(page, "lanes-refused")
        expect(lanes.locator(".draft")).to_have_count(0)
        assert mine.bounding_box() is not None
        assert told(lab, made["id"])["end"] == made["end"]
        assert before is not None
        now = mine.bounding_box()
        assert now is not None
        assert abs(now["width"] - before["width"]) < 1


def test_a_move_by_keys_that_is_refused_leaves_them_on_the_box(browser: Browser, lab: Lab) -> None:
    """Where they were before, not on what was in the way."""
    book(lab, "ana", [0], (4, 6))
    book(lab, "eve", [1], (3, 7))
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        lanes = open_lanes(page, lab)
        box(lanes, r"^ana: gpu01 · 0, ").focus()
        page.keyboard.press("Shift+ArrowDown")
        expect(lanes.locator(".draft").and_(box(lanes, r"^ana: gpu01 · 1, "))).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_text(re.compile("^Put back: gpu01 GPU 1 is booked by eve"))).to_be_visible()
        expect(box(lanes, r"^ana: gpu01 · 0, ")).to_be_focused()


def test_a_drag_undoes_nothing_that_another_window_has_changed(browser: Browser, lab: Lab) -> None:
    """It goes back, and what the booking is now is told; the next drag starts from there."""
    made = book(lab, "ana", [0], (4, 8))
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        lanes = open_lanes(page, lab)
        mine = box(lanes, r"^ana: gpu01 · 0, ")
        pull(page, mine, right=40, lets_go=False)
        expect(lanes.locator(".draft")).to_be_visible()
        shorter = made["end"] - HOUR
        apart(change_elsewhere, lab, "ana", made["id"], end=shorter)
        page.mouse.up()
        expect(
            page.get_by_text(re.compile("^Put back: This booking has changed meanwhile: it is"))
        ).to_be_visible()
        after = told(lab, made["id"])
        assert (after["start"], after["end"]) == (made["start"], shorter)
        expect(lanes.locator(".draft")).to_have_count(0)
        pull(page, mine, right=40)
        eventually(lambda: told(lab, made["id"])["start"] > made["start"])
        moved = told(lab, made["id"])
        assert moved["end"] - moved["start"] == shorter - made["start"]


def test_a_policy_refuses_in_the_words_of_whoever_looks(browser: Browser, lab: Lab) -> None:
    """Not in the board's English."""
    book(lab, "ana", [0], (4, 12))
    with signed_in(browser, lab.board, "ana", allow=REFUSED) as page:
        page.evaluate("localStorage.setItem('gpuboard', JSON.stringify({language: 'de'}))")
        page.goto(f"{lab.board.url}bookings")
        lanes = page.get_by_role("grid", name=re.compile("GPU"))
        expect(lanes).to_be_visible()
        page.wait_for_load_state("networkidle")
        box(lanes, r"^ana: gpu01 · 0, ").focus()
        page.keyboard.press("+")
        page.keyboard.press("Enter")
        words = page.get_by_text(re.compile(r"Eine Buchung darf höchstens 8\sh dauern, diese wären 8\sh\s15"))
        expect(words).to_be_visible()


def test_who_sees_no_names_sees_that_it_is_booked(browser: Browser, tmp_path: Path) -> None:
    """And until when: no who, no comment."""
    stack = ExitStack()
    hidden = apart(stack.enter_context, booking_lab(tmp_path))
    try:
        book(hidden, "eve", [1], (2, 6), comment="secret run")
        with visit(browser, hidden.board.url) as page:
            lanes = open_lanes(page, hidden)
            expect(box(lanes, r"^booked: gpu01 · 1, ")).to_be_visible()
            expect(page.get_by_text(re.compile("eve|secret"))).to_have_count(0)
    finally:
        apart(stack.close)


def test_the_foot_of_a_lane_is_what_was_recorded(browser: Browser, demo: RunningBoard) -> None:
    """Yesterday, on a GPU that nobody had booked: when somebody computed, and nothing of when it was free."""
    midnight = time.time() // DAY * DAY
    node, number, used = apart(used_yesterday, demo, midnight)
    yesterday = time.strftime("%Y-%m-%d", time.gmtime(midnight - DAY))
    with visit(browser, demo.url, zone="UTC") as page:
        page.goto(f"{demo.url}bookings?day={yesterday}&days=1&open={node}")
        foot = page.locator(f'[data-node="{node}"] [data-lane="{number}"] .foot-used')
        expect(foot.first).to_be_visible()
        drawn = foot.evaluate_all("(all) => all.map(({style}) => [style.left, style.width].map(parseFloat))")
        seen, recorded = (
            [at for each in spans for at in each]
            for spans in (joined((left, left + width) for left, width in drawn), used)
        )
        assert seen == pytest.approx(recorded, abs=0.5)
        keep(page, "lanes-foot")


def used_yesterday(demo: RunningBoard, midnight: float) -> tuple[str, str, list[tuple[float, float]]]:
    """A GPU that was free and in use, with when it was in use, in hundredths of the day."""
    start = midnight - DAY
    for node in httpx.get(f"{demo.url}api/v1/fleet").json()["nodes"]:
        for card in node["gpus"]:
            asked = {"gpu": card["uuid"], "from": start, "to": midnight}
            states = httpx.get(f"{demo.url}api/v1/history/states", params=asked).json()["states"]
            if {one["verdict"] for one in states} != {"busy", "free"}:
                continue
            # Whoever follows without a break is drawn as one; what is too short to be seen is left out.
            used = joined(
                (100 * (one["from"] - start) / DAY, 100 * (one["to"] - start) / DAY)
                for one in states
                if one["verdict"] == "busy"
            )
            if all(end - begin > 100 * HOUR / DAY for begin, end in used):
                return node["name"], card["label"], used
    raise AssertionError("nobody computed yesterday")


def joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that touch are one."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] < 0.5:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def test_axe_has_nothing_to_say_about_lanes(browser: Browser, lab: Lab, axe: str) -> None:
    """Open, folded, with an offer, and with what is not as booked; in both themes."""
    book(lab, "eve", [0], (0, 3))
    book(lab, "ana", [1], (2, 6))
    apart(lab.report, gpu(0, user="ben"), gpu(1), gpu(2))
    with signed_in(browser, lab.board, "ana") as page:
        lanes = open_lanes(page, lab)
        expect(box(lanes, "ben runs on a booking of eve")).to_be_visible()
        size = empty(lanes, 2).bounding_box()
        assert size is not None
        empty(lanes, 2).hover(position={"x": size["width"] * 0.6, "y": 8})
        assert_fits(page)
        assert violations(page, axe) == []
        lanes.get_by_role("button", name=re.compile("^gpu01: ")).click()
        assert violations(page, axe) == []
