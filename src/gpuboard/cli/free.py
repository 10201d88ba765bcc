"""`gpuboard free`: where GPUs are free now, for people and scripts."""

import argparse
import re
import sys
from typing import Final

import msgspec

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import CANNOT_TELL, DONE, FAILED
from gpuboard.cli.for_eval import run_for_eval, set_variable
from gpuboard.cli.moments import show_moment
from gpuboard.cli.which_board import add_asked, asked_board
from gpuboard.client.board import BoardClient
from gpuboard.model.errors import UsageError
from gpuboard.model.names import NUMBERS_PER_VENDOR, device_uuid
from gpuboard.model.units import format_size, parse_size
from gpuboard.wire.summary import MOST_GPUS, FreeAnswer, FreeBlock

EPILOG = """The best fit stands first: the smallest block of one node that suffices; what was just freed last.

Ends with 0 if there are enough, 1 if not, 3 if that cannot be told (no board, or GPUs that would
fit are on nodes that do not report, or may be booked because the bookings cannot be read).

  eval "$(gpuboard free -n 2 --memory 40G --same-node --format env)" && ssh "$GPUBOARD_NODE" …"""

_is_cuda_uuid: Final = re.compile(r"(?:GPU|MIG)-[A-Za-z0-9/-]+").fullmatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "-n", "--gpus", metavar="N", type=int, default=1, help="how many are wanted (default 1)"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", default="0", help="size of each GPU, as on its box, like 40G (or 40)"
    )
    parser.add_argument("--model", metavar="NAME", help="part of the model's name, like a100")
    parser.add_argument("--group", metavar="NAME", help="only on nodes of this group of the board")
    parser.add_argument("--same-node", action="store_true", help="all on one node")
    parser.add_argument(
        "--format",
        choices=("table", "env", "json"),
        default="table",
        help="default table; env: exports for the eval of a shell",
    )
    add_asked(parser)
    add_ca_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask the board, print the answer; one that is not 0 lets an `eval` of it fail."""
    if arguments.format == "env":
        return run_for_eval(lambda: _run(arguments))
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.gpus < 1:
        raise UsageError("-n: at least one GPU must be wanted")
    if arguments.gpus > MOST_GPUS:
        raise UsageError(f"-n: at most {MOST_GPUS} GPUs can be wanted at once")
    try:
        parse_size(arguments.memory)
    except ValueError as error:
        raise UsageError(f"--memory: {error}") from None
    # One process sees the devices of one node.
    on_one_node = arguments.same_node or arguments.format == "env"
    answer = BoardClient(asked_board(arguments), ca_file=arguments.ca_file).free(
        gpus=arguments.gpus,
        memory=arguments.memory,
        model=arguments.model,
        same_node=on_one_node,
        group=arguments.group,
    )
    is_told = _print(answer, arguments.format)
    sys.stdout.flush()
    if answer.enough and not is_told:
        print(f"gpuboard: {_why_unnamed(answer)}", file=sys.stderr)
        return CANNOT_TELL
    if answer.enough:
        return DONE
    print(f"gpuboard: {_why_not(answer)}", file=sys.stderr)
    return CANNOT_TELL if answer.could_be_enough else FAILED


def _print(answer: FreeAnswer, form: str) -> bool:
    """Print the answer; False: there is one, but it cannot be said in this form."""
    if form == "json":
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
    elif form == "table":
        for block in answer.blocks:
            print(_line(block))
    elif answer.enough:
        return _print_environment(answer)
    return True


def _print_environment(answer: FreeAnswer) -> bool:
    # Blocks of GPUs that were just freed come last, however large they are.
    for block in answer.blocks:
        by_uuid, by_number = _cuda_uuids(block), _cuda_numbers(block)
        # CUDA takes one kind only, never a mix.
        devices = by_uuid if len(by_uuid) >= answer.wanted else by_number
        if len(devices) < answer.wanted:
            continue
        set_variable("GPUBOARD_NODE", block.node)
        if devices is by_number:
            # Otherwise CUDA numbers the fastest first, not as the driver does.
            set_variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        set_variable("CUDA_VISIBLE_DEVICES", ",".join(devices[: answer.wanted]))
        return True
    return False


def _cuda_uuids(block: FreeBlock) -> list[str]:
    """The GPUs that CUDA knows by name; one without a UUID is called `node:index` here."""
    return [uuid for uuid in map(device_uuid, block.uuids) if _is_cuda_uuid(uuid)]


def _cuda_numbers(block: FreeBlock) -> list[str]:
    """The GPUs that CUDA knows by number: whole ones, and not those of another vendor beside NVIDIA's.

    None while a card is missing: CUDA counts only those that are there, so the others' numbers are lower.
    """
    if not block.numbers_known:
        return []
    return [
        label
        for label in block.labels
        if label.isascii() and label.isdigit() and int(label) < NUMBERS_PER_VENDOR
    ]


def _line(block: FreeBlock) -> str:
    each = f"{block.model or 'unknown model'}, {format_size(block.memory_total_bytes)}"
    fresh = f", {block.just_freed} just freed" if block.just_freed else ""
    booked = "" if block.free_until is None else f", booked from {show_moment(block.free_until)}"
    # Scripts and ssh go by the node's own name, so that stands first and alone.
    called = f", on {block.display_name}" if block.display_name else ""
    return f"{block.node}:{','.join(block.labels)}\t{len(block.labels)} x {each}{booked}{fresh}{called}"


def _why_unnamed(answer: FreeAnswer) -> str:
    moved = [block.node for block in answer.blocks if not block.numbers_known]
    text = "there are enough, but neither UUIDs nor numbers name them to CUDA"
    if not moved:
        return text
    return f"{text}: a GPU of {moved[0]} is missing, so that CUDA numbers the others anew; see its problems"


def _why_not(answer: FreeAnswer) -> str:
    free, wanted = answer.free, answer.wanted
    if free >= wanted:
        best = max(len(block.uuids) for block in answer.blocks)
        text = f"{free} GPUs are free, but at most {best} of one model on one node; {wanted} are wanted"
    else:
        text = f"{free} fitting {'GPU is' if free == 1 else 'GPUs are'} free, {wanted} wanted"
    silent = answer.cannot_tell - answer.bookings_unread
    if silent:
        text = f"{text}; {silent} more would fit, but their nodes do not tell"
    if answer.bookings_unread:
        text = f"{text}; {answer.bookings_unread} more would fit, but the bookings cannot be read"
    if answer.nodes_unknown:
        nodes = "node was" if answer.nodes_unknown == 1 else "nodes were"
        text = f"{text}; {answer.nodes_unknown} {nodes} never read or cannot be read now, and may have any"
    if answer.sources_unknown:
        text = f"{text}; the board has just started or cannot read its lists, so not all nodes are known yet"
    if answer.fits_from is not None:
        where = f" on {answer.fits_on}" if answer.fits_on else ""
        text = f"{text}; bookings that end leave enough{where} from {show_moment(answer.fits_from)}"
    return text
