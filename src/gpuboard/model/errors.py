"""Every error of ours, in one tree; foreign errors are turned into these at the border.

GpuboardError
├── UsageError            the caller asked for something that makes no sense
├── SettingsError         a setting is wrong; names file, key and remedy
├── WireError             bytes from outside that are no valid message
├── ProbeError
│   ├── ProbeUnavailable  this machine lacks what the probe needs
│   └── ProbeFailed       the tool is here but misbehaved; carries the problem to show
├── ListenError           the board's address cannot be taken; the next try may succeed
├── StorageError          the state directory or its database cannot be used; names the remedy
│   ├── StorageAwayError  the database does not answer now; the next try may succeed
│   └── HistoryPausedError  the history writes nothing while the disk is nearly full; it goes on by itself
├── AccessRefused         the other side does not allow it; asking again alone will not help
│   ├── LinkRefused       a one-time link is unknown, used or over
│   └── GuessRefused      a name and password that do not fit, or too many of them
├── BookingRefused        a rule, or what others have booked, forbids it; the reason says which and why
├── OutsideError          a file, name or server outside could not be asked; says why in words
├── SourceError           a node could not be read; carries the node's state
├── BoardUnreachableError no board answers, or nothing that is one
└── BoardRefusedError     a board answers, and does not tell
"""

from typing import Final, Literal

import msgspec

from gpuboard.model.report import Problem
from gpuboard.model.verdict import Reason

# What a decoder raises for bytes that it cannot read: no such message, no text, nested too deep.
NOT_DECODED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class GpuboardError(Exception):
    """Anything that gpuboard itself can explain to a person."""


class UsageError(GpuboardError):
    """The caller asked for something that makes no sense."""


class SettingsError(GpuboardError):
    """A setting is wrong; the text names the file, the key and the remedy."""


class WireError(GpuboardError):
    """Bytes from outside that are no valid message."""


class ProbeError(GpuboardError):
    """The devices of this machine could not be read; the problem says why and what to do."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.text} ({problem.remedy})")
        self.problem = problem


class ProbeUnavailable(ProbeError):  # noqa: N818 - a state of the machine, not a mistake
    """This machine lacks what the probe needs."""


class ProbeFailed(ProbeError):  # noqa: N818 - a state of the machine, not a mistake
    """The tool is here but misbehaved; the next round may succeed."""


class OutsideError(GpuboardError):
    """A file, name or server outside could not be asked; the next try may succeed."""

    def __init__(self, text: str, *, code: str, remedy: str | None = None) -> None:
        """Say why; a text that says what to do about it names that once more, as the remedy."""
        super().__init__(text)
        self.text = text
        self.code = code
        self.remedy = remedy


class ListenError(GpuboardError):
    """The board's address cannot be taken; the text names the remedy. The next try may succeed."""


class StorageError(GpuboardError):
    """The state directory or its database cannot be used; the text names the remedy."""

    def __init__(self, text: str, *, code: str = "storage") -> None:
        super().__init__(text)
        self.reason = Reason(code=code, text=text)


class StorageAwayError(StorageError):
    """The database does not answer now; the next try may succeed."""


class HistoryPausedError(StorageError):
    """The history writes nothing while the disk is nearly full; it goes on by itself."""


class AccessRefused(GpuboardError):  # noqa: N818 - an answer, not a mistake
    """The other side does not allow it; asking again alone will not help."""


class SampleRefused(GpuboardError):  # noqa: N818 - an answer, not a mistake
    """Nobody takes this sample, now or later; who has it may forget it."""


class LinkRefused(AccessRefused):
    """A one-time link is unknown, used or over; the code says which."""

    def __init__(self, text: str, *, code: str) -> None:
        super().__init__(text)
        self.code = code


class NewcomerRefused(AccessRefused):
    """Somebody whom a provider has signed in is not let in by this board; the code says why."""

    def __init__(self, text: str, *, code: str, name: str | None) -> None:
        super().__init__(text)
        self.code = code
        # As the provider gives it; None: it gives none.
        self.name = name


class GuessRefused(AccessRefused):
    """A name and password that do not fit; or too many of them, and how long to wait."""

    def __init__(self, text: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(text)
        self.wait_seconds = wait_seconds


class BookingRefused(GpuboardError):  # noqa: N818 - an answer, not a mistake
    """A rule, or what others have booked, forbids it; nothing has changed."""

    def __init__(self, reason: Reason, *, unnamed: Reason | None = None) -> None:
        """Take the reason, and the same without a name if it has one."""
        super().__init__(reason.text)
        self.reason = reason
        self.unnamed = unnamed or reason


class SourceError(GpuboardError):
    """A node could not be read; the next round may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        state: Literal["refused", "error"] = "error",
        code: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """Say why; a reason that says what to do about it names that once more, as the remedy."""
        super().__init__(reason)
        self.remedy = remedy
        self.reason = reason
        self.state = state
        self.code = code or state


class BoardUnreachableError(GpuboardError):
    """No board answers, or what answers is none."""


class BoardRefusedError(GpuboardError):
    """A board answers, and does not tell us; or does not do it, and the code says why."""

    def __init__(self, text: str, *, code: str | None = None) -> None:
        super().__init__(text)
        self.code = code
