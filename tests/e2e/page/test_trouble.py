"""What is wrong, where one sees it: by cause and weight, with what to do, and nothing dead looks alive."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from gpuboard.model.problems import ProblemKind, problem
from gpuboard.model.report import Disk, GpuReading, HostFacts, NodeReport
from gpuboard.model.units import GIB
from gpuboard.probes.inventory import name_of
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
HOST = HostFacts(
    cpu_count=8,
    load_1=7.9,
    load_5=7.9,
    load_15=7.9,
    memory_used_bytes=GIB,
    memory_total_bytes=2 * GIB,
    disks=(Disk(mount="/", used_bytes=GIB, total_bytes=2 * GIB),),
)


def gpus(node: str, count: int = 3) -> tuple[GpuReading, ...]:
    """Free cards of one node."""
    return tuple(
        GpuReading(
            uuid=f"GPU-{node}-{index}",
            index=index,
            model="NVIDIA A100-SXM4-80GB",
            memory_total_bytes=80 * GIB,
            memory_used_bytes=0,
            utilization_percent=0.0,
            processes=(),
        )
        for index in range(count)
    )


def write(share: Path, report: NodeReport, *, age: float = 0.0) -> None:
    """A node's file, as old as that."""
    file = share / f"{report.node}.json"
    file.write_bytes(encode_drop(report))
    os.utime(file, (time.time() - age, time.time() - age))


def lost_card(node: str, index: int) -> NodeReport:
    """A node one of whose cards has fallen off the bus, as an agent says it."""
    cards = gpus(node)
    dead = GpuReading(uuid=cards[index].uuid, index=index, model=cards[index].model)
    said = problem("gpu-lost", gpu_uuid=dead.uuid, place=name_of(dead))
    others = tuple(replace(card) for card in cards if card.index != index)
    return NodeReport(
        node=node, interval_seconds=60, host=HOST, gpus=(*others, dead), problems=(problem("clock-off"), said)
    )


@pytest.fixture(scope="module")
def ailing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """Three cards off the bus, one node lost, two late, one with a trifle."""
    folder = tmp_path_factory.mktemp("ailing")
    share = folder / "share"
    share.mkdir()
    for node, index in (("ana-1", 2), ("ana-2", 0), ("ana-10", 1)):
        write(share, lost_card(node, index))
    fine = NodeReport(node="x", interval_seconds=60, host=HOST, gpus=())
    write(share, replace(fine, node="gone", gpus=gpus("gone")), age=3000)
    for node in ("aa-late-1", "aa-late-2"):
        write(share, replace(fine, node=node, gpus=gpus(node)), age=250)
    write(share, replace(fine, node="slow", gpus=gpus("slow"), problems=(problem("slow-driver", "9 s"),)))
    config = folder / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with running_board("--config", str(config), log=folder / "log") as board:
        yield board


@SIZES
def test_trouble_is_told_by_cause_with_the_heaviest_first(
    browser: Browser, ailing: RunningBoard, size: Size
) -> None:
    """Which GPU; late nodes are only a number, and push nobody away whatever they are called."""
    with visit(browser, ailing.url, size=size) as page:
        page.goto(f"{ailing.url}?view=rows")
        strip = page.get_by_role("region", name="5 nodes need a look")
        box = strip.bounding_box()
        assert box is not None
        assert box["height"] < 50
        expect(strip).to_contain_text("2 late")
        # A phone said only the first of them.
        heading = strip.get_by_role("heading").bounding_box()
        assert heading is not None
        assert heading["width"] > 100
        if size == DESKTOP:
            expect(strip).to_contain_text("3 \N{MULTIPLICATION SIGN} fallen off the bus: ana-1 GPU 2")
            expect(strip.get_by_role("link", name="gone No report for")).to_be_visible()
        assert "aa-late" not in strip.inner_text()
        assert_fits(page)
        keep(page, f"trouble-strip-{size[0]}")
        strip.get_by_role("button", name="All of it").click()
        causes = strip.locator(".causes > li")
        expect(causes).to_have_count(4)
        expect(causes.nth(2)).to_contain_text("the driver takes seconds")
        fallen = causes.filter(has_text="off the bus")
        expect(fallen.get_by_role("link")).to_have_text(["ana-1 GPU 2", "ana-2 GPU 0", "ana-10 GPU 1"])
        expect(fallen).to_contain_text("Remedy: reboot; if it comes back lost")
        away = causes.filter(has_text="No report for")
        expect(away).to_contain_text("Remedy: see on the node whether the job that writes it still runs")
        assert_fits(page)
        keep(page, f"trouble-open-{size[0]}")
        page.emulate_media(color_scheme="dark")
        keep(page, f"trouble-open-{size[0]}-dark")
        strip.get_by_role("link", name="ana-10 GPU 1").click()
        expect(page).to_have_url(re.compile("/nodes/ana-10"))


