"""Whole numbers as few bytes: rows of one kind, each changing little from one place to the next.

Each row is turned into its first number and the differences that follow; a difference takes as many bytes
as the largest of its row needs, none at all where the row is constant; all lowest bytes come first, then all
second ones, and so on; zstd does the rest. Differences wrap around, so that any 32-bit number comes back as
it was, `NOTHING` among them.
"""

import struct
import threading
from collections.abc import Iterator, Sequence
from operator import eq
from typing import Any, Final, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

Ints = NDArray[np.int32]

# The tail is written ten times a minute and read soon; chunks are written once and kept for years.
QUICK: Final = 1
SMALL: Final = 3
_HEAD: Final = struct.Struct("<BII")
_VERSION: Final = 1
# No block of ours is near this: whoever changed the file must not make us fill the memory.
_LARGEST_NUMBERS: Final = 1 << 26
# So many are turned back at once: then it all stays near the processor.
_MOST_TOGETHER: Final = 1 << 20
# By how many bytes a difference takes.
_NARROWEST: Final = {1: np.uint8, 2: np.uint16, 3: np.uint32, 4: np.uint32}
# The largest difference of no bytes, of one, and so on.
_LIMITS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)
_tools = threading.local()


class BlockError(ValueError):
    """These bytes are no block."""


class _Plain(NamedTuple):
    """What a block says: of so many rows with so many numbers their widths, first numbers and planes."""

    rows: int
    length: int
    content: bytes

    @property
    def widths(self) -> bytes:
        return self.content[: self.rows]

    @property
    def is_whole(self) -> bool:
        """Whether it has as many bytes as it should, of a block that is not empty."""
        size = 5 * self.rows + sum(self.widths) * (self.length - 1)
        return bool(self.content) and len(self.content) == size and max(self.widths) <= max(_NARROWEST)


def pack(rows: Ints, *, level: int) -> bytes:
    """Turn a table of numbers, row by row, into bytes."""
    count, length = rows.shape
    head = _HEAD.pack(_VERSION, count, length)
    if not count or not length:
        return head
    folded = _fold(rows[:, 1:] - rows[:, :-1])
    widths = _widths(folded)
    as_bytes = widths.tobytes()
    parts = [as_bytes, _bytes_of(rows[:, 0]).T.tobytes()]
    narrowest = min(as_bytes)
    for place in range(max(as_bytes)):
        wide = folded if place < narrowest else folded[widths > place]
        shifted = wide >> np.uint32(8 * place) if place else wide
        parts.append(shifted.astype(np.uint8).tobytes())
    return head + _compressor(level).compress(b"".join(parts))


def shape_of(blob: bytes) -> tuple[int, int]:
    """How many rows a block has, and how many numbers each.

    Raises:
        BlockError: the bytes are damaged.
    """
    if len(blob) < _HEAD.size:
        raise BlockError("it is too short")
    _, count, length = _HEAD.unpack_from(blob)
    return count, length


def unpack(blob: bytes | memoryview, wanted: Sequence[int] | None = None) -> Ints:
    """Turn bytes back into the table, or into those rows of it that are wanted.

    Raises:
        BlockError: the bytes are damaged.
    """
    count, length, content = _plain(blob)
    if not count or not length:
        return np.empty((count if wanted is None else len(wanted), length), np.int32)
    try:
        return _unpack(np.frombuffer(content, np.uint8), count, length, wanted)
    except (LookupError, ValueError) as error:
        raise BlockError(f"a block cannot be read: {error}") from None


def unpack_each(blobs: Sequence[bytes]) -> Iterator[Ints | None]:
    """Turn many small blocks back, which is quicker for all at once; None for one that is damaged."""
    try:
        plains = [_plain(blob) for blob in blobs]
    except BlockError:
        plains = []
    together = sum(one.rows * one.length for one in plains) <= _MOST_TOGETHER
    is_alike = len({one.rows for one in plains}) == 1
    if together and is_alike and all(one.is_whole for one in plains):
        yield from _unpack_alike(plains)
    else:
        yield from map(_unpack_or_none, blobs)


def different(numbers: NDArray[np.signedinteger]) -> list[int]:
    """The numbers that there are, each once, in order.

    `np.unique` would load numpy.ma for this, once: some ten milliseconds in which nothing else goes on.
    """
    return sorted(set(numbers.tolist()))


def _unpack_or_none(blob: bytes) -> Ints | None:
    try:
        return unpack(blob)
    except BlockError:
        return None


def _plain(blob: bytes | memoryview) -> _Plain:
    try:
        version, count, length = _HEAD.unpack_from(blob)
        if version != _VERSION or count * length > _LARGEST_NUMBERS:
            raise BlockError("this is no block of this program")
        if not count or not length:
            return _Plain(count, length, b"")
        room = count * (5 + 4 * length)
        # The library would make room for whatever a damaged frame says that it holds.
        if zstandard.frame_content_size(memoryview(blob)[_HEAD.size :]) > room:
            raise BlockError("a block says that it holds more than it can")
        content = _decompressor().decompress(memoryview(blob)[_HEAD.size :], max_output_size=room)
        return _Plain(count, length, content)
    except (zstandard.ZstdError, struct.error, ValueError) as error:
        raise BlockError(f"a block cannot be read: {error}") from None


