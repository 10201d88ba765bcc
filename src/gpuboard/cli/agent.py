"""`gpuboard agent`: sample this machine and hand the reports on."""

import argparse
import logging
import signal
import threading
from pathlib import Path
from typing import Final

from gpuboard.assembly.agent import Agent, AgentOptions, has_token
from gpuboard.cli import enroll
from gpuboard.cli.environment import add_ca_file, add_setting, add_switch, seconds
from gpuboard.cli.exits import DONE
from gpuboard.cli.logs import set_up_logging
from gpuboard.model.errors import UsageError
from gpuboard.model.report import LONGEST_INTERVAL_SECONDS
from gpuboard.probes.registry import PROBE_NAMES
from gpuboard.wire.report import encode_report

EPILOG = """Without --push, --listen or --drop it prints one report per line.
In a crontab: * * * * * /opt/gpuboard/bin/gpuboard agent --once --drop /nfs/status-gpu
To let this node push: gpuboard agent enroll URL, once; then gpuboard agent --push URL"""

# A real driver should not be asked more often.
LEAST_SECONDS: Final = 2.0
LEAST_SIMULATED_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


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
    add_setting(parser, "--probe", metavar="NAME", help=f"read the devices by this alone: {PROBE_NAMES}")
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
    # What it was once; units may still have it.
    parser.add_argument("--enroll", metavar="CODE", help=argparse.SUPPRESS)
    add_ca_file(parser)
    add_setting(
        parser,
        "--token-file",
        metavar="FILE",
        help="for --push and --drop the node's token; for --listen the one that askers show, made if absent",
    )
    add_setting(parser, "--tls-certificate", metavar="FILE", help="certificate chain for --listen")
    add_setting(parser, "--tls-key", metavar="FILE", help="its private key, if not in the same file")
    add_switch(
        parser,
        "--allow-plaintext",
        help="push or listen beyond this machine without TLS: the token can be read on the way",
    )
    parser.add_argument(
        "--socket",
        metavar="PATH",
        help="with --push, where people of this node sign in (default: agent.sock in systemd's runtime "
        "directory, else in $XDG_RUNTIME_DIR/gpuboard)",
    )
    add_switch(parser, "--dcgm-names", help="add metrics under dcgm-exporter's names")
    add_switch(
        parser,
        "--with-arguments",
        help="also send command lines, with secrets taken out (default: program and script name only)",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    enroll.add_arguments(actions.add_parser("enroll", help="get this node's token with a code of the board"))


def run(arguments: argparse.Namespace) -> int:
    """Enroll, sample once, or sample until told to stop."""
    set_up_logging()
    if arguments.action == "enroll":
        return enroll.run(arguments)
    _refuse_old_enrolment(arguments)
    agent = Agent(_options(arguments))
    if arguments.once:
        report = agent.run_once()
        if not arguments.drop:
            print(encode_report(report).decode())
        return DONE
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    agent.run(stop)
    return DONE


def _options(arguments: argparse.Namespace) -> AgentOptions:
    return AgentOptions(
        interval_seconds=_interval(arguments),
        node=arguments.node,
        probe=arguments.probe,
        with_arguments=arguments.with_arguments,
        drop=_path(arguments.drop),
        push=arguments.push or None,
        listen=arguments.listen or None,
        token_file=_path(arguments.token_file),
        ca_file=_path(arguments.ca_file),
        tls_certificate=arguments.tls_certificate,
        tls_key=arguments.tls_key,
        allow_plaintext=arguments.allow_plaintext,
        dcgm_names=arguments.dcgm_names,
        socket=_path(arguments.socket),
    )


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _interval(arguments: argparse.Namespace) -> float | None:
    if arguments.interval is None:
        return None
    least = LEAST_SIMULATED_SECONDS if arguments.probe == "simulated" else LEAST_SECONDS
    interval = seconds("--interval", arguments.interval, least=least)
    if interval > LONGEST_INTERVAL_SECONDS:
        raise UsageError(f"--interval: {arguments.interval} is too long; 15 minutes are the most")
    return interval


def _refuse_old_enrolment(arguments: argparse.Namespace) -> None:
    """A code among the arguments is read by everybody on this machine; one that is left over does no harm."""
    if not arguments.enroll:
        return
    if not has_token(_path(arguments.token_file)):
        raise UsageError(
            "everybody on this machine can read a code among the arguments; make a new one, give it to "
            f"gpuboard agent enroll {arguments.push or 'URL'}, which asks for it, and leave out --enroll"
        )
    log.warning("--enroll is left out: this node has its token; remove it from the command")
