"""Hostile agents with good tokens, on a real board: they are refused in words, and nobody else notices."""

import contextlib
import gzip
import itertools
import socket
import time
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import psutil
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from gpuboard.wire.ingest import (
    MAX_MESSAGE_BYTES,
    Acknowledgement,
    Hello,
    Live,
    Sample,
    decode_from_board,
    encode,
)
from tests.board import RunningBoard, running_board
from tests.hostile.attacks import FORGED, INVISIBLE, MARKUP, PATH_LIKE, REFUSED, Attack, Tree, put
from tests.pushing import report_of, token_of, wait_until

STEADY = "steady"
BOOT = "boot-1"
# Rising over all agents, so that one that comes again is no replay.
SEQUENCES = itertools.count(1)
GROWTH_BYTES = 40_000_000


class Agent:
    """An agent with a good token, over plain requests."""

    def __init__(self, board: RunningBoard, http: httpx.Client, node: str) -> None:
        self.board = board
        self.node = node
        self.token = token_of(board, node)
        self._http = http
        self._sequence = 0

    def tree(self, **changes: Any) -> Tree:  # noqa: ANN401 - whatever a test changes
        """An honest report of this node, newer than all before."""
        self._sequence = next(SEQUENCES)
        report = msgspec.structs.replace(report_of(self.node), sequence=self._sequence, **changes)
        tree: Tree = msgspec.to_builtins(report)
        return tree

    def message(self, report: bytes) -> bytes:
        """A live message around a report."""
        raw = msgspec.Raw(report)
        sample = Sample(sequence=self._sequence, waited_seconds=0.0, report=raw)
        return encode(Live(sample=sample, follows=None))

    def post(self, content: bytes, **headers: str) -> httpx.Response:
        """Send one message."""
        sent = {"authorization": f"Bearer {self.token}", "content-type": "application/msgpack", **headers}
        for _ in range(20):
            answer = self._http.post(f"{self.board.url}api/v1/reports", headers=sent, content=content)
            if answer.status_code != 429:
                break
            # Its allowance comes back with time alone.
            time.sleep(1)
        return answer

    def hello(self) -> None:
        """Say hello."""
        assert self.post(encode(Hello(node=self.node, boot_id=BOOT))).status_code == 200

    def report(self, **changes: Any) -> None:  # noqa: ANN401 - whatever a test changes
        """Hand over an honest report."""
        answer = self.post(self.message(msgspec.msgpack.encode(self.tree(**changes))))
        assert refusals(answer.content) == []

    def view(self) -> dict[str, Any]:
        """What the board shows of this node."""
        view: dict[str, Any] = self._http.get(f"{self.board.url}api/v1/nodes/{self.node}").json()
        return view


