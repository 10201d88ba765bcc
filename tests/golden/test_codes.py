"""Every code that the board can send stands in one table, and has words in every language of the page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import gpuboard
from gpuboard.model.codes import CODES, OF_BOOKINGS, OF_REQUESTS, OF_SIGNING_IN
from gpuboard.model.problems import BREAKING, ProblemKind

SOURCES = sorted(Path(gpuboard.__file__).parent.rglob("*.py"))
TEXTS = Path(__file__).parents[2] / "frontend" / "src" / "text"
LANGUAGES = sorted(path.name for path in TEXTS.iterdir() if path.is_dir() and path.name != "en")


def texts_in(value: ast.expr | None) -> set[str]:
    """The texts that an expression can be, as far as they stand there."""
    match value:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return texts_in(one) | texts_in(other)
    return set()


def places_of_codes(tree: ast.Module) -> dict[str, int]:
    """The functions of a file that take a code by its place."""
    places = {}
    for found in ast.walk(tree):
        if isinstance(found, ast.FunctionDef):
            names = [argument.arg for argument in found.args.args if argument.arg != "self"]
            if "code" in names:
                places[found.name] = names.index("code")
    return places


def codes_in(tree: ast.Module) -> Iterator[str]:
    """Every code that stands in a file: `code="…"`, `code = "…"`, or in the place of one."""
    places = places_of_codes(tree)
    for found in ast.walk(tree):
        match found:
            case ast.Call(func=function, args=values, keywords=named):
                yield from (text for one in named if one.arg == "code" for text in texts_in(one.value))
                name = getattr(function, "attr", getattr(function, "id", ""))
                place = places.get(name, len(values))
                yield from texts_in(values[place] if place < len(values) else None)
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from texts_in(value)


def test_every_code_stands_in_the_table_and_none_there_is_unused() -> None:
    """Whoever adds one is led to its words."""
    found = {code for path in SOURCES for code in codes_in(ast.parse(path.read_text(encoding="utf-8")))}
    # A node's state is its reason where nothing else is known; a fault is called as its problem.
    states = {"late", "lost", "refused", "error"}
    known = CODES | OF_REQUESTS | OF_SIGNING_IN
    assert found - known - OF_BOOKINGS == set()
    assert known - found - states == set()


def test_every_code_of_bookings_stands_in_its_table() -> None:
    """Refusals, and what is worth a word; what the audit log calls deeds are none."""
    deeds = {f"booking-{deed}" for deed in ("made", "changed", "cancelled", "released", "displaced")}
    rules = [path for path in SOURCES if path.parent.name == "bookings" or path.name == "booking.py"]
    found = {
        code
        for path in rules
        for code in re.findall(r'"(booking-[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    verdicts = {f"booking-{word}{now}" for word in ("stale", "broken") for now in ("", "-now")}
    assert found - deeds | verdicts == OF_BOOKINGS


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_has_words_in_this_language(language: str) -> None:
    """Otherwise the page falls into English in the middle."""
    words = "".join(path.read_text(encoding="utf-8") for path in (TEXTS / language).glob("*.ts"))
    known = set(re.findall(r"^  '?((?:reason|problem)_[\w-]+)'?:", words, re.MULTILINE))
    wanted = {f"reason_{code}" for code in CODES} | {f"problem_{kind}" for kind in BREAKING}
    assert wanted - known == set()


@pytest.mark.parametrize("language", [*LANGUAGES, "en"])
def test_a_fault_has_no_second_sentence_as_a_reason(language: str) -> None:
    """A kind of problem is put into words once: what breaks a GPU is called as the problem that it is."""
    words = "".join(path.read_text(encoding="utf-8") for path in (TEXTS / language).glob("*.ts"))
    told = set(re.findall(r"^  '?reason_([\w-]+)'?:", words, re.MULTILINE))
    assert told & set(get_args(ProblemKind)) - CODES == set()
