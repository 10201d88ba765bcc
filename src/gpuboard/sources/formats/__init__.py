"""The kinds of files that nodes leave in a folder, each read into a report; nothing here opens a file."""

import re
from typing import Final

import msgspec

from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.node import short_name
from gpuboard.model.report import NodeReport
from gpuboard.sources.formats.base import MAX_FILE_BYTES, Format
from gpuboard.sources.formats.gpustat_json import is_gpustat_json, read_gpustat_json
from gpuboard.sources.formats.gpustat_text import is_gpustat_text, read_gpustat_text
from gpuboard.sources.formats.nvidia_smi import is_csv, is_sentence, is_xml, read_csv, read_xml
from gpuboard.wire.clean import clean_text
from gpuboard.wire.drop import decode_drop, is_drop
from gpuboard.wire.text import decode_text


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
# What commands say instead of what they were asked for; a shell says its own name first, in every language.
_FAILURE: Final = re.compile(
    rb"\b(error|errno|traceback|exception|not found|no such|denied|fail(s|ed|ure)?|cannot|can't|fault|killed|"
    rb"refused|unable|time[d -]?out|unavailable|terminated|aborted|no space|illegal instruction|core dumped|"
    rb"broken pipe|nicht gefunden|fehler|introuvable|no encontrad[ao]|non trovato)\b"
    rb"|\A(?:/\S*/)?-?(?:ba|da|z|k|c|tc|fi)?sh: ",
    re.IGNORECASE,
)
_FAILURE_BYTES: Final = 16 * 1024
_QUOTED: Final = 200
# A declaration, a document type, and the name of the first element; each may be cut, or not there yet.
_XML_HEAD: Final = re.compile(
    rb"<\?xml[^<>]*(?:>\s*(?:<!?(?:DOCTYPE)?\s*(\w*)[^<>]*(?:>\s*(?:<(\w*))?)?)?)?", re.DOTALL
)
_ZEROS_AS_BLANKS: Final = bytes.maketrans(b"\0", b" ")


def is_meant_for(data: bytes, node: str, name: str) -> bool:
    """Whether a file that cannot be read was meant to tell about a node.

    It is empty, begins like a known kind, or holds what a command says when it fails.
    """
    if _NO_NODE.fullmatch(name):
        return False
    text = _bare(data)
    return (
        (not text and len(data) < _FAILURE_BYTES)
        or _begins_with(node, text)
        or any(form.sniff(data) for form in FORMATS)
        or _is_cut_json(text)
        or _is_cut_xml(text)
        or _failure(text) is not None
    )


def _bare(data: bytes) -> bytes:
    """A file without what is blank around it; what was never written is read as zeros."""
    # A large file of zeros, looked at byte by byte, would hold up everybody.
    return (data.translate(_ZEROS_AS_BLANKS) if b"\0" in data else data).strip()


def _begins_with(node: str, text: bytes) -> bool:
    host = short_name(node).encode()
    return text[: len(host)].lower() == host


def _failure(text: bytes) -> str | None:
    """What a command said when it failed, in one short line; None where this is something else."""
    if len(text) > _FAILURE_BYTES or _FAILURE.search(text) is None:
        return None
    lines = [line for each in decode_text(text).splitlines() if (line := each.strip())]
    # Python says at the end what went wrong.
    said = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    return clean_text(said[:_QUOTED])


def _is_cut_json(text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(text)
    except (*NOT_DECODED, ValueError):
        return True
    return False


def _is_cut_xml(text: bytes) -> bool:
    """Whether nvidia-smi's XML ends before its first element."""
    head = _XML_HEAD.fullmatch(text) if len(text) < _FAILURE_BYTES else None
    if head is None:
        return False
    # What is cut within the word DOCTYPE has no name yet.
    names = [name or b"" for name in head.groups()]
    is_early = b"DOCTYPE".startswith(names[0]) and text.endswith(b"<!" + names[0])
    return is_early or all(b"nvidia_smi_log".startswith(name) for name in names)


def read_file(data: bytes, node: str) -> NodeReport:
    """Read one file of any known kind.

    Raises:
        WireError: it is empty, too large, of no known kind, not whole, or a failed command's words.
    """
    text = _bare(data)
    if not text:
        raise WireError("the file is empty: the command that writes it printed nothing")
    if len(data) > MAX_FILE_BYTES:
        raise WireError(f"file of {len(data)} bytes refused: at most {MAX_FILE_BYTES} are allowed")
    for form in FORMATS:
        if form.sniff(data):
            return form.read(data, node)
    said = _failure(text)
    if said is not None:
        raise WireError(f"the command that writes it failed: {said}")
    if _is_cut_json(text) or _is_cut_xml(text) or (_begins_with(node, text) and not data.endswith(b"\n")):
        raise WireError("half-written: it ends before it says anything")
    known = ", ".join(form.name for form in FORMATS)
    raise WireError(f"a file of no known kind (known are {known})")
