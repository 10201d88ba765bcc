"""`gpuboard usage`: how GPUs were used, and by whom."""

import argparse
import sys
import time
import urllib.parse
from pathlib import Path
from typing import get_args

import msgspec

from gpuboard.cli.environment import add_ca_file
from gpuboard.cli.exits import DONE
from gpuboard.cli.moments import read_moment
from gpuboard.cli.which_board import add_asked, asked_board
from gpuboard.client.answer import decode_answer
from gpuboard.client.board import BoardClient
from gpuboard.client.credentials import Credentials
from gpuboard.export.files import write_out
from gpuboard.export.usage import usage_to_csv, usage_to_html, usage_to_text
from gpuboard.model.errors import UsageError
from gpuboard.wire.usage import NAMED, UsageAnswer, UsageBy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--by", choices=get_args(UsageBy), default="person", help="a row for each of these")
    parser.add_argument("--from", dest="start", metavar="T", help="since when (default 30 days ago)")
    parser.add_argument("--to", dest="end", metavar="T", help="until when (default now)")
    parser.add_argument("--month", metavar="M", help="instead: last, this, or like 2026-10")
    forms = parser.add_mutually_exclusive_group()
    for form, words in (("json", "print JSON"), ("csv", "print CSV"), ("html", "one sheet to print")):
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=words)
    parser.add_argument("--out", metavar="FILE", help="write FILE in one step (default: print)")
    add_asked(parser)
    add_ca_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask, and write."""
    if arguments.month is not None and (arguments.start is not None or arguments.end is not None):
        raise UsageError("--month is a span by itself; leave out --from and --to")
    now = time.time()
    query = {
        "by": arguments.by,
        "from": None if arguments.start is None else read_moment("--from", arguments.start, now=now),
        "to": None if arguments.end is None else read_moment("--to", arguments.end, now=now),
        "month": arguments.month,
    }
    client = _UsageClient(asked_board(arguments), ca_file=arguments.ca_file)
    answer = client.usage(query)
    if arguments.by in NAMED and not answer.rows and answer.total.used_ms:
        print(f"gpuboard: {Credentials().no_names}", file=sys.stderr)
    content = _write(answer, arguments.form).encode()
    if arguments.out:
        write_out(Path(arguments.out), content)
    else:
        sys.stdout.write(content.decode())
        sys.stdout.flush()
    return DONE


class _UsageClient(BoardClient):
    """One board, as it is asked for GPU-hours."""

    def usage(self, query: dict[str, object]) -> UsageAnswer:
        given = urllib.parse.urlencode({key: value for key, value in query.items() if value is not None})
        return self._ask(f"api/v1/usage?{given}", lambda body: decode_answer(body, UsageAnswer))


def _write(answer: UsageAnswer, form: str | None) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(answer)).decode() + "\n"
    if form == "csv":
        return usage_to_csv(answer)
    return usage_to_html(answer) if form == "html" else usage_to_text(answer)
