"""What the board refuses is said by the page in every language: by its code, from its values."""

import re
from pathlib import Path

import pytest

from gpuboard.bookings import refusals
from gpuboard.model.booking import NOT_YOURS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "gpuboard" / "bookings"
PAGE = ROOT / "frontend" / "src"
LANGUAGES = ("en", "de", "fr", "zh-TW", "zh-CN")
# Said in sentences that the form has anyway: with who, until when and what else.
WITH_A_SENTENCE = {"booking-conflict", "booking-in-use", "booking-stale", "booking-broken"}


def codes() -> set[str]:
    """Every code that is given as a reason to refuse."""
    named = {value for value in vars(refusals).values() if isinstance(value, str)}
    said = {
        code
        for file in SOURCES.glob("*.py")
        for code in re.findall(r'refuse\(\s*"([\w-]+)"', file.read_text())
    }
    return {code for code in {*named, *said, NOT_YOURS} if code.startswith("booking-")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_has_words(language: str) -> None:
    """Nobody reads the board's English who has chosen another language."""
    found = codes()
    assert {"booking-longest", "booking-twice", "booking-too-far"} <= found
    words = (PAGE / "text" / language / "bookings.ts").read_text()
    keys = {
        code: f"refused_{code.removeprefix('booking-').replace('-', '_')}:"
        for code in found - WITH_A_SENTENCE
    }
    assert [code for code, key in keys.items() if key not in words] == []


def test_what_has_another_sentence_is_known_to_the_page() -> None:
    """By its code."""
    page = (PAGE / "pages" / "bookings" / "refused.ts").read_text()
    assert [code for code in WITH_A_SENTENCE if f"'{code}'" not in page] == []
