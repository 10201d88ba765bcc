"""The static page: self-contained, honest about its age, and safe with any text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from gpuboard.cli import main
from gpuboard.export.html import to_html
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.report import Disk, GpuProcess, GpuReading, HostFacts, NodeReport, Problem
from gpuboard.model.verdict import Claim
from gpuboard.probes.simulated import simulate
from gpuboard.wire.views import FleetView

ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</details></title><script>alert(1)</script>",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!--",
    "]]><script>alert(1)</script>",
    "<a href='https://evil.example'>x</a>",
]


class Elements(HTMLParser):
    """All elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """All elements and attributes of a page."""
    parser = Elements()
    parser.feed(page)
    return parser.found


def fleet_of(*reports: NodeReport) -> FleetView:
    """A fleet that was told these."""
    fleet = Fleet(SteadyClock())
    for report in reports:
        fleet.sink("local").report(report.node, report)
    fleet.settle()
    return fleet_view(fleet)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_stays_text(attack: str) -> None:
    """In every field that a node, user or file can write."""
    process = GpuProcess(pid=1, user=attack, program=attack)
    gpu = GpuReading(uuid=attack, index=0, model=attack, processes=(process,))
    problem = Problem(kind=attack, text=attack, remedy=attack)
    page = to_html(fleet_of(NodeReport(node="a", gpus=(gpu,), problems=(problem,))), title=attack)
    calm = to_html(
        fleet_of(
            NodeReport(
                node="a",
                gpus=(
                    GpuReading(
                        uuid="x", index=0, model="x", processes=(GpuProcess(pid=1, user="x", program="x"),)
                    ),
                ),
                problems=(Problem(kind="x", text="x", remedy="x"),),
            )
        )
    )
    assert [tag for tag, _ in elements(page)] == [tag for tag, _ in elements(calm)]
    assert {name for _, attributes in elements(page) for name in attributes if name.startswith("on")} == set()


def test_the_page_asks_nobody_for_anything() -> None:
    """No address in it, and a policy that forbids all but its own style and script."""
    page = to_html(fleet_of(simulate("dgx-01", 1_800_000_000.0)))
    assert re.findall(r"(?:src|href|url\()", page.split("</head>", 1)[1]) == []
    assert "default-src 'none'" in page


def test_a_page_can_be_rendered_from_a_saved_snapshot(tmp_path: Path) -> None:
    """Offline, from what `export json` wrote; the same as at once."""
    saved = tmp_path / "fleet.json"
    fleet = fleet_of(simulate("dgx-01", 1_800_000_000.0))
    saved.write_bytes(msgspec.json.encode(fleet))
    out = tmp_path / "index.html"
    assert main(["export", "html", "--from", str(saved), "--out", str(out)]) == 0
    assert out.read_text() == to_html(fleet)


def test_a_folder_of_files_becomes_a_page(tmp_path: Path) -> None:
    """What labs do with cron, ansi2html and a sleep; without the race."""
    (tmp_path / "cml10").write_text(
        "cml10  Sun Nov 15 12:00:01 2026\n[0] Tesla V100 | 45'C,  97 % | 18 / 32 MB | ana:python/1(9M)\n"
    )
    out = tmp_path / "out" / "index.html"
    out.parent.mkdir()
    assert main(["export", "html", "--folder", str(tmp_path), "--out", str(out)]) == 0
    assert "ana" in out.read_text()
    assert [path.name for path in out.parent.iterdir()] == ["index.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And 2."""
    target = tmp_path / "nope" / "index.html"
    assert main(["export", "html", "--demo", "--out", str(target)]) == 2
    assert str(target) in capsys.readouterr().err


def test_a_file_that_is_no_export_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words."""
    wrong = tmp_path / "x.json"
    wrong.write_text('{"nodes": 3}')
    assert main(["export", "html", "--from", str(wrong)]) == 2
    assert "no export of ours" in capsys.readouterr().err


def test_a_page_loads_itself_again_only_where_told_to(tmp_path: Path) -> None:
    """A page on a wall must not grow old; one in a mail must not ask anybody."""
    saved, out = tmp_path / "fleet.json", tmp_path / "index.html"
    saved.write_bytes(msgspec.json.encode(fleet_of(simulate("dgx-01", 1_800_000_000.0))))
    for flags, expected in (([], []), (["--reload", "1m"], ["60"])):
        assert main(["export", "html", "--from", str(saved), "--out", str(out), *flags]) == 0
        found = [
            told["content"] for tag, told in elements(out.read_text()) if told.get("http-equiv") == "refresh"
        ]
        assert found == expected
    assert main(["export", "html", "--from", str(saved), "--reload", "1s"]) == 2


def test_the_page_has_the_hosts_figures() -> None:
    """Load, memory and disks; what is unknown is left out."""
    host = HostFacts(
        load_1=3.25,
        cpu_count=64,
        memory_used_bytes=2**30,
        memory_total_bytes=2**36,
        disks=(Disk(mount="/<b>", used_bytes=2**30, total_bytes=2**40), Disk(mount="/gone")),
    )
    page = to_html(fleet_of(NodeReport(node="a", host=host)))
    assert "load 3.2 on 64 cores · RAM 1.0 GiB of 64.0 GiB · " in page
    assert ("/&lt;b&gt; " in page, "/gone" in page) == (True, False)
    assert '<p class="host">' not in to_html(fleet_of(NodeReport(node="a")))


@pytest.mark.parametrize("content", ["", "sh: 1: gpustat: not found\n"], ids=["empty", "an error"])
def test_a_host_whose_command_fails_is_on_the_page(tmp_path: Path, content: str) -> None:
    """A server that vanishes from the page is one that nobody repairs."""
    folder, out = tmp_path / "status-gpu", tmp_path / "index.html"
    folder.mkdir()
    (folder / "cml10").write_text(content)
    main(["export", "html", "--folder", str(folder), "--out", str(out)])
    page = out.read_text()
    assert "<h2>cml10</h2>" in page
    assert "error: cml10: " in page


def test_a_booking_that_has_ended_is_told_for_a_while() -> None:
    """People wonder whose it was."""
    fleet = Fleet(SteadyClock())
    now = fleet.clock.now()
    fleet.sink("local").report("a", NodeReport(node="a", gpus=(GpuReading(uuid="u", index=0),)))
    fleet.set_claims("comments-json", {("a", 0): Claim(who="<ana>", until=now - 3 * 3600)})
    fleet.settle()
    page = to_html(fleet_view(fleet))
    assert re.search(r"<dt>booked before</dt><dd>&lt;ana&gt;, ended 3h.* ago</dd>", page)
