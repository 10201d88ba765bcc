"""The map of the house has every room, in the order that the linter enforces; its ways lead somewhere."""

import re
import tomllib

from tests.parts import ROOT


def test_the_table_of_layers_is_the_linters() -> None:
    """Names beside each other in one row, the rows from the top down."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| layer | holds |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert rows == [layer.split(" | ") for layer in contracts[0]["layers"]]


def test_every_file_on_a_readings_way_is_there() -> None:
    """A file that moves takes its line along."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("\n## A reading's way, file by file\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([\w./]+\.(?:py|sh|awk|ts|svelte|css))`", section))
    homes = (ROOT / "src" / "gpuboard", ROOT / "frontend" / "src")
    assert len(named) > 100
    assert [path for path in sorted(named) if not any((home / path).is_file() for home in homes)] == []


def test_every_file_that_a_recipe_names_is_there() -> None:
    """But the new one, which is called NAME."""
    named = set(re.findall(r"`([\w./-]+/[\w.-]+\.\w+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    homes = (ROOT, ROOT / "src" / "gpuboard")
    assert len(named) > 30
    assert [
        path
        for path in sorted(named)
        if not path.endswith("/NAME.py") and not any((home / path).is_file() for home in homes)
    ] == []
