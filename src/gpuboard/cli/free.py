"""`gpuboard free`: where GPUs are free now, for people and scripts."""

import argparse
import os
import sys

import msgspec

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import CANNOT_TELL, DONE, FAILED
from gpuboard.client.board import DEFAULT_URL, BoardClient
from gpuboard.model.errors import UsageError
from gpuboard.model.units import format_size, parse_size
from gpuboard.wire.summary import FreeAnswer, FreeBlock

EPILOG = """Ends with 0 if there are enough, 1 if not, 3 if that cannot be told (no board, or GPUs that would
fit are on nodes that do not report).

  eval "$(gpuboard free -n 2 --memory 40G --same-node --format env)" && ssh "$GPUBOARD_NODE" …"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "-n", "--gpus", metavar="N", type=int, default=1, help="how many are wanted (default 1)"
    )
    parser.add_argument("--memory", metavar="SIZE", default="0", help="memory per GPU, like 40G")
    parser.add_argument("--model", metavar="NAME", help="part of the model's name, like a100")
    parser.add_argument("--same-node", action="store_true", help="all on one node")
    parser.add_argument("--format", choices=("table", "env", "json"), default="table", help="default table")
    add_board(parser)
    add_ca_file(parser)


def add_board(parser: argparse.ArgumentParser) -> None:
    """Declare which board is asked."""
    url = os.environ.get("GPUBOARD_BOARD", DEFAULT_URL)
    parser.add_argument(
        "--board", metavar="URL", default=url, help=f"the board (default {url}) [GPUBOARD_BOARD]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask the board, print the answer."""
    if arguments.gpus < 1:
        raise UsageError("-n: at least one GPU must be wanted")
    try:
        parse_size(arguments.memory)
    except ValueError as error:
        raise UsageError(f"--memory: {error}") from None
    # One process sees the devices of one node.
    on_one_node = arguments.same_node or arguments.format == "env"
    answer = BoardClient(arguments.board, ca_file=arguments.ca_file).free(
        gpus=arguments.gpus,
        memory=arguments.memory,
        model=arguments.model,
        same_node=on_one_node,
    )
    _print(answer, arguments.format)
    sys.stdout.flush()
    if answer.enough:
        return DONE
    print(f"gpuboard: {_why_not(answer, on_one_node=on_one_node)}", file=sys.stderr)
    return CANNOT_TELL if answer.cannot_tell else FAILED


def _print(answer: FreeAnswer, form: str) -> None:
    if form == "json":
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
    elif form == "table":
        for block in answer.blocks:
            print(_line(block))
    elif answer.enough:
        # The largest block comes first, so it is the one with enough.
        block = answer.blocks[0]
        print(f"GPUBOARD_NODE={block.node}")
        print(f"CUDA_VISIBLE_DEVICES={','.join(block.uuids[: answer.wanted])}")


def _line(block: FreeBlock) -> str:
    indexes = ",".join(str(index) for index in block.indexes)
    each = f"{block.model or 'unknown model'}, {format_size(block.memory_total_bytes)}"
    return f"{block.node}:{indexes}\t{len(block.indexes)} x {each}"


def _why_not(answer: FreeAnswer, *, on_one_node: bool) -> str:
    text = f"{answer.free} of {answer.wanted} wanted GPUs are free"
    if on_one_node:
        most = max((len(block.indexes) for block in answer.blocks), default=0)
        text = f"{answer.wanted} GPUs are wanted on one node, and at most {most} are free on one"
    if answer.cannot_tell:
        return f"{text}; {answer.cannot_tell} more would fit, but their nodes do not tell"
    return text
