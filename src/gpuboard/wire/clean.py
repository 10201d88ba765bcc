"""Hostile text made harmless: what cannot be printed is escaped, so that it shows and does nothing."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar
from unicodedata import category

import msgspec

Facts = TypeVar("Facts", bound=msgspec.Struct)

_encoder: Final = msgspec.json.Encoder()
# The control characters of ASCII and Latin-1, which hostile text is mostly made of: looked up, not made anew.
_ESCAPES: Final = {chr(code): f"\\x{code:02x}" for code in range(0x100) if not chr(code).isprintable()}
_LAST_SHORT: Final = 0xFFFF
# Letters and signs that are drawn as nothing, and kinds of characters that are.
_FILLERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE: Final = frozenset({"Zs", "Mn", "Me"})
# Marks that are drawn as nothing on a letter, too: those that join graphemes, and that choose a variant.
_MARKS: Final = frozenset("\u034f\u180b\u180c\u180d\u180f").union(map(chr, range(0xFE00, 0xFE10)))


def clean_text(text: str) -> str:
    """Escape everything that is not printable: control characters, bidi marks, lone surrogates."""
    if text.isprintable():
        return text
    known = _ESCAPES.get
    return "".join([known(char) or (char if char.isprintable() else _escape(char)) for char in text])


def is_blank(text: str) -> bool:
    """Whether nobody sees anything of a text: spaces, fillers, marks that stand on no letter."""
    return not text.strip() or (not text.isascii() and all(map(_is_invisible, text)))


def hides_something(text: str) -> bool:
    """Whether anything in a text is not drawn: it looks like another one, and is none."""
    return not text.isprintable() or not _FILLERS.union(_MARKS).isdisjoint(text)


def _is_invisible(char: str) -> bool:
    return char in _FILLERS or category(char) in _INVISIBLE


def _clean_optional(text: str) -> str | None:
    """The same where there need not be any: what nobody can see is not known."""
    cleaned = clean_text(text)
    return None if is_blank(cleaned) else cleaned


def _escape(char: str) -> str:
    code = ord(char)
    # The old way to format: half the time, and this is where a hostile node's reports take theirs.
    return "\\u%04x" % code if code <= _LAST_SHORT else "\\U%08x" % code  # noqa: UP031


def is_plain(facts: msgspec.Struct) -> bool:
    """Whether nothing can need cleaning; cheap, and False whenever in doubt.

    JSON escapes control characters with a backslash, so its absence in plain ASCII says it for all texts at
    once, in a fraction of the time that looking at each would take. It does not see texts of blanks alone.
    """
    try:
        data = _encoder.encode(facts)
    except UnicodeEncodeError:
        # A lone surrogate, as undecodable bytes of this machine become.
        return False
    return data.isascii() and b"\\" not in data and b"\x7f" not in data


def clean_facts(facts: Facts) -> Facts:
    """Return the same facts with every text cleaned; the very same object when nothing was dirty."""
    changes: dict[str, Any] = {}
    for name, clean in _cleaners(type(facts)):
        value = getattr(facts, name)
        if value is None:
            continue
        cleaned = clean(value)
        if cleaned is not value:
            changes[name] = cleaned
    return msgspec.structs.replace(facts, **changes) if changes else facts


def _clean_texts(values: tuple[str, ...]) -> tuple[str, ...]:
    if all(value.isprintable() for value in values):
        return values
    return tuple(clean_text(value) for value in values)


def _clean_many(values: tuple[Facts, ...]) -> tuple[Facts, ...]:
    cleaned = tuple([clean_facts(value) for value in values])
    if all(new is old for new, old in zip(cleaned, values, strict=True)):
        return values
    return cleaned


@cache
def _cleaners(kind: type[msgspec.Struct]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """The fields of a struct that hold text, directly or below, each with what cleans it."""
    found = []
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 - tells the type checker
    for field in info.fields:
        parts = _members(field.type)
        is_optional = any(isinstance(part, msgspec.inspect.NoneType) for part in parts)
        for part in parts:
            clean = _cleaner_of(part, is_optional=is_optional)
            if clean is not None:
                found.append((field.name, clean))
    return tuple(found)


def _members(kind: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)


def _cleaner_of(kind: msgspec.inspect.Type, *, is_optional: bool) -> Callable[[Any], Any] | None:
    match kind:
        case msgspec.inspect.StrType():
            return _clean_optional if is_optional else clean_text
        case msgspec.inspect.StructType():
            return clean_facts
        case msgspec.inspect.VarTupleType(item_type=msgspec.inspect.StrType()):
            return _clean_texts
        case msgspec.inspect.VarTupleType(item_type=msgspec.inspect.StructType()):
            return _clean_many
    return None
