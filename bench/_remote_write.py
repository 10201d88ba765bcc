"""Rounds as requests of remote write, as Prometheus and VictoriaMetrics take them."""

import ctypes
import struct
from typing import Final

import numpy as np

from bench._past import Fleet, Round
from gpuboard.history.figures import GPU_NUMBERS

HEADERS: Final = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_WHO: Final = "holders"
_LIBRARY: Final = "libsnappy.so.1"


class Writer:
    """Rounds of one fleet, as requests."""

    def __init__(self, fleet: Fleet, one: Round) -> None:
        self._template = Template(fleet, one)
        self._snappy = _snappy()

    def request(self, one: Round) -> bytes:
        """The body that tells a round."""
        plain = self._template.fill(one)
        return literal(plain) if self._snappy is None else _compressed(self._snappy, plain)


def is_compressed() -> bool:
    """Whether requests are as small as those of a real client."""
    return _snappy() is not None


class Template:
    """A remote-write request whose values and times alone change from round to round."""

    def __init__(self, fleet: Fleet, one: Round) -> None:
        self._present = ~np.isnan(one.numbers)
        parts: list[bytes] = []
        places: list[int] = []
        length = 0
        for gpu, (uuid, node) in enumerate(zip(fleet.uuids, fleet.nodes, strict=True)):
            for column, name in enumerate((*GPU_NUMBERS, _WHO)):
                if column < len(GPU_NUMBERS) and not self._present[gpu, column]:
                    continue
                labels = _label("__name__", f"gpu_{name}") + _label("gpu", uuid) + _label("node", node)
                series = labels + b"\x12\x10\x09" + bytes(8) + b"\x10" + bytes(6)
                message = b"\x0a" + _varint(len(series)) + series
                parts.append(message)
                length += len(message)
                places.append(length - 15)
        self._buffer = np.frombuffer(b"".join(parts), np.uint8).copy()
        self._values = np.array(places)[:, None] + np.arange(8)
        self._times = np.array(places)[:, None] + 9 + np.arange(6)
        present = np.concatenate([self._present, np.ones((fleet.gpus, 1), np.bool_)], axis=1)
        self._rows, self._columns = np.nonzero(present)

    def fill(self, one: Round) -> bytes:
        """The request for one round."""
        numbers = np.concatenate([one.numbers, one.people[:, None]], axis=1)
        values = numbers[self._rows, self._columns].astype("<f8")
        self._buffer[self._values] = values.view(np.uint8).reshape(-1, 8)
        moments = one.at_ms[self._rows][:, None] >> (7 * np.arange(6))
        self._buffer[self._times] = (moments & 0x7F) | np.array([0x80] * 5 + [0])
        return self._buffer.tobytes()


def literal(plain: bytes) -> bytes:
    """What snappy would make of bytes that it cannot make smaller."""
    return _varint(len(plain)) + b"\xfc" + struct.pack("<I", len(plain) - 1) + plain


def _snappy() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError:
        return None


def _compressed(snappy: ctypes.CDLL, plain: bytes) -> bytes:
    # What the library says is the most that it can become.
    room = ctypes.create_string_buffer(32 + len(plain) + len(plain) // 6)
    length = ctypes.c_size_t(len(room))
    if snappy.snappy_compress(plain, ctypes.c_size_t(len(plain)), room, ctypes.byref(length)):
        raise RuntimeError("snappy did not compress a request")
    return room.raw[: length.value]


def _label(name: str, value: str) -> bytes:
    inner = b"\x0a" + _varint(len(name)) + name.encode() + b"\x12" + _varint(len(value)) + value.encode()
    return b"\x0a" + _varint(len(inner)) + inner


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
