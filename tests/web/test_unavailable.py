"""Who hears where a database is that cannot be used."""

from typing import Any

import pytest
from litestar import Litestar, Request, get
from litestar.testing import TestClient

from gpuboard.model.errors import StorageError
from gpuboard.model.identity import Identity, Role
from gpuboard.web.needs import IDENTITY
from gpuboard.web.unavailable import StorageUnavailable, storage_problem


@get("/")
async def ask() -> None:
    """Ask a database that is full."""
    raise StorageUnavailable(StorageError("the database /srv/secret.sqlite cannot be used: disk is full"))


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("anonymous", "the board's database cannot be used; admins see why"),
        ("user", "the board's database cannot be used; admins see why"),
        ("admin", "the database /srv/secret.sqlite cannot be used: disk is full"),
    ],
)
def test_only_admins_hear_which_file_cannot_be_used(role: Role, told: str) -> None:
    """Others can do nothing about it, and paths tell of the machine."""

    def come_in(request: Request[Any, Any, Any]) -> None:
        request.scope["state"][IDENTITY] = Identity(
            address=None, counted_as=None, tier="names", role=role, person="ana"
        )

    handlers: dict[Any, Any] = {StorageUnavailable: storage_problem}
    with TestClient(Litestar([ask], before_request=come_in, exception_handlers=handlers)) as client:
        answer = client.get("/")
    assert (answer.status_code, answer.json()["detail"]) == (503, told)
