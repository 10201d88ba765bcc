"""Who may do what: every route with every method, as each kind of visitor."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
from litestar.routes import HTTPRoute, WebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gpuboard.model.identity import Role
from gpuboard.web.needs import NEEDS
from gpuboard.web.pages import UI
from gpuboard.wire.ingest import Hello, Live, Sample, encode, encode_sample
from tests.board import RunningBoard, running_board
from tests.pushing import report_of, token_of, wait_until
from tests.signing_in import make_token, signed_in
from tests.web.conftest import decode_frame, web_app

# Visitors, on boards that show them nothing, counts or names; and on the first of these, where what they
# bring along alone decides, a node with its token, somebody with a wrong one, and people who have signed in.
VISITORS = ("nothing", "counts", "names", "node", "wrong", "viewer", "user", "admin")
PEOPLE: tuple[Role, ...] = ("viewer", "user", "admin")
NODE = "gpu-1"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")

Cells = tuple[int | str, ...]
OPEN: Cells = (200,) * 8
READ: Cells = (401, 200, 200, 401, 401, 200, 200, 200)
AGENT: Cells = (401, 401, 401, 200, 401, 401, 401, 401)
# Whoever comes, the code alone decides; this one is wrong.
CODE: Cells = (403,) * 8
# A test run without the built page gets a page that says so.
PAGE: Cells = (200 if (UI / "index.html").is_file() else 503,) * 8
ABSENT: Cells = (404,) * 8
LED: Cells = (302,) * 8
PERSON: Cells = (401, 401, 401, 401, 401, 200, 200, 200)
ADMIN: Cells = (401, 401, 401, 401, 401, 403, 403, 200)
# Signing in is for pages of ours: without their token it is refused. The code is of no link.
BROWSER: Cells = (403, 403, 403, 403, 403, 404, 404, 404)


def person(answer: int) -> Cells:
    """What people get who have signed in, and nobody else."""
    return (*PERSON[:5], answer, answer, answer)


TABLE: dict[tuple[str, str], Cells] = {
    ("GET", "/"): PAGE,
    ("GET", "/bookings"): PAGE,
    ("GET", "/people"): PAGE,
    ("GET", "/usage"): PAGE,
    ("GET", "/sign-in"): PAGE,
    ("GET", "/sign-in/link"): PAGE,
    ("GET", "/sign-in/oidc"): LED,
    ("GET", "/sign-in/oidc/callback"): LED,
    ("GET", "/account"): PAGE,
    ("GET", "/audit"): PAGE,
    ("GET", "/api/v1/session"): OPEN,
    ("GET", "/api/v1/session/link"): ABSENT,
    ("POST", "/api/v1/session/link"): BROWSER,
    # Nobody has a password of this name; the code is of no link.
    ("POST", "/api/v1/session/password"): (403, 403, 403, 403, 403, 401, 401, 401),
    ("POST", "/api/v1/session/setup"): BROWSER,
    ("POST", "/api/v1/session/sign-out"): person(204),
    ("GET", "/api/v1/sessions"): PERSON,
    ("DELETE", "/api/v1/sessions/{ident}"): person(404),
    ("GET", "/api/v1/tokens"): PERSON,
    ("POST", "/api/v1/tokens"): person(201),
    ("DELETE", "/api/v1/tokens/{ident}"): person(404),
    ("GET", "/api/v1/audit"): ADMIN,
    ("GET", "/api/v1/bookings"): READ,
    ("GET", "/api/v1/bookings/limits"): PERSON,
    # Whoever comes, the key alone decides; none is given here.
    ("GET", "/api/v1/bookings.ics"): CODE,
    ("GET", "/api/v1/bookings/feed"): PERSON,
    ("POST", "/api/v1/bookings/feed"): person(201),
    ("DELETE", "/api/v1/bookings/feed"): person(204),
    # There is no such booking, nor such a node.
    ("GET", "/api/v1/bookings/{ident}"): tuple(404 if cell == 200 else cell for cell in READ),
    ("POST", "/api/v1/bookings"): (401, 401, 401, 401, 401, 403, 404, 404),
    ("PATCH", "/api/v1/bookings/{ident}"): (401, 401, 401, 401, 401, 403, 404, 404),
    ("DELETE", "/api/v1/bookings/{ident}"): (401, 401, 401, 401, 401, 403, 404, 404),
    ("GET", "/nodes/{_name}"): PAGE,
    ("GET", "/people/{_name}"): PAGE,
    ("GET", "/gpus/{_name}"): PAGE,
    ("GET", "/assets/{path}"): ABSENT,
    ("GET", "/{name}"): ABSENT,
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): READ,
    ("GET", "/badge.svg"): OPEN,
    ("GET", "/preview.png"): OPEN,
    ("GET", "/api"): OPEN,
    ("GET", "/api/{path}"): ABSENT,
    ("GET", "/api/openapi.json"): OPEN,
    ("GET", "/api/v1/fleet"): READ,
    ("GET", "/api/v1/nodes/{name}"): READ,
    ("GET", "/api/v1/gpus/{uuid}"): READ,
    ("GET", "/api/v1/activity"): READ,
    ("GET", "/api/v1/summary"): READ,
    ("GET", "/api/v1/people"): READ,
    ("GET", "/api/v1/free"): READ,
    ("GET", "/api/v1/history"): READ,
    # Of which GPU is not said.
    ("GET", "/api/v1/history/states"): (401, 400, 400, 401, 401, 400, 400, 400),
    ("GET", "/api/v1/history/track"): READ,
    ("GET", "/api/v1/episodes"): READ,
    ("GET", "/api/v1/events"): READ,
    ("GET", "/api/v1/usage"): READ,
    ("GET", "/api/v1/usage.csv"): READ,
    ("GET", "/api/v1/usage/hours"): READ,
    ("GET", "/api/v1/usage/averages"): READ,
    # Whose is not said.
    ("GET", "/api/v1/usage/days"): (401, 400, 400, 401, 401, 400, 400, 400),
    ("POST", "/api/v1/reports"): AGENT,
    ("POST", "/api/v1/vouch"): AGENT,
    ("POST", "/api/v1/enroll"): CODE,
    ("GET", "/index"): LED,
    ("GET", "/index.php"): LED,
    ("GET", "/gpus"): LED,
    ("GET", "/nodes"): LED,
    ("GET", "/get-status"): READ,
    ("GET", "/api/v1/stream"): READ,
    ("WEBSOCKET", "/api/v1/stream"): (4401, "counts", "names", 4401, 4401, "names", "names", "names"),
    ("WEBSOCKET", "/api/v1/ingest"): (401, 401, 401, "welcome", 401, 401, 401, 401),
}


BODIES: dict[str, dict[str, object]] = {
    "/api/v1/tokens": {"name": "cron", "scopes": ["read"]},
    "/api/v1/session/sign-out": {},
    "/api/v1/bookings": {"places": [{"node": "nowhere"}], "for_seconds": 60},
    "/api/v1/session/password": {"name": "stranger", "password": "wrong"},
    "/api/v1/session/setup": {"code": "A" * 43, "password": "correct horse battery"},
    "/api/v1/vouch": {"uid": 1000, "name": "ana"},
}


class Place(NamedTuple):
    """Where a visitor stands, and what it brings along."""

    board: RunningBoard
    headers: dict[str, str]
    http: httpx.Client


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """One board for each thing that anonymous people may see."""
    with ExitStack() as stack:
        boards = {}
        for tier in ("nothing", "counts", "names"):
            arguments = ("--demo", "1", "--anonymous", tier)
            log = tmp_path_factory.mktemp(tier) / "log"
            boards[tier] = stack.enter_context(running_board(*arguments, log=log))
        http = stack.enter_context(httpx.Client(timeout=30))
        found = {tier: Place(board, {}, http) for tier, board in boards.items()}
        board = boards["nothing"]
        token = token_of(board, NODE)
        report_once(board, token)
        found["node"] = Place(board, {"authorization": f"Bearer {token}"}, http)
        found["wrong"] = Place(board, {"authorization": f"Bearer {token[:-4]}aaaa"}, http)
        for role in PEOPLE:
            found[role] = Place(board, cookies_of(board, role), http)
        yield found


def cookies_of(board: RunningBoard, role: Role) -> dict[str, str]:
    """What the browser of somebody sends who has this role, and the page's token with it."""
    browser = signed_in(board, f"{role}-person", role)
    return {"cookie": browser.cookie_header(), "x-csrf-token": browser.csrf}


