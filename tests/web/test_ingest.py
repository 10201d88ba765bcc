"""Where agents come in: who is let in, what is taken, and what is cut off. Over real HTTP and WebSocket."""

import contextlib
import gzip
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from gpuboard.wire.ingest import (
    CLOSE_BAD_MESSAGE,
    CLOSE_REFUSED,
    CLOSE_REPLACED,
    CLOSE_SILENT,
    CLOSE_TOKEN_GONE,
    MAX_MESSAGE_BYTES,
    Acknowledgement,
    Hello,
    Live,
    Sample,
    Welcome,
    decode_from_board,
    encode,
    encode_sample,
)
from tests.board import RunningBoard, free_port, running_board
from tests.pushing import enrol, invite, report_of, revoke, token_of, wait_until


@pytest.fixture
def board(push_board: RunningBoard) -> RunningBoard:
    """A board to which nodes push."""
    return push_board


def client_at(board: RunningBoard, address: str) -> httpx.Client:
    """A client with an address of its own."""
    return httpx.Client(base_url=board.url, transport=httpx.HTTPTransport(local_address=address))


@contextlib.contextmanager
def line(board: RunningBoard, token: str, **headers: str) -> Iterator[ClientConnection]:
    """An agent's WebSocket."""
    address = board.url.replace("http", "ws") + "api/v1/ingest"
    sent = {"Authorization": f"Bearer {token}", **headers}
    with connect(address, additional_headers=sent, compression=None, close_timeout=1) as connection:
        yield connection


def ask(connection: ClientConnection, message: Hello | Live) -> Welcome | Acknowledgement:
    """Send a message, return the answer."""
    connection.send(encode(message))
    data = connection.recv(timeout=30)
    assert isinstance(data, bytes)
    return decode_from_board(data)


def live(node: str, **changes: Any) -> Live:  # noqa: ANN401 - whatever a test changes
    """The newest sample of a node."""
    report = replace(report_of(node), **changes)
    data = msgspec.Raw(encode_sample(report))
    return Live(sample=Sample(sequence=report.sequence or 0, waited_seconds=0.0, report=data), follows=-1)


def closing(connection: ClientConnection, seconds: float = 60) -> tuple[int, str]:
    """How the board closed the line."""
    wait_until(lambda: connection.protocol.close_rcvd, seconds)
    close = connection.protocol.close_rcvd
    assert close is not None
    return close.code, close.reason


def node_view(board: RunningBoard, node: str) -> dict[str, Any]:
    """What the board shows of a node."""
    answer = httpx.get(f"{board.url}api/v1/nodes/{node}")
    view: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
    return view


def test_a_pushed_report_is_shown_with_its_provenance(board: RunningBoard) -> None:
    """Live at the next tick, and by which way it came."""
    with line(board, token_of(board, "dgx-11")) as agent:
        welcome = ask(agent, Hello(node="dgx-11", boot_id="boot-1"))
        sent = live("dgx-11")
        answer = ask(agent, sent)
    wait_until(lambda: node_view(board, "dgx-11").get("state") == "live")
    view = node_view(board, "dgx-11")
    assert isinstance(welcome, Welcome)
    assert isinstance(answer, Acknowledgement)
    # Without a history there is nothing to wait for.
    sequence = sent.sample.sequence
    assert (answer.live, answer.taken, answer.refused, answer.again) == (sequence, sequence, (), False)
    assert (view["source"], view["state"], len(view["gpus"])) == ("push", "live", 8)


def test_an_enrolled_node_that_never_came_is_shown_as_never(board: RunningBoard) -> None:
    """So that a forgotten installation is seen."""
    token_of(board, "dgx-12")
    wait_until(lambda: node_view(board, "dgx-12"))
    assert node_view(board, "dgx-12").get("state") == "never"


BAD_AUTHORIZATIONS = {
    "nothing": "",
    "empty": "Bearer",
    "another scheme": "Basic dXNlcjpwYXNz",
    "nonsense": "Bearer nonsense",
    "well-formed but unknown": f"Bearer gpuboard~dgx-13~{'a' * 43}",
    "of no node": f"Bearer gpuboard~nobody~{'a' * 43}",
    "path-like name": f"Bearer gpuboard~../../etc~{'a' * 43}",
    "quotes": "Bearer ' OR 1=1 --",
    "very long": f"Bearer {'a' * 5000}",
    "not ascii": "Bearer gpuboard~dgx-13~\xe9" + "a" * 42,
}


