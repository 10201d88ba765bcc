"""The map of the house has every room, in the order that the linter enforces; its ways lead somewhere."""

import re
import tomllib

import pytest

from tests.parts import ROOT

# Of a file on the way, in lines.
SHORTEST = 10


def test_the_table_of_layers_is_the_linters() -> None:
    """Names beside each other in one row, the rows from the top down."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| layer | holds |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert rows == [layer.split(" | ") for layer in contracts[0]["layers"]]


def test_whoever_names_concrete_parts_stands_in_a_table() -> None:
    """One row for each contract, in the linter's order."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| concrete parts | are named by | the seam |")[2].partition("\n\n")[0]
    rows = [line.split("|")[2:4] for line in table.splitlines()[2:]]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    told = [re.findall(r"`([\w/]+?)(?:/__init__)?(?:\.py)?`", names) for names, _ in rows]
    assert told == [
        [name.removeprefix("gpuboard.").replace(".", "/") for name in contract["allowed_importers"]]
        for contract in contracts
        if contract["type"] == "protected"
    ]
    seams = [seam.strip(" `") for _, seam in rows]
    assert [seam for seam in seams if not (ROOT / "src" / "gpuboard" / seam).is_file()] == []


def ways() -> dict[str, list[str]]:
    """The files that a reading passes from the driver to the pixel, in order, by the way that it takes."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("\n## A reading's way, file by file\n")[2].partition("\n## ")[0]
    parts = dict(re.findall(r"^\*\*(.+?)\.\*\*(.*?)(?=^\*\*|\Z)", section, re.DOTALL | re.MULTILINE))
    push, ssh, folder, rest = (_named(parts[name]) for name in PARTS)
    # The file's way is the pusher's up to there, where it is named again.
    before = push[: push.index(folder[0])]
    return {"by push": push, "over ssh": ssh, "by a file": before + folder, "from the sink": rest}


PARTS = ("By push", "Over ssh", "By a file in a shared folder", "From the sink to the pixel")


def _named(text: str) -> list[str]:
    return re.findall(r"`([\w./]+\.(?:py|sh|awk|ts|svelte|css))`", text)


def test_every_file_on_a_readings_way_is_there() -> None:
    """A file that moves takes its line along."""
    named = {path for way in ways().values() for path in way}
    homes = (ROOT / "src" / "gpuboard", ROOT / "frontend" / "src")
    assert len(named) > 100
    assert [path for path in sorted(named) if not any((home / path).is_file() for home in homes)] == []


@pytest.mark.parametrize("name", ["by push", "over ssh", "by a file"])
def test_a_reading_never_comes_back_to_a_file(name: str) -> None:
    """Whoever walks along opens each once, and never turns round."""
    way = ways()[name] + ways()["from the sink"]
    assert sorted(path for path in set(way) if way.count(path) > 1) == []


def test_the_length_of_each_way_is_told() -> None:
    """One that grows does not grow unseen."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    told = {
        name: (int(first), int(second))
        for name, first, second in re.findall(r"^\| ([\w ]+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    }
    found = ways()
    rest = len(found.pop("from the sink"))
    assert told == {name: (len(way), len(way) + rest) for name, way in found.items()}


def test_no_file_on_a_readings_way_is_opened_for_a_line() -> None:
    """What is less than ten lines long belongs to whoever asks for it."""
    homes = (ROOT / "src" / "gpuboard", ROOT / "frontend" / "src")
    files = [home / path for way in ways().values() for path in way for home in homes]
    lines = {path: len(path.read_text().splitlines()) for path in files if path.is_file()}
    assert [str(path) for path, count in lines.items() if count < SHORTEST] == []


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
