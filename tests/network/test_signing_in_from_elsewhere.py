"""Signing in from another machine, by every way, over the board's own TLS."""

import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from playwright.sync_api import expect
from websockets.sync.client import connect

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.model.identity import WayKind
from tests.board import RunningBoard
from tests.browser import running_chromium, visit
from tests.cli.test_login import ANA_UID, as_user, folder, with_users
from tests.databases import open_database
from tests.e2e.page.people import PASSWORD, give_password
from tests.fakes.real_oidc import running_provider
from tests.network.namespaces import BOARD, Network, board_on, living_on, network
from tests.parts import require
from tests.proxies.test_proxies import running
from tests.pushing import enrol, token_file, wait_until
from tests.signing_in import TestBrowser
from tests.started import started
from tests.tls import Authority
from tests.web.conftest import decode_frame
from tests.web.test_oidc import go
from tests.web.test_sessions import closing

__all__ = ["folder"]

pytestmark = [pytest.mark.xdist_group("network"), pytest.mark.timeout(600)]
PORT, PROXY_PORT, PROVIDER_PORT = 8042, 8443, 9443
NODE = "far-1"
SETTINGS = """
[history]
kind = "none"
[access]
anonymous = "counts"
trusted_proxies = ["127.0.0.1"]
proxy_header = "X-Remote-User"
[access.oidc]
issuer = "https://{issuer}"
client_id = "gpuboard"
client_secret_file = "{secret}"
ca_file = "{ca_file}"
"""
# One in front of the board, which knows dana already; and one that gives the provider its TLS.
NGINX = """
user root;
events {{}}
daemon off;
pid {folder}/pid;
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  ssl_certificate {certificate};
  ssl_certificate_key {key};
  proxy_http_version 1.1;
  server {{
    listen {proxy} ssl;
    location / {{
      auth_basic "gpuboard";
      auth_basic_user_file {folder}/users;
      proxy_pass https://127.0.0.1:{port};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header X-Remote-User $remote_user;
      proxy_set_header Authorization "";
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
    }}
    location = /healthz {{
      proxy_pass https://127.0.0.1:{port};
    }}
  }}
  server {{
    listen {provider} ssl;
    location / {{
      proxy_pass {mock};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto https;
    }}
  }}
}}
"""


class Far(Struct, frozen=True):
    """A board on one machine, and what somebody on another one has of it."""

    machines: Network
    board: RunningBoard
    proxy: RunningBoard
    agent_socket: Path
    trusted: ssl.SSLContext

    @contextmanager
    def browser(self, board: RunningBoard | None = None, **options: Any) -> Iterator[TestBrowser]:  # noqa: ANN401 - httpx's own
        """A browser there that trusts the lab's authority."""
        with living_on(self.machines.there):
            yield TestBrowser(board or self.board, verify=self.trusted, **options)

    @contextmanager
    def stream(self, browser: TestBrowser, **more: str) -> Iterator[Any]:
        """The live stream that this browser's page has open; `more` are headers besides its cookies."""
        url = str(browser.http.base_url).replace("http", "ws", 1) + "api/v1/stream"
        headers = {"cookie": browser.cookie_header(), **more}
        with connect(url, ssl=self.trusted, additional_headers=headers, compression=None) as stream:
            yield stream

    def set_up(self, person: str) -> str:
        """The code of a link with which somebody chooses a password."""
        database = open_database(self.board.state)
        try:
            return AccountAdmin(database).add(person, "user", Deed(what="test"))
        finally:
            database.close()


