"""`gpuboard export`: the fleet as one self-contained page, as JSON or as CSV."""

import argparse
import sys
from pathlib import Path

import msgspec

from gpuboard.cli.environment import seconds
from gpuboard.cli.looking import add_where, exit_code, make_seer, say_if_empty
from gpuboard.client.answer import decode_answer
from gpuboard.export.csv import to_csv
from gpuboard.export.files import write_out
from gpuboard.export.html import to_html
from gpuboard.model.errors import NOT_DECODED, UsageError
from gpuboard.settings.board import read_settings
from gpuboard.wire.views import FleetView

# Whoever has the page open asks the web server so often.
LEAST_RELOAD_SECONDS = 5.0
EPILOG = """In a crontab, for any web space:

  * * * * * /opt/gpuboard/bin/gpuboard export html --folder /nfs/status-gpu --reload 1m --out /srv/a.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("form", choices=("html", "json", "csv"), help="what to write")
    parser.add_argument("--out", metavar="FILE", help="write FILE in one step (default: print)")
    parser.add_argument("--from", metavar="FILE", dest="saved", help="render what `export json` wrote before")
    parser.add_argument(
        "--title",
        metavar="TEXT",
        help="heading of the page (default GPUs, or the title in --config or of the board)",
    )
    parser.add_argument("--reload", metavar="TIME", help="let the page load itself again, like 1m")
    add_where(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look once, write."""
    fleet = _saved(Path(arguments.saved)) if arguments.saved else _seen(arguments)
    content = _write(fleet, arguments).encode()
    if arguments.out:
        write_out(Path(arguments.out), content)
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    say_if_empty(fleet, arguments)
    return exit_code(fleet, arguments)


def _seen(arguments: argparse.Namespace) -> FleetView:
    seer = make_seer(arguments)
    fleet = seer.see()
    seer.say_unread()
    seer.say_left_out()
    return fleet


def _saved(path: Path) -> FleetView:
    try:
        # It may come from anybody, and what is written of it may go to a terminal.
        return decode_answer(path.read_bytes(), FleetView)
    except OSError as error:
        raise UsageError(f"--from {path}: {error.strerror or error}") from None
    except NOT_DECODED as error:
        raise UsageError(f"--from {path} is no export of ours: {error}") from None


def _write(fleet: FleetView, arguments: argparse.Namespace) -> str:
    if arguments.form == "json":
        return msgspec.json.format(msgspec.json.encode(fleet)).decode() + "\n"
    if arguments.form == "csv":
        return to_csv(fleet)
    again = seconds("--reload", arguments.reload, least=LEAST_RELOAD_SECONDS) if arguments.reload else None
    return to_html(fleet, title=_title(fleet, arguments), reload_seconds=again)


def _title(fleet: FleetView, arguments: argparse.Namespace) -> str:
    settings = read_settings(Path(arguments.config)) if arguments.config else None
    return arguments.title or (settings and settings.board.title) or fleet.title or "GPUs"
