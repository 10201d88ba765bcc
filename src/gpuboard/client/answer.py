"""What a board says, made harmless: whoever runs it may be anybody, and its words go to a terminal."""

from typing import Any, TypeVar

import msgspec

from gpuboard.wire.clean import clean_text

Expected = TypeVar("Expected")


def decode_answer(body: bytes, kind: type[Expected]) -> Expected:
    """Read a board's JSON, every text in it cleaned.

    Raises:
        msgspec.MsgspecError, UnicodeDecodeError, RecursionError: it is none.
    """
    # What cannot be printed is escaped in JSON, or no ASCII.
    if body.isascii() and b"\\" not in body and b"\x7f" not in body:
        return msgspec.json.decode(body, type=kind)
    return msgspec.convert(_clean(msgspec.json.decode(body)), kind)


def _clean(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    match value:
        case str():
            return clean_text(value)
        case list():
            return [_clean(each) for each in value]
        case dict():
            return {clean_text(key): _clean(each) for key, each in value.items()}
    return value
