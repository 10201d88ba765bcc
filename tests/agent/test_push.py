"""A real pusher against a real board: over a bad proxy, TLS, wrong tokens and a board that hangs."""

import contextlib
import datetime as dt
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from websockets.client import ClientProtocol

from gpuboard.agent.board_address import BoardAddress
from gpuboard.agent.channel import open_websocket
from gpuboard.agent.node_token import enroll, read_token, write_token
from gpuboard.agent.push import Pusher
from gpuboard.agent.trouble import PushTrouble, handshake_trouble
from gpuboard.client.board import BoardClient
from gpuboard.model.errors import BoardUnreachableError, SettingsError, UsageError
from gpuboard.outside.certificate_dates import read_dates
from gpuboard.wire.enrolment import make_token
from gpuboard.wire.ingest import Live
from tests.board import RunningBoard, free_port, running_board
from tests.pushing import (
    Wire,
    invite,
    report_of,
    running_pusher,
    token_file,
    token_of,
    wait_until,
    without_history,
)
from tests.serving import serving
from tests.tls import Authority

WRONG_TOKEN = make_token("dgx-31", "w" * 43)


@pytest.fixture
def board(push_board: RunningBoard) -> RunningBoard:
    """A board to which nodes push."""
    return push_board


def words(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the agent said in its log, from warnings on."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_wrong_token_is_said_once_and_a_new_one_is_used_without_a_restart(
    board: RunningBoard, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The remedy is in the words; when it has been followed, everything arrives."""
    path = token_file(tmp_path, WRONG_TOKEN)
    with running_pusher(board.url, path) as pusher:
        pusher.offer(report_of("dgx-31"))
        wait_until(lambda: pusher._refused._failures > 2)
        said = words(caplog)
        write_token(path, token_of(board, "dgx-31"))
        wait_until(lambda: pusher.waiting == 0)
        assert pusher.trouble is None
    assert len(said) == 1
    assert "gpuboard node enroll" in said[0]
    assert WRONG_TOKEN not in said[0]


def test_a_refusal_is_tried_again_soon_and_then_slowly(tmp_path: Path) -> None:
    """A board that has just started may refuse what it takes a moment later; others are spared."""
    path = token_file(tmp_path, WRONG_TOKEN)
    pushers = [Pusher(BoardAddress("http://127.0.0.1:1"), path, interval_seconds=5.0) for _ in range(50)]
    pauses = [[pusher._pause(is_refusal=True) for _ in range(8)] for pusher in pushers]
    after = [[pusher._pause(is_refusal=refused) for refused in (False, True)] for pusher in pushers]
    assert max(first for first, *_ in pauses) <= 2
    assert min(last for *_, last in pauses) >= 30
    # Whatever was before: when the board is gone it is looked for at once, and when it is back it is new.
    assert (max(soon for soon, _ in after) <= 0.5, max(new for _, new in after) <= 2) == (True, True)
    assert len({pause for row in pauses for pause in row}) == 400


def test_a_node_is_who_its_token_says(board: RunningBoard, tmp_path: Path) -> None:
    """A machine that calls itself otherwise still cannot be mistaken."""
    wire = Wire()
    path = token_file(tmp_path, token_of(board, "dgx-32"))
    with running_pusher(board.url, path, open_channel=wire.open) as pusher:
        pusher.offer(report_of("a100-01"))
        wait_until(lambda: pusher.waiting == 0)
    assert (pusher.node, wire.refusals()) == ("dgx-32", [])
    wait_until(lambda: httpx.get(f"{board.url}api/v1/nodes/dgx-32").json().get("state") == "live")


def test_a_board_that_hangs_gets_one_live_sample_and_then_the_newest(
    board: RunningBoard, tmp_path: Path
) -> None:
    """Nothing piles up on the way; everything is there in the end."""
    wire = Wire()
    path = token_file(tmp_path, token_of(board, "dgx-34"))
    with running_pusher(board.url, path, open_channel=wire.open) as pusher:
        pusher.offer(report_of("dgx-34"))
        wait_until(lambda: pusher.waiting == 0)
        os.kill(board.process.pid, signal.SIGSTOP)
        try:
            for _ in range(30):
                pusher.offer(report_of("dgx-34"))
                time.sleep(0.03)
            during = [message for message in wire.said if isinstance(message, Live)]
            waiting = pusher.waiting
        finally:
            os.kill(board.process.pid, signal.SIGCONT)
        wait_until(lambda: pusher.waiting == 0)
    after = [message for message in wire.said if isinstance(message, Live)]
    assert (len(during), waiting, wire.refusals()) == (2, 30, [])
    assert len(after) < 6
    assert wire.most_under_way <= 2


def test_two_agents_of_one_machine_with_one_token_are_a_problem_on_the_page(
    board: RunningBoard, tmp_path: Path
) -> None:
    """Each cuts the other off, and the node looks live all the time."""
    path = token_file(tmp_path, token_of(board, "dgx-39"))
    with running_pusher(board.url, path) as service, running_pusher(board.url, path) as by_hand:

        def is_said() -> bool:
            service.offer(report_of("dgx-39"))
            by_hand.offer(report_of("dgx-39"))
            time.sleep(0.05)
            node = httpx.get(f"{board.url}api/v1/nodes/dgx-39").json()
            return "token-shared" in [problem["kind"] for problem in node.get("problems", ())]

        wait_until(is_said)


@contextlib.contextmanager
def proxy_without_websockets(board: RunningBoard) -> Iterator[str]:
    """A proxy that refuses every upgrade and passes everything else on."""
    target = board.url.removeprefix("http://").rstrip("/").partition(":")
    server = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection((target[0], int(target[2]))) as upstream:
            head = client.recv(65536)
            if b"upgrade: websocket" in head.lower():
                client.sendall(
                    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nno"
                )
                return
            back = threading.Thread(target=pump, args=(upstream, client), daemon=True)
            back.start()
            upstream.sendall(head)
            pump(client, upstream)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        # Closing alone does not wake a thread that waits in accept.
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until one end is closed."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@contextlib.contextmanager
def nothing_but_404() -> Iterator[str]:
    """A web server that knows no page, as a proxy that has the board under another path; its address."""

    class NotHere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        do_POST = do_GET  # noqa: N815 - the names are the library's

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), NotHere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_url_without_the_proxys_path_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the whole URL and what may be missing in it; that there is no WebSocket either helps nobody."""
    path = token_file(tmp_path, WRONG_TOKEN)
    with nothing_but_404() as url, running_pusher(f"{url}/old/", path) as pusher:
        pusher.offer(report_of("dgx-31"))
        wait_until(lambda: pusher._failed._failures > 2)
        with pytest.raises(BoardUnreachableError, match=f"{url}/ answers 404.*must have that too"):
            BoardClient(url).fleet()
    (said,) = words(caplog)
    assert f"board={url}/old reason={url}/old answers 404: there is no board; if a proxy" in said


def test_where_a_proxy_refuses_websockets_plain_requests_are_used(
    board: RunningBoard, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By itself, and nothing is lost on the way; it is said once what the proxy should do."""
    path = token_file(tmp_path, token_of(board, "dgx-35"))
    with proxy_without_websockets(board) as url, running_pusher(url, path) as pusher:
        for _ in range(20):
            pusher.offer(report_of("dgx-35"))
            time.sleep(0.01)
        wait_until(lambda: pusher.waiting == 0)
        assert pusher._post_until > time.monotonic()
        assert pusher.trouble is None
    (said,) = words(caplog)
    assert "must pass on Upgrade and Connection" in said
    wait_until(lambda: httpx.get(f"{board.url}api/v1/nodes/dgx-35").json().get("state") == "live")


@pytest.mark.parametrize("status", [400, 404, 405, 426, 501])
@pytest.mark.parametrize("kind", ["text/html", "application/problem+json"])
def test_a_handshake_that_a_proxy_has_spoiled_is_no_refusal(status: int, kind: str) -> None:
    """Whoever answers it: plain requests are tried at once."""
    trouble = handshake_trouble(status, kind, b'{"detail": "no"}', place="board:8042")
    assert (trouble.try_post, trouble.is_refusal) == (True, False)


def test_an_address_that_is_no_board_is_said_in_words(tmp_path: Path) -> None:
    """Nobody listens there."""
    path = token_file(tmp_path, WRONG_TOKEN)
    with running_pusher(f"http://127.0.0.1:{free_port()}", path) as pusher:
        pusher.offer(report_of("dgx-31"))
        wait_until(lambda: pusher.trouble)
        assert "cannot be reached: Connection refused" in (pusher.trouble or "")


def test_over_tls_with_an_authority_of_ones_own(tmp_path: Path) -> None:
    """Enrolment and reports; another authority is not believed, nor another name."""
    lab, other = Authority(tmp_path), Authority(tmp_path, "other")
    certificate, key = lab.certificate("127.0.0.1")
    with running_board(
        "--demo", "1", *without_history(tmp_path),
        "--tls-certificate", str(certificate), "--tls-key", str(key),
        log=tmp_path / "log", ca_file=lab.ca_file,
    ) as board:  # fmt: skip
        code = invite(board.state, "dgx-36")
        path = tmp_path / "token"
        with pytest.raises(BoardUnreachableError, match="--ca-file"):
            enroll(BoardAddress(board.url, ca_file=other.ca_file), code, path)
        token = enroll(BoardAddress(board.url, ca_file=lab.ca_file), code, path)
        elsewhere = board.url.replace("127.0.0.1", "localhost")
        with (
            running_pusher(board.url, path, ca_file=lab.ca_file) as good,
            running_pusher(board.url, path, ca_file=other.ca_file) as wrong_authority,
            running_pusher(elsewhere, path, ca_file=lab.ca_file) as wrong_name,
        ):
            for pusher in (good, wrong_authority, wrong_name):
                pusher.offer(report_of("dgx-36"))
            wait_until(lambda: good.waiting == 0 and wrong_authority.trouble and wrong_name.trouble)
            assert "cannot be trusted" in (wrong_authority.trouble or "")
            assert "use a name that is in the certificate: 127.0.0.1" in (wrong_name.trouble or "")
            assert "--ca-file" not in (wrong_name.trouble or "")
    assert (token.node, path.stat().st_mode & 0o777) == ("dgx-36", 0o600)


@pytest.mark.parametrize(
    "url", ["http://gpus.lab.example:8042", "http://192.0.2.1", "http://localhost.evil.example"]
)
def test_a_token_does_not_travel_in_clear(url: str) -> None:
    """Only on this machine, or when somebody says so loudly."""
    with pytest.raises(UsageError, match="--allow-plaintext"):
        BoardAddress(url)
    assert BoardAddress(url, allow_plaintext=True).tls is None


@pytest.mark.parametrize(
    "url", ["", "ftp://a", "https://", "https://a:b", "https://user:pw@a", "https://a/?x=1"]
)
def test_what_is_no_boards_address_is_refused(url: str) -> None:
    """With an example of one that is."""
    with pytest.raises(UsageError, match=r"https://gpus\.lab\.example"):
        BoardAddress(url)


@pytest.mark.parametrize(
    ("url", "socket_url"),
    [
        ("http://127.0.0.1:8042/", "ws://127.0.0.1:8042/api/v1/ingest"),
        ("http://[::1]:8042", "ws://[::1]:8042/api/v1/ingest"),
        ("https://gpus.lab.example/board/", "wss://gpus.lab.example/board/api/v1/ingest"),
        ("gpus.lab.example:8042", "wss://gpus.lab.example:8042/api/v1/ingest"),
    ],
)
def test_a_board_may_live_below_a_path_and_behind_any_port(url: str, socket_url: str) -> None:
    """As a proxy has it."""
    assert BoardAddress(url).websocket("ingest") == socket_url


def test_a_usual_port_is_said_nowhere() -> None:
    """Neither in logs nor in the links that people get through this agent."""
    address = BoardAddress("https://gpus.lab.example:443/board/")
    assert (str(address), address.place) == ("https://gpus.lab.example/board", "gpus.lab.example")


def test_a_code_is_not_wasted_on_a_file_that_cannot_be_written(board: RunningBoard, tmp_path: Path) -> None:
    """It works once, so the file is tried first."""
    code = invite(board.state, "dgx-37")
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be written"):
        enroll(BoardAddress(board.url), code, tmp_path / "file" / "token")
    assert enroll(BoardAddress(board.url), code, tmp_path / "token").node == "dgx-37"
    assert read_token(tmp_path / "token").node == "dgx-37"


def test_a_token_is_not_shown_by_accident(tmp_path: Path) -> None:
    """Not even when the object that holds it is printed."""
    token = read_token(token_file(tmp_path, WRONG_TOKEN))
    assert "w" * 43 not in f"{token} {token!r}"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"something else", b"x" * 100_000])
def test_a_file_without_a_token_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    """With the command that makes one."""
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(SettingsError, match="gpuboard node enroll"):
        read_token(tmp_path / "token")
    with pytest.raises(SettingsError, match="gpuboard agent enroll URL"):
        read_token(tmp_path / "absent")


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o606])
def test_a_token_that_everybody_may_read_is_not_used(tmp_path: Path, mode: int) -> None:
    """It may be somebody else's by now."""
    path = token_file(tmp_path, WRONG_TOKEN)
    path.chmod(mode)
    with pytest.raises(SettingsError, match="chmod o-rwx"):
        read_token(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_token_that_root_replaces_is_still_the_agents(tmp_path: Path) -> None:
    """Owner and group stay, and what the group may do; a new one belongs to whom its folder does."""
    path = token_file(tmp_path, WRONG_TOKEN)
    os.chown(path, 4711, 4712)
    path.chmod(0o646)
    write_token(path, WRONG_TOKEN)
    kept = path.stat()
    os.chown(tmp_path, 4713, 4714)
    write_token(tmp_path / "new", WRONG_TOKEN)
    made = (tmp_path / "new").stat()
    assert (kept.st_uid, kept.st_gid, kept.st_mode & 0o777) == (4711, 4712, 0o640)
    assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (4713, 4714, 0o600)


@pytest.mark.parametrize("days", [5, -5], ids=["not yet valid", "expired"])
def test_a_certificate_of_another_time_names_the_clock_and_the_dates(tmp_path: Path, days: int) -> None:
    """The advice to name the authority would lead in circles."""
    authority = Authority(tmp_path)
    begins = dt.timedelta(days=days)
    certificate, key = authority.certificate("127.0.0.1", begins=begins)
    with serving(application_without_answers, ssl_certfile=certificate, ssl_keyfile=key) as port:
        address = BoardAddress(f"https://127.0.0.1:{port}", ca_file=authority.ca_file)
        with pytest.raises(BoardUnreachableError) as refused:
            enroll(address, "CODE", tmp_path / "token")
    words = str(refused.value)
    day = (dt.datetime.now(dt.UTC) + begins).strftime("%Y-%m-%d")
    assert ("clock says" in words, day in words, "--ca-file" in words) == (True, True, False), words


async def application_without_answers(_scope: object, _receive: object, _send: object) -> None:
    """A server that nobody gets to."""


@pytest.mark.parametrize(
    ("encoded", "dates"),
    [
        (
            b"\x30\x1e\x17\x0d260101000000Z\x17\x0d270101120000Z",
            "2026-01-01 00:00 UTC to 2027-01-01 12:00 UTC",
        ),
        (
            b"\x30\x20\x17\x0d260101000000Z\x18\x0f20560101120000Z",
            "2026-01-01 00:00 UTC to 2056-01-01 12:00 UTC",
        ),
        (b"\x30\x1e\x17\x0d269901000000Z\x17\x0d270101120000Z", None),
        (b"nothing of the kind", None),
    ],
)
def test_the_dates_of_a_certificate_are_read_or_unknown(encoded: bytes, dates: str | None) -> None:
    """Whatever a server shows."""
    assert read_dates(encoded) == dates


def test_a_line_that_breaks_in_an_odd_way_leaves_no_traceback_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The WebSocket library's own words are not for whoever reads the agent's log; ours are one line."""

    def hang_up(server: socket.socket) -> None:
        line, _ = server.accept()
        with line:
            line.sendall(b"HTTP/1.1 401 Unauthorized\r\n\r\n")

    def ended_before(protocol: ClientProtocol, _: bytes) -> None:
        protocol.receive_eof()
        raise EOFError("stream ended")

    monkeypatch.setattr(ClientProtocol, "receive_data", ended_before)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=hang_up, args=(server,), daemon=True).start()
        address = BoardAddress(f"http://127.0.0.1:{server.getsockname()[1]}/")
        with pytest.raises(PushTrouble), open_websocket(address, "token"):
            pass
    assert [record for record in caplog.records if record.exc_info] == []
