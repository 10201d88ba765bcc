"""What the browser tests share: one browser, one board with twelve simulated nodes."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.board import RunningBoard, running_board
from tests.browser import running_chromium, visit


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the tests of a file to one worker: they share its browser and its boards."""
    item.add_marker(pytest.mark.xdist_group(item.path.stem))
    if "demo" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.demo)


# No longer than a module: while it lives, its event loop is in the way of every asynchronous test.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board with twelve simulated nodes."""
    with running_board("--demo", "12", log=tmp_path_factory.mktemp("board") / "log") as running:
        yield running


@pytest.fixture
def page(browser: Browser, demo: RunningBoard) -> Iterator[Page]:
    """A page of that board on a desk."""
    with visit(browser, demo.url) as page:
        yield page