@pytest.mark.parametrize("authorization", BAD_AUTHORIZATIONS.values(), ids=BAD_AUTHORIZATIONS.keys())
def test_a_bad_token_is_refused_in_words(board: RunningBoard, authorization: str) -> None:
    """On both ways, with a remedy, and without repeating what was sent."""
    headers = {b"authorization": authorization.encode("latin-1")} if authorization else {}
    answer = httpx.post(f"{board.url}api/v1/reports", headers=headers, content=b"")
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert "Bearer" in answer.headers["www-authenticate"]
    assert len(authorization) < 10 or authorization[7:] not in answer.text


def test_a_handshake_without_a_good_token_hears_why(board: RunningBoard) -> None:
    """Like any request: status and problem document, so that the agent can say it."""
    with pytest.raises(InvalidStatus) as refused, line(board, f"gpuboard~dgx-13~{'b' * 43}"):
        pass
    response = refused.value.response
    assert response.status_code == 401
    assert b"gpuboard node enroll" in (response.body or b"")


def test_a_cookie_never_authorises_an_agent(board: RunningBoard) -> None:
    """Whatever a browser brings along by itself counts for nothing here."""
    token = token_of(board, "dgx-14")
    answer = httpx.post(f"{board.url}api/v1/reports", headers={"cookie": f"token={token}; session={token}"})
    assert answer.status_code == 401


def test_wrong_tokens_slow_their_address_but_not_its_good_nodes(board: RunningBoard) -> None:
    """Many nodes share a router; one that is misconfigured must not shut out the others."""
    good = token_of(board, "dgx-15")
    hello = encode(Hello(node="dgx-15", boot_id="b"))
    with client_at(board, "127.0.0.9") as client:
        headers = {"authorization": f"Bearer gpuboard~dgx-15~{'c' * 43}"}
        codes = [client.post("api/v1/reports", headers=headers).status_code for _ in range(60)]
        headers = {"authorization": f"Bearer {good}", "content-type": "application/msgpack"}
        let_in = client.post("api/v1/reports", headers=headers, content=hello)
    assert codes[-1] == 429
    assert let_in.status_code == 200


def test_a_node_cannot_speak_for_another(board: RunningBoard) -> None:
    """Neither in its hello nor in a report."""
    token = token_of(board, "dgx-16")
    with line(board, token) as agent:
        agent.send(encode(Hello(node="a100-01", boot_id="b")))
        code, reason = closing(agent)
    with line(board, token) as agent:
        ask(agent, Hello(node="dgx-16", boot_id="boot-1"))
        answer = ask(agent, live("a100-01"))
    assert (code, "belongs to dgx-16" in reason) == (CLOSE_REFUSED, True)
    assert isinstance(answer, Acknowledgement)
    assert "belongs to dgx-16" in answer.refused[0].reason
    wait_until(lambda: node_view(board, "dgx-16").get("state") == "refused")


def test_a_replay_is_refused_on_another_line_too(board: RunningBoard) -> None:
    """What one connection has shown, the next cannot show again."""
    token = token_of(board, "dgx-17")
    message = live("dgx-17")
    refused = []
    for _ in range(3):
        with line(board, token) as agent:
            ask(agent, Hello(node="dgx-17", boot_id="boot-1"))
            answer = ask(agent, message)
            assert isinstance(answer, Acknowledgement)
            refused.append(len(answer.refused))
    assert refused == [0, 1, 1]


@pytest.mark.parametrize(
    "message",
    [b"", b"\xc1", b"nonsense", b"\x91" * 10_000, "text", encode(Live(sample=Sample(
        sequence=1, waited_seconds=0.0, report=msgspec.Raw(b"\xc0")), follows=-1))],
)  # fmt: skip
def test_what_is_no_message_ends_the_line_with_a_reason(board: RunningBoard, message: bytes | str) -> None:
    """And only that line."""
    with line(board, token_of(board, "dgx-18")) as agent:
        agent.send(message)
        code, reason = closing(agent)
    assert code == CLOSE_BAD_MESSAGE
    assert reason


@pytest.mark.parametrize("size", [MAX_MESSAGE_BYTES + 1, 2 * 1024 * 1024])
def test_an_oversized_message_is_cut_off(board: RunningBoard, size: int) -> None:
    """Whether our own limit notices or the one below; what is still under way may swallow the reason."""
    token = token_of(board, "dgx-19")
    with line(board, token) as agent:
        with contextlib.suppress(ConnectionClosed):
            agent.send(b"\xc4" * size)
        with pytest.raises(ConnectionClosed) as closed:
            agent.recv(timeout=60)
    code = closed.value.rcvd.code if closed.value.rcvd else 1006
    headers = {"authorization": f"Bearer {token}", "content-type": "application/msgpack"}
    answer = httpx.post(f"{board.url}api/v1/reports", headers=headers, content=b"\xc4" * size)
    assert code in (CLOSE_BAD_MESSAGE, 1009, 1006)
    assert answer.status_code == 413


