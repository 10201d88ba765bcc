"""Numbers as few bytes: whatever they are, they come back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gpuboard.history.blocks import QUICK, SMALL, BlockError, pack, unpack, unpack_each
from gpuboard.history.figures import NOTHING

ANY = st.integers(-(2**31), 2**31 - 1) | st.just(NOTHING) | st.integers(-3, 3)
TABLES = arrays(np.int32, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=40), elements=ANY)


@given(rows=TABLES, level=st.sampled_from([QUICK, SMALL]))
def test_any_numbers_come_back(rows: np.ndarray[tuple[int, int], np.dtype[np.int32]], level: int) -> None:
    """The largest, the smallest and "cannot tell" beside each other: differences wrap around."""
    assert np.array_equal(unpack(pack(rows, level=level)), rows)


@given(rows=TABLES, data=st.data())
def test_some_rows_are_the_same_as_in_all(
    rows: np.ndarray[tuple[int, int], np.dtype[np.int32]], data: st.DataObject
) -> None:
    """Whoever wants one figure of many does not read the others, and gets no other."""
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5) if len(rows) else st.just([]))
    assert np.array_equal(unpack(pack(rows, level=QUICK), wanted), rows[wanted])


@given(
    tables=st.lists(arrays(np.int32, st.tuples(st.just(3), st.integers(0, 9)), elements=ANY), max_size=5)
    | st.lists(TABLES, max_size=3)
)
def test_many_at_once_are_the_same_as_one_by_one(
    tables: list[np.ndarray[tuple[int, int], np.dtype[np.int32]]],
) -> None:
    """Whether or not they have as many rows as each other."""
    found = list(unpack_each([pack(rows, level=SMALL) for rows in tables]))
    assert len(found) == len(tables)
    for one, rows in zip(found, tables, strict=True):
        assert one is not None
        assert np.array_equal(one, rows)


def test_a_damaged_block_among_many_harms_no_other() -> None:
    """One bad hour is a gap, not the end of the month."""
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    good = pack(rows, level=SMALL)
    first, second, third = unpack_each([good, good[:-1], good])
    assert second is None
    assert first is not None
    assert third is not None
    assert np.array_equal(first, rows)
    assert np.array_equal(third, rows)


@given(rows=TABLES, data=st.data())
def test_bytes_that_were_changed_are_no_block(
    rows: np.ndarray[tuple[int, int], np.dtype[np.int32]], data: st.DataObject
) -> None:
    """A bad disk gives an error or, where nothing depends on the byte, the same; never other numbers."""
    blob = bytearray(pack(rows, level=SMALL))
    # Not the first nine: how large it is stands in the row beside it too.
    place = data.draw(st.integers(9, len(blob) - 1)) if len(blob) > 9 else 0
    blob[place] ^= data.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(blob))
    except BlockError:
        return
    assert place >= 9
    assert np.array_equal(found, rows)


def test_a_block_that_claims_to_be_endless_is_none() -> None:
    """Whoever wrote that wants our memory."""
    with pytest.raises(BlockError):
        unpack(b"\x01\xff\xff\xff\x7f\xff\xff\xff\x7f")


def test_what_does_not_change_takes_next_to_nothing() -> None:
    """Most figures of most GPUs stand still for hours."""
    rows = np.repeat(np.arange(32, dtype=np.int32)[:, None] * 1000, 360, axis=1)
    assert len(pack(rows, level=SMALL)) < 150
