"""What people write themselves, as they meant it: on one line, emoji whole, nothing that is not drawn."""

import re
from typing import Final

from gpuboard.wire.clean import clean_text, is_blank

# Makes one emoji of two; anywhere else it is drawn as nothing.
_JOINER: Final = "\u200d"
_SIGNS: Final = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINED: Final = re.compile(f"(?<=[{_SIGNS}\ufe0f]){_JOINER}(?=[{_SIGNS}])")
# Those that are newer than what Python knows stand here too.
_EMOJI: Final = range(0x1F000, 0x1FB00)


def clean_prose(text: str) -> str:
    """Leave out what is drawn as nothing or does something; empty where nobody sees anything of it.

    Never longer than before, and the same if it is cleaned again.
    """
    parts = _JOINED.split(" ".join(text.split()))
    kept = _JOINER.join("".join(filter(_is_drawn, part)) for part in parts)
    kept = " ".join(kept.split())
    return "" if is_blank(kept) else kept


def show_prose(text: str) -> str:
    """Escape everything that is neither printable nor emoji, as a terminal should show it."""
    if text.isprintable():
        return text
    parts = _JOINED.split(text)
    return _JOINER.join("".join(c if _is_drawn(c) else clean_text(c) for c in part) for part in parts)


def _is_drawn(char: str) -> bool:
    return char.isprintable() or ord(char) in _EMOJI