@pytest.fixture(scope="module")
def far(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """One board for all: with an agent on the other machine, a provider and a proxy."""
    require("nginx")
    base = tmp_path_factory.mktemp("far")
    authority = Authority(base)
    certificate, key = authority.certificate(BOARD)
    token = token_file(base, enrol(base / "state", NODE)[NODE])
    config, secret = base / "gpuboard.toml", base / "secret"
    issuer = f"{BOARD}:{PROVIDER_PORT}"
    config.write_text(SETTINGS.format(issuer=issuer, secret=secret, ca_file=authority.ca_file))
    secret.touch(mode=0o600)
    secret.write_text("not-so-secret\n")
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    serve = ("--demo", "1", "--config", str(config), *tls)
    with ExitStack() as stack:
        machines = stack.enter_context(network())
        with living_on(machines.here):
            person = {"sub": "1", "preferred_username": "chen"}
            mock = stack.enter_context(running_provider(person, log=base / "provider"))
            (base / "users").write_text("dana:{PLAIN}secret\n")
            nginx = NGINX.format(
                folder=base, certificate=certificate, key=key,
                port=PORT, proxy=PROXY_PORT, provider=PROVIDER_PORT, mock=mock,
            )  # fmt: skip
            (base / "nginx.conf").write_text(nginx)
        board = stack.enter_context(board_on(machines, PORT, *serve, folder=base, ca_file=authority.ca_file))
        proxy_url = f"https://{BOARD}:{PROXY_PORT}/"
        with living_on(machines.here):
            words = ["nginx", "-c", str(base / "nginx.conf"), "-e", str(base / "err.log")]
            stack.enter_context(running(words, proxy_url, base, authority.ca_file))
        with living_on(machines.there):
            agent = (sys.executable, "-m", "gpuboard", "agent", "--push", board.url, "--probe", "simulated")
            files = ("--token-file", str(token), "--ca-file", str(authority.ca_file))
            socket = ("--socket", str(folder / "agent.sock"))
            stack.enter_context(started(*with_users(base), *agent, *files, *socket))
        wait_until((folder / "agent.sock").exists)
        yield Far(
            machines,
            board,
            RunningBoard(proxy_url, board.process, board.state),
            folder / "agent.sock",
            ssl.create_default_context(cafile=authority.ca_file),
        )


def by_link(far: Far, browser: TestBrowser) -> str:
    """Sign in by what `gpuboard login` gives on the node."""
    granted = as_user(far.agent_socket, ANA_UID, ANA_UID).granted
    assert granted is not None
    assert browser.http.post("api/v1/session/link", json={"code": granted.code}).status_code == 403
    answer = browser.use_link(granted.code)
    return str(answer.raise_for_status().headers["set-cookie"])


def by_password(far: Far, browser: TestBrowser) -> str:
    """Choose a password, go away, and come again with it."""
    chosen = {"code": far.set_up("eva"), "password": PASSWORD}
    browser.post("api/v1/session/setup", chosen).raise_for_status()
    browser.post("api/v1/session/sign-out", {}).raise_for_status()
    body = {"name": "eva", "password": PASSWORD}
    assert browser.http.post("api/v1/session/password", json=body).status_code == 403
    return str(browser.post("api/v1/session/password", body).raise_for_status().headers["set-cookie"])


def by_provider(_: Far, browser: TestBrowser) -> str:
    """Go to the provider and come back."""
    answer = go(browser, "1")
    assert answer.headers["location"] == "../../"
    return str(answer.headers["set-cookie"])


@pytest.mark.parametrize(
    ("sign_in", "person", "way", "through"),
    [
        (by_link, "ana", "node", NODE),
        (by_password, "eva", "password", None),
        (by_provider, "chen", "oidc", None),
    ],
    ids=["link", "password", "oidc"],
)
def test_who_signs_in_sees_names_from_then_on(
    far: Far, sign_in: Callable[[Far, TestBrowser], str], person: str, way: WayKind, through: str | None
) -> None:
    """All answers by the same cookie jar; a stream is what it was opened as, and the next one has names."""
    with far.browser() as browser:
        assert browser.session()["tier"] == "counts"
        with far.stream(browser) as before:
            assert decode_frame(before.recv(timeout=60))["tier"] == "counts"
        cookie = sign_in(far, browser)
        assert_is_kept_well(cookie, f"__Host-gpuboard-session-{PORT}")
        told = browser.session()
        assert (told["person"], told["way"], told["through"], told["tier"]) == (person, way, through, "names")
        assert browser.http.get("api/v1/people").json()["people"]
        assert_changes_need_the_pages_token(browser)
        with far.stream(browser) as after:
            assert decode_frame(after.recv(timeout=60))["tier"] == "names"
            browser.post("api/v1/session/sign-out", {}).raise_for_status()
            assert closing(after) == (4001, "signed-out")
        assert browser.session()["tier"] == "counts"


def test_whom_the_proxy_names_sees_names_at_once(far: Far) -> None:
    """And a browser that comes without the proxy is nobody, whatever it says."""
    with far.browser(far.proxy, auth=("dana", "secret")) as browser:
        told = browser.session()
        assert (told["person"], told["way"], told["tier"]) == ("dana", "proxy", "names")
        assert_changes_need_the_pages_token(browser)
        told_to_nginx = browser.http.get("healthz").request.headers["authorization"]
        with far.stream(browser, authorization=told_to_nginx) as stream:
            assert decode_frame(stream.recv(timeout=60))["tier"] == "names"
        browser.http.cookies.clear()
        cookie = browser.http.get("api/v1/session").headers["set-cookie"]
        assert_is_kept_well(cookie, f"__Host-gpuboard-browser-{PROXY_PORT}")
    with far.browser(headers={"X-Remote-User": "dana"}) as liar:
        assert (liar.session()["person"], liar.session()["tier"]) == (None, "counts")


def test_a_page_on_the_other_machine_shows_names_without_being_loaded_again(far: Far) -> None:
    """By name and password, in Chromium."""
    with far.browser() as browser:
        chosen = {"code": far.set_up("fay"), "password": PASSWORD}
        browser.post("api/v1/session/setup", chosen).raise_for_status()
    # Chromium asks no authority but the machine's; that ours is asked is seen above.
    with (
        living_on(far.machines.there),
        running_chromium("--ignore-certificate-errors") as chromium,
        visit(chromium, far.board.url) as page,
    ):
        page.goto(far.board.url)
        expect(page.get_by_text("Names are hidden from visitors.")).to_be_visible()
        page.evaluate("window.marked = true")
        page.get_by_role("banner").get_by_role("link", name="Sign in").click()
        give_password(page, "fay")
        expect(page.locator("section[aria-labelledby=who] li > b").first).to_be_visible()
        assert page.evaluate("window.marked === true")


def assert_is_kept_well(cookie: str, name: str) -> None:
    """A cookie is for this very host, over TLS, and for no script."""
    parts = [part.strip().lower() for part in cookie.split(";")]
    assert cookie.startswith(f"{name}=")
    assert {"secure", "httponly", "path=/", "samesite=lax"} <= set(parts)
    assert not any(part.startswith("domain") for part in parts)


def assert_changes_need_the_pages_token(browser: TestBrowser) -> None:
    """Who has only the cookies changes nothing."""
    wish = {"name": "cron", "scopes": ["read"]}
    refused = browser.http.post("api/v1/tokens", json=wish)
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    assert browser.post("api/v1/tokens", wish).status_code == 201
