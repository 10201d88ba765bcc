"""The page in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.board import RunningBoard, running_board
from tests.parts import require

pytestmark = pytest.mark.xdist_group("browser")
ARTIFACTS = Path(__file__).parents[2] / "artifacts"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with twelve simulated nodes."""
    require("chromium")
    with running_board("--demo", "12", log=tmp_path_factory.mktemp("board") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    require("chromium")
    with sync_playwright() as playwright:
        quiet = [
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
        ]
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=quiet)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, board: RunningBoard) -> Iterator[Page]:
    """A page that fails the test when it complains or asks anybody but the board."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda r: complaints.append(r.url) if not r.url.startswith((board.url, "data:")) else None
    )
    yield page
    page.close()
    assert complaints == []


def test_the_page_answers_which_gpu_is_free(page: Page, board: RunningBoard) -> None:
    """The free count of the page is that of the API, and every node has its row."""
    page.goto(board.url)
    expect(page.get_by_text("of 96 GPUs").first).to_be_visible()
    expect(page.get_by_text("dgx-03").first).to_be_visible()
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "board-desktop.png")
