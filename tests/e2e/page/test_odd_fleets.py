"""Fleets that are not as usual: cards cut into instances, nodes that nobody has read yet."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, free_port, running_board
from tests.browser import DESKTOP, NUMBERS, PHONE, Size, assert_fits, keep, visit
from tests.pushing import wait_until

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
CARD = "GPU-0"
NOT_COUNTED = "8 \N{MULTIPLICATION SIGN} RTX 4090 24 GB, not counted"
# The words of cells that have no room for them.
CUT = """[...document.querySelectorAll('.cell b')]
  .filter((each) =>
    each.getBoundingClientRect().right > each.closest('.cell').getBoundingClientRect().right + 1)
  .map((each) => each.textContent)"""


def instance(number: int, user: str | None = None) -> GpuReading:
    """A part of the card, with somebody on it or nobody."""
    processes = () if user is None else (process(100 + number, user),)
    return GpuReading(
        uuid=f"MIG-{number}",
        index=number,
        model="NVIDIA A100-SXM4-40GB",
        mig_parent_uuid=CARD,
        mig_profile="3g.20gb",
        memory_total_bytes=20 * GIB,
        memory_used_bytes=10 * GIB if processes else 0,
        utilization_percent=90.0 if processes else 0.0,
        processes=processes,
    )


def process(pid: int, user: str) -> GpuProcess:
    """Somebody computes."""
    return GpuProcess(pid=pid, user=user, uid=pid, memory_used_bytes=10 * GIB, program="python train.py")


@pytest.fixture(scope="module")
def mig_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """GPU 0 is cut in two, ana on one half; GPU 1 is whole, and bob's."""
    folder = tmp_path_factory.mktemp("mig")
    share = folder / "share"
    share.mkdir()
    whole = GpuReading(
        uuid="GPU-1",
        index=1,
        model="NVIDIA A100-SXM4-40GB",
        memory_total_bytes=40 * GIB,
        memory_used_bytes=10 * GIB,
        utilization_percent=80.0,
        processes=(process(7, "bob"),),
    )
    gpus = (
        replace(whole, uuid=CARD, index=0, mig_enabled=True, processes=()),
        whole,
        instance(1, "ana"),
        instance(2),
    )
    report = NodeReport(node="cutter", taken_at=time.time(), interval_seconds=3600, gpus=gpus)
    (share / "cutter.json").write_bytes(encode_drop(report))
    config = folder / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with running_board("--config", str(config), log=folder / "log") as board:
        yield board


@SIZES
def test_an_instance_is_never_called_like_another_gpu(
    browser: Browser, mig_board: RunningBoard, size: Size
) -> None:
    """Half of GPU 0 is "0:1", beside the real GPU 1; three GPUs count, of which one is free."""
    with visit(browser, mig_board.url, size=size) as page:
        page.goto(f"{mig_board.url}?view=rows")
        expect(page.locator(".answer strong")).to_have_text("1")
        expect(page.locator(".answer")).to_contain_text("of 3 GPUs free")
        wait_until(lambda: page.locator(".cells").evaluate(NUMBERS) == ["0", "0:1", "0:2", "1"])
        expect(page.locator("[data-uuid='MIG-1']")).to_have_attribute(
            "aria-label", re.compile(r"^cutter GPU 0:1, .* 3g\.20gb")
        )
        card = page.locator("[data-uuid='GPU-0']")
        expect(card).to_have_accessible_name("cutter GPU 0, A100 40 GB, divided into MIG instances, MIG")
        assert_fits(page)
        keep(page, f"mig-{'phone' if size == PHONE else 'desktop'}")
        page.emulate_media(color_scheme="dark")
        keep(page, f"mig-{'phone' if size == PHONE else 'desktop'}-dark")


# Whether the cells of these two instances, and no other, lie within the edge of their card.
INSIDE = """() => {
  const edge = document.querySelector(".cut").getBoundingClientRect();
  return [...document.querySelectorAll(".cell")].filter((cell) => {
    const { left, right, top, bottom } = cell.getBoundingClientRect();
    return left >= edge.left && right <= edge.right && top >= edge.top && bottom <= edge.bottom;
  }).map((cell) => cell.dataset.uuid);
}"""


@SIZES
def test_instances_are_drawn_inside_of_their_card(
    browser: Browser, mig_board: RunningBoard, size: Size
) -> None:
    """The card is an edge around them with its number, and no busy GPU beside them."""
    with visit(browser, mig_board.url, size=size) as page:
        page.goto(f"{mig_board.url}?view=rows")
        expect(page.locator(".cut").first).to_be_visible()
        assert page.evaluate(INSIDE) == ["MIG-1", "MIG-2"]
        expect(page.locator(".cell[data-uuid='GPU-0']")).to_have_count(0)
        page.locator("[data-uuid='GPU-0']").click()
        expect(page.get_by_role("dialog")).to_contain_text("Divided into MIG instances; take one of those.")
        expect(page.get_by_role("dialog").locator(".badge")).to_have_count(0)


