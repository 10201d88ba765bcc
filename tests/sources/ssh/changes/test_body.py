"""Bodies that are kept, and lines laid over them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.model.errors import WireError
from gpuboard.sources.ssh.changes import body as module
from gpuboard.sources.ssh.changes.body import Body
from gpuboard.sources.ssh.frames import Frame
from tests.mutations import anything
from tests.sources.ssh.changing import next_frame

WHOLE = b"interval 5\nload 1\nnvidia-smi 0\n<a>1</a>\n<b>2</b>\n"


def sample(body: bytes, sequence: int = 1) -> Frame:
    """A whole sample."""
    return Frame(kind="sample", sequence=sequence, body=body)


def change(body: bytes, sequence: int = 2) -> Frame:
    """What is new after the first."""
    return Frame(kind="change", sequence=sequence, body=body)


def begun() -> Body:
    """A body that has taken one sample."""
    body = Body()
    assert body.take(sample(WHOLE)) is None
    return body


def test_a_sample_is_ours_up_to_what_the_driver_printed() -> None:
    """Nothing behind that line is taken for ours."""
    body = begun()
    assert body.head == b"interval 5\nload 1\nnvidia-smi 0\n"
    assert body.document == b"<a>1</a>\n<b>2</b>\n"


def test_changes_are_counted_from_the_first_line() -> None:
    """Those of the document are handed on, counted from its own first line."""
    body = begun()
    assert body.take(change(b"2 load 9\n5 <b>7</b>\n")) == {1: "<b>7</b>"}
    assert body.head == b"interval 5\nload 9\nnvidia-smi 0\n"
    assert body.take(change(b"4 <a>8</a>\n", 3)) == {0: "<a>8</a>"}
    assert body.document == b"<a>8</a>\n<b>7</b>\n"
    assert body.take(change(b"", 4)) == {}


def test_when_the_driver_ends_in_another_way_all_is_new() -> None:
    """Then its document is no longer that of a driver that was well."""
    body = begun()
    assert body.take(change(b"3 nvidia-smi 9\n4 <a>3</a>\n")) is None
    assert (body.head[-13:], body.document) == (b"nvidia-smi 9\n", b"<a>3</a>\n<b>2</b>\n")
    assert body.take(change(b"1 nvidia-smi 0\n", 3)) is None
    assert body.head == b"nvidia-smi 0\n"


@pytest.mark.parametrize(
    "frame",
    [
        change(b"2 load 9\n", 3),
        change(b"2 load 9\n", 1),
        change(b"6 <c>\n"),
        change(b"0 load 9\n"),
        change(b"-1 load 9\n"),
        change(b"load 9\n"),
        change(b"2 load 9"),
        change(b"2 load 9\n\n"),
    ],
)
def test_changes_that_do_not_fit_are_refused(frame: Frame) -> None:
    """After one of them nothing is known for sure: only a whole sample helps."""
    body = begun()
    with pytest.raises(WireError, match="changes"):
        body.take(frame)
    with pytest.raises(WireError, match="did not come"):
        body.take(change(b"2 load 9\n"))
    assert body.take(sample(WHOLE, 7)) is None


def test_changes_without_a_sample_are_refused() -> None:
    """As when a session starts."""
    with pytest.raises(WireError, match="did not come"):
        Body().take(change(b"", 1))


def test_a_sample_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame has a limit; many of them laid over each other have the same."""
    monkeypatch.setattr(module, "MAX_REPORT_BYTES", 100)
    body = begun()
    body.take(change(b"2 %b\n" % (b"x" * 60)))
    with pytest.raises(WireError, match="longer than"):
        body.take(change(b"4 %b\n" % (b"x" * 60), 3))


lines = st.lists(
    st.sampled_from([b"a 1", b"a 2", b"nvidia-smi 0", b"nvidia-smi 1", b"<b>\xff</b>", b"\r", b"", b"7"]),
    max_size=6,
).map(lambda some: b"".join(line + b"\n" for line in some))


@given(st.lists(lines, min_size=2, max_size=6))
def test_changes_add_up_to_the_sample(bodies: list[bytes]) -> None:
    """Whatever came before, the body is as if it had come whole."""
    ours, before = Body(), None
    for sequence, now in enumerate(bodies):
        whole = Body()
        whole.take(sample(now))
        ours.take(sample(now, sequence) if before is None else next_frame(before, now, sequence))
        assert (ours.head, ours.document) == (whole.head, whole.document)
        before = now


@given(anything([b"2 load 9\n5 <b>7</b>\n", b"3 nvidia-smi 9\n"]))
def test_nothing_breaks_a_body(data: bytes) -> None:
    """It takes the changes, or refuses them."""
    body = begun()
    with contextlib.suppress(WireError):
        body.take(change(data))
    assert len(body.head + body.document) <= len(WHOLE) + len(data)
