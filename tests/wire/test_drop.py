import hashlib
import json
from contextlib import suppress

import pytest
from hypothesis import given

from gpuboard.model.errors import WireError
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.wire.drop import decode_drop, encode_drop, is_drop
from tests.mutations import anything

REPORT = NodeReport(node="gpu1", age_seconds=0.5, gpus=(GpuReading(uuid="GPU-a", index=0, model="A100"),))
DROP = encode_drop(REPORT)


def test_a_drop_gives_back_the_report() -> None:
    """And says by its first key what it is."""
    assert decode_drop(DROP) == REPORT
    assert is_drop(DROP)
    assert not is_drop(b'{"gpus": []}')


def test_anyone_can_check_a_drop_with_ordinary_tools() -> None:
    """The frame is documented JSON: the length and checksum are those of the report's own bytes."""
    frame = json.loads(DROP)
    raw = DROP[DROP.index(b'"report":') + len(b'"report":') : DROP.rindex(b"}")]
    assert (frame["gpuboard_drop"], frame["length"]) == (1, len(raw))
    assert frame["sha256"] == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize("length", range(0, len(DROP) - 2, 7))
def test_no_part_of_a_drop_is_taken_for_a_whole_one(length: int) -> None:
    """A crash, a full disk and a slow network all leave the beginning of a file."""
    with pytest.raises(WireError):
        decode_drop(DROP[:length])


def test_a_changed_drop_is_refused() -> None:
    """One other digit is another report."""
    with pytest.raises(WireError, match="checksum"):
        decode_drop(DROP.replace(b'"age_seconds":0.5', b'"age_seconds":0.6'))
    with pytest.raises(WireError, match="half-written or changed"):
        decode_drop(DROP.replace(b'"A100"', b'"H100 80G"'))


def test_a_drop_of_another_version_says_what_to_do() -> None:
    """It is not broken, only newer."""
    with pytest.raises(WireError, match="same gpuboard version"):
        decode_drop(DROP.replace(b'"gpuboard_drop":1', b'"gpuboard_drop":9'))


def test_an_oversized_drop_is_refused_before_it_is_read() -> None:
    """Its size is all that needs to be known."""
    with pytest.raises(WireError, match="refused"):
        decode_drop(DROP + b" " * 300_000)


@given(anything((DROP,)))
def test_no_damage_breaks_the_reader_or_passes_it(data: bytes) -> None:
    """A damaged drop is an error of ours, or it was not damaged at all."""
    with suppress(WireError):
        assert decode_drop(data) == REPORT
