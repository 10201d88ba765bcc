"""Frames out of a stream of bytes: whole ones are kept, halves and foreign noise are noticed."""

import re
from typing import Final, Literal, cast

from msgspec import Struct

from gpuboard.model.errors import WireError
from gpuboard.wire.report import MAX_REPORT_BYTES

FrameKind = Literal["sample", "change", "host"]

# What a login prints before the command starts is short; more than this is no login.
MAX_NOISE_BYTES: Final = 64 * 1024
# Once frames come, all that stands between two of them is what the command says it is doing.
MAX_NOISE_BETWEEN: Final = 4 * 1024
_KEPT_NOISE: Final = 400
_START: Final = re.compile(rb"gpuboard 1 (sample|change|host) (\d{1,12}) (\d{1,7})")
_DOING: Final = re.compile(rb"gpuboard doing ([a-z-]{1,20}) [\d.]{1,20}")


class Frame(Struct, frozen=True, kw_only=True):
    """One whole frame: all that the node says in one round, what changed since, or what the host says."""

    kind: FrameKind
    sequence: int
    body: bytes


class Framer:
    """Cuts a stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._open: tuple[FrameKind, int, int] | None = None
        self._noise = bytearray()
        # Of all that came since the last whole frame and was none, whatever it looked like.
        self._noise_bytes = 0
        self._noise_allowed = MAX_NOISE_BYTES
        # What the node was about to do when it last said so.
        self.doing: str | None = None
        # Frames that began and did not end as they said.
        self.broken = 0

    @property
    def noise(self) -> str:
        """The last words that were no frame: a message from the shell, mostly."""
        return self._noise.decode("utf-8", errors="replace").strip()

    def feed(self, data: bytes) -> list[Frame]:
        """Take in the next bytes; return the frames that are whole now.

        Raises:
            WireError: too much that is no frame.
        """
        self._buffer += data
        found: list[Frame] = []
        while self._next_line() if self._open is None else self._end_frame(found):
            pass
        return found

    def _end_frame(self, found: list[Frame]) -> bool:
        """End the open frame if all of it is here; one that does not end as it said was none."""
        assert self._open is not None  # noqa: S101 - tells the type checker
        kind, sequence, length = self._open
        end = b"gpuboard end %d\n" % sequence
        if len(self._buffer) < length + len(end):
            return False
        self._open = None
        if self._buffer[length : length + len(end)] != end:
            # Its bytes are read again, line by line: a whole frame may stand among them.
            self.broken += 1
            return True
        found.append(Frame(kind=kind, sequence=sequence, body=bytes(self._buffer[:length])))
        del self._buffer[: length + len(end)]
        self._noise_bytes, self._noise_allowed = 0, MAX_NOISE_BETWEEN
        return True

    def _next_line(self) -> bool:
        end = self._buffer.find(b"\n")
        if end < 0:
            self._check_flood(len(self._buffer))
            return False
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._noise_bytes += end + 1
        self._check_flood(0)
        start = _START.fullmatch(line)
        if start is not None and int(start[3]) <= MAX_REPORT_BYTES:
            self._open = cast("FrameKind", start[1].decode()), int(start[2]), int(start[3])
        elif (doing := _DOING.fullmatch(line)) is not None:
            self.doing = doing[1].decode()
        elif line:
            self._noise = (self._noise + line + b"\n")[-_KEPT_NOISE:]
        return True

    def _check_flood(self, waiting: int) -> None:
        if self._noise_bytes + waiting > self._noise_allowed:
            raise WireError(f"more than {self._noise_allowed} bytes came that are no sample")
