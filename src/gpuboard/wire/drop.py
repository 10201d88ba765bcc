"""A report as a file in a shared folder, with its own length and checksum: half a file is seen as half.

A node that has a token signs: an HMAC over its name and the report. The key is the token's digest, since the
board keeps no more of it.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.report import NodeReport
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.report import MAX_REPORT_BYTES, decode_report, encode_report

DROP_VERSION: Final = 1
# Room for the frame around a report of the greatest length.
_FRAME_BYTES: Final = 1024


class _Drop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    gpuboard_drop: int
    # Both are about the report's bytes, exactly as they stand in the file.
    length: int
    sha256: str
    # Over the node's name and the report's bytes, where the node has a token.
    hmac_sha256: str | None = None
    report: msgspec.Raw


def encode_drop(report: NodeReport, *, key: str | None = None) -> bytes:
    """Write a report as the content of a file, signed where there is a key."""
    raw = encode_report(report)
    return (
        msgspec.json.encode(
            _Drop(
                gpuboard_drop=DROP_VERSION,
                length=len(raw),
                sha256=hashlib.sha256(raw).hexdigest(),
                report=msgspec.Raw(raw),
                hmac_sha256=None if key is None else _signature(key, report.node, raw),
            )
        )
        + b"\n"
    )


def is_drop(data: bytes) -> bool:
    """Whether this begins like a drop of ours."""
    return data.lstrip()[:32].replace(b" ", b"").startswith(b'{"gpuboard_drop"')


def _signature(key: str, node: str, raw: bytes) -> str:
    return hmac.new(key.encode(), b"gpuboard drop\n" + node.encode() + b"\n" + raw, "sha256").hexdigest()


def signed_by(data: bytes, node: str, keys: Iterable[str]) -> Literal["nobody", "node", "stranger"]:
    """Who signed a drop: nobody, this node by one of its keys, or somebody else.

    Raises:
        WireError: it is no drop.
    """
    drop = _read(data)
    if drop.hmac_sha256 is None:
        return "nobody"
    told, raw = drop.hmac_sha256.encode("utf-8", "replace"), bytes(drop.report)
    good = [hmac.compare_digest(_signature(key, node, raw).encode(), told) for key in keys]
    return "node" if any(good) else "stranger"


def decode_drop(data: bytes) -> NodeReport:
    """Read a report from the content of a file, checked and cleaned.

    Raises:
        WireError: too large, cut off, changed, no drop, a key stands twice, or a version that we cannot read.
    """
    drop = _read(data)
    raw = bytes(drop.report)
    if len(raw) != drop.length:
        raise WireError(f"drop holds {len(raw)} bytes of a report of {drop.length}: half-written or changed")
    if hashlib.sha256(raw).hexdigest() != drop.sha256:
        raise WireError("drop does not match its checksum: it was changed after it was written")
    return decode_report(raw)


def _read(data: bytes) -> _Drop:
    if len(data) > MAX_REPORT_BYTES + _FRAME_BYTES:
        raise WireError(
            f"drop of {len(data)} bytes refused: at most {MAX_REPORT_BYTES + _FRAME_BYTES} are allowed"
        )
    try:
        drop = msgspec.json.decode(data, type=_Drop)
    except NOT_DECODED as error:
        raise WireError(f"not a whole drop: {str(error) or type(error).__name__}") from None
    refuse_twice(data)
    if drop.gpuboard_drop != DROP_VERSION:
        raise WireError(
            f"drop version {drop.gpuboard_drop} cannot be read here (version {DROP_VERSION} can): "
            "install the same gpuboard version on node and board"
        )
    return drop
