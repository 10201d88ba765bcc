"""People whom a real nginx has signed in, and those who only say so."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from tests.board import RunningBoard, free_port, running_board
from tests.databases import open_database
from tests.parts import missing
from tests.proxies.test_proxies import address_of, running
from tests.pushing import wait_until
from tests.signing_in import TestBrowser, log_in

HEADER = "X-Remote-User"
NGINX = """
user root;
events {{}}
daemon off;
pid {folder}/pid;
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      auth_basic "gpuboard";
      auth_basic_user_file {folder}/users;
      proxy_pass http://{board};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header X-Remote-User $remote_user;
      proxy_set_header Authorization "";
    }}
    location = /healthz {{ proxy_pass http://{board}; proxy_set_header Host $http_host; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board that believes the proxy of its machine."""
    folder = tmp_path_factory.mktemp("board")
    config = folder / "gpuboard.toml"
    config.write_text(
        f'[access]\nanonymous = "counts"\ntrusted_proxies = ["127.0.0.1"]\nproxy_header = "{HEADER}"\n'
    )
    with running_board("--demo", "1", "--config", str(config), log=folder / "log") as running_one:
        yield running_one


@pytest.fixture(scope="module")
def proxy(board: RunningBoard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An nginx that asks for a password, and says whose it was."""
    if shutil.which("nginx", path="/usr/sbin:/usr/bin") is None:
        missing("nginx")
    folder = tmp_path_factory.mktemp("nginx")
    folder.chmod(0o755)
    (folder / "users").write_text("ana:{PLAIN}secret\n")
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, board=address_of(board)))
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "err.log")]
    with running(command, f"http://127.0.0.1:{port}/", folder) as url:
        yield url


def through(proxy: str, **headers: str) -> httpx.Client:
    """Somebody who has told nginx the password."""
    return httpx.Client(base_url=proxy, auth=("ana", "secret"), headers=headers)


def test_whom_the_proxy_has_signed_in_is_somebody(proxy: str, board: RunningBoard) -> None:
    """With the role that was given here; and nobody becomes another by a header of one's own."""
    with through(proxy, **{HEADER: "root"}) as http:
        told = http.get("api/v1/session").json()
        assert (told["person"], told["role"], told["way"], told["tier"]) == ("ana", "user", "proxy", "names")
        assert {"kind": "proxy", "label": "Single sign-on", "href": "./"} in told["ways"]
        assert http.get("api/v1/audit").status_code == 403
        database = open_database(board.state)
        AccountAdmin(database).set_role("ana", "admin", Deed(what="test"))
        database.close()
        wait_until(lambda: http.get("api/v1/audit").status_code == 200)


def test_a_change_through_the_proxy_needs_the_pages_token_too(proxy: str) -> None:
    """The proxy adds its header to whatever a browser is made to send."""
    with through(proxy) as http:
        csrf = http.get("api/v1/session").json()["csrf"]
        refused = http.post("api/v1/tokens", json={"name": "x", "scopes": ["read"]})
        assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
        # Over https its cookies are for https alone, which this client does not speak here.
        cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
        made = http.post(
            "api/v1/tokens",
            json={"name": "x", "scopes": ["read"]},
            headers={"x-csrf-token": csrf, "cookie": cookies},
        )
        assert made.status_code == 201


def test_over_https_cookies_are_for_this_very_host_alone(proxy: str) -> None:
    """As the proxy says that it is."""
    with through(proxy) as http:
        cookie = http.get("api/v1/session").headers["set-cookie"]
    assert cookie.startswith("__Host-gpuboard-browser")
    assert {"secure", "httponly", "path=/", "samesite=lax"} <= {
        part.strip().lower() for part in cookie.split(";")
    }


def test_the_header_counts_for_nothing_from_others_or_twice(board: RunningBoard) -> None:
    """Only a listed proxy is believed, and only if it says one thing."""
    twice = [(HEADER, "ana"), (HEADER, "ben")]
    assert httpx.get(f"{board.url}api/v1/session", headers=twice).json()["person"] is None
    for value in ("", "x" * 100):
        answer = httpx.get(f"{board.url}api/v1/session", headers={HEADER: value})
        assert answer.json()["person"] is None


def test_nobody_is_signed_in_over_a_line_that_the_proxy_says_is_in_clear(board: RunningBoard) -> None:
    """By its word no more than by any other way; page and log say what it takes."""
    far = {HEADER: "ana", "x-forwarded-for": "192.0.2.7"}
    for proto, person in (("http", None), (None, None), ("https", "ana")):
        headers = far if proto is None else {**far, "x-forwarded-proto": proto}
        told = httpx.get(f"{board.url}api/v1/session", headers=headers).json()
        assert (told["person"], told["needs_https"]) == (person, person is None)
    written = (board.state.parent / "log").read_text()
    assert written.count("the proxy at 127.0.0.1 names people over a line that is in clear") == 1


def test_who_is_not_listed_is_not_believed(tmp_path: Path) -> None:
    """Whatever it says."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[access]\ntrusted_proxies = ["192.0.2.1"]\nproxy_header = "{HEADER}"\n')
    with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as running_one:
        headers = {HEADER: "ana", "x-forwarded-proto": "https", "x-forwarded-for": "198.51.100.1"}
        told = httpx.get(f"{running_one.url}api/v1/session", headers=headers).json()
        assert (told["person"], told["needs_https"]) == (None, True)
        browser = TestBrowser(running_one, headers={"x-forwarded-for": "198.51.100.1"})
        refused = browser.use_link(log_in(running_one.state, "ana").code)
        assert (refused.status_code, refused.json()["code"]) == (403, "needs-https")
