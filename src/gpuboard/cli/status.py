"""`gpuboard status`: one look at this machine."""

import argparse
import socket
import sys
import time
from collections.abc import Callable

import msgspec

from gpuboard.cli.environment import seconds
from gpuboard.cli.exits import CANNOT_TELL, DONE
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.node import node_name_of
from gpuboard.model.report import NodeReport
from gpuboard.wire.report import check_report
from gpuboard.wire.views import FleetView, NodeView

Look = Callable[[], NodeReport]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV, a line per GPU")
    parser.add_argument(
        "-i", "--interval", metavar="TIME", nargs="?", const="2s", help="repeat every TIME (default 2s)"
    )
    parser.add_argument("--demo", action="store_true", help="show a simulated machine")
    parser.add_argument("--probe", metavar="NAME", help="read the devices this way and no other")


def run(arguments: argparse.Namespace) -> int:
    """Look once, or again and again."""
    look = _look_at(arguments)
    if arguments.interval is None:
        return _show(_see(look()), arguments)
    return _repeat(look, arguments)


def _look_at(arguments: argparse.Namespace) -> Look:
    if arguments.demo:
        from gpuboard.probes.simulated import simulate  # noqa: PLC0415 - only for the demo

        return lambda: simulate("vision-01", time.time())
    from gpuboard.assembly.agent import this_machine  # noqa: PLC0415 - loads the driver's library

    return this_machine(node=node_name_of(socket.gethostname()), probe=arguments.probe)


def _see(report: NodeReport) -> FleetView:
    fleet = Fleet(SteadyClock())
    fleet.sink("local").report(report.node, check_report(report))
    fleet.settle()
    return fleet_view(fleet)


def _repeat(look: Look, arguments: argparse.Namespace) -> int:
    pause = seconds("--interval", arguments.interval, least=0.5)
    fleet = Fleet(SteadyClock())
    sink = fleet.sink("local")
    while True:
        report = look()
        sink.report(report.node, check_report(report))
        fleet.settle()
        if sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        _show(fleet_view(fleet), arguments)
        time.sleep(pause)


def _show(fleet: FleetView, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(fleet)).decode())
    elif arguments.csv:
        from gpuboard.export.csv import to_csv  # noqa: PLC0415 - only for this form

        print(to_csv(fleet), end="")
    else:
        _print_table(fleet)
    sys.stdout.flush()
    return DONE if any(node.gpus for node in fleet.nodes) else CANNOT_TELL


def _print_table(fleet: FleetView) -> None:
    gpus = [gpu for node in fleet.nodes for gpu in node.gpus]
    if not gpus:
        for node in fleet.nodes:
            print(f"gpuboard: {_why_none(node)}", file=sys.stderr)
        return
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second that the other forms need not pay

    from gpuboard.terminal.table import print_fleet  # noqa: PLC0415 - the same

    width = None if sys.stdout.isatty() else 140
    print_fleet(Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=width), fleet)


def _why_none(node: NodeView) -> str:
    """The one helpful line for a machine on which no GPU can be shown."""
    if node.problems:
        problem = node.problems[0]
        return f"no GPU can be read on {node.name}: {problem.text}; {problem.remedy}"
    return f"{node.name} has no GPU. To see other machines: gpuboard status HOST …, or gpuboard status --demo"
