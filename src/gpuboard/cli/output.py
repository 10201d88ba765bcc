"""What a terminal or a file cannot take is written otherwise: no output ends in the middle of a name."""

import codecs
import io
import sys
from typing import Final

# Signs of ours by what comes nearest in ASCII; whatever else cannot be written becomes a question mark.
_NEAREST: Final = {
    "—": "-",
    "·": "-",
    "•": "*",
    "…": "...",
    "→": "->",
    "✓": "+",
    "✗": "x",
    "○": "o",
    "●": "*",
    "◷": "b",
    "━": "#",
    "─": ".",
    "°": "",
}
HANDLER: Final = "gpuboard-nearest"


def never_fail_to_encode() -> None:
    """Let the standard output degrade where its encoding lacks a character."""
    codecs.register_error(HANDLER, _nearest)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors=HANDLER)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_NEAREST.get(char, "?") for char in lost), error.end
