"""The XML document of `nvidia-smi -q -x`, read in one pass, with limits, into flat records.

A record is one GPU, one MIG instance or one process: its texts by path, and the records inside it.
Python's own expat is safe enough when entity declarations are refused: then nothing can grow.
"""

import re
from typing import Final
from xml.parsers import expat

MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_DEPTH: Final = 32
_MAX_RECORDS: Final = 8192
_ROOT: Final = "nvidia_smi_log"
_RECORDS: Final = {"gpu", "mig_device", "process_info"}
# Long lists that say nothing about now.
_SKIPPED: Final = {"supported_clocks", "accounted_processes"}
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DECLARATION: Final = re.compile(r"^[ \t]*<\?xml\b", re.MULTILINE)
_ROOT_TAG: Final = re.compile(rf"^[ \t]*<{_ROOT}\b", re.MULTILINE)
_END: Final = f"</{_ROOT}>"
_NAME_TAG: Final = "<process_name>"
_NAME_END: Final = "</process_name>"
_BARE: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")


class Record:
    """One GPU, MIG instance or process: its texts by path, and the records inside it."""

    def __init__(self, kind: str, depth: int) -> None:
        self.kind = kind
        self.depth = depth
        self.texts: dict[str, str] = {}
        self.inside: list[Record] = []

    def all(self, kind: str) -> list["Record"]:
        """The records of one kind inside this one."""
        return [record for record in self.inside if record.kind == kind]


class Document:
    """One log: its own texts, its whole GPUs, the words around it, and whether it was cut off."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.gpus: list[Record] = []
        self.around = ""
        self.is_whole = False


class NotADocumentError(Exception):
    """This is no log of nvidia-smi, or one that no driver writes."""


def read_document(text: str) -> Document:
    """Read a log, as far as it goes.

    Raises:
        NotADocumentError: there is no log in this text, or it is made to do harm.
    """
    if len(text) > MAX_BYTES:
        raise NotADocumentError(f"longer than {MAX_BYTES} characters")
    # In a file that was appended to, the last log is the newest one.
    starts = [*_DECLARATION.finditer(text)] or [*_ROOT_TAG.finditer(text)]
    if not starts:
        raise NotADocumentError("no log in it")
    start = starts[-1].start()
    end = text.find(_END, start)
    stop = len(text) if end < 0 else end + len(_END)
    document = Document()
    document.around = f"{text[:start]}\n{text[stop:]}"
    _Reader(document).read(_repaired(text[start:stop]))
    return document


def _repaired(text: str) -> str:
    """Make a log well-formed: not every driver escapes process names, and some print arbitrary bytes."""
    lines = _NOT_XML.sub("\ufffd", text.lstrip()).split("\n")
    return "\n".join(_with_escaped_name(line) if _NAME_TAG in line else line for line in lines)


def _with_escaped_name(line: str) -> str:
    # A name has a line to itself, so the line's last end tag is the real one.
    plain = line.strip()
    start, end = line.index(_NAME_TAG) + len(_NAME_TAG), line.rfind(_NAME_END)
    if not plain.startswith(_NAME_TAG) or not plain.endswith(_NAME_END) or end < start:
        return line
    name = _BARE.sub("&amp;", line[start:end]).replace("<", "&lt;").replace(">", "&gt;")
    return line[:start] + name + line[end:]


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._path: list[str] = []
        self._records: list[Record] = []
        self._texts: list[str] = []
        self._skipping: int | None = None
        self._left = _MAX_RECORDS

    def read(self, text: str) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._texts.append
        parser.EntityDeclHandler = self._refuse_entity
        try:
            parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError:
            # Cut off or damaged: what came before is whole.
            return
        self._document.is_whole = True

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise NotADocumentError(f"it declares the entity {name[:40]!r}")

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._path.append(name)
        self._texts.clear()
        depth = len(self._path)
        if depth == 1 and name != _ROOT:
            raise NotADocumentError(f"its root is <{name[:40]}>")
        if depth > _MAX_DEPTH:
            raise NotADocumentError("nested too deeply")
        if self._skipping is None and name in _SKIPPED:
            self._skipping = depth
        if self._skipping is None and name in _RECORDS:
            self._left -= 1
            if self._left < 0:
                raise NotADocumentError("too many GPUs or processes")
            self._records.append(Record(name, depth))

    def _end(self, name: str) -> None:
        depth = len(self._path)
        text = "".join(self._texts).strip()
        self._texts.clear()
        if self._skipping is None:
            self._close(name, depth, text)
        elif self._skipping == depth:
            self._skipping = None
        self._path.pop()

    def _close(self, name: str, depth: int, text: str) -> None:
        record = self._records[-1] if self._records else None
        if record is not None and record.depth == depth and record.kind == name:
            self._records.pop()
            if self._records:
                self._records[-1].inside.append(record)
            elif name == "gpu":
                self._document.gpus.append(record)
            return
        path = self._path[record.depth if record else 1 :]
        (record.texts if record else self._document.texts).setdefault("/".join(path), text)
