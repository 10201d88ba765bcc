"""The quick look at the texts of a report misses none."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from gpuboard.model.report import (
    Address,
    Disk,
    GpuProcess,
    GpuReading,
    HostFacts,
    NodeReport,
    Problem,
)
from gpuboard.wire.report import check_report

TEXT: Final = "text"
Place = tuple[str | int, ...]


def _all_told(of: type[msgspec.Struct], /, **facts: Any) -> dict[str, Any]:  # noqa: ANN401 - any facts
    """Facts in which nothing is left out: texts where nothing else is said, and figures."""
    fields = msgspec.structs.fields(of)
    return {field.name: facts.get(field.name, TEXT if "str" in repr(field.type) else 1) for field in fields}


def _whole_report() -> dict[str, Any]:
    process = _all_told(GpuProcess, kind="both", state="running", children=(1,))
    flags = dict.fromkeys(
        ("uuid_is_synthetic", "memory_unified", "ecc_enabled", "persistence_mode", "mig_enabled"), True
    )
    gpu = _all_told(GpuReading, **flags, throttle_reasons=(TEXT,), processes=(process,))
    host = _all_told(HostFacts, disks=(_all_told(Disk),), addresses=(_all_told(Address),))
    problem = _all_told(Problem)
    told = _all_told(NodeReport, node="a", host=host, gpus=(gpu,), problems=(problem,))
    whole = msgspec.to_builtins(msgspec.convert(told, NodeReport))
    assert isinstance(whole, dict)
    return whole


def _places(facts: object, so_far: Place = ()) -> Iterator[Place]:
    """Where there are texts."""
    if isinstance(facts, dict):
        for name, each in facts.items():
            yield from _places(each, (*so_far, name))
    elif isinstance(facts, (list, tuple)):
        for number, each in enumerate(facts):
            yield from _places(each, (*so_far, number))
    elif facts == TEXT:
        yield so_far


def _replaced(facts: Any, place: Place, text: str) -> Any:  # noqa: ANN401 - any facts
    if not place:
        return text
    copy: Any = dict(facts) if isinstance(facts, dict) else list(facts)
    copy[place[0]] = _replaced(facts[place[0]], place[1:], text)
    return copy


@pytest.mark.parametrize("place", list(_places(_whole_report())), ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x7f", "\u202e"])
def test_no_text_of_a_report_is_overlooked(place: Place, hostile: str) -> None:
    """Wherever it stands: each is shown on somebody's terminal."""
    report = msgspec.convert(_replaced(_whole_report(), place, hostile), NodeReport)
    told = msgspec.json.decode(msgspec.json.encode(check_report(report)))
    assert all(text.isprintable() for text in _strings(told))


def test_a_report_of_plain_texts_is_taken_as_it_is() -> None:
    """Nothing is written anew that was well: the very same report."""
    report = msgspec.convert(_whole_report() | {"interval_seconds": 5.0}, NodeReport)
    plain = msgspec.structs.replace(report, gpus=(_card(report),))
    assert check_report(plain) is plain


def _card(report: NodeReport) -> GpuReading:
    assert report.gpus
    return msgspec.structs.replace(report.gpus[0], mig_parent_uuid=None)


def _strings(facts: object) -> Iterator[str]:
    if isinstance(facts, str):
        yield facts
    elif isinstance(facts, dict):
        yield from (text for each in facts.values() for text in _strings(each))
    elif isinstance(facts, list):
        yield from (text for each in facts for text in _strings(each))
