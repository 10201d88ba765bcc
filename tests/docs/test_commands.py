"""What the pages print can be typed: commands are understood, settings are taken, files are there."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from gpuboard.cli import COMMANDS, read_words
from gpuboard.settings.board import settings_of
from gpuboard.sources.ledger import CountingLedger
from gpuboard.sources.push import PushSource
from gpuboard.sources.registry import Surroundings, make_source
from tests.docs.blocks import texts_of
from tests.parts import ROOT, require

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
AROUND = Surroundings(now=lambda: 0.0, node="here", pushed=PushSource(CountingLedger()))


def commands(page: Path) -> list[str]:
    """Every call of gpuboard that a page prints, from its name to the end of the command."""
    lines = "\n".join(texts_of(page, "sh", "console", "")).replace("\\\n", " ").splitlines()
    calls = [re.search(r"(?:^|[\s\"(/;&])gpuboard ((?:[\w-]+)\b.*)", line) for line in lines]
    ends = r"\s#\s|\s\|\s|\s>\s|\s&&\s|\)\"|…|;\s"
    return [
        re.split(ends, call[1])[0] for call in calls if call is not None and call[1].split()[0] in COMMANDS
    ]


CALLS = [
    pytest.param(call, id=f"{page.stem}: {call[:50]}")
    for page in PAGES
    for call in dict.fromkeys(commands(page))
]
SAMPLES = [
    pytest.param(sample, id=f"{page.stem} {number}")
    for page in PAGES
    for number, sample in enumerate(texts_of(page, "toml"))
]


def test_there_are_commands_and_samples_to_look_at() -> None:
    """Or this page looks for the wrong thing."""
    assert len(CALLS) > 15
    assert len(SAMPLES) > 10


@pytest.mark.parametrize("call", CALLS)
def test_every_command_that_is_printed_is_understood(call: str) -> None:
    """Argument by argument."""
    words = [word for word in shlex.split(call, comments=True) if word != "[HOST]"]
    assert read_words(words)


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_of_settings_is_taken(sample: str) -> None:
    """As it stands, up to the files that it names."""
    for where, table in settings_of(tomllib.loads(sample), where="sample").sources:
        make_source(table, AROUND, where=where)


def test_every_file_of_the_checkout_that_a_guide_installs_is_there() -> None:
    """By the path that is printed."""
    named = {
        path for page in PAGES for path in re.findall(r"\b(?:deploy|script)/[\w./-]+\w", page.read_text())
    }
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_shell_sample_is_shell(page: Path) -> None:
    """A quote that does not end would swallow the rest."""
    require("sh")
    for sample in texts_of(page, "sh"):
        done = subprocess.run(["sh", "-n"], input=sample, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), sample
