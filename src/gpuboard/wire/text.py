"""Bytes that should be text, read without ever failing; nobody promises that a process name is UTF-8."""

import codecs
from typing import Final

# PowerShell's `>` writes UTF-16; Windows editors like to leave a mark in front of UTF-8.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes) -> str:
    """Read bytes as text; what is no text becomes U+FFFD, line ends become newlines."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            break
    else:
        text = data.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n")