def _unpack_alike(plains: list[_Plain]) -> list[Ints]:
    """Blocks that are whole and have as many rows as each other."""
    count, lengths = plains[0].rows, np.array([one.length for one in plains])
    ends = np.cumsum(lengths)
    begins = ends - lengths
    numbers = np.empty((count, ends[-1]), np.int32)
    for row, planes in enumerate(_planes(plains)):
        numbers[row] = _differences(planes) if planes else 0
    numbers[:, begins] = 0
    np.cumsum(numbers, axis=1, dtype=np.int32, out=numbers)
    heads = np.frombuffer(b"".join([one.content[count : 5 * count] for one in plains]), np.uint8)
    firsts = np.ascontiguousarray(heads.reshape(-1, 4, count).transpose(2, 0, 1)).view("<i4")[..., 0]
    # Each goes on where the one before has ended, and wraps around as all differences do.
    numbers += np.repeat(firsts - numbers[:, begins], lengths, axis=1)
    return np.split(numbers, begins[1:], axis=1)


def _planes(plains: list[_Plain]) -> list[list[bytes]]:
    """Row by row the bytes of all blocks, the lowest first; one too many before those of each block."""
    count = plains[0].rows
    most = [max(widths) for widths in zip(*(one.widths for one in plains), strict=True)]
    parts: list[list[list[bytes]]] = [[[] for _ in range(width)] for width in most]
    for _, length, content in plains:
        at = 5 * count - 1
        for place in range(max(most)):
            for row in range(count):
                if content[row] > place:
                    parts[row][place].append(content[at : at + length])
                    at += length - 1
                elif most[row] > place:
                    parts[row][place].append(bytes(length))
    return [[b"".join(part) for part in of_row] for of_row in parts]


def _differences(planes: list[bytes]) -> NDArray[np.signedinteger]:
    folded = np.frombuffer(planes[0], np.uint8).astype(_NARROWEST[len(planes)])
    for place, plane in enumerate(planes[1:], 1):
        folded |= np.frombuffer(plane, np.uint8).astype(folded.dtype) << folded.dtype.type(8 * place)
    return _unfold(folded)


def _unpack(plain: NDArray[np.uint8], count: int, length: int, wanted: Sequence[int] | None) -> Ints:
    chosen = _chosen(range(count) if wanted is None else wanted)
    widths = plain[:count]
    firsts = _from_planes(plain[count : 5 * count], count)[chosen]
    most = int(widths[chosen].max(initial=0))
    if not most:
        numbers = np.empty((len(firsts), length), np.int32)
        numbers[:] = firsts[:, None]
        return numbers
    # As narrow as the differences are: most of the work is moving bytes.
    folded = np.zeros((len(firsts), length - 1), _NARROWEST[most])
    at = 5 * count
    for place in range(most):
        wide = widths > place
        rows = int(np.count_nonzero(wide))
        plane = plain[at : at + rows * (length - 1)].reshape(rows, length - 1)
        at += plane.size
        _add_plane(folded, plane, wide, chosen, place)
    numbers = np.empty((len(firsts), length), np.int32)
    numbers[:, 0] = firsts
    numbers[:, 1:] = _unfold(folded)
    return np.add.accumulate(numbers, axis=1, dtype=np.int32, out=numbers)


def _chosen(wanted: Sequence[int]) -> "slice | NDArray[np.intp]":
    """Rows that follow each other, as mostly, are looked at where they are; others are copied."""
    first, end = (wanted[0], wanted[0] + len(wanted)) if wanted else (0, 0)
    if first >= 0 and all(map(eq, wanted, range(first, end))):
        return slice(first, end)
    return np.array(wanted, np.intp)


def _add_plane(
    folded: NDArray[Any],
    plane: NDArray[np.uint8],
    wide: NDArray[np.bool_],
    chosen: "slice | NDArray[np.intp]",
    place: int,
) -> None:
    """Add the bytes of one place to the rows that have any."""
    of_mine = wide[chosen]
    if isinstance(chosen, slice):
        before = np.count_nonzero(wide[: chosen.start])
        found = plane[before : before + np.count_nonzero(of_mine)]
    else:
        found = plane[(np.cumsum(wide) - 1)[chosen[of_mine]]]
    shifted = found.astype(folded.dtype) << folded.dtype.type(8 * place) if place else found
    if not len(found):
        return
    if len(found) == len(folded):
        folded |= shifted
    else:
        folded[of_mine] |= shifted


def _fold(differences: Ints) -> NDArray[np.uint32]:
    """Small numbers of either sign become small numbers without one."""
    folded: NDArray[np.uint32] = ((differences << 1) ^ (differences >> 31)).view(np.uint32)
    return folded


def _unfold(folded: NDArray[Any]) -> NDArray[np.signedinteger]:
    one = folded.dtype.type(1)
    numbers: NDArray[np.signedinteger] = ((folded >> one) ^ -(folded & one)).view(f"i{folded.itemsize}")
    return numbers


def _widths(folded: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """How many bytes each row needs for its largest difference."""
    widths: NDArray[np.uint8] = _LIMITS.searchsorted(folded.max(axis=1, initial=0)).astype(np.uint8)
    return widths


def _bytes_of(numbers: Ints) -> NDArray[np.uint8]:
    return np.ascontiguousarray(numbers, dtype="<i4").view(np.uint8).reshape(-1, 4)


def _from_planes(planes: NDArray[np.uint8], count: int) -> Ints:
    return np.ascontiguousarray(planes.reshape(4, count).T).view("<i4").reshape(count)


def _compressor(level: int) -> zstandard.ZstdCompressor:
    """One per thread: they are not made for several, and cost more to make than to use."""
    if not hasattr(_tools, "compressors"):
        _tools.compressors = {}
    found: zstandard.ZstdCompressor | None = _tools.compressors.get(level)
    if found is None:
        found = _tools.compressors[level] = zstandard.ZstdCompressor(level=level, write_checksum=True)
    return found


def _decompressor() -> zstandard.ZstdDecompressor:
    if not hasattr(_tools, "decompressor"):
        _tools.decompressor = zstandard.ZstdDecompressor()
    found: zstandard.ZstdDecompressor = _tools.decompressor
    return found
