"""Messages of agents, read in one go where they are good."""

from typing import Final

import msgspec
import pytest

from gpuboard.model.report import NodeReport
from gpuboard.wire.ingest import (
    Backfill,
    Hello,
    Live,
    Sample,
    decode_from_agent,
    decode_live,
    encode,
    encode_sample,
)
from gpuboard.wire.report import MAX_REPORT_BYTES

REPORT = NodeReport(node="dgx-01", sequence=7)


def sample(report: bytes) -> Sample:
    """A sample that carries this."""
    return Sample(sequence=7, waited_seconds=0.5, report=msgspec.Raw(report))


def live(report: bytes) -> bytes:
    """A live message that carries this."""
    return encode(Live(sample=sample(report), follows=6))


def test_a_good_live_message_is_read_with_its_report() -> None:
    """The same as in two steps."""
    message = decode_live(live(encode_sample(REPORT)))
    assert message is not None
    assert (message.follows, message.sample.waited_seconds, message.sample.report) == (6, 0.5, REPORT)


OTHERS: Final = {
    "wrong type": live(msgspec.msgpack.encode({"node": "dgx-01", "gpus": 3})),
    "bad name": live(msgspec.msgpack.encode({"node": "../etc"})),
    "too long": live(encode_sample(REPORT)) + b"\x00",
    "cut off": live(encode_sample(REPORT))[:-1],
    "no text": live(msgspec.msgpack.encode({"node": "dgx-01", "probe": b"\xff"})),
    "too large": live(msgspec.msgpack.encode({"node": "dgx-01", "unknown": "x" * MAX_REPORT_BYTES})),
    "hello": encode(Hello(node="dgx-01", boot_id="b")),
    "backfill": encode(Backfill(follows=6, samples=(sample(encode_sample(REPORT)),))),
    "nothing": b"",
}


@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS.keys())
def test_whatever_else_is_left_to_the_ordinary_way(data: bytes) -> None:
    """That one has the words for what is wrong."""
    assert decode_live(data) is None


def test_a_message_whose_report_is_bad_is_still_a_message() -> None:
    """So that its sample alone is refused, and the conversation goes on."""
    message = decode_from_agent(live(msgspec.msgpack.encode({"gpus": 3})))
    assert isinstance(message, Live)
