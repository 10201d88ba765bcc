"""The kinds of files that nodes leave in a folder, each read into a report; nothing here opens a file."""

import re
from typing import Final

import msgspec

from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.sources.formats.base import MAX_FILE_BYTES, Format
from gpuboard.sources.formats.gpustat_json import is_gpustat_json, read_gpustat_json
from gpuboard.sources.formats.gpustat_text import is_gpustat_text, read_gpustat_text
from gpuboard.sources.formats.nvidia_smi import is_csv, is_sentence, is_xml, read_csv, read_xml
from gpuboard.wire.drop import decode_drop, is_drop


def _read_drop(data: bytes, node: str) -> NodeReport:
    # The file's name says whose it is; what stands inside could name any node.
    return msgspec.structs.replace(decode_drop(data), node=node)


# The first that recognises a file reads it.
FORMATS: Final = (
    Format("drop", is_drop, _read_drop),
    Format("gpustat-json", is_gpustat_json, read_gpustat_json),
    Format("nvidia-smi-xml", is_xml, read_xml),
    Format("nvidia-smi-csv", is_csv, read_csv),
    Format("gpustat-text", is_gpustat_text, read_gpustat_text),
    Format("nvidia-smi-words", is_sentence, read_xml),
)


# Names of files that people put beside those of nodes.
_NO_NODE: Final = re.compile(
    r"(readme|licen[cs]e|index|makefile)(\..*)?|.*(~|\.(html?|css|js|php|py|pl|sh|md|rst|conf|toml|ya?ml|ini|"
    r"png|svg|pdf|swp|tmp|bak|old|orig|lock|gz|zip))",
    re.IGNORECASE,
)
# What commands say instead of what they were asked for.
_FAILURE: Final = re.compile(
    rb"\b(error|errno|traceback|exception|not found|no such|denied|fail(s|ed|ure)?|cannot|can't|fault|killed|"
    rb"refused|unable|time[d -]?out|unavailable|terminated|aborted|no space)\b",
    re.IGNORECASE,
)
_FAILURE_BYTES: Final = 16 * 1024


def is_meant_for(data: bytes, node: str, name: str) -> bool:
    """Whether a file that cannot be read was meant to tell about a node.

    It is empty, begins like a known kind, or holds what a command says when it fails.
    """
    if _NO_NODE.fullmatch(name):
        return False
    text = data.strip(b"\0 \t\r\n")
    host = node.partition(".")[0].encode()
    return (
        (not text and len(data) < _FAILURE_BYTES)
        or text[: len(host)].lower() == host
        or any(form.sniff(data) for form in FORMATS)
        or _is_cut_json(text)
        or (len(text) <= _FAILURE_BYTES and _FAILURE.search(text) is not None)
    )


def _is_cut_json(text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return True
    return False


def read_file(data: bytes, node: str) -> NodeReport:
    """Read one file of any known kind.

    Raises:
        WireError: it is empty, too large, of no known kind, or not whole; says which.
    """
    if not data.strip():
        raise WireError("the file is empty: the command that writes it printed nothing")
    if len(data) > MAX_FILE_BYTES:
        raise WireError(f"file of {len(data)} bytes refused: at most {MAX_FILE_BYTES} are allowed")
    for form in FORMATS:
        if form.sniff(data):
            return form.read(data, node)
    known = ", ".join(form.name for form in FORMATS)
    raise WireError(f"a file of no known kind (known are {known})")
