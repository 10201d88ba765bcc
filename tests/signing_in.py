"""People who sign in to a running board, as browsers and command lines do."""

from pathlib import Path
from typing import Any

import httpx

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk, Login
from gpuboard.accounts.records import Vouched
from gpuboard.model.identity import Role, Scope, WayKind
from tests.board import RunningBoard
from tests.databases import open_database


class TestBrowser:
    """A browser: it keeps cookies, and sends the token of the page with every change."""

    __test__ = False

    def __init__(self, board: RunningBoard, **options: Any) -> None:  # noqa: ANN401 - httpx's own
        # No connection is kept: a browser in a test is not closed by anybody.
        alone = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=board.url, timeout=30, limits=alone, **options)
        self.csrf = ""
        self.session()

    def session(self) -> dict[str, Any]:
        """Who it is."""
        found: dict[str, Any] = self.http.get("api/v1/session").raise_for_status().json()
        self.csrf = found["csrf"]
        return found

    def post(self, path: str, body: object) -> httpx.Response:
        """Change something."""
        return self.http.post(path, json=body, headers={"x-csrf-token": self.csrf})

    def delete(self, path: str) -> httpx.Response:
        """Delete something."""
        return self.http.delete(path, headers={"x-csrf-token": self.csrf})

    def cookie_header(self) -> str:
        """What it sends along."""
        return "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())

    def use_link(self, code: str) -> httpx.Response:
        """Press the button behind a one-time link."""
        return self.post("api/v1/session/link", {"code": code})


def log_in(state: Path, person: str, role: Role = "user", *, way: WayKind = "socket") -> Login:
    """A link and a token of somebody, made as if the board's socket had been asked, or by another way."""
    database = open_database(state)
    try:
        if role == "viewer":
            AccountAdmin(database).set_role(person, role, Deed(what="test"))
        vouched = Vouched(person=person, way=way, role=role)
        return AccountDesk(database).log_in(vouched, terminal=f"terminal of {person}", address=None)
    finally:
        database.close()


def signed_in(board: RunningBoard, person: str, role: Role = "user", **options: Any) -> TestBrowser:  # noqa: ANN401 - httpx's own
    """A browser in which somebody has signed in."""
    browser = TestBrowser(board, **options)
    browser.use_link(log_in(board.state, person, role).code).raise_for_status()
    return browser


def make_token(state: Path, person: str, *scopes: Scope, role: Role = "user") -> tuple[str, str]:
    """A personal token, made by another process: its id, and itself."""
    database = open_database(state)
    try:
        made, token = AccountDesk(database).add_token(
            Vouched(person=person, way="password"),
            role,
            name="test",
            scopes=scopes,
            seconds=None,
            deed=Deed(what="test"),
        )
        return made.id, token
    finally:
        database.close()


def revoke_token(state: Path, ident: str) -> None:
    """Revoke a personal token, by another process."""
    database = open_database(state)
    try:
        AccountDesk(database).end_token(ident, Deed(what="test"))
    finally:
        database.close()


def remove_person(state: Path, person: str) -> None:
    """Remove somebody, by another process."""
    database = open_database(state)
    try:
        AccountAdmin(database).remove(person, Deed(what="test"))
    finally:
        database.close()
