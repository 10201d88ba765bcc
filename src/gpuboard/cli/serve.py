"""`gpuboard serve`: run the board."""

import argparse
import asyncio
import contextlib
import logging
import sys

from gpuboard.cli.exits import DONE, FAILED
from gpuboard.settings.board import DEFAULT_LISTEN, BoardSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--listen", metavar="HOST:PORT", default=DEFAULT_LISTEN, help="default %(default)s")
    parser.add_argument(
        "--demo",
        metavar="NODES",
        nargs="?",
        type=int,
        const=12,
        default=0,
        help="show simulated nodes (default 12)",
    )
    parser.add_argument(
        "--anonymous",
        choices=("nothing", "counts", "names"),
        help="what people who are not signed in see (default: names on this machine, counts beyond)",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        default="",
        help="where tokens are kept (default: $STATE_DIRECTORY, else ~/.local/state/gpuboard)",
    )
    parser.add_argument(
        "--tls-certificate", metavar="FILE", default="", help="speak TLS: certificate chain, PEM"
    )
    parser.add_argument("--tls-key", metavar="FILE", default="", help="speak TLS: its private key, PEM")


def run(arguments: argparse.Namespace) -> int:
    """Run the board until it is told to stop."""
    try:
        from gpuboard.assembly.board import Board, fast_loop  # noqa: PLC0415 - the light install lacks what it needs
    except ModuleNotFoundError as error:
        print(
            f"gpuboard: the board needs {error.name}, which is not here; run: pip install 'gpuboard[board]'",
            file=sys.stderr,
        )
        return FAILED
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    settings = BoardSettings(
        listen=arguments.listen,
        demo_nodes=arguments.demo,
        anonymous=arguments.anonymous,
        state_dir=arguments.state_dir,
        tls_certificate=arguments.tls_certificate,
        tls_key=arguments.tls_key,
    )
    board = Board(settings)
    print(f"gpuboard: open {board.url}", file=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(board.serve())
    return DONE
