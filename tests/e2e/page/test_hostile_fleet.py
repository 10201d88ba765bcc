"""Nodes whose every text attacks the page: nothing runs, nothing leaves, nothing bursts."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from gpuboard.model.report import (
    Address,
    Disk,
    GpuProcess,
    GpuReading,
    HostFacts,
    NodeReport,
    Problem,
    ShortText,
    Text,
)
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, running_board
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit
from tests.pushing import wait_until

LENGTHS: dict[Any, int] = {ShortText: 256, ShortText | None: 256, Text: 4096, Text | None: 4096}
# Two slashes side by side do not survive the way to the API, which then knows no such GPU.
UNFOUND = "status of 404"
# One node for each class of injection.
ATTACKS = {
    "tag": "<script>alert(1)</script><img src=x onerror=alert(1)><b>bold</b>",
    "attribute": "\" onmouseover=\"alert(1)\" autofocus onfocus='alert(1)' x='",
    "handler": "'><details open ontoggle=alert(1)><body onload=alert(1)>",
    "address": "javascript:alert(1)//http://evil.example/x.js",
    "foreign": "<img src=http://evil.example/p.png><link rel=stylesheet href=//evil.example/a.css>",
    "svg": "<svg><a xlink:href=javascript:alert(1)><animate onbegin=alert(1)></svg><math><mi//",
    "template": "{{constructor.constructor('alert(1)')()}}${alert(1)}<%= alert(1) %>{@html 1}#{7*7}",
    "entity": "&lt;script&gt;alert(1)&lt;/script&gt;&#60;img/src=x&#62;&nbsp;&shy;",
    "bidi": "\u202eevil\u2066\u200f\u061c admin \u2069\u200b\ufeff",
    "control": "a\x00b\x07c\x1b[31mred\x1b]8;;http://evil.example\x07\x08\x7f\r\n\t\x85\u2028",
    "style": "</style><style>*{display:none}</style><link rel=x>; background:url(//evil.example)",
    "path": "../../api/v1/fleet?x=%2e%2e%2f#\\..\\",
    "prototype": "__proto__",
    "wide": "\u0e49" * 60 + "\u5bec" * 60 + "Z\u0351\u036b\u0343\u036a" * 20,
    "unbroken": "W" * 256,
}


def hostile(kind: type[msgspec.Struct], attack: str) -> dict[str, Any]:
    """A value for every text of a record; the unbroken attack fills what the type allows."""
    lengths = {field.name: LENGTHS.get(field.type) for field in msgspec.structs.fields(kind)}
    whole = attack * 40 if attack == ATTACKS["unbroken"] else attack
    return {name: whole[:length] for name, length in lengths.items() if length}


def report_of(node: str, attack: str) -> NodeReport:
    """A node with a busy, an idle, a free and a broken GPU that all attack."""
    gigabyte = 2**30

    def gpu(index: int, *, use: float, processes: int) -> GpuReading:
        texts = hostile(GpuReading, attack)
        texts |= {"uuid": f"{node}-{index} {texts['uuid']}"[:256], "mig_parent_uuid": None}
        return GpuReading(
            **texts,
            index=index,
            throttle_reasons=(texts["model"],),
            memory_total_bytes=80 * gigabyte,
            memory_used_bytes=processes * 20 * gigabyte,
            utilization_percent=use,
            processes=tuple(
                GpuProcess(
                    **hostile(GpuProcess, attack),
                    pid=100 + each,
                    kind="compute",
                    state="gone",
                    started_at=time.time() - 3600,
                    memory_used_bytes=20 * gigabyte,
                    children=tuple(range(1000, 1200)),
                )
                for each in range(processes)
            ),
        )

    gpus = (gpu(0, use=90, processes=3), gpu(1, use=0, processes=0), gpu(2, use=50, processes=1))
    return NodeReport(
        node=node,
        taken_at=time.time(),
        interval_seconds=3600,
        gpus=gpus,
        host=HostFacts(
            **hostile(HostFacts, attack),
            cpu_count=8,
            load_1=1,
            # The same place twice, as a file system that is mounted over another is listed.
            disks=(Disk(**hostile(Disk, attack), used_bytes=9, total_bytes=10),) * 2,
            addresses=(Address(**hostile(Address, attack)),),
        ),
        problems=(
            Problem(**hostile(Problem, attack)),
            Problem(**{**hostile(Problem, attack), "kind": "gpu-lost", "gpu_uuid": gpus[2].uuid}),
        ),
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that reads hostile files."""
    folder = tmp_path_factory.mktemp("hostile")
    drops = folder / "drops"
    drops.mkdir()
    for name, attack in ATTACKS.items():
        (drops / f"{name}.json").write_bytes(encode_drop(report_of(name, attack)))
    config = folder / "gpuboard.toml"
    config.write_text(
        f'[[source]]\nkind = "folder"\npath = "{drops}"\n'
        f"[names.nodes]\ntag = '''{ATTACKS['tag']}'''\nunbroken = '{'W' * 200}'\n"
    )
    with running_board("--config", str(config), log=folder / "log") as board:
        wait_until(lambda: httpx.get(f"{board.url}readyz").json()["nodes_live"] == len(ATTACKS))
        yield board


