"""Reports written once; before each sending only the sequence and the time in them are exchanged."""

import struct
import time
from typing import Final

import msgspec
from msgspec.structs import replace

from gpuboard.probes.simulated import simulate
from gpuboard.wire.ingest import Live, Sample, encode, encode_sample

BOOT_ID: Final = "boot-1"
# Different figures from report to report, as a real node has them.
VARIANTS: Final = 4
# Both take nine bytes in msgpack, whatever follows them.
FIRST_SEQUENCE: Final = 1 << 40
# Any other number of the same length: what a sample follows on.
_BEFORE: Final = 1 << 41
# What the very first follows on, and the type of a signed number of nine bytes, as it is one.
NOTHING: Final = -1
_SIGNED: Final = 0xD3
_TIME: Final = 1_234_567_890.123


class Messages:
    """What one agent says, one report after the other."""

    def __init__(self, node: str, interval: float) -> None:
        now = time.time()
        self._variants = [_Template(node, now - 5.0 * place, interval) for place in range(VARIANTS)]
        self.sequence = FIRST_SEQUENCE

    def next(self, now: float) -> bytes:
        """The next message, as taken now."""
        self.sequence += 1
        return self._variants[self.sequence % VARIANTS].fill(self.sequence, now)


class _Template:
    def __init__(self, node: str, at: float, interval: float) -> None:
        report = replace(
            simulate(node, at),
            boot_id=BOOT_ID,
            sequence=FIRST_SEQUENCE,
            taken_at=_TIME,
            interval_seconds=interval,
        )
        sample = Sample(
            sequence=FIRST_SEQUENCE, waited_seconds=0.0, report=msgspec.Raw(encode_sample(report))
        )
        self._data = bytearray(encode(Live(sample=sample, follows=_BEFORE)))
        (self._before,) = _places(self._data, msgspec.msgpack.encode(_BEFORE))
        self._sequences = _places(self._data, msgspec.msgpack.encode(FIRST_SEQUENCE))
        (self._time,) = _places(self._data, msgspec.msgpack.encode(_TIME))
        assert len(self._sequences) == 2

    def fill(self, sequence: int, now: float) -> bytes:
        for place in self._sequences:
            struct.pack_into("!Q", self._data, place, sequence)
        before = sequence - 1 if sequence > FIRST_SEQUENCE + 1 else NOTHING
        struct.pack_into("!Bq", self._data, self._before - 1, _SIGNED, before)
        struct.pack_into("!d", self._data, self._time, now)
        return bytes(self._data)


def _places(data: bytearray, sought: bytes) -> list[int]:
    """Where the eight bytes of a number begin; the byte before them says its type."""
    found, place = [], data.find(sought)
    while place >= 0:
        found.append(place + 1)
        place = data.find(sought, place + 1)
    return found
