"""The board behind real proxies, under a path, with the very recipes that we hand out."""

import contextlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from gpuboard.web.pages import UI
from tests.board import RunningBoard, free_port, running_board, wait_for
from tests.parts import ROOT, missing, require
from tests.pushing import enrol, report_of, running_pusher, token_file, wait_until, without_history

NGINX = ROOT / "deploy" / "nginx" / "gpuboard.conf"
CADDY = ROOT / "deploy" / "caddy" / "Caddyfile"
VIEWER = "127.0.0.2"
TRUSTING = '[access]\ntrusted_proxies = ["127.0.0.1"]\n'
# Its workers must read what belongs to the test.
START = """
user root;
http {{ access_log off; {paths} include {recipe}; }}
events {{}}
daemon off;
pid {folder}/pid;
"""

Start = Callable[[Path, int, RunningBoard], contextlib.AbstractContextManager[str]]


@contextlib.contextmanager
def running(
    command: list[str], url: str, folder: Path, ca_file: Path | None = None, /, **env: str
) -> Iterator[str]:
    """Run a proxy until the block ends."""
    log = folder / "proxy.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={"PATH": "/usr/sbin:/usr/bin:/bin", **env}
        )
    try:
        wait_for(f"{url}healthz", process, log, ca_file)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def address_of(board: RunningBoard) -> str:
    """Host and port of a board."""
    return board.url.removeprefix("http://").rstrip("/")


