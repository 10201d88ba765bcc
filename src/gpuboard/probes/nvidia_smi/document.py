"""The XML document of `nvidia-smi -q -x`, read with limits into flat records.

A record is one GPU, one MIG instance or one process: its texts by path, and the records inside it.
Python's own parser is safe enough when nothing is declared inside a document: then nothing can grow.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, cast
from xml.etree import ElementTree as ET

from gpuboard.model.report import MAX_GPUS

MAX_BYTES: Final = 16 * 1024 * 1024
# Several times what a node with 16 GPUs writes, lists of clocks and all.
_MAX_TAGS: Final = 500_000
_MAX_DEPTH: Final = 32
_MAX_RECORDS: Final = 8192
# A node with some more than a report holds is shown in part, and says so.
_MAX_DEVICES: Final = 2 * MAX_GPUS
_ROOT: Final = "nvidia_smi_log"
_DEVICES: Final = {"gpu", "mig_device"}
_RECORDS: Final = {*_DEVICES, "process_info"}
# Long lists that say nothing about now.
_SKIPPED: Final = {"supported_clocks", "accounted_processes"}
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DECLARATION_TAG: Final = "<?xml"
_DECLARATION: Final = re.compile(r"^[ \t]*<\?xml\b", re.MULTILINE)
_ROOT_TAG: Final = re.compile(rf"^[ \t]*<{_ROOT}\b", re.MULTILINE)
_END: Final = f"</{_ROOT}>"
_NAME_TAG: Final = "<process_name>"
_NAME_END: Final = "</process_name>"
_BARE: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")
# Drivers name a DTD of their own, which is never loaded. What a document declares in itself (entities,
# defaults of attributes) makes it grow when it is read.
_DECLARES: Final = re.compile(
    rf"""<!(?!--|\[CDATA\[|DOCTYPE\s+{_ROOT}(?:\s+SYSTEM\s+(?:"[^"<>]*"|'[^'<>]*'))?\s*>)"""
)
_UNFINISHED: Final = "unfinished"


class Record:
    """One GPU, MIG instance or process: its texts by path, and the records inside it."""

    __slots__ = ("inside", "kind", "texts")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.texts: dict[str, str] = {}
        self.inside: list[Record] = []

    def all(self, kind: str) -> list["Record"]:
        """The records of one kind inside this one."""
        return [record for record in self.inside if record.kind == kind]


class Document(NamedTuple):
    """One log: its own texts, its whole GPUs, the words around it, and whether it was cut off."""

    texts: dict[str, str]
    gpus: list[Record]
    around: str
    is_whole: bool


class NotADocumentError(Exception):
    """This is no log of nvidia-smi, or one that no driver writes."""


def read_document(text: str) -> Document:
    """Read a log, as far as it goes.

    Raises:
        NotADocumentError: there is no log in this text, or it is made to do harm.
    """
    if len(text) > MAX_BYTES:
        raise NotADocumentError(f"longer than {MAX_BYTES} characters")
    start = _start_of_last(text)
    end = text.find(_END, start)
    stop = len(text) if end < 0 else end + len(_END)
    root, is_whole = _tree(_with_escaped_names(text[start:stop].lstrip()))
    log = Record(_ROOT) if root is None else _Walk().record(root, 1)
    return Document(log.texts, log.all("gpu"), f"{text[:start]}\n{text[stop:]}", is_whole)


def _start_of_last(text: str) -> int:
    """Find the log; in a file that was appended to, the last one is the newest."""
    if text.rfind(_DECLARATION_TAG) == 0:
        return 0
    starts = [*_DECLARATION.finditer(text)] or [*_ROOT_TAG.finditer(text)]
    if not starts:
        raise NotADocumentError("no log in it")
    return starts[-1].start()


def _with_escaped_names(text: str) -> str:
    """Escape process names, which not every driver does; each has a line to itself."""
    parts: list[str] = []
    done = 0
    while (tag := text.find(_NAME_TAG, done)) >= 0:
        start = text.rfind("\n", done, tag) + 1 or done
        end = text.find("\n", tag)
        end = len(text) if end < 0 else end
        parts += text[done:start], _with_escaped_name(text[start:end])
        done = end
    return "".join([*parts, text[done:]])


def _with_escaped_name(line: str) -> str:
    # A name has a line to itself, so the line's last end tag is the real one.
    plain = line.strip()
    start, end = line.index(_NAME_TAG) + len(_NAME_TAG), line.rfind(_NAME_END)
    if not plain.startswith(_NAME_TAG) or not plain.endswith(_NAME_END) or end < start:
        return line
    name = _BARE.sub("&amp;", line[start:end]).replace("<", "&lt;").replace(">", "&gt;")
    return line[:start] + name + line[end:]


def _tree(text: str) -> tuple[ET.Element | None, bool]:
    """Make a log a tree; says whether it was whole."""
    if _DECLARES.search(text):
        raise NotADocumentError("it declares something of its own")
    if text.count("<") > _MAX_TAGS:
        raise NotADocumentError("too many elements")
    try:
        return ET.fromstring(text), True  # noqa: S314 - it declares nothing, and has limits
    except (ET.ParseError, UnicodeEncodeError):
        return _tree_of_broken(_NOT_XML.sub("\ufffd", text))


def _tree_of_broken(text: str) -> tuple[ET.Element | None, bool]:
    """Save what is whole of a log that is cut off or damaged; what is not gets another name."""
    parser: ET.XMLPullParser[ET.Element] = ET.XMLPullParser(("start", "end"))
    root: ET.Element | None = None
    unfinished: list[ET.Element] = []
    try:
        parser.feed(text)
        for event, element in cast("Iterator[tuple[str, ET.Element]]", parser.read_events()):
            if event == "end":
                unfinished.pop()
                continue
            root = element if root is None else root
            unfinished.append(element)
        parser.close()
    except ET.ParseError:
        for element in unfinished[1:]:
            element.tag = _UNFINISHED
        return root, False
    return root, True


class _Walk:
    """Goes over a tree once, down to a limit."""

    def __init__(self) -> None:
        self._left = _MAX_RECORDS
        self._devices_left = _MAX_DEVICES

    def record(self, element: ET.Element, depth: int) -> Record:
        """Read one record and all inside it."""
        if depth == 1 and element.tag != _ROOT:
            raise NotADocumentError(f"its root is <{element.tag[:40]}>")
        self._left -= 1
        if self._left < 0:
            raise NotADocumentError("too many GPUs or processes")
        self._devices_left -= element.tag in _DEVICES
        if self._devices_left < 0:
            raise NotADocumentError(f"more than {_MAX_DEVICES} GPUs")
        record = Record(element.tag)
        self._collect(element, "", record, depth)
        return record

    def _collect(self, element: ET.Element, prefix: str, record: Record, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise NotADocumentError("nested too deeply")
        texts = record.texts
        for child in element:
            name = child.tag
            if name in _RECORDS:
                record.inside.append(self.record(child, depth + 1))
            elif name not in _SKIPPED:
                path = prefix + name
                texts.setdefault(path, (child.text or "").strip())
                if len(child):
                    self._collect(child, f"{path}/", record, depth + 1)
