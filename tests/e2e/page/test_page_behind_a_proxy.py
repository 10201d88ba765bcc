"""The page behind a real nginx that lets no WebSocket through: it asks, and says what to change."""

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.board import RunningBoard, free_port, wait_for
from tests.browser import DESKTOP, PHONE, Size, assert_fits, keep, visit
from tests.parts import require
from tests.pushing import wait_until

UPGRADE = (
    'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'
)
CONFIG = """daemon off; pid {folder}/pid; events {{}}
http {{ access_log off; {paths}
  server {{ listen 127.0.0.1:{port};
    location / {{ proxy_pass {board}; proxy_set_header Host $http_host; {upgrade} }} }} }}
"""
# What the browser itself says about each try.
NO_SOCKET = "WebSocket connection"


class Proxy:
    """An nginx as somebody wrote it who did not think of WebSockets, until they do."""

    def __init__(self, folder: Path, board: RunningBoard) -> None:
        self._folder = folder
        self._board = board
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.config = folder / "nginx.conf"
        self.write("")

    def write(self, upgrade: str) -> None:
        """Write the settings, with these lines for WebSockets."""
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = " ".join(f"{kind}_temp_path {self._folder}/{kind};" for kind in kinds)
        self.config.write_text(
            CONFIG.format(
                folder=self._folder, paths=paths, port=self.port, board=self._board.url, upgrade=upgrade
            )
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run nginx until the block ends."""
        log = self._folder / "nginx.log"
        command = ["nginx", "-c", str(self.config), "-e", str(self._folder / "error.log")]
        with log.open("ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            wait_for(f"{self.url}healthz", process, log)
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_without_websockets_the_page_asks_and_names_the_remedy(
    browser: Browser, demo: RunningBoard, tmp_path: Path, size: Size
) -> None:
    """The same numbers as ever, fresh ones too; once the proxy is mended, the line goes."""
    require("nginx")
    proxy = Proxy(tmp_path, demo)
    with proxy.running() as nginx, visit(browser, proxy.url, size=size, allow=NO_SOCKET) as page:
        page.goto(f"{proxy.url}?view=rows")
        expect(page.get_by_text("proxy_set_header Upgrade $http_upgrade")).to_be_visible()
        expect(page.locator(".answer")).to_contain_text("of 96 GPUs")
        expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
        first = httpx.get(f"{demo.url}api/v1/stream").json()["sequence"]
        # What comes later comes too.
        with page.expect_response(
            lambda answer: (
                answer.url.endswith("/stream") and answer.status == 200 and answer.json()["sequence"] > first
            )
        ):
            pass
        assert_fits(page)
        keep(page, f"asking-{'phone' if size == PHONE else 'desktop'}")
        page.emulate_media(color_scheme="dark")
        keep(page, f"asking-{'phone' if size == PHONE else 'desktop'}-dark")
        proxy.write(UPGRADE)
        nginx.send_signal(signal.SIGHUP)
        wait_until(lambda: _upgrades(proxy.url))
        wait_until(lambda: _is_mended(page))


def _is_mended(page: Page) -> bool:
    """Have the page try again; a worker of the old settings may still have met the last try."""
    page.evaluate("dispatchEvent(new Event('online'))")
    line = page.get_by_text("proxy_set_header Upgrade $http_upgrade")
    try:
        expect(line).to_have_count(0, timeout=6000)
    except AssertionError:
        return False
    return True


def _upgrades(url: str) -> bool:
    headers = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==",
    }
    with httpx.stream("GET", f"{url}api/v1/stream", headers=headers) as answer:
        return answer.status_code == 101
