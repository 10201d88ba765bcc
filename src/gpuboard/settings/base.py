"""Checked values from TOML, for the board and for every part that owns options of its own."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, NewType, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from gpuboard.model.errors import SettingsError
from gpuboard.model.units import parse_duration, parse_size

Options = TypeVar("Options", bound=Struct)


# Names for the type checker only. The values are plain numbers: they end up in reports, which know no others.
# A time span that is written `5s`, `10min` or `1h30m`; in the program it is seconds.
Duration = NewType("Duration", float)
# A number of bytes that is written `500M` or `40G`.
Size = NewType("Size", int)

Port = Annotated[int, Meta(ge=1, le=65535)]


def read_options(kind: type[Options], values: Mapping[str, Any], *, where: str) -> Options:
    """Turn a TOML table into checked options.

    Raises:
        SettingsError: a key is unknown or a value is wrong; the text says which, where, and what is allowed.
    """
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise SettingsError(f"{where}: unknown key {unknown[0]!r}; known keys are {', '.join(sorted(known))}")
    try:
        return msgspec.convert(_with_numbers(kind, values), kind)
    except (msgspec.ValidationError, ValueError) as error:
        raise SettingsError(f"{where}: {error}") from None


def _with_numbers(kind: type[Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its time spans and sizes as plain numbers."""
    read = dict(values)
    for field, hint in get_type_hints(kind).items():
        for own in {hint, *get_args(hint)} & set(_READERS):
            if field in read:
                read[field] = _READERS[own](field, read[field])
    return read


def _read_duration(key: str, value: Any) -> float:  # noqa: ANN401 - whatever TOML has
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise ValueError(f"{key} = {value!r} is no duration; write it like 5s, 10min or 1h30m")


def _read_size(key: str, value: Any) -> int:  # noqa: ANN401 - whatever TOML has
    if isinstance(value, str):
        return parse_size(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{key} = {value!r} is no size; write it like 40G or 500M")


_READERS: Final[dict[Any, Callable[[str, Any], Any]]] = {Duration: _read_duration, Size: _read_size}