@SIZES
def test_a_lost_node_looks_lost_everywhere_and_says_what_to_do(
    browser: Browser, ailing: RunningBoard, size: Size
) -> None:
    """The sentence once, the file with its remedy, the bars of the machine grey, its clock not told."""
    with visit(browser, ailing.url, size=size) as page:
        page.goto(f"{ailing.url}nodes/gone")
        expect(page.get_by_text(re.compile("No report for .*: the node is lost"))).to_have_count(1)
        expect(page.get_by_text(re.compile(r"no longer written: .*/share/gone\.json"))).to_be_visible()
        expect(page.get_by_text("crontab -l")).to_be_visible()
        machine = page.locator(".machine.last-known")
        bar = machine.locator(".meter i").first
        expect(bar).to_be_visible()
        live = page.evaluate(
            "getComputedStyle(document.documentElement).getPropertyValue('--bar-high').trim()"
        )
        shown = bar.evaluate("(bar) => getComputedStyle(bar).backgroundColor")
        assert shown not in (live, "rgb(18, 51, 95)", "rgb(61, 98, 150)")
        expect(page.get_by_role("heading", name=re.compile("^Machine last seen"))).to_be_visible()
        expect(machine.locator("dt:has-text('Clock') + dd")).to_have_text("—")
        assert_fits(page)
        keep(page, f"trouble-lost-node-{size[0]}")
        page.locator("article a").first.click()
        expect(page.get_by_text("crontab -l")).to_be_visible()
        keep(page, f"trouble-lost-gpu-{size[0]}")


@SIZES
def test_a_broken_gpu_says_why_nothing_can_be_told_and_what_to_do(
    browser: Browser, ailing: RunningBoard, size: Size
) -> None:
    """No empty plot, no id, nothing twice."""
    with visit(browser, ailing.url, size=size) as page:
        page.goto(f"{ailing.url}gpus/GPU-ana-1-2")
        expect(page.get_by_text("It does not answer, so nobody can tell what runs on it.")).to_be_visible()
        expect(page.get_by_text("GPU 2: fallen off the bus", exact=True)).to_be_visible()
        expect(page.get_by_text("Remedy: reboot")).to_be_visible()
        expect(
            page.get_by_text(re.compile(r"Nothing was observed in this time|broken .* in all\."))
        ).to_be_visible()
        expect(page.locator(".uplot, svg.tall")).to_have_count(0)
        # What is wrong with the clock of its node is no affair of this GPU.
        expect(page.get_by_text("clock is wrong")).to_have_count(0)
        assert_fits(page)
        keep(page, f"trouble-broken-gpu-{size[0]}")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningBoard, Path]]:
    """A board of one machine, and the folder that it writes to."""
    folder = tmp_path_factory.mktemp("alone")
    share = folder / "share"
    share.mkdir()
    config = folder / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with running_board("--config", str(config), log=folder / "log", until="healthz") as board:
        yield board, share


@SIZES
@pytest.mark.parametrize(
    "case",
    [
        ("driver-mismatch", "570.1 and 565.2", "have different versions: 570.1 and 565.2", "reboot, or stop"),
        ("no-driver", "", "no NVIDIA driver is running here", "install the NVIDIA driver and load it"),
        ("no-devices", "", "the NVIDIA driver runs but sees no GPU", "check that the GPU is seated"),
    ],
    ids=lambda case: case[0],
)
def test_a_machine_whose_driver_is_broken_says_why_on_the_board(
    browser: Browser, alone: tuple[RunningBoard, Path], size: Size, case: tuple[ProblemKind, str, str, str]
) -> None:
    """The reason, the remedy, and a way to the node, on the first page that its owner sees."""
    (board, share), (kind, detail, words, remedy) = alone, case
    found = () if kind == "no-devices" else None
    write(share, NodeReport(node="vm", interval_seconds=3600, gpus=found, problems=(problem(kind, detail),)))
    with visit(browser, board.url, size=size) as page:
        page.goto(board.url)
        expect(page.get_by_text(words)).to_be_visible()
        expect(page.get_by_text(f"Remedy: {remedy}")).to_be_visible()
        expect(page.get_by_text(str(share))).to_be_visible()
        assert_fits(page)
        keep(page, f"trouble-{kind}-{size[0]}")
        page.get_by_role("main").get_by_role("link", name="vm").click()
        expect(page).to_have_url(f"{board.url}nodes/vm")
