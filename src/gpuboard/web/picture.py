"""Pictures of a few colours, as PNG: rectangles and block letters, nothing to install."""

import struct
import zlib
from collections.abc import Sequence
from typing import Final

LETTER_WIDTH: Final = 5
LETTER_HEIGHT: Final = 7
# Seven rows of five points each, the leftmost point in the highest bit.
_LETTERS: Final[dict[str, tuple[int, ...]]] = {
    " ": (0, 0, 0, 0, 0, 0, 0),
    "0": (14, 17, 19, 21, 25, 17, 14),
    "1": (4, 12, 4, 4, 4, 4, 14),
    "2": (14, 17, 1, 2, 4, 8, 31),
    "3": (31, 2, 4, 2, 1, 17, 14),
    "4": (2, 6, 10, 18, 31, 2, 2),
    "5": (31, 16, 30, 1, 1, 17, 14),
    "6": (6, 8, 16, 30, 17, 17, 14),
    "7": (31, 1, 2, 4, 8, 8, 8),
    "8": (14, 17, 17, 14, 17, 17, 14),
    "9": (14, 17, 17, 15, 1, 2, 12),
    "E": (31, 16, 16, 30, 16, 16, 31),
    "F": (31, 16, 16, 30, 16, 16, 16),
    "G": (14, 17, 16, 23, 17, 17, 15),
    "H": (17, 17, 17, 31, 17, 17, 17),
    "I": (14, 4, 4, 4, 4, 4, 14),
    "K": (17, 18, 20, 24, 20, 18, 17),
    "N": (17, 17, 25, 21, 19, 17, 17),
    "O": (14, 17, 17, 17, 17, 17, 14),
    "P": (30, 17, 17, 30, 16, 16, 16),
    "R": (30, 17, 17, 30, 20, 18, 17),
    "S": (15, 16, 16, 14, 1, 1, 30),
    "T": (31, 4, 4, 4, 4, 4, 4),
    "U": (17, 17, 17, 17, 17, 17, 14),
    "W": (17, 17, 17, 21, 21, 21, 10),
    "Y": (17, 17, 10, 4, 4, 4, 4),
}


class Picture:
    """A sheet of one colour to draw on; colours are numbers of its palette, the first is the background."""

    def __init__(self, width: int, height: int, palette: Sequence[str]) -> None:
        self._width = width
        self._palette = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in palette)
        self._rows = [bytearray(width) for _ in range(height)]

    def fill(self, left: int, top: int, width: int, height: int, colour: int) -> None:
        """A rectangle; what lies beyond the edge is left out."""
        right = min(left + width, self._width)
        for row in self._rows[top : top + height]:
            row[left:right] = bytes([colour]) * max(0, right - left)

    def write(self, text: str, left: int, top: int, scale: int, colour: int) -> None:
        """Digits and the few letters there are, each point `scale` wide."""
        for place, letter in enumerate(text):
            start = left + place * (LETTER_WIDTH + 1) * scale
            for line, bits in enumerate(_LETTERS[letter]):
                for column in range(LETTER_WIDTH):
                    if bits >> (LETTER_WIDTH - 1 - column) & 1:
                        self.fill(start + column * scale, top + line * scale, scale, scale, colour)

    def png(self) -> bytes:
        """The finished file: eight bits a point, each a number of the palette."""
        head = struct.pack(">IIBBBBB", self._width, len(self._rows), 8, 3, 0, 0, 0)
        # Every line says first how it was filtered: not at all.
        points = zlib.compress(b"".join(b"\0" + row for row in self._rows), level=9)
        chunks = ((b"IHDR", head), (b"PLTE", self._palette), (b"IDAT", points), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
