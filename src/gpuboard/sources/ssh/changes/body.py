"""The body of a node's last sample, onto which later frames lay only the lines that changed.

It is kept small: the driver's document as it came, and the lines that are different by now.
"""

import re
from collections.abc import Mapping
from typing import Final

from gpuboard.model.errors import WireError
from gpuboard.sources.ssh.frames import Frame
from gpuboard.wire.report import MAX_REPORT_BYTES

_DRIVER: Final = "nvidia-smi "
_SPLIT: Final = re.compile(rb"^nvidia-smi [^\n]*\n", re.MULTILINE)
_CHANGE: Final = re.compile(r"^([1-9][0-9]{0,5}) (.*)\n", re.MULTILINE)


class Body:
    """What one node said last: the head, which is ours, and the driver's document."""

    def __init__(self) -> None:
        self._sequence: int | None = None
        # Texts are bytes as latin-1 here: nothing is lost, and nobody has to decode a whole document.
        self._head: list[str] = []
        self._document = b""
        self._later: dict[int, str] = {}
        self._lines = 0

    @property
    def head(self) -> bytes:
        """All lines before the document."""
        return "\n".join([*self._head, ""]).encode("latin-1")

    @property
    def document(self) -> bytes:
        """The driver's document, whole."""
        if self._later:
            lines = self._document.decode("latin-1").split("\n")
            for line, text in self._later.items():
                lines[line] = text
            self._document, self._later = "\n".join(lines).encode("latin-1"), {}
        return self._document

    def take(self, frame: Frame) -> Mapping[int, str] | None:
        """Take in the next sample; return the lines of the document that it changes, None when it is all new.

        Raises:
            WireError: it changes a sample that we do not have, or lines that are not there.
        """
        before, self._sequence = self._sequence, None
        changes: Mapping[int, str] | None = None
        if frame.kind != "change":
            self._begin(frame.body)
        elif before is None or frame.sequence != before + 1:
            raise WireError("changes of a sample that did not come")
        else:
            changes = self._lay_over(_changes(frame.body))
        self._sequence = frame.sequence
        return changes

    def _begin(self, body: bytes) -> None:
        """Cut before the driver's document: nothing in it is taken for ours."""
        match = _SPLIT.search(body)
        end = len(body) if match is None else match.end()
        *self._head, rest = body[:end].decode("latin-1").split("\n")
        if rest:
            self._head.append(rest)
        self._document, self._later = body[end:], {}
        self._lines = self._document.count(b"\n")

    def _lay_over(self, changes: Mapping[int, str]) -> Mapping[int, str] | None:
        ours = len(self._head)
        if max(changes, default=-1) >= ours + self._lines:
            raise WireError("changes of lines that did not come")
        moved = False
        later: dict[int, str] = {}
        for line, text in changes.items():
            if line >= ours:
                later[line - ours] = text
                continue
            moved = moved or text.startswith(_DRIVER) or self._head[line].startswith(_DRIVER)
            self._head[line] = text
        self._later.update(later)
        self._check_length()
        if moved:
            # The line that parts ours from the driver's, or another that looks like it: better begin anew.
            self._begin(self.head + self.document)
        return None if moved else later

    def _check_length(self) -> None:
        if sum(map(len, self._head)) + sum(map(len, self._later.values())) > MAX_REPORT_BYTES:
            raise WireError(f"changes make a sample longer than {MAX_REPORT_BYTES} bytes")


def _changes(body: bytes) -> dict[int, str]:
    """The new lines by their places."""
    text = body.decode("latin-1")
    found = _CHANGE.findall(text)
    if len(found) != text.count("\n") or text[-1:] not in {"", "\n"}:
        raise WireError("changes without places")
    return {int(line) - 1: new for line, new in found}
