"""A board that is somebody else's: its words reach a terminal only as words."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from gpuboard.cli import main
from gpuboard.client import board as client
from gpuboard.client.answer import decode_answer
from gpuboard.client.board import BoardClient
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.views import fleet_view
from gpuboard.model.errors import BoardUnreachableError
from gpuboard.wire.bookings import BookingAnswer, BookingList, FeedView
from gpuboard.wire.login import LoginAnswer
from gpuboard.wire.people import SessionView
from gpuboard.wire.summary import FreeAnswer
from gpuboard.wire.usage import UsageAnswer
from gpuboard.wire.views import FleetView, NodeView
from tests.pushing import report_of

NASTY = "\x1b]0;mine\x07\x1b[2J\r\n\x9b31m\u202e\u2028"


def nasty_fleet() -> bytes:
    """An honest fleet, with something nasty in every text that nobody checks."""
    fleet = Fleet(SteadyClock())
    fleet.sink("push").report("gpu01", report_of("gpu01"))
    fleet.settle()
    view = msgspec.to_builtins(fleet_view(fleet))
    (node,) = view["nodes"]
    node["display_name"] = NASTY
    node["reason"] = {"code": "timeout", "text": NASTY, "values": {NASTY: NASTY}}
    for gpu in node["gpus"]:
        gpu["model"] = NASTY
        gpu["verdict"]["reason"] = {"code": "busy", "text": NASTY, "values": {"who": [NASTY]}}
        for user in gpu["users"] or ():
            user.update({key: NASTY for key, value in user.items() if isinstance(value, str)})
    return msgspec.json.encode(view)


@pytest.fixture(params=["200 OK", "403 Forbidden", "500 \x1b[31mred"])
def board(request: pytest.FixtureRequest) -> Iterator[str]:
    """What answers there."""
    status, _, phrase = request.param.partition(" ")
    body = nasty_fleet() if status == "200" else msgspec.json.encode({"detail": NASTY})
    with answering(body, int(status), phrase) as url:
        yield url


@contextlib.contextmanager
def answering(body: bytes, status: int = 200, phrase: str = "OK") -> Iterator[str]:
    """The address of somebody who always answers the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status, phrase)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("words", [["status"], ["status", "--csv"], ["status", "--json"], ["free"]])
def test_a_hostile_board_cannot_write_to_the_terminal(board: str, words: list[str]) -> None:
    """Whatever it answers, with any command that asks it."""
    command = [sys.executable, "-m", "gpuboard", *words, "--board", board]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    said = (done.stdout + done.stderr).decode()
    assert said
    # A table's own characters are printable too.
    assert [line for line in said.split("\n") if not line.isprintable()] == []