def refusals(answer: bytes) -> list[str]:
    """What the board would not have, in its words."""
    message = decode_from_board(answer)
    assert isinstance(message, Acknowledgement)
    return [refusal.reason for refusal in message.refused]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """One client for all."""
    with httpx.Client(timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board of its own, whose memory is looked at."""
    with running_board("--demo", "1", log=tmp_path_factory.mktemp("board") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def steady(board: RunningBoard, http: httpx.Client) -> Agent:
    """An honest node that reported once and need not again for an hour."""
    agent = Agent(board, http, STEADY)
    agent.hello()
    agent.report(interval_seconds=3600.0)
    wait_until(lambda: agent.view().get("state") == "live")
    return agent


@pytest.fixture(autouse=True)
def _nobody_else_notices(steady: Agent, board: RunningBoard) -> Iterator[None]:
    """After every attack the honest node is as it was, the board's memory too, and its log has no failure."""
    before, process = steady.view(), psutil.Process(board.process.pid)
    memory = process.memory_info().rss
    yield
    assert steady.view() == before
    assert process.memory_info().rss - memory < GROWTH_BYTES
    assert "Traceback" not in (board.state.parent / "log").read_text()


def problem_of(answer: httpx.Response) -> str:
    """The words of a refusal."""
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


def line(agent: Agent) -> ClientConnection:
    """The WebSocket of an agent."""
    address = agent.board.url.replace("http", "ws") + "api/v1/ingest"
    headers = {"Authorization": f"Bearer {agent.token}"}
    return connect(address, additional_headers=headers, compression=None, close_timeout=1)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_hostile_report_is_refused_in_words(board: RunningBoard, http: httpx.Client, kind: str) -> None:
    """Each of its class; the node keeps its last good state, and its next honest report is taken."""
    agent = Agent(board, http, f"post-{kind}")
    agent.hello()
    agent.report()
    taken = {}
    for name, attack in REFUSED[kind].items():
        report = attack.encoded(agent.tree()).get("msgpack")
        if report is None:
            continue
        answer = agent.post(agent.message(report))
        words = refusals(answer.content) if answer.status_code == 200 else [problem_of(answer)]
        if not words or not words[0]:
            taken[name] = answer.status_code
    assert taken == {}
    assert len(REFUSED[kind]) >= 10
    wait_until(lambda: len(agent.view().get("gpus", ())) == 8)
    agent.report()
    wait_until(lambda: agent.view()["state"] == "live")


def heard_about(socket: ClientConnection, message: bytes) -> list[str]:
    """What an agent hears about a message that the board will not have."""
    try:
        socket.send(message)
        return refusals(socket.recv(timeout=60, decode=False))
    except ConnectionClosed as closed:
        # 1009 says by itself that the message was too large.
        return [closed.rcvd.reason or "too large"] if closed.rcvd and closed.rcvd.code in (1009, 4400) else []


@pytest.mark.parametrize("kind", REFUSED)
def test_over_a_websocket_it_is_refused_too(board: RunningBoard, http: httpx.Client, kind: str) -> None:
    """In the acknowledgement; or the line is closed, with the reason."""
    agent = Agent(board, http, f"line-{kind}")
    for name, attack in REFUSED[kind].items():
        report = attack.encoded(agent.tree()).get("msgpack")
        if report is None:
            continue
        with line(agent) as socket:
            socket.send(encode(Hello(node=agent.node, boot_id=BOOT)))
            socket.recv(timeout=60)
            assert heard_about(socket, agent.message(report)), name


@pytest.mark.parametrize("name", [*PATH_LIKE, *FORGED])
def test_a_hello_under_another_name_is_refused(steady: Agent, name: str) -> None:
    """Whatever it looks like; the token says who speaks."""
    attack: Attack = {**PATH_LIKE, **FORGED}[name]
    said = attack.change({})["node"]
    if said == STEADY:
        said = "vision-01"
    answer = steady.post(msgspec.msgpack.encode({"kind": "hello", "node": said, "boot_id": BOOT}))
    assert answer.status_code in (400, 403)
    assert problem_of(answer)


def test_replays_are_refused(board: RunningBoard, http: httpx.Client) -> None:
    """The same sample, older ones, the same on another line, and those of an earlier boot."""
    agent = Agent(board, http, "replayed")
    agent.hello()
    messages = [agent.message(msgspec.msgpack.encode(agent.tree())) for _ in range(5)]
    assert [refusals(agent.post(message).content) for message in messages] == [[]] * 5
    words = [refusals(agent.post(message).content) for message in messages * 2]
    assert all("has been shown already" in each[0] for each in words)
    with line(agent) as socket:
        socket.send(encode(Hello(node=agent.node, boot_id=BOOT)))
        socket.recv(timeout=60)
        for message in messages:
            socket.send(message)
            assert refusals(socket.recv(timeout=60, decode=False))
    assert agent.post(encode(Hello(node=agent.node, boot_id="boot-2"))).status_code == 200
    again = agent.post(encode(Hello(node=agent.node, boot_id=BOOT)))
    assert (again.status_code, "another machine has used the token" in problem_of(again)) == (403, True)


@pytest.mark.parametrize(
    "encoding",
    ["gzip", "x-gzip", "GZIP", "deflate", "br", "zstd", "compress", "gzip, gzip", "identity, gzip", "bomb"],
)
def test_a_bomb_is_not_inflated(board: RunningBoard, http: httpx.Client, encoding: str) -> None:
    """A compressed body is refused by its header, unread; and without the header it is no message."""
    agent = Agent(board, http, "bomber")
    agent.hello()
    bomb = gzip.compress(zlib.compress(b"\0" * 50_000_000, 9))
    assert len(bomb) < MAX_MESSAGE_BYTES
    answer = agent.post(bomb, **{"content-encoding": encoding})
    assert (answer.status_code, "send it as it is" in problem_of(answer)) == (415, True)
    assert agent.post(bomb).status_code == 400


@pytest.mark.parametrize("text", INVISIBLE, ids=ascii)
def test_what_cannot_be_seen_is_escaped(board: RunningBoard, http: httpx.Client, text: str) -> None:
    """Control characters and marks that turn a text around are shown as what they are, and do nothing."""
    agent = Agent(board, http, "invisible")
    agent.hello()
    hostile = f"a{text}b"
    process = {"pid": 1, "user": hostile, "program": hostile, "arguments": hostile}
    tree = agent.tree()
    for path, value in (
        ("gpus.0.model", hostile),
        ("host.hostname", hostile),
        ("gpus.0.processes", [process]),
        ("problems", [{"kind": "x", "text": hostile, "remedy": hostile}]),
    ):
        tree = put(path, value).change(tree)
    assert refusals(agent.post(agent.message(msgspec.msgpack.encode(tree))).content) == []
    wait_until(lambda: "\\" in str((agent.view().get("host") or {}).get("hostname")))
    shown = msgspec.json.encode(agent.view()).decode()
    assert all(part not in shown for part in text if not part.isprintable())


@pytest.mark.parametrize("text", MARKUP)
def test_markup_stays_text(board: RunningBoard, http: httpx.Client, text: str) -> None:
    """It is passed on as it is, as JSON that no browser takes for a page."""
    agent = Agent(board, http, "markup")
    agent.hello()
    tree = put("gpus.0.processes", [{"pid": 1, "user": text, "program": text}]).change(agent.tree())
    assert refusals(agent.post(agent.message(msgspec.msgpack.encode(tree))).content) == []
    wait_until(lambda: msgspec.json.encode(text) in msgspec.json.encode(agent.view()))
    answer = http.get(f"{board.url}api/v1/nodes/{agent.node}")
    assert answer.json()["gpus"][0]["reading"]["processes"][0]["user"] == text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_slow_senders_are_cut_wherever_they_stop(board: RunningBoard, steady: Agent) -> None:
    """After no byte, in the head, before or in the body, in a chunk: each within its deadline."""
    host, _, port = board.url.removeprefix("http://").rstrip("/").partition(":")
    head = f"POST /api/v1/reports HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {steady.token}\r\n"
    kind = "content-type: application/msgpack\r\n"
    beginnings = [
        "",
        "P",
        "POST /api",
        "POST /api/v1/reports HTTP/1.1\r\n",
        head[:-2],
        head,
        head + kind + "content-length: 10\r\n",
        head + kind + "content-length: 10\r\n\r\n",
        head + kind + "content-length: 1000\r\n\r\nxxxx",
        head + kind + "transfer-encoding: chunked\r\n\r\n",
        head + kind + "transfer-encoding: chunked\r\n\r\n5\r\nxx",
        "GET /api/v1/ingest HTTP/1.1\r\nupgrade: websocket\r\n",
    ]
    with contextlib.ExitStack() as stack:
        raws = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=25)) for _ in beginnings
        ]
        started = time.monotonic()
        for raw, beginning in zip(raws, beginnings, strict=True):
            raw.sendall(beginning.encode())
        answers = [raw.recv(1000).split(b"\r\n")[0] for raw in raws]
    assert time.monotonic() - started < 20
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 408"}


def test_a_flood_of_strangers_leaves_nothing_behind(board: RunningBoard) -> None:
    """Many bodies of many sizes without a good token: the memory is looked at afterwards."""
    headers = {"authorization": f"Bearer gpuboard~flood~{'a' * 43}", "content-type": "application/msgpack"}
    with httpx.Client(timeout=30, transport=httpx.HTTPTransport(local_address="127.0.0.77")) as client:
        codes = {
            client.post(f"{board.url}api/v1/reports", headers=headers, content=b"\x91" * size).status_code
            for size in range(1, 200_001, 400)
        }
    assert codes == {401, 429}
