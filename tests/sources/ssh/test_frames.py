"""Frames out of bytes, whatever the bytes."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuboard.model.errors import WireError
from gpuboard.sources.ssh.frames import MAX_NOISE_BETWEEN, MAX_NOISE_BYTES, Frame, Framer
from gpuboard.wire.report import MAX_REPORT_BYTES
from tests.mutations import anything

frames = st.builds(
    Frame,
    kind=st.sampled_from(["sample", "change", "host"]),
    sequence=st.integers(0, 10**9),
    body=st.binary(max_size=200).map(lambda data: data + b"\n"),
)


def as_bytes(frame: Frame) -> bytes:
    """A frame as a node sends it."""
    head = f"\ngpuboard 1 {frame.kind} {frame.sequence} {len(frame.body)}\n"
    return head.encode() + frame.body + f"gpuboard end {frame.sequence}\n".encode()


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The same bytes as a network may deliver them."""
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@given(st.lists(frames, max_size=4), st.lists(st.integers(0, 10_000), max_size=20))
def test_frames_survive_any_cutting(sent: list[Frame], cuts: list[int]) -> None:
    """All of them come out, in order, however the bytes arrive."""
    framer = Framer()
    data = b"".join(map(as_bytes, sent))
    found = [frame for piece in in_pieces(data, cuts) for frame in framer.feed(piece)]
    assert found == sent
    assert framer.broken == 0


@given(frames, frames, st.integers(1, 10_000))
def test_half_a_frame_is_none(first: Frame, second: Frame, cut: int) -> None:
    """One that was cut off is never taken for a whole one."""
    data = as_bytes(first)
    half = data[: 1 + cut % (len(data) - 1)]
    framer = Framer()
    found = framer.feed(half) if len(half) < len(data) else []
    assert found == []
    # Whatever follows, nothing is invented: only what was sent can come out.
    assert set(framer.feed(as_bytes(second))) <= {first, second}


SAMPLE = as_bytes(Frame(kind="sample", sequence=7, body=b"interval 5\nnvidia-smi 0\n<x>\n"))


@given(anything([SAMPLE * 2]))
@example(SAMPLE + b"A" * MAX_NOISE_BETWEEN + b"\n" + SAMPLE)
def test_nothing_breaks_the_framer(data: bytes) -> None:
    """Damage costs frames, never more; only a flood ends it."""
    framer = Framer()
    try:
        found = framer.feed(data)
    except WireError:
        assert len(data) > MAX_NOISE_BETWEEN
    else:
        assert all(len(frame.body) <= MAX_REPORT_BYTES for frame in found)


def test_what_a_login_prints_is_kept_for_the_message() -> None:
    """It may say why nothing else comes."""
    framer = Framer()
    assert framer.feed(b"This account is\ncurrently not available.\n") == []
    assert framer.noise == "This account is\ncurrently not available."


def test_what_the_node_is_doing() -> None:
    """The last word before it hangs says where."""
    framer = Framer()
    framer.feed(b"\ngpuboard doing df 12.34\n\ngpuboard doing nvidia-smi 12.35\n")
    assert framer.doing == "nvidia-smi"


FLOODS = {
    "lines": b"y\n" * 1000,
    "one endless line": b"x" * 1000,
    "nothing but ends of lines": b"\n" * 1000,
    "always about to do something": b"\ngpuboard doing nvidia-smi 12.34\n" * 100,
    "frames that are too long": b"gpuboard 1 sample 1 9999999\n" * 100,
    "frames that do not end": b"gpuboard 1 sample 1 3\n" * 100,
    "ends of frames that never began": b"gpuboard end 1\n" * 100,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("begun", [False, True])
def test_a_flood_is_cut(flood: bytes, begun: bool) -> None:  # noqa: FBT001 - a parameter of pytest's
    """Whatever it looks like, before the first sample and after it; and little is kept of it."""
    framer = Framer()
    if begun:
        framer.feed(as_bytes(Frame(kind="sample", sequence=1, body=b"\n")))
    with pytest.raises(WireError, match="no sample"):
        _drown(framer, flood, MAX_NOISE_BETWEEN if begun else MAX_NOISE_BYTES)
    assert len(framer.noise) <= 400


def _drown(framer: Framer, flood: bytes, allowed: int) -> None:
    for _ in range(2 + allowed // len(flood)):
        framer.feed(flood)


def test_a_frame_over_the_limit_is_none() -> None:
    """256 KiB are allowed."""
    framer = Framer()
    assert framer.feed(b"\ngpuboard 1 sample 1 %d\n" % (MAX_REPORT_BYTES + 1)) == []
    assert "gpuboard 1 sample" in framer.noise