def gpus_of(board: RunningBoard) -> list[Any]:
    """All GPUs of all nodes."""
    nodes = httpx.get(f"{board.url}api/v1/fleet").json()["nodes"]
    return [gpu for node in nodes for gpu in node["gpus"]]


def test_the_attacks_arrive(fleet: RunningBoard) -> None:
    """Otherwise nothing here would be tested: the texts are in the data, only made printable."""
    text = httpx.get(f"{fleet.url}api/v1/fleet").text
    assert "<script>alert(1)</script>" in text
    assert "W" * 4096 in text
    assert "\\\\u202eevil" in text
    assert "\u202e" not in text


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_board_page_only_shows_them(browser: Browser, fleet: RunningBoard, size: Size) -> None:
    """All densities and groupings; hovered and pressed."""
    with visit(browser, fleet.url, size=size, allow=UNFOUND) as page:
        for query in ("view=rows", "view=rows&group=user", "view=cards&group=model", "view=map"):
            page.goto(f"{fleet.url}?{query}")
            expect(page.locator("[data-uuid], canvas").first).to_be_visible()
            assert_fits(page)
            keep(page, f"hostile-{query.replace('=', '-').replace('&', '-')}-{size[0]}")
        page.goto(f"{fleet.url}?view=rows")
        # All of them have problems, which stand above the rows; opened, whole.
        page.get_by_role("button", name="All of it, with what to do").click()
        expect(page.locator(".causes > li").first).to_be_visible()
        assert_fits(page)
        keep(page, f"hostile-attention-{size[0]}")
        cells = page.locator(".cell[data-uuid]")
        for place in range(0, cells.count(), 3):
            look_at(page, cells.nth(place), touch=size == PHONE)
        assert_untouched(page)


def look_at(page: Page, cell: Any, *, touch: bool) -> None:  # noqa: ANN401 - a locator
    """Hover over a cell, open its detail, close it."""
    cell.scroll_into_view_if_needed()
    if touch:
        cell.tap()
    else:
        cell.hover()
        cell.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_fits(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def assert_untouched(page: Page) -> None:
    """No element of an attack has come to life."""
    made = page.evaluate(
        """() => [...document.querySelectorAll('*')].filter((element) =>
          element.matches('#app :is(script, img, style, link, b b, details, math, iframe, animate)') ||
          [...element.attributes].some((each) => each.name.startsWith('on') ||
            (['href', 'src'].includes(each.name) && /^\\s*(javascript|data:text)/i.test(each.value)))
        ).map((element) => element.outerHTML.slice(0, 200))"""
    )
    assert made == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_other_pages_only_show_them(browser: Browser, fleet: RunningBoard, size: Size) -> None:
    """Every node, a GPU of each, and all people."""
    # What a narrow page could fail at, and a wide one cannot, is length.
    nodes = list(ATTACKS) if size == DESKTOP else ["control", "tag", "wide", "unbroken"]
    with visit(browser, fleet.url, size=size, allow=UNFOUND) as page:
        page.goto(f"{fleet.url}people")
        expect(page.locator("tbody tr").first).to_be_visible()
        assert_fits(page)
        assert_untouched(page)
        keep(page, f"hostile-people-{size[0]}")
        for name in nodes:
            page.goto(f"{fleet.url}nodes/{name}")
            expect(page.locator("article[data-uuid]").first).to_be_visible()
            expect(page.get_by_role("columnheader", name="PID")).to_be_visible()
            assert_fits(page)
            assert_untouched(page)
            if name in {"tag", "unbroken"}:
                keep(page, f"hostile-node-{name}-{size[0]}")
            page.locator("article[data-uuid] header a").last.click()
            expect(page.get_by_role("heading", name="All fields")).to_be_visible()
            assert_fits(page)
            assert_untouched(page)


def test_a_hostile_address_is_harmless(browser: Browser, demo: RunningBoard) -> None:
    """Everything that the page reads from its own address."""
    with visit(browser, demo.url) as page:
        for attack in ATTACKS.values():
            text = quote(attack, safe="")
            page.goto(f"{demo.url}?q={text}&view={text}&group={text}&sort={text}&gpu={text}")
            expect(page.locator(".answer")).to_be_visible()
            assert_fits(page)
            assert_untouched(page)