@pytest.mark.parametrize("path", ["?view=cards", "nodes/cutter"])
def test_a_card_that_is_cut_is_an_edge_around_the_cards_of_its_instances(
    browser: Browser, mig_board: RunningBoard, path: str
) -> None:
    """In the cards of the board and on the page of the node; it says why it is none itself."""
    with visit(browser, mig_board.url) as page:
        page.goto(f"{mig_board.url}{path}")
        edge = page.locator("section[data-uuid='GPU-0']")
        expect(edge).to_contain_text("Divided into MIG instances; take one of those.")
        expect(edge.locator("article")).to_have_count(2)
        expect(page.locator("article")).to_have_count(3)
        assert_fits(page)
        keep(page, f"mig-cards-{path[:5].strip('?')}")


def test_processes_stand_with_their_instance_and_not_with_its_namesake(
    browser: Browser, mig_board: RunningBoard
) -> None:
    """On the page of the node, and on that of people."""
    with visit(browser, mig_board.url) as page:
        page.goto(f"{mig_board.url}nodes/cutter")
        expect(page.locator("tbody tr")).to_have_text([re.compile("^0:1.*ana"), re.compile("^1.*bob")])
        expect(page.get_by_role("heading", name="3 GPUs")).to_be_visible()
        keep(page, "mig-node")
        page.goto(f"{mig_board.url}people")
        expect(page.get_by_role("link", name="cutter ⟨0:1⟩")).to_be_visible()
        expect(page.get_by_role("link", name="cutter ⟨1⟩", exact=True)).to_be_visible()


@SIZES
def test_what_nobody_has_read_yet_is_not_zero(browser: Browser, tmp_path: Path, size: Size) -> None:
    """Neither "0 of 0", nor "nothing is free", nor "nobody", nor "no GPU"."""
    config = tmp_path / "gpuboard.toml"
    hosts = f'["127.0.0.1:{free_port()}"]'
    config.write_text(f'[[source]]\nkind = "pull"\nhosts = {hosts}\ntoken_file = "{tmp_path / "token"}"\n')
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o600)
    with (
        running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board,
        visit(browser, board.url, size=size) as page,
    ):
        page.goto(f"{board.url}?view=rows")
        answer = page.locator(".answer")
        expect(answer).to_contain_text("Not known yet")
        expect(answer).to_contain_text("1 node not read yet")
        expect(answer.locator("strong")).to_have_text("?")
        expect(page).to_have_title(re.compile(r"^\? free"))
        said = page.locator("main").inner_text()
        for lie in ("of 0", "Nothing is free", "Nobody", "no GPU"):
            assert lie not in said
        keep(page, f"not-read-{'phone' if size == PHONE else 'desktop'}")
        for path in ("people", "?view=cards"):
            page.goto(f"{board.url}{path}")
            expect(page.get_by_text("Not known yet").first).to_be_visible()
            assert "Nobody" not in page.locator("main").inner_text()
            assert "no GPU" not in page.locator("main").inner_text()
        page.get_by_role("link", name="127.0.0.1").first.click()
        expect(page.get_by_role("heading", name="GPUs not known")).to_be_visible()
        assert "load —" not in page.locator("main").inner_text()


@SIZES
def test_cards_that_do_not_count_are_neither_denied_nor_offered(
    browser: Browser, tmp_path: Path, size: Size
) -> None:
    """A node that has no others has GPUs all the same, and none of them is green."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[verdict]\nignore = ["RTX 4090"]\n')
    with (
        running_board("--config", str(config), "--demo", "4", log=tmp_path / "log") as board,
        visit(browser, board.url, size=size) as page,
    ):
        page.goto(f"{board.url}nodes/vision-01")
        cards = page.locator("article[data-uuid]")
        expect(cards).to_have_count(8)
        expect(page.get_by_text(NOT_COUNTED)).to_be_visible()
        expect(page.get_by_role("heading", name="8 GPUs", exact=True)).to_be_visible()
        expect(page.locator(".badge", has_text="not counted")).to_have_count(8)
        expect(page.locator("article .fill-free")).to_have_count(0)
        assert_fits(page)
        keep(page, f"ignored-node-{size[0]}")
        cards.get_by_role("link").first.click()
        expect(page.locator(".badge")).to_have_text("not counted")
        page.goto(f"{board.url}?q=vision-01&view=rows")
        expect(page.get_by_text(NOT_COUNTED).first).to_be_visible()
        expect(page.locator(".cell")).to_have_count(8)
        assert page.evaluate(CUT) == []
        keep(page, f"ignored-rows-{size[0]}")
