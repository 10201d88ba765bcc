"""What is said of a list in a file that cannot be read. Pure."""

from collections.abc import Mapping
from typing import Final

from gpuboard.model.errors import OutsideError

# By code, what helps; of a mount that hangs the error says all there is to say.
_REMEDIES: Final[Mapping[str, str]] = {
    "file-missing": "write it, or correct {key} in the settings; it is read as soon as it is there",
    "file-unreadable": "see whether it is a file that the board's account may read",
    "file-too-large": "see whether {key} in the settings names the right file",
}


def unread(error: OutsideError, *, key: str) -> str:
    """Which file it is, why it cannot be read, and what to do; the settings name it by this key."""
    remedy = None if error.remedy is not None else _REMEDIES.get(error.code)
    return f"{error.text}; {remedy.format(key=key)}" if remedy else error.text
