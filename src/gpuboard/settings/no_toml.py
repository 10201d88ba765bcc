"""What is wrong with a file that is no TOML, in words."""

import re
from typing import Final

from gpuboard.settings.words import show

# What word processors make of quotes.
_TYPOGRAPHIC: Final = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2039\u203a"
_KEY: Final = re.compile(r"[\w.-]+")
# What no single text without quotes has.
_OTHERS: Final = frozenset("\"'[]{}=\\")


def why_no_toml(error: str, text: str) -> str:
    """The words for what cannot be read as TOML: something stands twice, or what it seems to be instead."""
    if error.startswith(("Cannot ", "Duplicate ")):
        return (
            "a key or table stands there for the second time: keep one (several sources are each [[source]])"
        )
    if how := _how_to_quote(error, text):
        return how
    if text.lstrip().startswith(("{", "[{")):
        return "it looks like JSON, and TOML is expected"
    if re.search(r"^(---|\s*- \S|[ \t]*[\w-]+:(\s|$))", text, re.MULTILINE):
        return 'it looks like YAML, and TOML is expected: write listen = "0.0.0.0:8042" below a line [board]'
    if re.search(r"^[ \t]*[\w.-]+[ \t]*=[ \t]*(?!(true|false|inf|nan)\b)[A-Za-z/~*]", text, re.MULTILINE):
        return "it looks like INI, and TOML is expected: texts stand in quotes, lists in [ ]"
    return "TOML is expected"


def _how_to_quote(error: str, text: str) -> str | None:
    """How the line that cannot be read is written, if just the quotes of its text are wrong."""
    place = re.search(r"\(at line (\d+),", error)
    lines = text.splitlines()
    if place is None or not 0 < int(place[1]) <= len(lines):
        return None
    key, equals, value = lines[int(place[1]) - 1].partition("=")
    word = value.partition("#")[0].strip()
    alone = word.strip(_TYPOGRAPHIC)
    is_one_text = equals and _KEY.fullmatch(key.strip()) and alone and not set(alone) & _OTHERS
    # A word in letters may be meant as a list or a table, too.
    if not is_one_text or (alone == word and not alone[0].isdigit()):
        return None
    wrong = "texts stand in quotes" if alone == word else "quotes are straight"
    return f"TOML is expected: {wrong}, so write {key.strip()} = {show(alone)}"