def report_once(board: RunningBoard, token: str) -> None:
    """Let the node report, so that the board need not wait for it."""
    report = report_of(NODE)
    sample = Sample(
        sequence=report.sequence or 0, waited_seconds=0.0, report=msgspec.Raw(encode_sample(report))
    )
    headers = {"authorization": f"Bearer {token}", "content-type": "application/msgpack"}
    for message in (Hello(node=NODE, boot_id="boot-1"), Live(sample=sample, follows=None)):
        url = f"{board.url}api/v1/reports"
        httpx.post(url, headers=headers, content=encode(message)).raise_for_status()
    wait_until(lambda: httpx.get(f"{board.url}readyz").is_success)


@pytest.fixture(scope="module")
def uuid(places: dict[str, Place]) -> str:
    """A GPU that is there on every board."""
    url = f"{places['names'].board.url}api/v1/fleet"
    wait_until(lambda: any(node["gpus"] for node in httpx.get(url).json()["nodes"]))
    nodes = httpx.get(url).json()["nodes"]
    found: str = next(gpu["uuid"] for node in nodes for gpu in node["gpus"])
    return found


def routes() -> dict[tuple[str, str], None]:
    """Every route of the application, with the methods that it declares."""
    found: dict[tuple[str, str], None] = {}
    for route in web_app().routes:
        if isinstance(route, HTTPRoute):
            found |= {(m, route.path_format): None for m in sorted(route.methods) if m != "OPTIONS"}
        else:
            assert isinstance(route, WebSocketRoute)
            found["WEBSOCKET", route.path_format] = None
    return found


