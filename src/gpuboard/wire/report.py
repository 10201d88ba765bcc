"""Reports as bytes: msgpack between programs, JSON for people and files."""

from operator import attrgetter
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.report import LONGEST_INTERVAL_SECONDS, REPORT_VERSION, NodeReport
from gpuboard.wire.clean import clean_facts
from gpuboard.wire.gpu_uuid import with_plain_names
from gpuboard.wire.plain import is_plain_report

Encoding = Literal["json", "msgpack"]

MAX_REPORT_BYTES: Final = 256 * 1024
MAX_PROCESSES: Final = 512
# A reader understands its own version and the one before.
OLDEST_VERSION: Final = max(1, REPORT_VERSION - 1)

_ENCODERS: Final[dict[Encoding, Any]] = {"json": msgspec.json.encode, "msgpack": msgspec.msgpack.encode}
_DECODERS: Final[dict[Encoding, Any]] = {
    "json": msgspec.json.Decoder(NodeReport).decode,
    "msgpack": msgspec.msgpack.Decoder(NodeReport).decode,
}
# Asked of every GPU of every report.
_uuid_of: Final = attrgetter("uuid")


def encode_report(report: NodeReport, encoding: Encoding = "json") -> bytes:
    """Write a report as bytes."""
    data: bytes = _ENCODERS[encoding](report)
    return data


def decode_report(data: bytes, encoding: Encoding = "json") -> NodeReport:
    """Read one report, checked and cleaned.

    Raises:
        WireError: too large, not a report, out of range, or of a version that we cannot read.
    """
    if len(data) > MAX_REPORT_BYTES:
        raise WireError(f"report of {len(data)} bytes refused: at most {MAX_REPORT_BYTES} are allowed")
    try:
        report: NodeReport = _DECODERS[encoding](data)
    except NOT_DECODED as error:
        raise WireError(f"not a valid report: {str(error) or type(error).__name__}") from None
    return check_report(report)


def check_report(report: NodeReport) -> NodeReport:
    """Check what the types alone cannot say, and clean every text.

    Raises:
        WireError: the report breaks a rule.
    """
    if not OLDEST_VERSION <= report.version <= REPORT_VERSION:
        raise WireError(
            f"report version {report.version} cannot be read here (versions {OLDEST_VERSION} to "
            f"{REPORT_VERSION} can): install the same gpuboard version on node and board"
        )
    report = with_plain_names(report)
    if report.interval_seconds is not None and report.interval_seconds > LONGEST_INTERVAL_SECONDS:
        report = replace(report, interval_seconds=LONGEST_INTERVAL_SECONDS)
    gpus = report.gpus or ()
    processes = [process for gpu in gpus if gpu.processes for process in gpu.processes]
    if len(processes) > MAX_PROCESSES:
        raise WireError(f"report with more than {MAX_PROCESSES} processes refused")
    if len(set(map(_uuid_of, gpus))) != len(gpus):
        raise WireError("report names the same GPU twice")
    return report if is_plain_report(report, processes) else clean_facts(report)