def test_nothing_is_ever_decompressed(board: RunningBoard) -> None:
    """So there is no bomb: not offered, not taken, neither in frames nor in bodies."""
    token = token_of(board, "dgx-20")
    bomb = gzip.compress(b"\0" * 10_000_000)
    address = board.url.replace("http", "ws") + "api/v1/ingest"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as agent:
        assert agent.protocol.extensions == []
        # A frame that claims to be compressed all the same.
        frame = bytearray(Frame(Opcode.BINARY, bomb).serialize(mask=True))
        frame[0] |= 0x40
        agent.socket.sendall(frame)
        assert closing(agent)[0] == 1002
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/msgpack",
        "content-encoding": "gzip",
    }
    answer = httpx.post(f"{board.url}api/v1/reports", headers=headers, content=bomb)
    assert answer.status_code == 415


@pytest.mark.slow
def test_whoever_sends_nothing_whole_is_cut_off(board: RunningBoard) -> None:
    """Half a frame, half a body, half a head: each ends within its deadline, however slowly more may come."""
    token = token_of(board, "dgx-21")
    host, _, port = board.url.removeprefix("http://").rstrip("/").partition(":")
    head = f"POST /api/v1/reports HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
    body = "content-type: application/msgpack\r\ncontent-length: 1000\r\n\r\nx"
    with (
        line(board, token) as agent,
        socket.create_connection((host, int(port)), timeout=60) as no_head,
        socket.create_connection((host, int(port)), timeout=60) as no_body,
    ):
        no_head.sendall(head.encode())
        no_body.sendall((head + body).encode())
        frame = Frame(Opcode.BINARY, encode(Hello(node="dgx-21", boot_id="b"))).serialize(mask=True)
        agent.socket.sendall(frame[:10])
        code, _ = closing(agent)
        answers = [raw.recv(100).split()[1] for raw in (no_head, no_body)]
    assert (code, answers) == (CLOSE_SILENT, [b"408", b"408"])


def test_a_head_without_end_is_cut_off(board: RunningBoard) -> None:
    """Before it fills the memory."""
    host, _, port = board.url.removeprefix("http://").rstrip("/").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(100):
                raw.sendall(b"x-filler: " + b"y" * 2000 + b"\r\n")
                time.sleep(0.001)
        with contextlib.suppress(ConnectionResetError):
            assert raw.recv(100).startswith(b"HTTP/1.1 431")


def test_a_newer_line_of_a_node_replaces_the_older(board: RunningBoard) -> None:
    """The older hears why; the newer goes on."""
    token = token_of(board, "dgx-22")
    with line(board, token) as older:
        ask(older, Hello(node="dgx-22", boot_id="boot-1"))
        with line(board, token) as newer:
            ask(newer, Hello(node="dgx-22", boot_id="boot-1"))
            code, reason = closing(older)
            answer = ask(newer, live("dgx-22"))
    assert (code, "replaced" in reason) == (CLOSE_REPLACED, True)
    assert isinstance(answer, Acknowledgement)


def test_a_revoked_node_is_cut_off_and_lost(board: RunningBoard) -> None:
    """By the command line, while the board runs and the node talks."""
    token = token_of(board, "dgx-23")
    with line(board, token) as agent:
        ask(agent, Hello(node="dgx-23", boot_id="boot-1"))
        ask(agent, live("dgx-23"))
        wait_until(lambda: node_view(board, "dgx-23"))
        node_command(board, "revoke", "dgx-23")
        code, _ = closing(agent)
    assert code == CLOSE_TOKEN_GONE
    wait_until(lambda: node_view(board, "dgx-23").get("state") == "lost")
    with pytest.raises(InvalidStatus), line(board, token):
        pass