def declared() -> dict[tuple[str, str], str | None]:
    """What every route says it needs."""
    found: dict[tuple[str, str], str | None] = {}
    for route in web_app().routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                methods = handler.http_methods - {"OPTIONS"}
                found |= {(method, route.path_format): handler.opt.get(NEEDS) for method in methods}
        elif isinstance(route, WebSocketRoute):
            found["WEBSOCKET", route.path_format] = route.route_handler.opt.get(NEEDS)
    return found


def test_every_route_declares_what_it_needs_and_means_it() -> None:
    """Whoever needs something gets nothing without it, whatever else the table says."""
    said = declared()
    assert said.keys() == TABLE.keys()
    assert {cell for cell, need in said.items() if need is None} == set()
    refusing = {cell: not set(answers[:1]) & {401, 403, 4401} for cell, answers in TABLE.items()}
    # What changes something is never open to all, not even to sign in.
    assert {cell for cell, need in said.items() if need == "nothing" and cell[0] != "GET"} == set()
    assert {cell: need == "nothing" for cell, need in said.items()} == refusing
    nodes = {cell for cell, need in said.items() if need == "token"}
    assert nodes == {cell for cell, answers in TABLE.items() if answers[3] != answers[4]}


def filled(path: str, uuid: str) -> str:
    """A path with something in its gaps."""
    path = (
        path.replace("{ident}", "0123abcd")
        .replace("{uuid}", uuid)
        .replace("{_name}", "x")
        .replace("{path}", "nope.js")
    )
    return path.replace("/nodes/{name}", "/nodes/vision-01").replace("{name}", "nope")


def answer(place: Place, method: str, path: str) -> int | str:
    """How the board answers a visitor."""
    url = place.board.url.rstrip("/") + path
    if method == "WEBSOCKET":
        return socket_answer(place, url.replace("http", "ws"))
    body: dict[str, Any] = {}
    headers = dict(place.headers)
    if path.endswith("reports"):
        body = {"content": encode(Hello(node=NODE, boot_id="boot-1"))}
        headers["content-type"] = "application/msgpack"
    elif method == "POST":
        body = {"json": BODIES.get(path, {"code": "AAAAA-AAAAA-AAAAA-AAAAA"})}
    elif method == "PATCH":
        body = {"json": {"comment": "another"}}
    elif path.endswith("session/link"):
        headers["x-link-code"] = "A" * 43
    return place.http.request(method, url, headers=headers, **body).status_code


def socket_answer(place: Place, url: str) -> int | str:
    """The tier of the stream, the agents' welcome, or the number that refuses."""
    try:
        with connect(url, additional_headers=place.headers, compression=None) as socket:
            if url.endswith("ingest"):
                socket.send(encode(Hello(node=NODE, boot_id="boot-1")))
                return "welcome" if b"welcome" in socket.recv(timeout=60, decode=False) else "?"
            return str(decode_frame(socket.recv(timeout=60))["tier"])
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else "?"
    except InvalidStatus as refused:
        return refused.response.status_code


