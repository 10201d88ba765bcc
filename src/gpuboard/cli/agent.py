"""`gpuboard agent`: sample this machine and hand the reports on."""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import msgspec

from gpuboard.agent.drop import DropOutlet, check_folder, write_drop
from gpuboard.agent.loop import run_agent
from gpuboard.agent.outlet import LinesOutlet, Outlet, PushOutlet, Sample
from gpuboard.assembly.agent import make_sampler
from gpuboard.cli.environment import add_setting, seconds
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import set_up_logging
from gpuboard.model.address import is_loopback, split_address
from gpuboard.model.errors import UsageError
from gpuboard.model.node import is_node_name, node_name_of
from gpuboard.wire.report import encode_report

DEFAULT_INTERVAL = "5s"
EPILOG = """Without --push, --listen or --drop it prints one report per line.
In a crontab: * * * * * /opt/gpuboard/bin/gpuboard agent --once --drop /nfs/status-gpu"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--once", action="store_true", help="take one sample and end")
    add_setting(parser, "--node", metavar="NAME", help="this node's name (default: its host name)")
    add_setting(
        parser,
        "--interval",
        metavar="TIME",
        help="time between samples (default 5s); with --once, how often it is run",
    )
    add_setting(parser, "--probe", metavar="NAME", help="read the devices this way and no other")
    add_setting(parser, "--drop", metavar="DIR", help="write DIR/NAME.json")
    add_setting(
        parser,
        "--listen",
        metavar="HOST:PORT",
        nargs="?",
        const="127.0.0.1:8043",
        help="answer GET /report, /metrics and /healthz (default 127.0.0.1:8043)",
    )
    add_setting(parser, "--push", metavar="URL", help="connect to a board and hand it every report")
    parser.add_argument(
        "--enroll", metavar="CODE", help="get a token for --push with a code of the board, then go on"
    )
    add_setting(parser, "--ca-file", metavar="FILE", help="the authority of the board's certificate")
    add_setting(
        parser,
        "--token-file",
        metavar="FILE",
        help="for --push the node's token; for --listen the token that askers must show, made if absent",
    )
    add_setting(parser, "--tls-certificate", metavar="FILE", help="certificate chain for --listen")
    add_setting(parser, "--tls-key", metavar="FILE", help="its private key, if not in the same file")
    parser.add_argument(
        "--allow-plaintext",
        action="store_true",
        help="listen beyond this machine without TLS: the token can be read",
    )
    parser.add_argument("--dcgm-names", action="store_true", help="add metrics under dcgm-exporter's names")
    parser.add_argument(
        "--with-arguments",
        action="store_true",
        help="also send command lines, with secrets taken out (default: program and script name only)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Sample once, or until told to stop."""
    set_up_logging()
    if arguments.push and arguments.listen:
        raise UsageError("--push and --listen do not go together: their tokens differ; run two agents")
    pusher = _push(arguments) if arguments.push else None
    # A token belongs to one name, whatever this machine calls itself.
    node = pusher.node if pusher is not None else arguments.node or node_name_of(socket.gethostname())
    if not is_node_name(node):
        raise UsageError(f"{node!r} cannot name a node; use a-z, 0-9, dot, dash and underscore, at most 63")
    interval = _interval(arguments)
    sampler = make_sampler(
        node=node,
        interval_seconds=interval,
        probe=arguments.probe,
        with_arguments=arguments.with_arguments,
    )
    if arguments.once:
        if arguments.drop:
            check_folder(Path(arguments.drop))
        report = sampler.sample()
        if arguments.interval is None:
            # Cron knows how often it comes; the board learns it.
            report = msgspec.structs.replace(report, interval_seconds=None)
        sample = Sample(report, time.monotonic())
        if arguments.drop:
            write_drop(Path(arguments.drop), node, sample)
        else:
            print(encode_report(sample.report).decode())
        return DONE
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    outlets = _outlets(arguments, node)
    run_agent(sampler.sample, [pusher, *outlets] if pusher else outlets, interval_seconds=interval, stop=stop)
    sampler.close()
    return DONE


def _interval(arguments: argparse.Namespace) -> float:
    # A real driver should not be asked more often.
    given = arguments.interval or DEFAULT_INTERVAL
    return seconds("--interval", given, least=0.1 if arguments.probe == "simulated" else 2.0)


def _outlets(arguments: argparse.Namespace, node: str) -> list[Outlet]:
    outlets: list[Outlet] = []
    if arguments.drop:
        outlets.append(DropOutlet(Path(arguments.drop), node))
    if arguments.listen:
        outlets.append(_listen(arguments))
    return outlets or ([] if arguments.push else [LinesOutlet()])


def _push(arguments: argparse.Namespace) -> PushOutlet:
    # Imported when needed: WebSocket and TLS cost an agent that drops files several megabytes.
    from gpuboard.agent.board_address import BoardAddress  # noqa: PLC0415
    from gpuboard.agent.node_token import enroll  # noqa: PLC0415
    from gpuboard.agent.push import Pusher  # noqa: PLC0415

    authority = Path(arguments.ca_file) if arguments.ca_file else None
    address = BoardAddress(arguments.push, ca_file=authority, allow_plaintext=arguments.allow_plaintext)
    token_file = Path(arguments.token_file) if arguments.token_file else default_token_file("node.token")
    if arguments.enroll:
        enroll(address, arguments.enroll, token_file)
    return PushOutlet(Pusher(address, token_file, interval_seconds=_interval(arguments)))


def _listen(arguments: argparse.Namespace) -> Outlet:
    # The HTTP server is a few megabytes that an agent which only drops files need not have.
    from gpuboard.agent.listen_token import read_or_create_token  # noqa: PLC0415
    from gpuboard.agent.serve import ListenOptions, ListenOutlet  # noqa: PLC0415

    host, port = split_address(arguments.listen)
    token_file = Path(arguments.token_file) if arguments.token_file else default_token_file()
    if not (arguments.tls_certificate or arguments.allow_plaintext or is_loopback(host)):
        raise UsageError(
            f"--listen {arguments.listen} without TLS would send the token in clear over the network; "
            "give --tls-certificate, or say --allow-plaintext if the network is yours alone"
        )
    print(f"gpuboard: token in {token_file}", file=sys.stderr)
    return ListenOutlet(
        ListenOptions(
            host=host,
            port=port,
            token=read_or_create_token(token_file),
            tls_certificate=arguments.tls_certificate,
            tls_key=arguments.tls_key,
            dcgm_names=arguments.dcgm_names,
        )
    )


def default_token_file(name: str = "agent.token") -> Path:
    """Where the token lies unless told: systemd's state directory, else the user's configuration."""
    state = os.environ.get("STATE_DIRECTORY")
    return Path(state) / name if state else Path.home() / ".config" / "gpuboard" / name
