"""Documents that say one thing twice: whichever is meant, neither is believed."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gpuboard.bookings.comments_json import parse_comments
from gpuboard.model.errors import WireError
from gpuboard.outside.answer import HttpAnswer
from gpuboard.sources.formats.gpustat_json import read_gpustat_json
from gpuboard.sources.formats.node_info import decode_node_info
from gpuboard.sources.pull.protocols import AgentProtocol
from gpuboard.wire.drop import decode_drop
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.report import decode_report
from tests.pushing import report_of

NODE = "gpu01"


def report() -> str:
    """An honest report."""
    return msgspec.json.encode(report_of(NODE)).decode()


def drop(inner: str, *, frame: str = "") -> bytes:
    """A drop around a report; its sums are right, for whoever wrote it can add."""
    raw = inner.encode()
    digest = hashlib.sha256(raw).hexdigest()
    return f'{{"gpuboard_drop":1,"length":{len(raw)},"sha256":"{digest}",{frame}"report":{inner}}}'.encode()


def read_answer(body: bytes) -> object:
    """Read what a node answers."""
    answer = HttpAnswer(status=200, headers={"content-type": "application/json"}, body=body)
    return AgentProtocol(NODE).read(answer)


GPUSTAT = {
    "hostname": "gpu01",
    "query_time": "2026-01-01T00:00:00+00:00",
    "gpus": [{"index": 0, "uuid": "GPU-1", "name": "A100", "memory.used": 1, "memory.total": 40000}],
}
COMMENTS = {"gpu01": {"0": {"name": "ana", "date": "2d", "comment": "x"}}}
OLD_NODE = {"hostname": "gpu01", "gpus": [{"uuid": "GPU-1", "name": "A100"}], "ips": {}}


def as_read(kind: str) -> Callable[[str], object]:
    """How a document of this kind is read."""
    readers: dict[str, Callable[[str], object]] = {
        "drop": lambda text: decode_drop(drop(text)),
        "answer": lambda text: read_answer(text.encode()),
        "gpustat": lambda text: read_gpustat_json(text.encode(), NODE),
        "old node": lambda text: decode_node_info(text.encode(), NODE),
        "comments": lambda text: parse_comments(text.encode(), 0.0),
    }
    return readers[kind]


HONEST: dict[str, str] = {
    "drop": report(),
    "answer": report(),
    "gpustat": json.dumps(GPUSTAT),
    "old node": json.dumps(OLD_NODE),
    "comments": json.dumps(COMMENTS),
}


def first(text: str, extra: str) -> str:
    """The document with something more in front."""
    return "{" + extra + "," + text[1:]


def last(text: str, extra: str) -> str:
    """The document with something more at its end."""
    return text[:-1] + "," + extra + "}"


def key_of(text: str) -> str:
    """A key that the document has already."""
    document: dict[str, Any] = json.loads(text)
    return next(iter(document))


# Each makes of an honest document one that says something twice; the key is one that it has.
TWICE: dict[str, Callable[[str, str], str]] = {
    "first": lambda text, key: first(text, f'"{key}":null'),
    "last": lambda text, key: last(text, f'"{key}":null'),
    "the same value": lambda text, key: last(text, f'"{key}":{json.dumps(json.loads(text)[key])}'),
    "escaped": lambda text, key: last(text, f'"\\u{ord(key[0]):04x}{key[1:]}":null'),
    "escaped in capitals": lambda text, key: first(text, f'"\\u{ord(key[0]):04X}{key[1:]}":1'),
    "three times": lambda text, key: last(last(text, f'"{key}":1'), f'"{key}":2'),
    "with blanks": lambda text, key: last(text, f'\n\t "{key}" \r\n : {{}} '),
    "unknown": lambda text, _: last(text, '"unheard_of":1,"unheard_of":2'),
    "empty": lambda text, _: last(text, '"":1,"":2'),
    "below an unknown key": lambda text, _: last(text, '"unheard_of":{"a":1,"a":2}'),
    "deep": lambda text, _: last(text, '"unheard_of":' + '{"x":[' * 50 + '{"a":1,"a":2}' + "]}" * 50),
    "invisible": lambda text, _: last(text, '"a\\u200b":1,"a\u200b":2'),
    "beside a number of many digits": lambda text, _: last(text, '"n":1.5e300,"m":{"a":1,"a":2}'),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("how", TWICE)
def test_a_key_that_stands_twice_is_refused_in_words(kind: str, how: str) -> None:
    """Wherever the document comes from, and however the key is spelled."""
    text = HONEST[kind]
    with pytest.raises(WireError) as refused:
        as_read(kind)(TWICE[how](text, key_of(text)))
    assert str(refused.value).isprintable()
    if how not in ("first", "last", "escaped in capitals", "three times", "with blanks", "escaped"):
        # The others also break a type, which may be seen before.
        assert "stands twice in one object" in str(refused.value)


@pytest.mark.parametrize("kind", HONEST)
def test_the_same_document_without_it_is_read(kind: str) -> None:
    """The same key in two objects is no repetition."""
    text = last(HONEST[kind], '"unheard_of":[{"a":1},{"a":2,"b":{"a":3}}]')
    assert as_read(kind)(text) is not None


@pytest.mark.parametrize("key", ["length", "sha256", "gpuboard_drop", "report", "more"])
def test_the_frame_of_a_drop_says_nothing_twice(key: str) -> None:
    """Its length and checksum are what makes the rest believable."""
    value = {"length": "1", "gpuboard_drop": "1", "report": report(), "more": '1,"more":2'}.get(key, '"0"')
    with pytest.raises(WireError, match="stands twice"):
        decode_drop(drop(report(), frame=f'"{key}":{value},'))


@pytest.mark.parametrize("text", ['{"a":1', "[" * 100_000, '{"a":"'])
def test_what_is_no_document_is_refused_too(text: str) -> None:
    """Nothing is let through because it could not be looked at."""
    with pytest.raises(WireError, match=r"not whole JSON|nested too deeply"):
        refuse_twice(text)


def test_a_long_key_does_not_make_a_long_message() -> None:
    """It ends up in a log and on the page."""
    key = "\x1b" * 100_000
    document = json.dumps({key: 1})
    with pytest.raises(WireError) as refused:
        refuse_twice(last(document, document[1:-1]))
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()


def packed(*pairs: tuple[str, object]) -> bytes:
    """A msgpack map in which a key may stand twice."""
    parts = [msgspec.msgpack.encode(part) for pair in pairs for part in pair]
    return bytes([0x80 + len(pairs)]) + b"".join(parts)


GOOD: tuple[tuple[str, object], ...] = (("node", NODE), ("version", 1), ("gpus", []))


def test_between_programs_the_last_counts() -> None:
    """A report is about its sender alone and has one reader, so that nobody is deceived."""
    assert decode_report(packed(("node", "other"), *GOOD), "msgpack").node == NODE


@pytest.mark.parametrize("last", [("gpus", [{"uuid": "GPU-1"}]), ("node", "../etc"), ("version", 99)])
def test_between_programs_what_counts_is_what_was_checked(last: tuple[str, object]) -> None:
    """Nothing slips past the checks behind a good value of the same name."""
    with pytest.raises(WireError):
        decode_report(packed(*GOOD, last), "msgpack")
