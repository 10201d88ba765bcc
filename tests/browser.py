"""A real browser on the page; it notices whatever the page must never do."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.parts import missing

Theme = Literal["light", "dark"]
Size = tuple[int, int]

ROOT: Final = Path(__file__).parent.parent
ARTIFACTS: Final = ROOT / "artifacts"
DESKTOP: Final = (1440, 900)
TABLET: Final = (820, 1180)
PHONE: Final = (390, 844)
# The same engine; without all that belongs to a window, a visit costs less than half.
PROGRAMS: Final = ("chromium-headless-shell", "chromium")
# Shared machines are slow; a page that never comes takes longer than this.
PATIENCE_MS: Final = 45_000

_QUIET: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
# Chromium reports most of these on the console too; the event misses none.
_WATCH_POLICY: Final = """
document.addEventListener('securitypolicyviolation', (event) =>
  console.error(`content policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


@contextlib.contextmanager
def running_chromium(*arguments: str, programs: Sequence[str] = PROGRAMS) -> Iterator[Browser]:
    """Debian's Chromium, without a window: the first of these that is here."""
    program = next(filter(None, map(shutil.which, programs)), None)
    if program is None:
        missing(programs[0])
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_QUIET, *arguments])
        yield browser
        browser.close()


class Complaints:
    """What a page did that it must not: errors, breaches of the policy, dialogs, requests to others."""

    def __init__(self, url: str, *, allow: str | None = None) -> None:
        self._own = (url, url.replace("http", "ws", 1), "data:")
        self._allow = re.compile(allow) if allow else None
        self.heard: list[str] = []

    def watch(self, page: Page) -> None:
        """Listen to everything this page does."""
        page.add_init_script(_WATCH_POLICY)
        page.on("console", lambda said: self._say(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self._say(f"page error: {error}"))
        page.on("request", self._asked)
        page.on("websocket", lambda socket: self._met(socket.url))
        page.on("popup", lambda popup: self._say(f"popup: {popup.url}"))

        def dialog_opened(dialog: object) -> None:
            self._say(f"dialog: {dialog}")
            getattr(dialog, "dismiss", lambda: None)()

        page.on("dialog", dialog_opened)

    def _asked(self, request: Request) -> None:
        self._met(request.url)

    def _met(self, url: str) -> None:
        if not url.startswith(self._own):
            self._say(f"request to {url}")

    def _say(self, text: str) -> None:
        if self._allow is None or not self._allow.search(text):
            self.heard.append(text)


@contextlib.contextmanager
def visit(
    browser: Browser,
    url: str,
    *,
    size: Size = DESKTOP,
    theme: Theme = "light",
    locale: str = "en-GB",
    zone: str | None = None,
    allow: str | None = None,
) -> Iterator[Page]:
    """A page of a visitor who has never been here; it fails when the page misbehaves."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        locale=locale,
        timezone_id=zone,
        reduced_motion="reduce",
        has_touch=size[0] < 700,
        is_mobile=size[0] < 700,
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints = Complaints(url, allow=allow)
    complaints.watch(page)
    try:
        yield page
    finally:
        context.close()
    assert not complaints.heard, complaints.heard


def keep(page: Page, name: str) -> None:
    """Keep a picture of the page for whoever has asked to look at them: hundreds take their time."""
    if os.environ.get("GPUBOARD_PICTURES") != "1":
        return
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


# The numbers of GPUs as one sees them in the cells of a node.
NUMBERS: Final = """(cells) => [...cells.querySelectorAll('small')].map((small) =>
  small.textContent || getComputedStyle(small, '::after').content.replaceAll('"', ''))"""


_BURSTING: Final = """(window) => {
  const clipped = (element) => {
    for (let each = element.parentElement; each; each = each.parentElement)
      if (each !== document.documentElement && getComputedStyle(each).overflowX !== 'visible') return true;
    return false;
  };
  return [...document.querySelectorAll('body *')]
    .filter((each) => each.getBoundingClientRect().right > window + 1 && !clipped(each))
    .map((each) => `${each.tagName.toLowerCase()}.${each.getAttribute('class')}`);
}"""


def assert_fits(page: Page) -> None:
    """Nothing makes the page wider than the window; what does is named."""
    size = page.viewport_size
    assert size is not None
    # Not the browser's own idea of the window: on a phone that grows with the page.
    width = page.evaluate("document.documentElement.scrollWidth")
    where = page.url.split("/", 3)[-1][:80]
    assert width <= size["width"], (where, width, page.evaluate(_BURSTING, size["width"])[:12])