@pytest.mark.parametrize(
    "begin",
    [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n"],
    ids=["head", "body", "refusal"],
)
def test_a_board_that_drips_is_given_up(begin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It always sends a byte before patience ends, and never comes to an end."""
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.5)
    is_over = threading.Event()

    class Dripping(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(begin)
            with contextlib.suppress(OSError):
                while not is_over.wait(0.02):
                    self.request.sendall(b"H")

    with ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            board = BoardClient(f"http://127.0.0.1:{server.server_address[1]}/")
            with pytest.raises(BoardUnreachableError, match="come to an end"):
                board.fleet()
        finally:
            is_over.set()
            server.shutdown()


def test_every_text_of_an_answer_is_cleaned() -> None:
    """Keys and values, however deep."""
    view = decode_answer(nasty_fleet(), FleetView)
    (node,) = view.nodes
    assert node.reason is not None
    texts = [node.display_name or "", node.reason.text, *node.reason.values, *node.reason.values.values()]
    assert [text for text in texts if not str(text).isprintable()] == []
    assert "\\x1b" in texts[0]


@pytest.mark.parametrize("control", [b"\x1b", b"\x00", b"\n", b"\x1f"])
def test_a_control_character_that_is_not_escaped_is_no_answer(control: bytes) -> None:
    """JSON has none: what is read without being cleaned relies on it that the decoder refuses them."""
    with pytest.raises(msgspec.DecodeError):
        decode_answer(b'{"words": "mine' + control + b'[2J"}', dict[str, str])


@pytest.mark.parametrize("control", [b"\x7f", b"\xc2\x9b", b"\\u001b", "\u202e".encode()])
def test_what_json_lets_through_is_cleaned(control: bytes) -> None:
    """The others: as they are, or escaped."""
    told = decode_answer(b'{"words": "mine' + control + b'[2J"}', dict[str, str])
    assert told["words"].isprintable()
    assert told["words"] != "mine[2J"


@pytest.mark.parametrize("form", ["csv", "json", "html"])
def test_a_hostile_snapshot_cannot_write_to_the_terminal_either(tmp_path: Path, form: str) -> None:
    """Whoever sends one by mail knows where it is looked at."""
    saved = tmp_path / "fleet.json"
    saved.write_bytes(nasty_fleet())
    said = run("export", form, "--from", str(saved))
    assert (said.returncode, said.stdout.count(b"\x1b")) == (0, 0)


def test_what_a_folder_makes_a_command_warn_of_is_cleaned(tmp_path: Path) -> None:
    """The words of a hostile file, and its name."""
    (tmp_path / "gpu1").write_bytes(b"Error: \x1b[2J\x1b]0;mine\x07\n")
    (tmp_path / "no\x1b[2Jnode").write_bytes(b"hello")
    ours, terminal = os.openpty()
    words = [sys.executable, "-m", "gpuboard", "status", "--folder", str(tmp_path)]
    seen = subprocess.run(words, stdout=subprocess.PIPE, stderr=terminal, check=False, timeout=60).stdout
    os.close(terminal)
    warned = os.read(ours, 65536)
    os.close(ours)
    assert b"skipped" in warned
    assert b"\x1b" not in warned + seen


def run(*words: str) -> subprocess.CompletedProcess[bytes]:
    """What a command says."""
    command = [sys.executable, "-m", "gpuboard", *words]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


KINDS = (
    FleetView,
    NodeView,
    FreeAnswer,
    SessionView,
    BookingList,
    BookingAnswer,
    FeedView,
    UsageAnswer,
    LoginAnswer,
)
TIME = re.compile(r"at|since|until|start|end|\w+_(at|since|until|from|to)")


def structs_in(kind: Any, seen: set[type[Struct]]) -> set[type[Struct]]:  # noqa: ANN401 - an annotation
    """All kinds of which an answer is made."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind not in seen:
            seen.add(kind)
            for field in fields(kind):
                structs_in(field.type, seen)
    else:
        for part in get_args(kind):
            structs_in(part, seen)
    return seen


TIMES = [
    pytest.param(field, id=f"{kind.__name__}.{field.name}")
    for kind in sorted(
        {each for one in KINDS for each in structs_in(one, set())}, key=lambda one: one.__name__
    )
    for field in fields(kind)
    if TIME.fullmatch(field.name)
]


@pytest.mark.parametrize("field", TIMES)
@pytest.mark.parametrize("value", [b"1e300", b"-1e300", b"1e12"])
def test_a_time_that_no_clock_shows_is_no_answer(field: FieldInfo, value: bytes) -> None:
    """In none of all that a board can answer; what is made of times would fail by it."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(value, type=field.type)


def test_a_command_says_that_who_tells_such_a_time_is_no_board(capsys: pytest.CaptureFixture[str]) -> None:
    """Before it has printed any of it."""
    booking: dict[str, Any] = {
        "id": None,
        "kind": "booking",
        "who": None,
        "places": [],
        "start": 0,
        "state": "running",
    }
    told = [{**booking, "end": 1e9}, {**booking, "end": 1e300}]
    with answering(msgspec.json.encode({"at": 0, "tier": "counts", "bookings": told})) as url:
        assert main(["bookings", "--board", url]) == 3
    said = capsys.readouterr()
    assert (said.out, "is no gpuboard" in said.err) == ("", True)
