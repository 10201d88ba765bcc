"""Settings in words: what a key expects, how to write it, what was probably meant."""

import difflib
import math
import re
import types
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin

import msgspec
from msgspec import Meta

MAX_SHOWN: Final = 60
# What stands for a password in a URL; it must not be seen wherever a setting is shown.
_PASSWORD: Final = re.compile(r"(://[^:/?#\s\"]*:)[^\s\"]*(?=@)|([?&]\w*password=)[^&\s\"]*")


# Names for the type checker only. The values are plain numbers: they end up in reports, which know no others.
# A time span that is written `5s`, `10min`, `1h30m` or `3d`; in the program it is seconds.
Duration = NewType("Duration", float)
# One that is days as a rule: a bare number would be taken for seconds, and is refused.
Days = NewType("Days", float)
# A number of bytes that is written `500M` or `40G`.
Size = NewType("Size", int)

# Kind of value → what it is called, and how it is written.
_KINDS: Final[dict[Any, tuple[str, str]]] = {
    Duration: ("a time span", '"5s", "10min", "1h30m" or "3d"'),
    Days: ("a time span with its unit", '"14d"'),
    Size: ("a size with its unit", '"500M" or "40G"'),
    str: ("a text in quotes", '"…"'),
    bool: ("true or false, without quotes", "true"),
    int: ("a whole number", "4"),
    float: ("a number", "0.5"),
    tuple: ("a list of texts in quotes", '["…", "…"]'),
    dict: ("a table of texts in quotes", '{ "…" = "…" }'),
}


def close_to(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, as the end of a sentence; nothing when there is none."""
    found = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def expectation(kind: Any, key: str, value: Any, *, usual: Any = None) -> str:  # noqa: ANN401 - an annotation, values
    """What a key expects and how to write it, after a value that it cannot take. `usual` is an example."""
    plain, meta = plain_kind(kind)
    if get_origin(plain) is Literal:
        choices = [choice for choice in get_args(plain) if choice is not None]
        listed = ", ".join(show(choice) for choice in choices)
        return f"expected one of {listed}{close_to(str(value), map(str, choices))}"
    name = _KINDS.get(get_origin(plain) or plain, ("something else",))[0]
    if _has_lists(plain):
        name = "a table of lists of texts in quotes"
    if _has_numbers(plain):
        name = "a table of numbers"
    if _is_pair(plain):
        name, usual = "a list of two numbers", usual or (35.0, 70.0)
        return f"expected {name}; write {key} = [{', '.join(f'{one:g}' for one in usual)}]"
    example = show(usual) if plain in (int, float) and isinstance(usual, int | float) else written(kind)
    how = _mended(plain, value) or example
    return f"expected {name}{_range(meta)}; write {key} = {how}"


def written(kind: Any) -> str:  # noqa: ANN401 - an annotation
    """How a value of this kind is written."""
    plain, meta = plain_kind(kind)
    usual = _KINDS.get(get_origin(plain) or plain, ("", "…"))[1]
    return next((show(example) for example in (meta.examples if meta else None) or ()), usual)


def show(value: Any) -> str:  # noqa: ANN401 - a value from TOML
    """A value as TOML would have it, not too long."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = _as_toml(value)
    text = _PASSWORD.sub(r"\1\2…", text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _as_toml(value: Any) -> str:  # noqa: ANN401 - a value from TOML
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_as_toml(key)} = {_as_toml(each)}' for key, each in value.items())} }}"
    try:
        return msgspec.json.encode(value).decode()
    except TypeError:
        return repr(value)


def _is_pair(plain: Any) -> bool:  # noqa: ANN401 - an annotation
    """Whether it is a list of two numbers, and not one of any length."""
    return get_origin(plain) is tuple and len(get_args(plain)) == 2 and Ellipsis not in get_args(plain)  # noqa: PLR2004 - a pair


def _has_lists(plain: Any) -> bool:  # noqa: ANN401 - an annotation
    return get_origin(plain) is dict and get_origin(get_args(plain)[1]) is tuple


def _has_numbers(plain: Any) -> bool:  # noqa: ANN401 - an annotation
    return get_origin(plain) is dict and get_args(plain)[1] is float


def plain_kind(kind: Any) -> tuple[Any, Meta | None]:  # noqa: ANN401 - an annotation
    """An annotation without its optional part, and what is annotated about it."""
    meta = None
    while True:
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            meta = next((note for note in notes if isinstance(note, Meta)), meta)
        elif get_origin(kind) in (Union, types.UnionType):
            kind = next(part for part in get_args(kind) if part is not type(None))
        else:
            return kind, meta


def _range(meta: Meta | None) -> str:
    if meta is None or meta.ge is None:
        return ""
    return f" from {meta.ge:g} to {meta.le:g}" if meta.le is not None else f" of at least {meta.ge:g}"


def _as_text(value: Any) -> str:  # noqa: ANN401 - a value from TOML
    """A value as a text in quotes; of a list its only text, where it has one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list | dict):
        return '"…"'
    return show(value) if isinstance(value, str) else show(show(value))


def _with_number(value: dict[str, Any]) -> str | None:
    """A table's first text in quotes as the number that it probably is."""
    wrong = next(((key, each) for key, each in value.items() if is_number(each)), None)
    return wrong and f"{{ {show(wrong[0])} = {wrong[1].strip()} }}"


def _with_text(value: dict[str, Any]) -> str | None:
    """A table's first entry that is no text, as one."""
    wrong = next(((key, each) for key, each in value.items() if not isinstance(each, str)), None)
    return wrong and f"{{ {show(wrong[0])} = {_as_text(wrong[1])} }}"


def is_number(value: Any) -> bool:  # noqa: ANN401 - a value from TOML
    """Whether it is a text that holds a number alone, without a unit."""
    return isinstance(value, str) and re.fullmatch(r"\s*\d+(\.\d+)?\s*", value) is not None


def _mended(plain: Any, value: Any) -> str | None:  # noqa: ANN401 - an annotation, a value from TOML
    """The value as it was probably meant."""
    if get_origin(plain) is tuple and isinstance(value, str) and value.strip():
        return show([word for word in re.split(r"[,\s]+", value) if word])
    if _has_lists(plain) and isinstance(value, dict):
        single = next(((key, each) for key, each in value.items() if isinstance(each, str)), None)
        return single and show({single[0]: [word for word in re.split(r"[,\s]+", single[1]) if word]})
    if get_origin(plain) is dict and isinstance(value, dict):
        return _with_number(value) if _has_numbers(plain) else _with_text(value)
    return _mended_word(plain, str(value))


def _mended_word(plain: Any, word: str) -> str | None:  # noqa: ANN401 - an annotation
    """What is one word in TOML, as it was probably meant."""
    if plain is int and word.isdecimal():
        return word
    if plain is Days and is_number(word):
        return show(f"{word.strip()}d")
    if plain is bool and word.lower() in ("true", "yes", "on", "1", "false", "no", "off", "0"):
        return "true" if word.lower() in ("true", "yes", "on", "1") else "false"
    return None
