"""The page for people who do not see it, or not all of its colours: axe-core finds nothing to say."""

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, computing
from tests.browser import DESKTOP, PHONE, ROOT, Size, Theme, visit
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


@pytest.mark.parametrize(
    "view",
    [
        ("?view=rows", ".cell[data-uuid]", DESKTOP),
        ("?view=cards&q=node:nlp-01,vision-02", "article[data-uuid]", DESKTOP),
        ("?view=map&group=verdict", "canvas", DESKTOP),
        ("?q=memory>=lots", "#filter-error", DESKTOP),
        ("?view=text", ".line[data-uuid]", DESKTOP),
        ("?view=text&group=model", ".line[data-uuid]", PHONE),
        ("?wall=1", ".cell[data-uuid]", DESKTOP),
        ("nodes/a100-01", "article[data-uuid]", DESKTOP),
        ("nodes/vision-02", "article[data-uuid]", DESKTOP),
        ("people", "tbody tr", DESKTOP),
        ("", ".cell[data-uuid]", PHONE),
        ("people", "tbody tr", PHONE),
        ("people/dupont", "#ran", DESKTOP),
        ("usage?month=2026-10", ".screen h1", DESKTOP),
        ("usage", ".screen section table", DESKTOP),
        ("usage", ".screen section table", PHONE),
    ],
)
def test_no_page_breaks_a_rule(
    browser: Browser, demo: RunningBoard, axe: str, view: tuple[str, str, Size]
) -> None:
    """WCAG 2.2 AA and good practice, light and dark."""
    path, seen, size = view
    with visit(browser, demo.url, size=size) as page:
        page.goto(f"{demo.url}{path}")
        expect(page.locator(seen).first).to_be_visible()
        assert violations(page, axe) == []


def test_no_gpu_page_breaks_a_rule(page: Page, demo: RunningBoard, axe: str) -> None:
    """With its processes."""
    page.goto(f"{demo.url}gpus/{computing(demo)[1]['uuid']}")
    expect(page.get_by_role("columnheader", name="PID")).to_be_visible()
    assert violations(page, axe) == []


def test_no_open_menu_or_detail_breaks_a_rule(page: Page, demo: RunningBoard, axe: str) -> None:
    """What comes up on demand is checked open."""
    page.goto(f"{demo.url}?view=rows")
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


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
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