def node_command(board: RunningBoard, *words: str) -> str:
    """Run `gpuboard node` beside the board."""
    command = [sys.executable, "-m", "gpuboard", "node", *words, "--state-dir", str(board.state)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_list_says_that_a_node_is_connected_and_since_when(board: RunningBoard) -> None:
    """Within a few seconds, and no longer when it has left."""
    with line(board, token_of(board, "dgx-32")) as agent:
        ask(agent, Hello(node="dgx-32", boot_id="boot-1"))
        wait_until(lambda: "live since" in row_of(board, "dgx-32"))
        assert "127.0.0.1" in row_of(board, "dgx-32")
    wait_until(lambda: "ago" in row_of(board, "dgx-32").split("  ")[-1])


def row_of(board: RunningBoard, node: str) -> str:
    """What `node list` says of one node."""
    return next(row for row in node_command(board, "list").splitlines() if row.split()[0] == node)


def test_a_forgotten_node_is_off_the_board_at_once_and_stays_off(board: RunningBoard) -> None:
    """Its token and its line too; enrolled again, it is a new node."""
    token = token_of(board, "dgx-33")
    with line(board, token) as agent:
        ask(agent, Hello(node="dgx-33", boot_id="boot-1"))
        ask(agent, live("dgx-33"))
        wait_until(lambda: node_view(board, "dgx-33"))
        node_command(board, "forget", "dgx-33")
        wait_until(lambda: not node_view(board, "dgx-33"))
        assert closing(agent)[0] == CLOSE_TOKEN_GONE
    with pytest.raises(InvalidStatus), line(board, token):
        pass
    assert node_view(board, "dgx-33") == {}
    token_of(board, "dgx-33")
    wait_until(lambda: node_view(board, "dgx-33"))
    assert node_view(board, "dgx-33")["state"] == "never"


def test_a_good_token_is_never_refused_while_the_board_starts(tmp_path: Path) -> None:
    """From the moment that the port is open; agents that hear 401 stay away."""
    nodes = [f"early-{number}" for number in range(8)]
    tokens = enrol(tmp_path / "state", *nodes)
    port, is_open = free_port(), threading.Event()

    def come(node: str) -> int:
        headers = {"authorization": f"Bearer {tokens[node]}", "content-type": "application/msgpack"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as client:
            is_open.wait()
            return client.post("/api/v1/reports", content=encode(Hello(node=node, boot_id="b"))).status_code

    def look() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            is_open.set()
        return is_open.wait(0.1)

    with ThreadPoolExecutor(len(nodes) + 1) as pool:
        coming = [pool.submit(come, node) for node in nodes]
        try:
            pool.submit(wait_until, look, 60)
            with running_board("--demo", "1", log=tmp_path / "log", port=port, until="healthz"):
                codes = {one.result(60) for one in coming}
        finally:
            is_open.set()
    assert codes <= {200, 503}
    assert 200 in codes


@pytest.mark.slow
def test_what_a_revoked_node_had_sent_before_does_not_bring_it_back(board: RunningBoard) -> None:
    """Requests that waited because the node sent too much are judged by its token as it is then."""
    headers = {"authorization": f"Bearer {token_of(board, 'dgx-26')}", "content-type": "application/msgpack"}
    first = live("dgx-26")
    begin = first.sample.sequence
    messages = [live("dgx-26", sequence=begin + later, interval_seconds=3600.0) for later in range(150)]
    with httpx.Client(base_url=board.url, headers=headers, timeout=30) as client:
        client.post("api/v1/reports", content=encode(Hello(node="dgx-26", boot_id="boot-1")))
        with ThreadPoolExecutor(90) as pool:
            waiting = [pool.submit(client.post, "api/v1/reports", content=encode(one)) for one in messages]
            wait_until(lambda: sum(one.done() for one in waiting) > 60)
            # Within this process: a command may take longer to start than they wait.
            revoke(board.state, "dgx-26")
            wait_until(lambda: node_view(board, "dgx-26").get("state") == "lost")
        codes = {one.result().status_code for one in waiting}
    assert codes <= {200, 401, 429}
    assert node_view(board, "dgx-26").get("state") == "lost"


def test_a_token_used_on_another_machine_is_named_on_the_node_and_enrolment_mends_it(
    board: RunningBoard,
) -> None:
    """The rightful one is refused in words that say what to do; with a new token it is back, and alone."""
    old = token_of(board, "dgx-29")
    for boot in ("rightful", "copy"):
        with line(board, old) as agent:
            ask(agent, Hello(node="dgx-29", boot_id=boot))
    with line(board, old) as agent:
        agent.send(encode(Hello(node="dgx-29", boot_id="rightful")))
        code, reason = closing(agent)
    wait_until(lambda: node_view(board, "dgx-29").get("state") == "refused")
    said = node_view(board, "dgx-29")["reason"]
    with line(board, token_of(board, "dgx-29")) as agent:
        ask(agent, Hello(node="dgx-29", boot_id="rightful"))
        ask(agent, live("dgx-29", boot_id="rightful"))
    wait_until(lambda: node_view(board, "dgx-29").get("state") == "live")
    assert (code, "gpuboard node enroll dgx-29" in reason) == (CLOSE_REFUSED, True)
    assert (said["code"], "gpuboard node enroll dgx-29" in said["text"]) == ("token-shared", True)
    assert (board.state.parent / "log").read_text().count("token shared: node=dgx-29") == 1
    with pytest.raises(InvalidStatus), line(board, old):
        pass


def test_plain_requests_carry_the_same_messages(board: RunningBoard) -> None:
    """For agents behind a proxy that refuses WebSockets."""
    headers = {"authorization": f"Bearer {token_of(board, 'dgx-24')}", "content-type": "application/msgpack"}
    with httpx.Client(base_url=board.url, headers=headers) as client:
        early = client.post("api/v1/reports", content=encode(live("dgx-24")))
        welcome = client.post("api/v1/reports", content=encode(Hello(node="dgx-24", boot_id="boot-1")))
        answer = client.post("api/v1/reports", content=encode(live("dgx-24")))
        wrong = client.post("api/v1/reports", content=b"{}", headers={"content-type": "application/json"})
        forged = client.post("api/v1/reports", content=encode(Hello(node="dgx-25", boot_id="b")))
    assert [r.status_code for r in (early, welcome, answer, wrong, forged)] == [400, 200, 200, 415, 403]
    assert isinstance(decode_from_board(welcome.content), Welcome)
    acknowledged = decode_from_board(answer.content)
    assert isinstance(acknowledged, Acknowledgement)
    assert acknowledged.live is not None
    wait_until(lambda: node_view(board, "dgx-24").get("state") == "live")


def test_a_code_is_exchanged_for_a_token_once(board: RunningBoard) -> None:
    """Over the wire, and the token works at once."""
    code = node_command(board, "enroll", "dgx-27").split()[1]
    answer = httpx.post(f"{board.url}api/v1/enroll", json={"code": code})
    again = httpx.post(f"{board.url}api/v1/enroll", json={"code": code})
    assert (answer.status_code, answer.json()["node"], again.status_code) == (201, "dgx-27", 403)
    assert answer.headers["cache-control"] == "no-store"
    with line(board, answer.json()["token"]) as agent:
        assert isinstance(ask(agent, Hello(node="dgx-27", boot_id="b")), Welcome)


@pytest.mark.slow
def test_codes_cannot_be_guessed_for_long(board: RunningBoard) -> None:
    """An address that guesses has to wait; others do not, and a right code is taken there at once."""
    with client_at(board, "127.0.0.10") as client:
        codes = [client.post("api/v1/enroll", json={"code": f"{n:020d}"}).status_code for n in range(15)]
        right = invite(board.state, "dgx-30")
        assert client.post("api/v1/enroll", json={"code": right}).status_code == 201
    answer = httpx.post(f"{board.url}api/v1/enroll", json={"code": "x"})
    assert codes == [403] * 11 + [429] * 4
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"code":"x","code":"CODE"}', "code"),
        ('{"code":"CODE","code":"CODE"}', "code"),
        ('{"c\\u006fde":"x","code":"CODE"}', "code"),
        ('{"code":"CODE","more":[{"a":1,"a":2}]}', "a"),
    ],
)
def test_an_enrolment_that_says_something_twice_is_refused(board: RunningBoard, body: str, key: str) -> None:
    """Whatever stands between may have read the other value; the code is not spent by it."""
    code = invite(board.state, "dgx-28")
    headers = {"content-type": "application/json"}
    url = f"{board.url}api/v1/enroll"
    answer = httpx.post(url, content=body.replace("CODE", code), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.json()["detail"] == f"the key '{key}' stands twice in one object"
    assert httpx.post(url, json={"code": code, "more": [{"a": 1}, {"a": 2}]}).status_code == 201


def test_an_enrolment_larger_than_any_code_is_refused(board: RunningBoard) -> None:
    """Anybody may send one, and reading it takes time."""
    answer = httpx.post(f"{board.url}api/v1/enroll", json={"code": "x", "more": "x" * 16 * 1024})
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"code":7}', b'{"code":"' + b"x" * 100 + b'"}'])
def test_an_enrolment_without_a_code_is_refused(board: RunningBoard, body: bytes) -> None:
    """As a problem document."""
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{board.url}api/v1/enroll", content=body, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