def substituted(recipe: Path, *changes: tuple[str, str]) -> str:
    """A recipe with the addresses of this test."""
    text = recipe.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def nginx(
    folder: Path, port: int, board: RunningBoard, *, strips: bool = True, origin: Path = NGINX
) -> Iterator[str]:
    """Our recipe for nginx, which takes the path away or leaves it."""
    require("nginx")
    end = "/;" if strips else ";"
    recipe = folder / "gpuboard.conf"
    recipe.write_text(
        substituted(
            origin,
            ("listen      80;", f"listen 127.0.0.1:{port};"),
            ("127.0.0.1:8042/;", f"{address_of(board)}{end}"),
        )
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    config = folder / "nginx.conf"
    config.write_text(START.format(paths=paths, recipe=recipe, folder=folder))
    command = ["nginx", "-c", str(config), "-e", str(folder / "error.log")]
    with running(command, f"http://127.0.0.1:{port}/gpus/", folder) as url:
        yield url


def nginx_that_passes_the_path_on(
    folder: Path, port: int, board: RunningBoard
) -> contextlib.AbstractContextManager[str]:
    """Our recipe for nginx, without the slash that takes the path away."""
    return nginx(folder, port, board, strips=False)


@contextlib.contextmanager
def caddy(folder: Path, port: int, board: RunningBoard, *, origin: Path = CADDY) -> Iterator[str]:
    """Our recipe for Caddy."""
    require("caddy")
    config = folder / "Caddyfile"
    recipe = substituted(
        origin,
        ("\ngpus.lab.example {", f"\nhttp://:{port} {{"),
        ("127.0.0.1:8042", address_of(board)),
    )
    config.write_text(f"{{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}}\n{recipe}")
    command = ["caddy", "run", "--config", str(config), "--adapter", "caddyfile"]
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with running(command, f"http://127.0.0.1:{port}/gpus/", folder, **home) as url:
        yield url


class Site(NamedTuple):
    """A board behind a proxy."""

    url: str
    board: RunningBoard
    token: Path


@pytest.fixture(
    scope="module",
    params=[(nginx, "/"), (nginx_that_passes_the_path_on, "/gpus/"), (caddy, "/")],
    ids=["nginx", "nginx that passes the path on", "caddy"],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A board that trusts the proxy before it."""
    start: Start
    start, base_path = request.param
    require(start.__name__.partition("_")[0])
    folder = tmp_path_factory.mktemp("site")
    config = folder / "gpuboard.toml"
    config.write_text(f'[board]\nbase_path = "{base_path}"\nhostnames = ["gpus.lab.example"]\n{TRUSTING}')
    with (
        running_board("--config", str(config), "--demo", "2", log=folder / "log") as board,
        start(folder, free_port(), board) as url,
    ):
        token = token_file(folder, enrol(board.state, "proxied")["proxied"])
        yield Site(url, board, token)


def test_the_page_and_its_assets_are_there(site: Site) -> None:
    """Each address that the page names, as a browser resolves it."""
    if not (UI / "index.html").is_file():
        missing("the built page")
    for path, up in (("", "./"), ("people", "./"), ("nodes/a100-01", "../")):
        with httpx.Client(base_url=site.url) as client:
            page = client.get(path)
            assert f'<base href="{up}" />' in page.text
            base = page.url.join(up)
            names = re.findall(r'(?:src|href)="(\./[^"]+)"', page.text)
            found = [client.get(base.join(name)) for name in names if name != "./"]
        assert found
        assert [str(asset.url) for asset in found if asset.status_code != 200] == []
        assert all(str(asset.url).startswith(site.url) for asset in found)


def test_the_path_without_its_slash_leads_there(site: Site) -> None:
    """As people type it."""
    answer = httpx.get(site.url.rstrip("/"))
    assert (answer.is_redirect, answer.headers["location"].endswith("/gpus/")) == (True, True)


@pytest.mark.parametrize(
    "path",
    ["api/v1/fleet", "api/v1/nodes/vision-01", "api/v1/summary", "metrics", "healthz", "api/openapi.json"],
)
def test_the_api_is_there(site: Site, path: str) -> None:
    """All of it, under the same path."""
    assert httpx.get(site.url + path).status_code == 200


def test_the_live_stream_comes_through(site: Site) -> None:
    """For a page of the same name, and for no other."""
    address = site.url.replace("http", "ws") + "api/v1/stream"
    host = "/".join(site.url.split("/")[:3])
    with connect(address, origin=Origin(host), compression=None) as socket:
        assert socket.recv(timeout=60)
        assert socket.recv(timeout=60)
    with pytest.raises(InvalidStatus), connect(address, origin=Origin("http://evil.example")):
        pass


def test_the_name_that_people_type_reaches_the_board(site: Site) -> None:
    """The proxy passes it on, and the board answers only to its own."""
    known = httpx.get(f"{site.url}api/v1/summary", headers={"host": "gpus.lab.example"})
    other = httpx.get(f"{site.url}api/v1/summary", headers={"host": "evil.example"})
    assert (known.status_code, other.status_code) == (200, 421)


def test_the_visitor_is_whom_the_proxy_says_and_not_whom_he_says(site: Site) -> None:
    """A header that the visitor brings along changes nothing."""
    transport = httpx.HTTPTransport(local_address=VIEWER)
    with httpx.Client(base_url=site.url, transport=transport) as client:
        forged = [{"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.1, 192.0.2.2"}, {}]
        tiers = [client.get("api/v1/people", headers=headers).json()["tier"] for headers in forged]
    assert tiers == ["names"] * 3


def test_agents_push_through_it(site: Site) -> None:
    """Over a WebSocket, under the same path."""
    with running_pusher(site.url, site.token) as pusher:
        pusher.offer(report_of("proxied"))
        wait_until(lambda: httpx.get(f"{site.url}api/v1/nodes/proxied").json().get("state") == "live")


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_proxy_that_is_not_listed_is_not_believed(start: Start, tmp_path: Path) -> None:
    """Whoever comes through it sees counts, wherever it says that he is."""
    require(start.__name__)
    with (
        running_board("--demo", "1", log=tmp_path / "log") as board,
        start(tmp_path, free_port(), board) as url,
    ):
        transport = httpx.HTTPTransport(local_address=VIEWER)
        with httpx.Client(base_url=url, transport=transport) as client:
            people = client.get("api/v1/people").json()
    assert (people["tier"], people["people"]) == ("counts", None)


def test_behind_an_nginx_that_leaves_upgrade_out_agents_send_by_post_and_the_log_names_it(
    tmp_path: Path,
) -> None:
    """Whoever wrote the proxy's settings himself forgets these two lines first."""
    bare = tmp_path / "bare.conf"
    lines = NGINX.read_text().splitlines(keepends=True)
    bare.write_text("".join(line for line in lines if not re.search(r"Upgrade|Connection", line)))
    assert len(bare.read_text()) < len(NGINX.read_text())
    require("nginx")
    log = tmp_path / "log"
    with (
        running_board("--demo", "1", *without_history(tmp_path), log=log) as board,
        nginx(tmp_path, free_port(), board, origin=bare) as url,
        running_pusher(url, token_file(tmp_path, enrol(board.state, "bare")["bare"])) as pusher,
    ):
        pusher.offer(report_of("bare"))
        wait_until(lambda: httpx.get(f"{board.url}api/v1/nodes/bare").json().get("state") == "live")
        wait_until(lambda: pusher.waiting == 0)
    assert log.read_text().count("WebSocket without Upgrade: proxy=127.0.0.1") == 1
