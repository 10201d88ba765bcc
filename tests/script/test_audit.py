"""The audit of the locked packages: what is listed fails, and that nobody can be asked is said."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.board import free_port

AUDIT = Path(__file__).parents[2] / "script" / "audit"


class Source(BaseHTTPRequestHandler):
    """Lists of vulnerabilities, as both tools ask for them."""

    listed: str | None = None

    def do_POST(self) -> None:
        """Which packages are listed."""
        asked = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path.endswith("/querybatch"):
            found = {"vulns": [{"id": "TEST-1", "modified": "2026-01-01T00:00:00Z"}]}
            queries = json.loads(asked)["queries"]
            self.answer({"results": [found if q["package"]["name"] == self.listed else {} for q in queries]})
        else:
            advisory = {"id": 1, "url": "about:blank", "title": "bad", "severity": "high"}
            self.answer({"vite": [{**advisory, "vulnerable_versions": "*"}]} if self.listed == "vite" else {})

    def do_GET(self) -> None:
        """What is known about one; npm asks for its versions too."""
        advisory = {"id": "TEST-1", "summary": "bad", "modified": "2026-01-01T00:00:00Z", "affected": []}
        package = {"name": unquote(self.path.strip("/")), "versions": {}}
        self.answer(advisory if "/vulns/" in self.path else package)

    def answer(self, content: dict[str, Any]) -> None:
        """Answer with JSON."""
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def source(listed: str | None) -> Iterator[str]:
    """A source that lists one package; its address."""
    handler = type("Listing", (Source,), {"listed": listed})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audit(address: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """Ask this source."""
    direct = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    env = {**os.environ, **direct, "npm_config_registry": address, "npm_config_cache": str(cache)}
    command = [str(AUDIT), "--service-url", address, "--no-cache"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("listed", ["msgspec", "vite"])
def test_a_package_that_is_listed_fails(tmp_path: Path, listed: str) -> None:
    """By its name; of the program and of the page."""
    with source(listed) as address:
        done = audit(address, tmp_path)
    assert done.returncode == 1
    assert listed in done.stderr
    assert "not audited" not in done.stderr


def test_packages_that_are_not_listed_pass(tmp_path: Path) -> None:
    """Without a word about it."""
    with source(None) as address:
        done = audit(address, tmp_path)
    assert (done.returncode, "not audited" in done.stderr) == (0, False)


def test_that_nobody_can_be_asked_is_said(tmp_path: Path) -> None:
    """It fails nothing: a machine without a way out must be able to test."""
    done = audit(f"http://127.0.0.1:{free_port()}/", tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("dependencies not audited: no advisory source can be reached") == 2
