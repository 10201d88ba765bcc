"""The reference is complete: whatever the program has, it has a heading or a row."""

import re
from pathlib import Path
from typing import get_args

import pytest

from gpuboard.cli import COMMANDS
from gpuboard.metrics.node import DCGM_METRICS, GPU_METRICS
from gpuboard.model import report
from gpuboard.model.verdict import Flag, Word
from gpuboard.probes.problems import Kind
from gpuboard.probes.registry import PROBES

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def headings(name: str) -> set[str]:
    """The second-level headings of a page of the reference."""
    return {
        line[3:].removesuffix(" †")
        for line in (REFERENCE / name).read_text().splitlines()
        if line[:3] == "## "
    }


def test_every_command_has_its_heading() -> None:
    """No more and no less."""
    assert headings("commands.md") == set(COMMANDS)


def test_every_verdict_has_its_heading() -> None:
    """And every flag is named."""
    assert headings("verdicts.md") == {*get_args(Word), "Flags"}
    text = (REFERENCE / "verdicts.md").read_text()
    assert [flag for flag in get_args(Flag) if f"`{flag}`" not in text] == []


def test_every_kind_of_problem_has_its_heading() -> None:
    """What can be wrong can be looked up."""
    assert set(get_args(Kind)) <= headings("problems.md")


def test_every_metric_is_listed() -> None:
    """Under both families of names."""
    text = (REFERENCE / "metrics.md").read_text()
    assert [name for name in [*GPU_METRICS, *DCGM_METRICS] if f"`{name}`" not in text] == []


def test_every_probe_can_be_named() -> None:
    """`--probe` lists them."""
    text = (REFERENCE / "commands.md").read_text()
    assert [name for name in PROBES if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "name", ["NodeReport", "HostFacts", "Disk", "Address", "GpuReading", "GpuProcess", "Problem"]
)
def test_every_field_of_the_report_has_its_row(name: str) -> None:
    """The format is a contract."""
    page = (REFERENCE / "report.md").read_text()
    section = page.split(f"## {name}\n", 1)[1].split("\n## ", 1)[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(getattr(report, name).__struct_fields__)


def test_links_between_pages_lead_somewhere() -> None:
    """A dead link is a lie."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert dead == []
