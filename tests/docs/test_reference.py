"""The reference is complete: whatever the program has, it has a heading or a row."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from gpuboard.cli import COMMANDS
from gpuboard.metrics.node import DCGM_METRICS, GPU_METRICS
from gpuboard.model import report
from gpuboard.model.problems import ProblemKind
from gpuboard.model.verdict import Flag, VerdictWord
from gpuboard.probes.registry import PROBES
from gpuboard.settings.access import OidcTable
from gpuboard.settings.board import TABLES
from gpuboard.sources.registry import SOURCES

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
    assert headings("verdicts.md") == {*get_args(VerdictWord), "Flags", "What is counted", "Sizes"}
    text = (REFERENCE / "verdicts.md").read_text()
    assert [flag for flag in get_args(Flag) if f"`{flag}`" not in text] == []


def test_every_kind_of_problem_has_its_heading() -> None:
    """What can be wrong can be looked up."""
    assert set(get_args(ProblemKind)) <= headings("problems.md")


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


def test_the_fields_of_the_report_that_cannot_be_null_are_named() -> None:
    """All other fields mean "cannot tell" with it."""
    kinds = ["NodeReport", "HostFacts", "Disk", "Address", "GpuReading", "GpuProcess", "Problem"]
    fields = [field for kind in kinds for field in msgspec.structs.fields(getattr(report, kind))]
    never_null = {field.name for field in fields if type(None) not in get_args(field.type)}
    page = (REFERENCE / "report.md").read_text()
    listed = page.split("cannot be null", 1)[1].split("Leave out", 1)[0]
    assert set(re.findall(r"`(\w+)`", listed)) == never_null
    required = page.split("all of them but", 1)[1].split("have a default", 1)[0]
    assert set(re.findall(r"`(\w+)`", required)) == {field.name for field in fields if field.required}


def test_every_figure_of_the_pages_filter_is_named() -> None:
    """`memory_free` beside `memory`."""
    code = (ROOT / "frontend" / "src" / "state" / "grammar.ts").read_text()
    numbers = code.split("const NUMBERS", 1)[1].split("\n};", 1)[0]
    page = (REFERENCE / "page.md").read_text()
    assert [
        name for name in re.findall(r"^  (\w+): \{", numbers, re.MULTILINE) if f"`{name}`" not in page
    ] == []


def test_no_field_of_the_report_is_explained_by_its_own_name() -> None:
    """`cpu_count`: cpu count."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", (REFERENCE / "report.md").read_text(), re.MULTILINE)
    assert [name for name, meaning in rows if meaning.strip() == name.replace("_", " ")] == []


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


def documented_keys(heading: str) -> set[str]:
    """The keys in the table under a heading of the settings page."""
    page = (REFERENCE / "settings.md").read_text()
    section = page.split(f"{heading}\n", 1)[1]
    section = re.split(r"\n#{2,3} ", section, maxsplit=1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("table", list(TABLES))
def test_every_setting_has_its_row(table: str) -> None:
    """No more and no less."""
    assert documented_keys(f"## [{table}]") == set(TABLES[table].__struct_fields__)


def test_every_setting_of_the_provider_has_its_row() -> None:
    """A table within a table."""
    assert documented_keys("## [access.oidc]") == set(OidcTable.__struct_fields__)


@pytest.mark.parametrize("kind", list(SOURCES))
def test_every_option_of_a_source_has_its_row(kind: str) -> None:
    """But `kind`, which is the heading."""
    assert documented_keys(f'### kind = "{kind}"') == set(SOURCES[kind].options.__struct_fields__) - {"kind"}
