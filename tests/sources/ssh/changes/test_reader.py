"""Documents of one node in turn: read by their changes, they say what they say when read whole."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.model.errors import ProbeError
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.sources.ssh.changes import reader
from gpuboard.sources.ssh.changes.places import LinePlaces, find_places
from gpuboard.sources.ssh.changes.reader import DocumentReader
from tests.mutations import mutated
from tests.probes.nvidia_smi.logs import BUSY, MIG, NEW, OLD, log, mig_device, new_gpu, process

_TWICE = process(77, "python", memory="5 MiB") + process(77, "python", kind="G", memory="9 MiB")
_INSTANCES = mig_device(0, 2) + mig_device(1, 2) + mig_device(2, 9, uuid="<uuid>MIG-a</uuid>")
_ON_INSTANCES = process(1, "a", instance="9") + process(2, "b", instance="2") + process(3, "c")
_OLD_AND_NEW_REASONS = """<clocks_throttle_reasons>
<clocks_throttle_reason_sw_power_cap>Not Active</clocks_throttle_reason_sw_power_cap>
</clocks_throttle_reasons>
"""
DOCUMENTS = (
    NEW,
    OLD,
    MIG,
    log(
        new_gpu(0, inside=f"<processes>{_TWICE}\n</processes>"),
        new_gpu(1, inside="<processes>N/A</processes>"),
    ),
    log(new_gpu(0, mig=_INSTANCES, inside=f"<processes>{_ON_INSTANCES}\n</processes>"), new_gpu(1)),
    log(new_gpu(0, inside=f"{BUSY}\n<processes>\n{process(5, 'x<y>&z')}\n</processes>")),
    log(new_gpu(0).replace("<fan_speed>", _OLD_AND_NEW_REASONS + "<fan_speed>")),
    log(new_gpu(0).replace("<ecc_mode>", "<fan_speed>30 %</fan_speed>\n<ecc_mode>")),
    log(f"<!--\n{new_gpu(0)}-->\n", new_gpu(1), "<![CDATA[\n<fan_speed>3 %</fan_speed>\n]]>"),
    log(),
    b"Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error\n" + NEW,
    NEW + NEW,
)
_LEAF = re.compile(rb">([^<>\n]*)</")
_FIGURE = re.compile(rb">((?:Not )?Active|(?:[\d.]+(?= (?:%|C|W|MHz|MiB)<)))")
_STATES = (b"Active", b"Not Active")
_TEXTS = (
    *(b"0", b"7", b"98 %", b"04 %", b"12.5 W", b"900 MiB", b"77", b"900", b"-5 C", b" 3 ", b"5 KiB", b"1e3"),
    *(b"99999999999999999999", b"200000 W", b"2000 %", b"x" * 70, b"x" * 300, b"P0", b"P8", b"--", b"?"),
    *(b"", b"N/A", b"[N/A]", b"ERR!", b"[Unknown Error]", b"None", b"GPU is lost", b"[GPU requires reset]"),
    *(b"Insufficient Permissions", b"Requested functionality has been deprecated", b"Enabled", b"Disabled"),
    *(b"Yes", b"Active", b"Not Active", b"active", b"C", b"G", b"C+G", b"&", b"&#53;", b"&amp;"),
    *(b"\xc3\xa9", b"\xff", b"\x1b[2J", b"\r", b"\x00", b"\x0b", b"</used_memory><used_memory>7 MiB"),
)


@st.composite
def turns(draw: st.DrawFn) -> list[bytes]:
    """Documents of one node: mostly figures change, now and then whole lines or all of it."""
    data = draw(st.sampled_from(DOCUMENTS))
    found = [data]
    for _ in range(draw(st.integers(1, 6))):
        for _ in range(draw(st.integers(0, 8))):
            data = _with_figure(draw, data)
        if draw(st.integers(0, 2)) == 2:
            data = _with_text(draw, data)
        if draw(st.integers(0, 5)) == 5:
            data = draw(st.sampled_from((_without_line, _with_line_twice, _damaged)))(draw, data)
        found.append(data)
    return found


def _with_figure(draw: st.DrawFn, data: bytes) -> bytes:
    """Another figure of the same kind, or another state: this alone needs no whole reading."""
    figures = [*_FIGURE.finditer(data)]
    if not figures:
        return data
    figure = figures[draw(st.integers(0, len(figures) - 1))]
    new = draw(st.sampled_from(_STATES if figure[1][-1:] == b"e" else (b"0", b"8", b"17", b"90.5")))
    return data[: figure.start(1)] + new + data[figure.end(1) :]


def _with_text(draw: st.DrawFn, data: bytes) -> bytes:
    leaves = [*_LEAF.finditer(data)]
    if not leaves:
        return data
    leaf = leaves[draw(st.integers(0, len(leaves) - 1))]
    return data[: leaf.start(1)] + draw(st.sampled_from(_TEXTS)) + data[leaf.end(1) :]


def _without_line(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    del lines[draw(st.integers(0, len(lines) - 1))]
    return b"\n".join(lines)


def _with_line_twice(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    return b"\n".join([*lines[: at + 1], *lines[at:]])


def _damaged(draw: st.DrawFn, data: bytes) -> bytes:
    return draw(mutated([data, *DOCUMENTS]))


def outcome(read: DocumentReader | None, data: bytes) -> Devices | str:
    """What a document says, or why it says nothing."""
    try:
        return parse_xml(data, node="gpu01") if read is None else read.read(data)
    except ProbeError as error:
        return repr(error.problem)


@given(turns())
def test_reading_changes_says_what_reading_all_says(documents: Sequence[bytes]) -> None:
    """Whatever changes, and in whichever order."""
    ours = DocumentReader("gpu01")
    for data in documents:
        assert outcome(ours, data) == outcome(None, data)


@pytest.fixture
def read_whole(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The documents that were read whole."""
    found: list[bytes] = []

    def noting(data: bytes, *, node: str) -> Devices:
        found.append(data)
        return parse_xml(data, node=node)

    monkeypatch.setattr(reader, "parse_xml", noting)
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("98 %", "7 %"),
        ("53 C", "54 C"),
        ("433.78 W", "90.10 W"),
        ("447.35 W", "91.00 W"),
        ("<graphics_clock>1980", "<graphics_clock>210"),
        ("11125 MiB", "7500 MiB"),
        ("7484 MiB", "7000 MiB"),
        (">P0<", ">P8<"),
        ("sw_power_cap>Active", "sw_power_cap>Not Active"),
        ("Sat Mar  7 10:00:00", "Sat Mar  7 10:00:05"),
        ("1 MiB", "2 MiB"),
    ],
)
def test_a_figure_alone_is_read_alone(read_whole: list[bytes], old: str, new: str) -> None:
    """Of thousands of lines, one."""
    ours, later = DocumentReader(), NEW.replace(old.encode(), new.encode())
    assert later != NEW
    for data in (NEW, later, NEW):
        assert ours.read(data) == parse_xml(data)
    assert read_whole == [NEW]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("98 %", "N/A"),
        ("447.35 W", "[Unknown Error]"),
        ("81559 MiB", "81560 MiB"),
        ("<sram_correctable>1<", "<sram_correctable>2<"),
        ("<pid>900<", "<pid>901<"),
        ("python3", "python4"),
        ("GPU-00000000", "GPU-99999999"),
        ("590.44.01", "590.44.02"),
        ("<fan_speed>N/A<", "<fan_speed>30 %<"),
    ],
)
def test_what_may_mean_more_is_read_whole(read_whole: list[bytes], old: str, new: str) -> None:
    """A silence is a problem to name, and what is no figure may change all others."""
    ours, later = DocumentReader(), NEW.replace(old.encode(), new.encode())
    assert later != NEW
    for data in (NEW, later):
        assert ours.read(data) == parse_xml(data)
    assert read_whole == [NEW, later]


def test_a_node_that_always_changes_more_is_looked_at_closely_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looking closely takes as long as reading whole: it should not be done in vain each time."""
    looks: list[bytes] = []

    def noting(data: bytes, devices: Devices) -> LinePlaces | None:
        looks.append(data)
        return find_places(data, devices)

    monkeypatch.setattr(reader, "find_places", noting)
    ours = DocumentReader()
    for number in range(200):
        ours.read(NEW.replace(b"<sram_correctable>1<", f"<sram_correctable>{number}<".encode()))
    assert 5 < len(looks) < 15


def test_documents_that_no_node_writes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The board has memory for thousands of nodes, not for what one of them sends too much."""
    monkeypatch.setattr(reader, "_LONGEST", len(NEW) - 1)
    ours = DocumentReader()
    ours.read(NEW)
    assert ours._last is None
