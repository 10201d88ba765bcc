"""A report as a file in a shared folder, with its own length and checksum: half a file is seen as half."""

import hashlib
from typing import Final

import msgspec

from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.report import MAX_REPORT_BYTES, decode_report, encode_report

DROP_VERSION: Final = 1
# Room for the frame around a report of the greatest length.
_FRAME_BYTES: Final = 1024


class _Drop(msgspec.Struct, frozen=True, kw_only=True):
    gpuboard_drop: int
    # Both are about the report's bytes, exactly as they stand in the file.
    length: int
    sha256: str
    report: msgspec.Raw


def encode_drop(report: NodeReport) -> bytes:
    """Write a report as the content of a file."""
    raw = encode_report(report)
    return (
        msgspec.json.encode(
            _Drop(
                gpuboard_drop=DROP_VERSION,
                length=len(raw),
                sha256=hashlib.sha256(raw).hexdigest(),
                report=msgspec.Raw(raw),
            )
        )
        + b"\n"
    )


def is_drop(data: bytes) -> bool:
    """Whether this begins like a drop of ours."""
    return data.lstrip()[:32].replace(b" ", b"").startswith(b'{"gpuboard_drop"')


def decode_drop(data: bytes) -> NodeReport:
    """Read a report from the content of a file, checked and cleaned.

    Raises:
        WireError: too large, cut off, changed, no drop, a key stands twice, or a version that we cannot read.
    """
    if len(data) > MAX_REPORT_BYTES + _FRAME_BYTES:
        raise WireError(
            f"drop of {len(data)} bytes refused: at most {MAX_REPORT_BYTES + _FRAME_BYTES} are allowed"
        )
    try:
        drop = msgspec.json.decode(data, type=_Drop)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"not a whole drop: {str(error) or type(error).__name__}") from None
    refuse_twice(data)
    if drop.gpuboard_drop != DROP_VERSION:
        raise WireError(
            f"drop version {drop.gpuboard_drop} cannot be read here (version {DROP_VERSION} can): "
            "install the same gpuboard version on node and board"
        )
    raw = bytes(drop.report)
    if len(raw) != drop.length:
        raise WireError(f"drop holds {len(raw)} bytes of a report of {drop.length}: half-written or changed")
    if hashlib.sha256(raw).hexdigest() != drop.sha256:
        raise WireError("drop does not match its checksum: it was changed after it was written")
    return decode_report(raw)
