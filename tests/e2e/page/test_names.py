"""Names on the page: those that the admin gave are found and used everywhere, long ones leave room."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.browser import PHONE, assert_fits, keep, visit

LONG = "maximiliane-charlotte-von-und-zu-hohenberg-lindau-im-bodensee"
# The entries of the legend that are drawn, and those of them that are not whole.
LEGEND = """[...document.querySelectorAll('.legend > *')].map((entry) => {
  const box = entry.parentElement.getBoundingClientRect();
  const own = entry.getBoundingClientRect();
  const whole = own.left >= box.left - 1 && own.right <= box.right + 1 && entry.scrollWidth <= own.width + 1;
  return own.top >= box.bottom ? 'away' : whole ? 'whole' : 'cut';
})"""


def computing(number: int, *users: str, model: str = "NVIDIA RTX 4090") -> GpuReading:
    """A GPU on which these people compute."""
    processes = tuple(
        GpuProcess(pid=100 + place, user=user, uid=place, memory_used_bytes=2 * GIB, program="python")
        for place, user in enumerate(users)
    )
    return GpuReading(
        uuid=f"GPU-{number}",
        index=number,
        model=model,
        memory_total_bytes=24 * GIB,
        memory_used_bytes=2 * GIB * len(users),
        utilization_percent=90.0 if users else 0.0,
        processes=processes,
    )


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A workstation with a shown name, people with one, and a card for its screen."""
    folder = tmp_path_factory.mktemp("names")
    share = folder / "share"
    share.mkdir()
    gpus = (computing(0, LONG, "dmitri"), computing(1, "bob"), computing(2, model="NVIDIA T1000"))
    report = NodeReport(node="ws", taken_at=time.time(), interval_seconds=3600, gpus=gpus)
    (share / "ws.json").write_bytes(encode_drop(report))
    config = folder / "gpuboard.toml"
    config.write_text(
        '[names]\nnodes = { ws = "Workstation 1" }\npeople = { dmitri = "Mitja" }\n'
        '[verdict]\nignore = ["T1000"]\n'
        f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n'
    )
    with running_board("--config", str(config), log=folder / "log") as running:
        yield running


@pytest.mark.parametrize("text", ["user:dmitri", "dmitri", "user:mitja", "user:maximiliane"])
def test_people_are_found_by_account_and_by_shown_name(
    browser: Browser, board: RunningBoard, text: str
) -> None:
    """Whichever of both somebody knows, as far as they remember it."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}?view=rows&q={text}")
        expect(page.get_by_text("1 of 2 GPUs")).to_be_visible()


def test_the_map_counts_what_the_page_counts(browser: Browser, board: RunningBoard) -> None:
    """A card for screens is drawn, and not counted."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}?view=map")
        expect(page.get_by_role("application", name=re.compile("^Map of 2 GPUs, 0 free"))).to_be_visible()
        keep(page, "map-names")


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("gpus/GPU-1", "Workstation 1 GPU 1 · RTX 4090 24 GB"),
        ("nodes/ws", "Workstation 1"),
        ("people", "People"),
    ],
)
def test_the_tab_says_what_its_page_is_about(
    browser: Browser, board: RunningBoard, path: str, title: str
) -> None:
    """By the names that the page shows."""
    with visit(browser, board.url) as page:
        page.goto(f"{board.url}{path}")
        expect(page).to_have_title(re.compile(rf"^0 free · {re.escape(title)} · "))


def test_a_long_name_leaves_room_for_the_others(browser: Browser, board: RunningBoard) -> None:
    """On the card of a phone; the detail of the GPU has it whole."""
    with visit(browser, board.url, size=PHONE) as page:
        page.goto(f"{board.url}?view=rows")
        card = page.locator(".card")
        for name in ("Mitja", "bob"):
            box = card.get_by_text(name, exact=True).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] < PHONE[0] - 20
        keep(page, "long-name-card")
        page.locator(".cell[data-uuid='GPU-0']").click()
        whole = page.get_by_role("link", name=LONG)
        expect(whole).to_be_visible()
        assert whole.evaluate("each => each.scrollWidth <= each.clientWidth || !each.clientWidth")
        assert_fits(page)
        keep(page, "long-name-detail")


@pytest.mark.parametrize("width", [720, 820, 1280, 1440])
@pytest.mark.parametrize("locale", ["de-DE", "fr-FR", "en-GB", "zh-TW", "zh-CN"])
def test_the_legend_is_always_there_in_whole_entries(
    browser: Browser, demo: RunningBoard, locale: str, width: int
) -> None:
    """In the head of the rows; what has no room is left out, and that is never the sample of a cell."""
    with visit(browser, demo.url, size=(width, 900), locale=locale) as page:
        page.goto(f"{demo.url}?view=rows")
        expect(page.locator(".cell[data-uuid]").first).to_be_visible()
        keep(page, f"legend-{locale}-{width}")
        entries = page.evaluate(LEGEND)
        assert entries
        assert entries[0] == "whole"
        assert "cut" not in entries
