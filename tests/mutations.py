"""Damaged files: what a crash, a full disk, a race or an attacker makes of a valid one."""

import re
from collections.abc import Sequence

from hypothesis import strategies as st

_TOKEN = re.compile(rb"\w+|[^\w\s]")
_NASTY = (
    *(b"", b"0", b"-1", b"99999999999999999999999999", b"1e999", b"NaN", b"Infinity", b"null", b"{}", b"[]"),
    *(
        b'"',
        b"'",
        b",",
        b"\n",
        b"\x00",
        b"\x1b[31m",
        b"\xff\xfe",
        b"\xe2\x80\xae",
        b"\\ud800",
        b"%s",
        b"../..",
    ),
    *(b"[N/A]", b"[Unknown Error]", b"??", b"<", b"&", b"]]>", b"<!--", b"GPU is lost", b"A" * 5000),
)


@st.composite
def mutated(draw: st.DrawFn, samples: Sequence[bytes]) -> bytes:
    """One of the samples, damaged up to four times."""
    data = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from((_truncated, _spliced, _replaced, _repeated)))(draw, data, samples)
    return data


def anything(samples: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Damaged samples, and bytes that were never anything."""
    return st.one_of(mutated(samples), mutated(samples), st.binary(max_size=300))


def _place(draw: st.DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _truncated(draw: st.DrawFn, data: bytes, _samples: Sequence[bytes]) -> bytes:
    return data[: _place(draw, data)]


def _spliced(draw: st.DrawFn, data: bytes, samples: Sequence[bytes]) -> bytes:
    other = draw(st.sampled_from(samples))
    return data[: _place(draw, data)] + other[_place(draw, other) :]


def _replaced(draw: st.DrawFn, data: bytes, _samples: Sequence[bytes]) -> bytes:
    tokens = list(_TOKEN.finditer(data))
    if not tokens:
        return data
    token = tokens[draw(st.integers(0, len(tokens) - 1))]
    new = draw(st.one_of(st.sampled_from(_NASTY), st.binary(max_size=8)))
    return data[: token.start()] + new + data[token.end() :]


def _repeated(draw: st.DrawFn, data: bytes, _samples: Sequence[bytes]) -> bytes:
    start, end = sorted((_place(draw, data), _place(draw, data)))
    return data[:end] + data[start:end] + data[end:]
