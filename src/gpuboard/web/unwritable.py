"""Rows that cannot be written: each costs itself, is named once, and never takes the others along."""

import logging
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.codes import plain_reason
from gpuboard.model.verdict import Reason, Verdict
from gpuboard.wire.clean import clean_text
from gpuboard.wire.views import GpuRow, GpuView, NodeRow, NodeView

Row = TypeVar("Row", NodeRow, GpuRow, NodeView, GpuView)

log = logging.getLogger(__name__)

# What an encoder raises: a type it does not know, half a character, a number too large, too deep a nest.
ERRORS: Final = (TypeError, ValueError, OverflowError, RecursionError)
_WORDS: Final = 200
_REASON: Final = plain_reason(code="unwritable")


class Unwritable:
    """The rows that cannot be shown as they are; while there are some, a part of the board is in trouble."""

    def __init__(self) -> None:
        self._why: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._why)

    @property
    def trouble(self) -> Reason | None:
        """Which row cannot be shown, and why; None when all can."""
        if not self._why:
            return None
        what, why = next(iter(self._why.items()))
        more = f", and {len(self._why) - 1} more" if len(self._why) > 1 else ""
        text = f"{what} cannot be shown ({why}){more}; this is a mistake in gpuboard"
        return Reason(code="unwritable", text=text, values={"rows": len(self._why)})

    def mended(self, row: Row) -> Row:
        """The very same row if it can be written, else one that says so and holds what can be."""
        what = _name(row)
        try:
            msgspec.json.encode(row)
        except ERRORS as error:
            if what not in self._why:
                log.error("row not shown: row=%s reason=%s", what, clean_text(str(error))[:_WORDS])  # noqa: TRY400
            self._why[what] = type(error).__name__
            return _readable(row)
        self._why.pop(what, None)
        return row

    def forget(self, nodes: Iterable[str], gpus: Iterable[str]) -> None:
        """Forget what is no longer there."""
        for name in nodes:
            self._why.pop(clean_text(f"node {name}"), None)
            self._why.pop(clean_text(f"details of node {name}"), None)
        for uuid in gpus:
            self._why.pop(clean_text(f"GPU {uuid}"), None)
            self._why.pop(clean_text(f"details of GPU {uuid}"), None)


def _name(row: Struct) -> str:
    match row:
        case NodeRow(name=name):
            return clean_text(f"node {name}")
        case NodeView(name=name):
            return clean_text(f"details of node {name}")
        case GpuRow(uuid=uuid):
            return clean_text(f"GPU {uuid}")
        case _:
            return clean_text(f"details of GPU {getattr(row, 'uuid', '?')}")


def _readable(row: Row) -> Row:
    """The same row, where unknown stands for what cannot be written, and which counts for nothing."""
    values = {name: getattr(row, name) for name in row.__struct_fields__}
    changes = {name: _instead(value) for name, value in values.items() if not _is_writable(value)}
    match row:
        case NodeRow() | NodeView():
            changes |= {"state": "error", "reason": _REASON}
        case GpuRow():
            changes |= {"verdict": "unknown", "reason": _REASON}
        case GpuView():
            changes |= {"verdict": Verdict(word="unknown", reason=_REASON)}
    return replace(row, **changes)


def _is_writable(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except ERRORS:
        return False
    return True


def _instead(value: object) -> Any:  # noqa: ANN401 - whatever stands in a row
    if isinstance(value, str):
        return clean_text(value)
    return () if isinstance(value, tuple) else None
