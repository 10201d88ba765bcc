"""Files written by `nvidia-smi`: its XML, its CSV tables, and the sentences it prints instead."""

from typing import Final

from gpuboard.model.errors import ProbeError, WireError
from gpuboard.model.report import NodeReport
from gpuboard.probes.nvidia_smi.messages import explain, says_no_devices
from gpuboard.probes.nvidia_smi.tables import (
    apps_from_rows,
    attach_apps,
    devices_from_rows,
    has_header,
    read_tables,
)
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.sources.formats.base import report_of, report_of_failure, whole_lines
from gpuboard.wire.text import decode_text

PROBE: Final = "nvidia-smi"
_LOOK: Final = 64 * 1024


def is_xml(data: bytes) -> bool:
    """Whether this looks like `nvidia-smi -q -x`."""
    return "<nvidia_smi_log" in decode_text(data[:_LOOK])


def read_xml(data: bytes, node: str) -> NodeReport:
    """Read a file written by `nvidia-smi -q -x`, or the sentence that the driver printed instead."""
    try:
        devices = parse_xml(data, node=node)
    except ProbeError as error:
        return report_of_failure(error, node, probe=PROBE)
    return report_of(devices, node, probe=PROBE)


def is_csv(data: bytes) -> bool:
    """Whether this looks like a table of `nvidia-smi` with its header."""
    return has_header(decode_text(data[:_LOOK]))


def read_csv(data: bytes, node: str) -> NodeReport:
    """Read a file with the table of GPUs, and that of compute processes if it follows."""
    text = whole_lines(decode_text(data))
    try:
        tables = read_tables(text)
    except ProbeError as error:
        return report_of_failure(error, node, probe=PROBE)
    if not tables.gpus:
        if tables.has_apps:
            raise WireError("only a list of processes: the table of GPUs (--query-gpu) is missing")
        return read_xml(data, node)
    devices = devices_from_rows(tables.gpus, text=text, damaged=tables.damaged, node=node)
    if tables.has_apps:
        devices = attach_apps(devices, apps_from_rows(tables.apps))
    return report_of(devices, node, probe=PROBE)


def is_sentence(data: bytes) -> bool:
    """Whether the driver only said what is wrong: a crontab line writes that into the file too."""
    text = decode_text(data[:_LOOK])
    return says_no_devices(text) or explain(text).problem.kind != "unreadable-output"