def test_the_table_has_every_route_and_no_other() -> None:
    """Whoever adds a route says here who may use it."""
    assert routes().keys() == TABLE.keys()


@pytest.mark.parametrize("visitor", VISITORS)
def test_every_visitor_may_do_what_the_table_says(places: dict[str, Place], visitor: str, uuid: str) -> None:
    """And nothing else."""
    column = VISITORS.index(visitor)
    # To sign out is the last that somebody does; for the tests that follow, the same person comes again.
    ordered = sorted(TABLE, key=lambda cell: cell[1].endswith("sign-out"))
    place = places[visitor]
    found = {(method, path): answer(place, method, filled(path, uuid)) for method, path in ordered}
    if visitor in PEOPLE:
        place.headers.update(cookies_of(place.board, visitor))
    assert found == {cell: answers[column] for cell, answers in TABLE.items()}


def test_a_stream_that_is_refused_says_why(places: dict[str, Place]) -> None:
    """A token that is not good is another fault than one that may not read, or than none."""
    place = places["nothing"]
    url = place.board.url.replace("http", "ws") + "api/v1/stream"
    _, booking = make_token(place.board.state, "carl", "book")
    why = {}
    for name, token in {"none": None, "bad": "gpb_wrong", "booking": booking}.items():
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        with connect(url, additional_headers=headers) as socket, pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        why[name] = closed.value.rcvd.reason
    assert why == {
        "none": "This board shows nothing to visitors; sign in.",
        "bad": "This personal token is not good here: it was revoked, is over, or is none.",
        "booking": "This token is not for reading: it lacks the scope read.",
    }


def test_a_token_for_booking_reads_bookings_where_visitors_see_nothing(places: dict[str, Place]) -> None:
    """And whether its owner has a feed; nothing else of the board."""
    place = places["nothing"]
    _, token = make_token(place.board.state, "carl", "book")
    headers = {"authorization": f"Bearer {token}"}
    paths = ("bookings", "bookings/limits", "bookings/feed", "fleet", "usage/days?person=x")
    found = [place.http.get(f"{place.board.url}api/v1/{path}", headers=headers) for path in paths]
    assert [one.status_code for one in found] == [200, 200, 200, 403, 403]
    assert found[0].json()["tier"] == "counts"


# What nodes bring, they bring without cookies.
NODES = ("token", "code")
CHANGES = sorted(cell for cell, need in declared().items() if cell[0] in METHODS[2:6] and need not in NODES)


@pytest.mark.parametrize("visitor", PEOPLE)
@pytest.mark.parametrize("cell", CHANGES, ids=" ".join)
def test_no_change_is_made_without_the_token_of_our_own_page(
    places: dict[str, Place], visitor: str, cell: tuple[str, str], uuid: str
) -> None:
    """The cookies come along by themselves, whoever's page asks."""
    method, path = cell
    place = places[visitor]
    url = place.board.url.rstrip("/") + filled(path, uuid)
    body = BODIES.get(path, {"code": "A" * 43})
    for csrf in ({}, {"x-csrf-token": "A" * 43}):
        headers = {"cookie": place.headers["cookie"], **csrf}
        refused = place.http.request(method, url, headers=headers, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "csrf")


@pytest.mark.parametrize("visitor", VISITORS)
def test_every_other_method_is_refused(places: dict[str, Place], visitor: str, uuid: str) -> None:
    """A head is answered like the whole; a WebSocket says that it is one."""
    column = VISITORS.index(visitor)
    wrong = {}
    for path in {path for _, path in TABLE}:
        for method in METHODS:
            if (method, path) in TABLE:
                continue
            is_socket = ("WEBSOCKET", path) in TABLE and ("GET", path) not in TABLE
            expected: int | str = 426 if is_socket else 405
            if method == "HEAD" and ("GET", path) in TABLE:
                expected = TABLE["GET", path][column]
            elif method == "OPTIONS":
                expected = 426 if expected == 426 else 204
            given = answer(places[visitor], method, filled(path, uuid))
            if given != expected:
                wrong[method, path] = given
    assert wrong == {}
