"""What people evaluate in a shell runs nothing that a node, or a board, has written."""

import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from gpuboard.cli import free
from gpuboard.client.board import _free_answer
from gpuboard.model.report import GpuReading
from gpuboard.wire.ingest import Hello, Live, Sample, encode, encode_sample
from gpuboard.wire.summary import FreeAnswer, FreeBlock
from tests.board import RunningBoard
from tests.pushing import report_of, token_of, wait_until

GIB = 1024**3


def push(board: RunningBoard, node: str, *uuids: str) -> None:
    """Let a node report free GPUs under these names, until the board offers them."""
    gpus = tuple(
        GpuReading(
            uuid=uuid, index=index, model="Canary", memory_used_bytes=0, memory_total_bytes=80 * GIB,
            utilization_percent=0.0, processes=(),
        )
        for index, uuid in enumerate(uuids)
    )  # fmt: skip
    headers = {"authorization": f"Bearer {token_of(board, node)}", "content-type": "application/msgpack"}
    report = report_of(node)
    sequence = report.sequence or 0
    messages = [encode(Hello(node=node, boot_id="boot-1"))]
    for later in range(4):
        data = encode_sample(replace(report, gpus=gpus, sequence=sequence + later))
        sample = Sample(sequence=sequence + later, waited_seconds=0.0, report=msgspec.Raw(data))
        messages.append(encode(Live(sample=sample, follows=None)))
    for message in messages:
        answer = httpx.post(f"{board.url}api/v1/reports", headers=headers, content=message)
        assert answer.status_code == 200
    wished = {"model": "canary"}
    wait_until(lambda: httpx.get(f"{board.url}api/v1/free", params=wished).json()["enough"])


def test_a_nodes_uuid_is_not_run_by_the_recipe_of_the_help(push_board: RunningBoard, tmp_path: Path) -> None:
    """The names of the GPUs are commands; nothing comes of them."""
    made = tmp_path / "made"
    push(push_board, "canary-1", f"GPU-0;touch {made}", f"$(touch {made})", f"'`touch {made}`'")
    command = f"{sys.executable} -m gpuboard free --board {push_board.url} --model canary -n 3 --format env"
    recipe = f'eval "$({command})" && printf "%s %s" "$GPUBOARD_NODE" "$CUDA_VISIBLE_DEVICES"'
    done = subprocess.run(["sh", "-c", recipe], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, made.exists()) == ("canary-1 0,1,2", False), done.stderr


def test_a_boards_answer_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A board, too, may be another than one thinks."""
    made = tmp_path / "made"
    evil = f"x; touch {made} #"
    block = FreeBlock(
        node=evil,
        model=None,
        labels=("0",),
        just_freed=0,
        memory_total_bytes=None,
        indexes=(0,),
        uuids=(f"GPU-0\ntouch {made}",),
    )
    answer = FreeAnswer(
        at=0.0,
        wanted=1,
        free=1,
        cannot_tell=0,
        nodes_unknown=0,
        enough=True,
        could_be_enough=True,
        blocks=(block,),
    )
    free._print(answer, "env")
    script = capsys.readouterr().out + 'printf %s "$GPUBOARD_NODE"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, made.exists()) == (evil, False)


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "a b", "$(id)", "", "x" * 100])
def test_a_board_cannot_name_a_node_that_is_an_option_of_ssh(name: str) -> None:
    """The help's own recipe hands the name on to ssh; quoting does not help against a dash."""
    block = FreeBlock(
        node=name, model=None, labels=("0",), indexes=(0,), uuids=("GPU-1",), memory_total_bytes=None,
        just_freed=0,
    )  # fmt: skip
    told = {"at": 0.0, "enough": True, "wanted": 1, "free": 1, "cannot_tell": 0, "nodes_unknown": 0}
    body = msgspec.json.encode({**told, "could_be_enough": True, "blocks": [block]})
    with pytest.raises(msgspec.ValidationError):
        _free_answer(body)
