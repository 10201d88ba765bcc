"""People with passwords and programs with tokens behind one proxy, as the guide to signing in prints it."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.board import RunningBoard, free_port, running_board
from tests.browser import running_chromium
from tests.docs.blocks import GUIDES, printed
from tests.parts import require
from tests.proxies.test_proxies import CADDY, NGINX, caddy, nginx
from tests.pushing import enroll_by_command, report_of, running_pusher, wait_until
from tests.signing_in import make_token

SETTINGS, MAPS, LINES, USERS, CADDY_LINES = printed(
    GUIDES / "signing-in.md", "A proxy that signs people in", "toml", "nginx", "nginx", "sh", "caddyfile"
)
PASSWORD = "a password of dana"


class Site(NamedTuple):
    """A board behind a proxy, its address there, and a person's token."""

    board: RunningBoard
    url: str
    token: str

    def session(self, **options: object) -> httpx.Response:
        """Who somebody is there."""
        given: dict[str, object] = {"headers": {"X-Remote-User": "chen"}, **options}
        return httpx.get(f"{self.url}api/v1/session", **given)  # type: ignore[arg-type]


def for_nginx(folder: Path) -> Path:
    """Its recipe, with what the guide adds."""
    users = folder / "gpuboard.users"
    printed_file = "/etc/nginx/gpuboard.users"
    program = USERS.replace("-apr1", f"-apr1 '{PASSWORD}'").replace(printed_file, str(users))
    subprocess.run(["sh", "-ec", program], check=True)
    recipe, below = NGINX.read_text(), "\nserver {"
    inside = "        proxy_read_timeout 1h;\n"
    assert (recipe.count(below), recipe.count(inside)) == (1, 1)
    recipe = recipe.replace(below, f"\n{MAPS}{below}").replace(inside, inside + LINES)
    origin = folder / "signing-in.conf"
    origin.write_text(recipe.replace(printed_file, str(users)))
    return origin


def for_caddy(folder: Path) -> Path:
    """Its recipe, with what the guide has instead of a part of it."""
    done = subprocess.run(
        ["caddy", "hash-password", "--plaintext", PASSWORD], check=True, capture_output=True, text=True
    )
    recipe = CADDY.read_text()
    before, middle, after = recipe.partition(
        "\thandle_path /gpus/* {\n\t\treverse_proxy 127.0.0.1:8042\n\t}\n"
    )
    assert middle
    origin = folder / "signing-in.Caddyfile"
    origin.write_text(before + CADDY_LINES.replace("HASH", done.stdout.strip()) + after)
    return origin


@pytest.fixture(scope="module", params=[(nginx, for_nginx), (caddy, for_caddy)], ids=["nginx", "caddy"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A board behind a proxy that asks people for a password."""
    start, recipe = request.param
    require(start.__name__, "openssl")
    folder = tmp_path_factory.mktemp("site")
    config = folder / "gpuboard.toml"
    config.write_text(
        f'[board]\nbase_path = "/gpus/"\n{SETTINGS}allow_plaintext = true\nanonymous = "nothing"\n'
    )
    make: Callable[[Path], Path] = recipe
    origin = make(folder)
    with (
        running_board("--config", str(config), "--demo", "2", log=folder / "log") as board,
        start(folder, free_port(), board, origin=origin) as url,
    ):
        yield Site(board, url, make_token(board.state, "ben", "read")[1])


def test_whom_the_proxy_asked_for_a_password_is_somebody(site: Site) -> None:
    """Whatever else they say of themselves; and a wrong password is none."""
    told = site.session(auth=("dana", PASSWORD)).json()
    assert (told["person"], told["way"], told["tier"]) == ("dana", "proxy", "names")
    assert site.session().status_code == 401
    assert site.session(auth=("dana", "wrong")).status_code == 401


def test_a_program_with_a_token_is_whose_token_it_is(site: Site) -> None:
    """The proxy asks it for nothing and names nobody; the board looks at the token."""
    told = site.session(headers={"Authorization": f"Bearer {site.token}", "X-Remote-User": "dana"}).json()
    assert (told["person"], told["way"]) == ("ben", "token")
    wrong = site.session(headers={"Authorization": "Bearer gpb_wrong", "X-Remote-User": "dana"})
    assert wrong.status_code == 401 or wrong.json()["person"] is None


@pytest.mark.parametrize("path", ["api/v1/enroll", "api/v1/bookings.ics", "api/v1/session/../enroll"])
def test_where_no_password_is_asked_nobody_is_anybody(site: Site, path: str) -> None:
    """Neither by a name that the proxy did not check nor by a header of one's own."""
    answer = httpx.get(
        site.url + path, auth=("dana", "wrong"), headers={"X-Remote-User": "dana"}, params={"key": "wrong"}
    )
    assert answer.status_code in {401, 403, 404, 405}


def test_an_agent_gets_its_token_and_pushes(site: Site, tmp_path: Path) -> None:
    """It has no password of the proxy's."""
    token_file = tmp_path / "node.token"
    enroll_by_command(RunningBoard(site.url, site.board.process, site.board.state), "pushed", str(token_file))
    nodes = f"{site.board.url}api/v1/nodes/pushed"
    headers = {"Authorization": f"Bearer {site.token}"}
    with running_pusher(site.url, token_file) as pusher:
        pusher.offer(report_of("pushed"))
        wait_until(lambda: httpx.get(nodes, headers=headers).json().get("state") == "live")


def test_the_page_is_live_for_whom_the_proxy_has_signed_in(site: Site) -> None:
    """A browser shows the password with the WebSocket too."""
    with running_chromium() as chromium:
        page = chromium.new_page(http_credentials={"username": "dana", "password": PASSWORD})
        with page.expect_websocket() as opened:
            page.goto(site.url)
        opened.value.wait_for_event("framereceived")
