"""Checked values from TOML, for the board and for every part that owns options of its own."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from gpuboard.model.errors import SettingsError
from gpuboard.model.units import parse_duration, parse_size
from gpuboard.settings.words import (
    Days,
    Duration,
    Size,
    close_to,
    expectation,
    is_number,
    plain_kind,
    show,
    written,
)

__all__ = ["Days", "Duration", "Options", "Port", "Rule", "Size", "between", "read_options"]

Options = TypeVar("Options", bound=Struct)

Port = Annotated[int, Meta(ge=1, le=65535)]
# Nobody means more; sums with it stay numbers.
LONGEST_SECONDS: Final = 10 * 366 * 86400


class Rule(Struct, frozen=True):
    """What else must hold for a setting; stands in its annotation."""

    # Raises ValueError, whose text says what is wrong and what to write instead.
    check: Callable[[Any], None]


def between(least: str, most: str) -> Rule:
    """The rule for a time span from `least` to `most`."""

    def check(value: float) -> None:
        if not parse_duration(least) <= value <= parse_duration(most):
            raise ValueError(f"must be from {least} to {most}")

    return Rule(check)


def read_options(kind: type[Options], values: Mapping[str, Any], *, where: str) -> Options:
    """Turn a TOML table into checked options.

    Raises:
        SettingsError: a key is unknown or a value is wrong; the text says which, where, and what is allowed.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in values:
        if key not in fields:
            raise SettingsError(f"{where}: unknown key {key!r}{close_to(key, fields)}; {_known(fields)}")
    read = {}
    for key, field in fields.items():
        if key in values:
            read[key] = _read(field, values[key], where)
        elif field.required:
            raise SettingsError(f"{where}: {key} is missing; write {key} = {written(field.type)}")
    try:
        return msgspec.convert(read, kind)
    except (msgspec.ValidationError, ValueError) as error:
        # What a part says itself about keys that do not go together.
        raise SettingsError(f"{where}: {error}") from None


def _read(field: msgspec.structs.FieldInfo, value: Any, where: str) -> Any:  # noqa: ANN401 - as TOML has it
    """A value as the program has it: time spans and sizes as plain numbers, for reports know no others."""
    kind, key = field.type, field.encode_name
    plain_type = plain_kind(kind)[0]
    if isinstance(plain_type, type) and issubclass(plain_type, Struct):
        return _read_table(plain_type, key, value, where)
    if (named := _named_tables(plain_type)) is not None:
        return _read_named(named, key, value, where)
    place = f"{where}: {key} = {show(value)}"
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{place}: {expectation(kind, key, value, usual=field.default)}")
    read_number = _NUMBERS.get(plain_kind(kind)[0])
    try:
        plain = value if read_number is None else read_number(value)
        read = msgspec.convert(plain, kind)
        for rule in _rules(kind):
            rule.check(read)
    except (msgspec.ValidationError, TypeError):
        raise SettingsError(f"{place}: {expectation(kind, key, value, usual=field.default)}") from None
    except (SettingsError, ValueError) as error:
        raise SettingsError(f"{place}: {error}") from None
    return plain


def _read_table(kind: type[Struct], key: str, value: Any, where: str) -> Any:  # noqa: ANN401 - as TOML has it
    """A table within a table, checked like any other."""
    place = f"{where.removesuffix(']')}.{key}]"
    if not isinstance(value, dict):
        raise SettingsError(f"{place}: write it on a line of its own, and its keys below")
    return msgspec.to_builtins(read_options(kind, value, where=place))


def _named_tables(plain_type: Any) -> type[Struct] | None:  # noqa: ANN401 - an annotation
    """The kind of the tables where a key has any number of them, each with a name."""
    inside = get_args(plain_type)[1] if get_origin(plain_type) is dict else None
    return inside if isinstance(inside, type) and issubclass(inside, Struct) else None


def _read_named(kind: type[Struct], key: str, value: Any, where: str) -> Any:  # noqa: ANN401 - as TOML has it
    place = f"{where.removesuffix(']')}.{key}]"
    if not isinstance(value, dict):
        raise SettingsError(f"{place}: write [{key}.NAME] on a line of its own, and its keys below")
    return {name: _read_table(kind, name, table, place) for name, table in value.items()}


def _rules(kind: Any) -> Iterator[Rule]:  # noqa: ANN401 - an annotation
    for part in get_args(kind):
        if isinstance(part, Rule):
            yield part
        else:
            yield from _rules(part)


def _known(fields: Iterable[str]) -> str:
    known = sorted(fields)
    return f"known keys are {', '.join(known)}" if known else "this table has no keys"


def _read_duration(value: Any) -> float:  # noqa: ANN401 - whatever TOML has
    seconds = parse_duration(value) if isinstance(value, str) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(value)
    if seconds < 0:
        raise ValueError("must not be less than nothing")
    if seconds > LONGEST_SECONDS:
        raise ValueError("is longer than anybody waits; ten years are the most")
    return float(seconds)


def _read_days(value: Any) -> float:  # noqa: ANN401 - whatever TOML has
    # Only nothing is the same in seconds and days.
    if isinstance(value, str) and not is_number(value):
        return _read_duration(value)
    if isinstance(value, bool) or value != 0:
        raise TypeError(value)
    return 0.0


def _read_size(value: Any) -> int:  # noqa: ANN401 - whatever TOML has
    # A number without its unit may be meant in bytes, M or G; only nothing is the same in all.
    if isinstance(value, str) and not is_number(value):
        return parse_size(value)
    plain = float(value) if isinstance(value, str) else value
    if isinstance(plain, bool) or plain != 0:
        raise TypeError(value)
    return 0


_NUMBERS: Final[dict[Any, Callable[[Any], float]]] = {
    Duration: _read_duration,
    Days: _read_days,
    Size: _read_size,
}
