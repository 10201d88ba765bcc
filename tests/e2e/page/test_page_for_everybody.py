"""The page for people who do not see it, or not all of its colours: axe-core finds nothing to say."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.board import RunningBoard, computing
from tests.browser import DESKTOP, PHONE, ROOT, TABLET, Size, Theme, visit
from tests.e2e.page.remembered import DAY, HOUR, Remembered
from tests.parts import missing

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RUN = "(rules) => axe.run(document, {runOnly: rules, resultTypes: ['violations']})"
ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What a theme changes: both have the same parts, words and places.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}

# A target that lies under a bar at the edge of the screen is looked at again where it can be scrolled to.
RUN_AGAIN = """async (target) => {
  document.querySelector(target[0]).scrollIntoView({block: 'center', behavior: 'instant'});
  const again = await axe.run({include: [target]}, {runOnly: {type: 'rule', values: ['target-size']}});
  return again.violations.length > 0;
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The checker's source; evaluated by the browser itself, so that the content policy stays as it is."""
    if not AXE.exists():
        missing("axe-core (script/npm ci)")
    return AXE.read_text()


def violations(page: Page, axe: str) -> list[str]:
    """What is wrong, and where."""
    page.evaluate(axe)
    found = []
    themes: dict[Theme, object] = {"light": ALL_RULES, "dark": OF_COLOURS}
    for theme, rules in themes.items():
        page.emulate_media(color_scheme=theme)
        answer: dict[str, Any] = page.evaluate(RUN, rules)
        found += [
            f"{theme}: {rule['id']} at {node['target']}: {node['html'][:160]} ({node['failureSummary']})"
            for rule in answer["violations"]
            for node in rule["nodes"][:3]
            if rule["id"] != "target-size" or page.evaluate(RUN_AGAIN, node["target"])
        ]
    return found


# Nodes that have every verdict between them: forty GPUs say what a hundred do.
SOME = "q=node:a100-01,a100-03,nlp-01,vision-02,vision-03"

ALL_SIZES = (DESKTOP, TABLET, PHONE)
SCREENS = (DESKTOP, TABLET, (3840, 2160))
# A phone has a finger instead of a mouse; the others are one visit.
HANDS = pytest.mark.parametrize("hand", [(DESKTOP, TABLET), (PHONE,)], ids=["mouse", "finger"])


def assert_no_rule_is_broken(page: Page, axe: str, sizes: tuple[Size, ...] = ALL_SIZES) -> None:
    """At each of these sizes, in both themes."""
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        assert (width, violations(page, axe)) == (width, [])


@HANDS
@pytest.mark.parametrize(
    "view",
    [
        (f"?view=rows&{SOME}", ".cell[data-uuid]"),
        ("?view=cards&q=node:nlp-01,vision-02", "article[data-uuid]"),
        ("?view=map&group=verdict", "canvas"),
        (f"?view=text&group=model&{SOME}", ".line[data-uuid]"),
        ("?q=memory>=lots", "#filter-error"),
        ("?q=node:nowhere+free", "main section h2"),
        ("?q=model:H100+free>%3D9", ".cell[data-uuid], [aria-labelledby=need]"),
        ("nodes/a100-01", "article[data-uuid]"),
        ("nodes/vision-02", "article[data-uuid]"),
        ("people", "tbody tr"),
        ("people/dupont", "#ran"),
        ("bookings", "main form, main li"),
        ("usage", ".screen section table"),
        ("usage?month=2026-10", ".screen h1"),
        ("no/page", "main h1"),
    ],
    ids=lambda view: view[0],
)
def test_no_page_breaks_a_rule(
    browser: Browser, demo: RunningBoard, axe: str, view: tuple[str, str], hand: tuple[Size, ...]
) -> None:
    """WCAG 2.2 AA and good practice, light and dark, on a desk, a tablet and a phone."""
    path, seen = view
    allow = "status of 404" if path == "no/page" else None
    with visit(browser, demo.url, size=hand[0], allow=allow) as page:
        page.goto(f"{demo.url}{path}")
        expect(page.locator(seen).first).to_be_visible()
        if hand == (PHONE,) and "free>" in path:
            expect(page.get_by_text("Not enough for this right now")).to_be_visible()
        assert_no_rule_is_broken(page, axe, hand)


def test_no_wall_breaks_a_rule(page: Page, demo: RunningBoard, axe: str) -> None:
    """On a large screen, and on one that stands upright."""
    page.goto(f"{demo.url}?wall=1")
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()
    assert_no_rule_is_broken(page, axe, SCREENS)


@HANDS
def test_no_gpu_page_breaks_a_rule(
    browser: Browser, demo: RunningBoard, axe: str, hand: tuple[Size, ...]
) -> None:
    """With its processes; of a card that does not answer, and of one that nobody has heard of for long."""
    with visit(browser, demo.url, size=hand[0]) as page:
        for word in ("busy", "broken", "stale"):
            page.goto(f"{demo.url}gpus/{computing(demo, word)[1]['uuid']}")
            expect(page.locator("main h1")).to_be_visible()
            if word == "busy":
                expect(page.get_by_role("table", name="Processes")).to_be_visible()
            page.wait_for_load_state("networkidle")
            assert_no_rule_is_broken(page, axe, hand)


def test_no_page_without_its_board_breaks_a_rule(browser: Browser, demo: RunningBoard, axe: str) -> None:
    """With what it told last, and where it never told anything."""
    away: list[bool] = []
    connected: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        socket.close() if away else connected.append(socket.connect_to_server())

    with visit(browser, demo.url, allow="ERR_FAILED|WebSocket") as page:
        page.route_web_socket(re.compile("/api/v1/stream"), connect)
        page.goto(f"{demo.url}?view=rows&{SOME}")
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        away.append(True)
        page.route("**/api/**", lambda route: route.abort())
        connected[0].close()
        expect(page.get_by_text("This is how things stood at")).to_be_visible()
        assert_no_rule_is_broken(page, axe)
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("gpuboard serve")
        assert_no_rule_is_broken(page, axe)


def test_nothing_that_opens_on_a_phone_breaks_a_rule(browser: Browser, demo: RunningBoard, axe: str) -> None:
    """Sheets and panels lie over the page, or push it."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(f"{demo.url}?view=rows&{SOME}")
        page.locator(".cell[data-uuid]").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert violations(page, axe) == []
        page.keyboard.press("Escape")
        page.locator("#need button").click()
        expect(page.get_by_role("combobox", name="Memory")).to_be_visible()
        assert violations(page, axe) == []
        page.get_by_role("button", name="Arrange", exact=True).click()
        expect(page.get_by_role("radio").first.or_(page.get_by_role("combobox", name="Sort"))).to_be_visible()
        assert violations(page, axe) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name=re.compile(r"nodes? needs? a look")).click()
        expect(page.locator(".causes")).to_be_visible()
        assert violations(page, axe) == []


def test_no_open_menu_or_detail_breaks_a_rule(page: Page, demo: RunningBoard, axe: str) -> None:
    """What comes up on demand is checked open."""
    page.goto(f"{demo.url}?view=rows&{SOME}")
    page.locator(".cell[data-uuid]").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_text("Wall display")).to_be_visible()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("listbox", name="Ways to filter")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.locator("#filter").fill("gpus>=4")
    expect(page.get_by_role("button", name="free>=4")).to_be_visible()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Jump to")).to_be_focused()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Jump to")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Filter words", exact=True)).to_be_visible()
    assert violations(page, axe) == []


@pytest.mark.parametrize("size", ALL_SIZES, ids=lambda size: str(size[0]))
def test_no_page_of_the_past_breaks_a_rule(
    browser: Browser, demo: RunningBoard, axe: str, size: Size
) -> None:
    """Plots with their table, strips, and the board of a moment."""
    past = Remembered(demo.url, now=time.time())
    uuid = next(iter(past.gpus))
    node, _ = past.gpus[uuid]
    evening = int(time.time()) // DAY * DAY - DAY + 20 * HOUR
    with visit(browser, demo.url, size=size) as page:
        # As tall as the page: a phone's bars lie over whatever happens to be scrolled below them.
        page.set_viewport_size({"width": size[0], "height": 4000})
        past.install(page)
        page.goto(f"{demo.url}gpus/{uuid}")
        expect(page.locator(".gaps")).to_be_visible()
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowLeft")
        page.get_by_role("button", name="Show as table").click()
        expect(page.get_by_role("region", name="History")).to_be_visible()
        assert violations(page, axe) == []
        page.goto(f"{demo.url}nodes/{node}")
        expect(page.get_by_role("list", name="Use of each GPU")).to_be_visible()
        assert violations(page, axe) == []
        page.goto(f"{demo.url}?at={evening}&view=rows&strips=1")
        expect(page.locator("main .cell").first).to_be_visible()
        assert violations(page, axe) == []
        page.goto(f"{demo.url}gpus/{uuid}?at={evening}")
        expect(page.locator(".gaps")).to_be_visible()
        assert violations(page, axe) == []


# What a finger cannot hit: less than 44 px wide or high through its middle, as the browser says who is there.
# What stands in a line of text is as high as that; squares and cells are as small as they are many.
TOO_SMALL = """() => {
  const TARGETS = 'a[href], button, select, input, textarea, summary, [role=slider]';
  const inText = (target, { top, bottom }) => [...target.parentElement.childNodes].some((node) => {
    if (target.contains(node) || (node.matches?.(TARGETS) || node.querySelector?.(TARGETS))) return false;
    const range = document.createRange();
    range.selectNodeContents(node);
    return node.textContent.trim() !== '' && [...range.getClientRects()].some((box) =>
      box.width > 1 && box.top < bottom && box.bottom > top);
  });
  const isHit = (target, x, y) => {
    const hit = document.elementFromPoint(x, y);
    return !!hit && (target.contains(hit) || [...(target.labels ?? [])].some((label) => label.contains(hit)));
  };
  const found = [];
  for (const target of document.querySelectorAll(TARGETS)) {
    if (target.disabled || !target.checkVisibility({visibilityProperty: true})) continue;
    if (target.matches('.skip, .visually-hidden, .cell')) continue;
    target.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = target.getBoundingClientRect();
    if (inText(target, box)) continue;
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const reach = (right, down) => {
      let [reached, missed] = [0, 45];
      while (missed - reached > 1) {
        const far = (reached + missed) >> 1;
        if (isHit(target, x + right * (far - 0.5), y + down * (far - 0.5))) reached = far;
        else missed = far;
      }
      return reached;
    };
    const [width, height] = [reach(1, 0) + reach(-1, 0), reach(0, 1) + reach(0, -1)];
    if (width < 43 || height < 43)
      found.push(`${target.outerHTML.slice(0, 120)}: ${width} x ${height}`);
  }
  return found;
}"""


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        (f"?view=rows&{SOME}", ".cell[data-uuid]"),
        ("?view=cards&q=node:nlp-01,vision-02", "article[data-uuid]"),
        ("?view=map", "canvas"),
        (f"?view=text&{SOME}", ".line[data-uuid]"),
        ("nodes/a100-01", "article[data-uuid]"),
        ("gpus/{uuid}", ".meters, dl"),
        ("people", "tbody tr"),
        ("people/dupont", "#ran"),
        ("bookings", "main form, main li"),
        ("usage", ".screen section table"),
    ],
)
def test_a_finger_hits_whatever_it_points_at(
    browser: Browser, demo: RunningBoard, path: str, seen: str
) -> None:
    """44 px, or a line of text; whoever wants the next one must not hit this."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.goto(demo.url + path.format(uuid=computing(demo)[1]["uuid"]))
        expect(page.locator(seen).first).to_be_visible()
        if path.startswith("?view=rows"):
            page.locator("#need button").click()
            expect(page.get_by_role("combobox", name="Memory")).to_be_visible()
        page.wait_for_load_state("networkidle")
        small = page.evaluate(TOO_SMALL)
        assert not small, "\n".join(small)
