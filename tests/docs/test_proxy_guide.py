"""The guide to proxies, followed as it is printed, with the nginx and the Caddy of Debian."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import GUIDES, printed
from tests.docs.machine import HOME, Machine, machine
from tests.parts import ROOT, require
from tests.started import eventually

pytestmark = pytest.mark.slow
LANGUAGES = ("toml", "sh", "sh", "nginx", "sh", "sh", "sh", "sh")
SETTINGS, SERVE, NGINX, TLS, CADDY, INVITE, ENROLL, PUSH = printed(
    GUIDES / "proxy.md", "Step by step", *LANGUAGES
)
SITE = "https://gpus.lab.example/gpus/"
# A certificate of the site's own, as its administrators have it.
CERTIFICATE = """
cd /etc/ssl
openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj "/CN=gpus.lab.example" \
    -addext subjectAltName=DNS:gpus.lab.example -keyout gpus.lab.example.key -out gpus.lab.example.pem
"""


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Machine]:
    """A machine with the board, which is the node too."""
    with machine(tmp_path, name="board") as here:
        here.name("gpus.lab.example")
        here.write("gpuboard.toml", SETTINGS)
        with here.running(SERVE):
            yield here


def agents_push_through_it(board: Machine, ca_file: str) -> None:
    """The third step, to a live node on the board behind the proxy."""
    told = board.run(INVITE)
    board.run(ENROLL.strip() + f" --ca-file {ca_file}", given=f"{told.split()[1]}\n")
    with board.running(PUSH.strip() + f" --ca-file {ca_file}"):
        board.until_live("gpu01", SITE, ca_file=ca_file)


def test_nginx_shows_the_board_and_lets_agents_through(board: Machine) -> None:
    """First without a certificate, then with one."""
    require("nginx", "openssl")
    recipe = "/etc/nginx/conf.d/gpuboard.conf"
    with board.running("nginx -g 'daemon off;'"):
        eventually((board.root / "run" / "nginx.pid").exists)
        board.run(f"cd {ROOT}\n{NGINX}")
        board.until_live("board", "http://gpus.lab.example/gpus/")
        board.run(CERTIFICATE)
        listens = "    listen      80;\n"
        assert board.read(recipe).count(listens) == 1
        board.write(recipe, board.read(recipe).replace(listens, TLS))
        board.run("nginx -t && nginx -s reload")
        agents_push_through_it(board, "/etc/ssl/gpus.lab.example.pem")


def test_caddy_shows_the_board_and_lets_agents_through(board: Machine) -> None:
    """With a certificate of its own authority, since nobody else knows the name."""
    require("caddy")
    name = "\ngpus.lab.example {\n"
    recipe = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    assert recipe.count(name) == 1
    board.write("checkout/deploy/caddy/Caddyfile", recipe.replace(name, f"{name}\ttls internal\n"))
    with board.running("caddy run"):
        eventually(lambda: "admin endpoint started" in board.logs())
        board.run(f"cd checkout\n{CADDY}")
        ca_file = f"{HOME}/.local/share/caddy/pki/authorities/local/root.crt"
        eventually((board.root / ca_file[1:]).exists)
        board.until_live("board", SITE, ca_file=ca_file)
        agents_push_through_it(board, ca_file)
