"""Requests that no browser and no agent sends: each is answered in words, and none fails the board."""

import contextlib
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.board import RunningBoard, running_board
from tests.tls import Authority

PATHS = {
    "a NUL": "/%00",
    "a NUL below": "/assets/%00",
    "a name that is too long": f"/{'a' * 5000}",
    "a path that is too long": f"/assets/{'a/' * 3000}",
    "no UTF-8": "/%ff%fe",
    "a surrogate": "/%ed%a0%80",
    "a way up": "/assets/../../app.py",
    "a way up, in other letters": "/assets/..%2f..%2fapp.py",
    "a way to the root": "/assets/%2fetc%2fpasswd",
    "two slashes": "//evil.example/",
    "a star": "/*",
    "a backslash": "/..%5c..%5capp.py",
    "a bidi mark": "/%e2%80%ae",
    "markup": "/%3Cscript%3Ealert(1)%3C/script%3E",
}


def head(board: RunningBoard, request: str, *headers: str) -> bytes:
    """The first bytes of the answer to a request as it stands."""
    host, _, port = board.url.removeprefix("http://").rstrip("/").partition(":")
    lines = [f"{request} HTTP/1.1", f"host: {host}", "connection: close", *headers, "", ""]
    with socket.create_connection((host, int(port)), timeout=15) as raw:
        raw.sendall("\r\n".join(lines).encode("latin-1"))
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                answer += part
    return answer


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_a_path_that_names_nothing_is_not_found(board: RunningBoard, path: str) -> None:
    """Whatever it is made of, and it never leads out of the page's folder."""
    answer = head(board, f"GET {path}")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "origin",
    ["http://[x", "http://[::1", "http://a]b", "//", "\xff", "http://\u2100".encode().decode("latin-1")],
)
def test_an_origin_that_is_none_is_refused(board: RunningBoard, origin: str) -> None:
    """On requests that could change something, and on WebSockets."""
    assert head(board, "POST /api/v1/enroll", f"origin: {origin}").startswith(b"HTTP/1.1 421 ")
    upgrade = (
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    answer = head(board, "GET /api/v1/stream", f"origin: {origin}", "connection: upgrade", *upgrade)
    assert answer.startswith((b"HTTP/1.1 421 ", b"HTTP/1.1 400 "))


def test_a_page_that_came_in_clear_hears_how_to_open_the_board(tmp_path: Path) -> None:
    """Where the board speaks https; of a board that speaks http a proxy may well have made https."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    with (
        running_board("--demo", "1", *tls, log=tmp_path / "log", ca_file=authority.ca_file) as board,
        httpx.Client(base_url=board.url, verify=ssl.create_default_context(cafile=authority.ca_file)) as http,
    ):
        own = board.url.rstrip("/")
        heard = [
            http.post("api/v1/enroll", headers={"origin": origin})
            for origin in (own, own.replace("https", "http"))
        ]
    assert [answer.status_code == 421 for answer in heard] == [False, True]
    assert "which speaks https here; open it by https" in heard[1].json()["detail"]


@pytest.mark.parametrize("body", [b"[" * 15_000, b'{"a":' * 3_000, b'{"code":' + b"[" * 15_000])
def test_a_deep_body_is_refused(http: httpx.Client, body: bytes) -> None:
    """Before it can exhaust anything."""
    answer = http.post("api/v1/enroll", content=body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")


@pytest.mark.parametrize("path", ["healthz", "readyz", "api/v1/fleet", "metrics", "api/openapi.json"])
def test_the_head_alone_can_be_asked_for(http: httpx.Client, path: str) -> None:
    """As monitors of web sites do."""
    answer = http.head(path)
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_websocket_asked_for_as_a_page_says_what_it_is(http: httpx.Client) -> None:
    """Somebody opened its address in a browser."""
    answer = http.get("api/v1/ingest")
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")


@pytest.mark.parametrize("path", ["nope", "api/v1/fleet", "api/v1/stream?after=x", "api/v1/stream?after=1.5"])
def test_a_websocket_that_is_none_is_refused_in_words(board: RunningBoard, path: str) -> None:
    """Like any request, and without a word in the log: whoever likes could fill it."""
    log = board.state.parent / "log"
    said = log.stat().st_size
    with pytest.raises(InvalidStatus) as refused, connect(board.url.replace("http", "ws") + path):
        pass
    response = refused.value.response
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")
    assert "Traceback" not in log.read_text()[said:]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("api/v1/free?gpu=4", "there is no parameter 'gpu'; did you mean 'gpus'?"),
        ("api/v1/free?gpus=1&gpus=8", "the parameter 'gpus' is given twice"),
        (
            "api/v1/free?wish=1",
            "there is no parameter 'wish'; known are: gpus, group, limit, memory, model, same_node",
        ),
        ("api/v1/summary?node=a", "there is no parameter 'node'; known are: none"),
        ("badge.svg?node=gpu01", "there is no parameter 'node'"),
        ("api/v1/activity?nodes=a", "did you mean 'node'?"),
        ("api/v1/fleet?%1b[31m", "\\x1b[31m"),
        ("api/v1/nodes/dgx-01?name=b", "there is no parameter 'name'"),
    ],
)
def test_a_parameter_that_the_api_does_not_know_is_refused_by_name(
    http: httpx.Client, path: str, says: str
) -> None:
    """Ignored in silence, it would be the answer to another question."""
    answer = http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert says in answer.json()["detail"]


@pytest.mark.parametrize(
    "path", ["?q=free&refresh=5&x=1", "people?x=1", "get-status?_=1", "healthz?x", "metrics?x=1"]
)
def test_pages_and_what_others_scripts_ask_take_any_parameter(http: httpx.Client, path: str) -> None:
    """Old links and scripts go on; the page reads its own."""
    assert http.get(path).status_code == 200


def test_what_the_page_and_the_client_ask_is_known(http: httpx.Client) -> None:
    """With all of their parameters."""
    for path in ("api/v1/activity?node=dgx-01", "api/v1/free?gpus=1&memory=40G&model=a100&same_node=true"):
        assert http.get(path).status_code == 200


def test_the_fleets_metrics_say_their_format_once(http: httpx.Client) -> None:
    """Prometheus reads the content type strictly."""
    assert http.get("metrics").headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
