"""The Prometheus text format: families of samples, written once. A value that is unknown is left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Family(Struct, frozen=True, kw_only=True):
    """One metric with all its samples."""

    name: str
    help: str
    kind: Literal["gauge", "counter"] = "gauge"
    samples: Sequence[tuple[Mapping[str, str], float | None]]


def write(families: Iterable[Family]) -> str:
    """Write the families that have a sample."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    known = [(labels, value) for labels, value in family.samples if value is not None]
    if not known:
        return
    yield f"# HELP {family.name} {_escape(family.help, quotes=False)}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in known:
        inside = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{inside}}} {_number(value)}" if inside else f"{family.name} {_number(value)}"


def _escape(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
