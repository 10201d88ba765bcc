"""`gpuboard status`: one look at this machine, at others over ssh, or at a board."""

import argparse
import sys
import time

import msgspec

from gpuboard.cli.environment import seconds
from gpuboard.cli.looking import Seer, add_where, exit_code, make_seer, say_if_empty
from gpuboard.model.names import node_title
from gpuboard.model.problems import sentence_of
from gpuboard.wire.views import FleetView, NodeView


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV, a line per GPU")
    parser.add_argument(
        "-i", "--interval", metavar="TIME", nargs="?", const="2s", help="repeat every TIME (default 2s)"
    )
    parser.add_argument(
        "-p", "--processes", action="store_true", help="a line per process: pid, program, user, memory, since"
    )
    add_where(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look once, or again and again."""
    seer = make_seer(arguments)
    if arguments.interval is None:
        return _show(seer, seer.see(), arguments)
    pause = seconds("--interval", arguments.interval, least=0.5)
    while True:
        view = seer.see()
        if sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        _show(seer, view, arguments)
        time.sleep(pause)


def _show(seer: Seer, fleet: FleetView, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(fleet)).decode())
    elif arguments.csv:
        from gpuboard.export.csv import to_csv  # noqa: PLC0415 - only for this form

        print(to_csv(fleet), end="")
    else:
        _print_table(fleet, with_processes=arguments.processes)
    sys.stdout.flush()
    seer.say_unread()
    seer.say_left_out()
    say_if_empty(fleet, arguments)
    _say_if_hidden(fleet)
    return exit_code(fleet, arguments)


def _say_if_hidden(fleet: FleetView) -> None:
    """Say where it stands in full why nodes cannot be read, where a board tells it in general words only."""
    if fleet.tier != "names" and any(node.state in ("error", "refused") for node in fleet.nodes):
        print(
            "gpuboard: why nodes cannot be read is told in general words here; the board's log says it all, "
            'and so has status where [access] anonymous = "names"',
            file=sys.stderr,
        )


def _print_table(fleet: FleetView, *, with_processes: bool) -> None:
    gpus = [gpu for node in fleet.nodes for gpu in node.gpus]
    if not gpus:
        for node in fleet.nodes:
            print(f"gpuboard: {_why_none(node)}", file=sys.stderr)
        return
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second that the other forms need not pay

    from gpuboard.terminal.table import print_fleet  # noqa: PLC0415 - the same

    width = None if sys.stdout.isatty() else 140
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=width)
    print_fleet(console, fleet, with_processes=with_processes)


def _why_none(node: NodeView) -> str:
    """The one helpful line for a machine on which no GPU can be shown."""
    name = node_title(node.name, node.display_name)
    if node.state != "live" and node.reason is not None:
        remedies = [problem.remedy for problem in node.problems[:1]]
        return "; ".join([f"{name} cannot be read: {node.reason.text}", *remedies])
    if node.problems:
        problem = node.problems[0]
        return f"no GPU can be read on {name}: {sentence_of(problem)}; {problem.remedy}"
    if not node.gpus_known:
        return f"the GPUs of {name} are not known yet"
    return f"{name} has no GPU. To see other machines: gpuboard status HOST …, or gpuboard status --demo"
