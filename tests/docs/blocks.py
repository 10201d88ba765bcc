"""The fenced blocks of a page, as they are printed."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.parts import ROOT

GUIDES = ROOT / "docs" / "guides"
# Both at once: a comment in a block begins like a heading.
_PARTS = re.compile(r"^```(\w*)\n(.*?)^```|^#+ ([^\n]+)$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """One block: below which heading, in which language, and what it says."""

    heading: str
    language: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in their order."""
    heading, found = "", []
    for part in _PARTS.finditer(page.read_text()):
        if part[3] is not None:
            heading = part[3]
        else:
            found.append(Block(heading, part[1], part[2]))
    return found


def printed(page: Path, heading: str, *languages: str) -> list[str]:
    """What stands below a heading, in these languages; if it has others now, its test must be looked at."""
    found = [block for block in blocks_of(page) if block.heading == heading]
    assert [block.language for block in found] == list(languages), heading
    return [block.text for block in found]


def texts_of(page: Path, *languages: str) -> list[str]:
    """What the blocks of a page in one of these languages say."""
    return [block.text for block in blocks_of(page) if block.language in languages]
