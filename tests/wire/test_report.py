"""What comes in over the border, and what does not."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.errors import WireError
from gpuboard.model.report import REPORT_VERSION, GpuProcess, GpuReading, NodeReport, Problem
from gpuboard.probes.simulated import simulate
from gpuboard.wire.clean import clean_facts, clean_text
from gpuboard.wire.report import MAX_REPORT_BYTES, Encoding, check_report, decode_report, encode_report


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_a_report_comes_back_as_it_was_sent(encoding: Encoding) -> None:
    """Both encodings carry every field."""
    report = simulate("dgx-01", 1_800_000_000.0)
    assert decode_report(encode_report(report, encoding), encoding) == report


def test_a_field_of_a_later_version_is_ignored() -> None:
    """A newer node may say more than we understand."""
    data = msgspec.json.encode(
        {"node": "a", "colour": "green", "gpus": [{"uuid": "x", "index": 0, "rays": 7}]}
    )
    assert decode_report(data).gpus == (GpuReading(uuid="x", index=0),)


def test_an_unreadable_version_says_what_to_do() -> None:
    """A version jump is a matter for the admin, in words."""
    data = msgspec.json.encode({"node": "a", "version": REPORT_VERSION + 1})
    with pytest.raises(WireError, match="install the same gpuboard version"):
        decode_report(data)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"node": "../etc"},
        {"node": "A"},
        {"node": "a\n"},
        {"node": "a" * 64},
        {"node": "a", "age_seconds": -1},
        {"node": "a", "age_seconds": 1e300},
        {"node": "a", "interval_seconds": 0},
        {"node": "a", "gpus": [{"uuid": "x", "index": -1}]},
        {"node": "a", "gpus": [{"uuid": "x", "index": 0, "memory_used_bytes": 2**63}]},
        {"node": "a", "gpus": [{"uuid": "x" * 300, "index": 0}]},
        {"node": "a", "gpus": [{"uuid": "x", "index": 0}, {"uuid": "x", "index": 1}]},
        {"node": "a", "gpus": [{"uuid": str(i), "index": i} for i in range(257)]},
        {"node": "a", "gpus": [{"uuid": "x", "index": 0, "processes": [{"pid": i} for i in range(513)]}]},
        {"node": "a", "gpus": "none"},
        {"node": "a", "problems": [{"kind": "x", "text": "y" * 5000, "remedy": ""}]},
        ["node", "a"],
    ],
)
def test_what_no_honest_node_sends_is_refused(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """Limits hold on every size, range and type."""
    with pytest.raises(WireError):
        decode_report(msgspec.json.encode(wrong))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    """Msgpack can carry NaN; nothing behind the border may meet it."""
    data = msgspec.msgpack.encode({"node": "a", "gpus": [{"uuid": "x", "index": 0, "power_watts": number}]})
    with pytest.raises(WireError):
        decode_report(data, "msgpack")


def test_an_oversized_report_is_refused_before_it_is_read() -> None:
    """Size is checked first."""
    with pytest.raises(WireError, match="at most"):
        decode_report(b" " * (MAX_REPORT_BYTES + 1))


def test_deep_nesting_is_refused() -> None:
    """A bomb of brackets is no report."""
    with pytest.raises(WireError):
        decode_report(b'{"node":"a","x":' + b"[" * 100_000)


def test_texts_that_would_move_a_cursor_are_escaped() -> None:
    """Control characters and bidi marks show, and do nothing."""
    gpu = GpuReading(uuid="x", index=0, model="A\x1b[31m\u202e", processes=(GpuProcess(pid=1, user="a\nb"),))
    read = decode_report(encode_report(NodeReport(node="a", gpus=(gpu,))))
    assert read.gpus is not None
    assert read.gpus[0].model == "A\\x1b[31m\\u202e"
    assert read.gpus[0].processes is not None
    assert read.gpus[0].processes[0].user == "a\\nb".replace("\\n", "\\x0a")


def test_text_that_cannot_even_be_encoded_is_escaped() -> None:
    """Undecodable bytes of a local process become lone surrogates."""
    report = check_report(NodeReport(node="a", gpus=(GpuReading(uuid="x", index=0, model="a\udcff"),)))
    assert report.gpus is not None
    assert report.gpus[0].model == "a\\udcff"


@pytest.mark.parametrize(
    "uuid", ["GPU-0;touch x", "$(id)", "", " ", "-rf", "a b", "a'b", "a\nb", "`id`", "GPU-0\n", "ü", "a=b"]
)
def test_a_uuid_that_a_shell_could_run_becomes_node_and_index(uuid: str) -> None:
    """People hand these names to shells; who refers to the GPU refers to it still."""
    card = GpuReading(uuid=uuid, index=3, mig_enabled=True)
    instance = GpuReading(uuid=f"{uuid};", index=1, mig_parent_uuid=uuid)
    problem = Problem(kind="hot", text="", remedy="", gpu_uuid=uuid)
    read = check_report(NodeReport(node="a", gpus=(card, instance), problems=(problem,)))
    assert read.gpus is not None
    assert [gpu.uuid for gpu in read.gpus] == ["a:3", "a:3/1"]
    assert [gpu.uuid_is_synthetic for gpu in read.gpus] == [True, True]
    assert (read.gpus[1].mig_parent_uuid, read.problems[0].gpu_uuid) == ("a:3", "a:3")


@pytest.mark.parametrize("uuid", ["GPU-8f2c", "MIG-GPU-8f2c/1/0", "gpu01:00000000:3B:00.0", "0000:3b:00.0"])
def test_a_uuid_as_drivers_write_it_stays(uuid: str) -> None:
    """The report is the very same."""
    report = NodeReport(node="a", gpus=(GpuReading(uuid=uuid, index=0),))
    assert check_report(report) is report


def test_a_name_of_no_gpu_of_the_report_is_left_out_unless_plain() -> None:
    """A problem stays, about the node; an instance stays, of an unknown card."""
    gpus = (GpuReading(uuid="x", index=0, mig_parent_uuid="$(id)"),)
    problems = tuple(Problem(kind="k", text="", remedy="", gpu_uuid=uuid) for uuid in ("$(id)", "GPU-9"))
    read = check_report(NodeReport(node="a", gpus=gpus, problems=problems))
    assert read.gpus is not None
    assert read.gpus[0].mig_parent_uuid is None
    assert [problem.gpu_uuid for problem in read.problems] == [None, "GPU-9"]


@pytest.mark.parametrize("blank", ["", " ", "   ", "\u3164", "\u2800\u2800", "\ufe0f", " \u0301"])
def test_a_name_that_nobody_can_see_is_unknown_and_its_uid_is_shown(blank: str) -> None:
    """No blank person and no blank model, on page, API or terminal."""
    gpu = GpuReading(uuid="x", index=0, model=blank, processes=(GpuProcess(pid=1, user=blank, uid=1234),))
    fleet = Fleet(SteadyClock())
    fleet.sink("push").report("a", decode_report(encode_report(NodeReport(node="a", gpus=(gpu,)))))
    fleet.settle()
    (seen,) = fleet_view(fleet).nodes[0].gpus
    assert seen.users is not None
    assert (seen.model, [(user.user, user.name) for user in seen.users]) == (None, [(None, "uid 1234")])


def test_a_name_of_control_or_zero_width_characters_shows_what_they_are() -> None:
    """As every text does that cannot be printed."""
    gpu = GpuReading(uuid="x", index=0, processes=(GpuProcess(pid=1, user="\u200b"),))
    read = check_report(NodeReport(node="a", gpus=(gpu,)))
    assert [process.user for gpu in read.gpus or () for process in gpu.processes or ()] == ["\\u200b"]


def test_ordinary_text_stays_as_it_is() -> None:
    """Names in any script are no danger."""
    assert clean_text("陳 müller <b>") == "陳 müller <b>"


@given(st.text())
def test_cleaned_text_can_always_be_printed(text: str) -> None:
    """Whatever comes in."""
    assert clean_text(text).isprintable()


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_quick_look_never_misses_what_must_be_cleaned(model: str, user: str) -> None:
    """It may send too much to the thorough way, never too little."""
    report = NodeReport(
        node="a",
        gpus=(GpuReading(uuid="x", index=0, model=model, processes=(GpuProcess(pid=1, user=user),)),),
    )
    assert check_report(report) == clean_facts(report)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused_in_words(data: bytes) -> None:
    """The only error out of the border is ours."""
    encodings: tuple[Encoding, ...] = ("json", "msgpack")
    for encoding in encodings:
        with pytest.raises(WireError):
            decode_report(data, encoding)


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_no_node_can_say_that_it_is_fresh_for_days(encoding: Encoding) -> None:
    """Three intervals make it late: a revoked or dead node must not stay live for three days."""
    report = NodeReport(node="a", interval_seconds=86_400.0)
    assert decode_report(encode_report(report, encoding), encoding).interval_seconds == 900.0
