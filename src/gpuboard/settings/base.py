"""Checked values from TOML, for the board and for every part that owns options of its own."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from gpuboard.model.errors import SettingsError
from gpuboard.model.units import parse_duration, parse_size

Options = TypeVar("Options", bound=Struct)


class Duration(float):
    """A time span that is written `5s`, `10min` or `1h30m`; in the program it is seconds."""

    __slots__ = ()


class Size(int):
    """A number of bytes that is written `500M` or `40G`."""

    __slots__ = ()


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
        return msgspec.convert(values, kind, dec_hook=_read_own)
    except (msgspec.ValidationError, ValueError) as error:
        raise SettingsError(f"{where}: {error}") from None


def _read_own(kind: type, value: Any) -> Any:  # noqa: ANN401 - the decoder's own signature
    if kind is Duration:
        if isinstance(value, str):
            return Duration(parse_duration(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Duration(value)
    if kind is Size:
        if isinstance(value, str):
            return Size(parse_size(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return Size(value)
    raise ValueError(f"expected {kind.__name__.lower()}, got {value!r}")
